"""Summarises the runs of a series (`repeat`): how many are usable, and median and range of their speeds."""

from collections.abc import Sequence

from tracegen.analysis.passes import measured
from tracegen.analysis.speed import Speed, speed_of, spread_of
from tracegen.contract.model import Run
from tracegen.storing import store


def series_report(runs: Sequence[Run], n_wanted: int) -> str:
    """A few lines for the terminal about the stored runs of a series of `n_wanted` runs.

    Runs that are not usable are counted, but left out of the figures. Raises StoreError when a run cannot be read.
    """
    usable = [run for run in runs if run.verdict != "not usable"]
    names = runs[0].name if len(runs) == 1 else f"{runs[0].name} to {runs[-1].name}"
    lines = [f"{len(runs)} of {n_wanted} runs stored ({names}), {len(usable)} usable"]
    if not usable:
        return lines[0]
    lines[0] += "; median of the usable (least to most):"
    speeds = [speed_of_run(run) for run in usable]
    figures = [
        _line("prompt", [s.prompt_rate for s in speeds], "tokens/s", 1),
        _line("generation", [s.generate_rate for s in speeds], "tokens/s", 1),
        _line("time per generated token", [_ms_per_token(s) for s in speeds], "ms", 3),
        _line("read from the disk by measured passes", [_mib(s.read_bytes) for s in speeds], "MiB", 3),
        _line("page cache held of the model before", [_cached_percent(run) for run in usable], "% of its bytes", 1),
    ]
    width = max(len(label) for label, _ in figures)
    return "\n".join([*lines, *(f"{label:{width}}  {text}" for label, text in figures)])


def speed_of_run(run: Run) -> Speed:
    """The speed of a stored run. Raises StoreError when it cannot be read."""
    assert run.folder is not None  # it is stored
    return speed_of(measured(store.read_tables(run.folder / "tables", ("passes",))))


def _line(label: str, values: Sequence[float | None], unit: str, digits: int) -> tuple[str, str]:
    spread = spread_of(values)
    if spread is None:
        return label, "not recorded"
    return label, f"{spread.median:.{digits}f} {unit} ({spread.least:.{digits}f} to {spread.most:.{digits}f})"


def _ms_per_token(speed: Speed) -> float | None:
    return 1e3 / speed.generate_rate if speed.generate_rate else None


def _mib(size: int | None) -> float | None:
    return None if size is None else size / 2**20


def _cached_percent(run: Run) -> float | None:
    """Share of the model's bytes in the page cache when the run began, in per cent."""
    held, size = run.facts["conditions"]["page_cache"]["before_bytes"], run.facts["model"]["size_bytes"]
    return None if held is None or not size else 100 * held / size
