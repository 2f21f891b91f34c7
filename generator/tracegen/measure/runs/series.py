"""What the terminal says of several runs: of a series (`repeat`), and of a matrix with its plan."""

from collections.abc import Sequence

from tracegen.analysis.passes import measured
from tracegen.analysis.speed import Speed, Spread, speed_of, spread_of
from tracegen.contract import quantities as q
from tracegen.contract.matrix import Matrix
from tracegen.contract.model import Run, cell_name
from tracegen.measure.runs.matrix_runs import Outcome, Todo
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
    cache, size = run.facts.conditions.page_cache, run.facts.model.size_bytes
    return None if cache is None or cache.before_bytes is None or not size else 100 * cache.before_bytes / size


MOST_LISTED = 40  # cells


def plan_text(matrix: Matrix, plan: Todo) -> str:
    """The cells, how many runs are stored and missing, and how long these take and how much room they need."""
    cells, n = matrix.cells, len(matrix.cells) * matrix.repeat
    stored = {cell.name: 0 for cell in cells}
    for run in plan.stored:
        stored[cell_name(run.slot.factors)] += 1
    width = max(len(cell.name) for cell in cells)
    lines = [f"{q.counted(len(cells), 'cell')}, {q.counted(matrix.repeat, 'run')} each: {q.counted(n, 'run')}"]
    lines += [f"  {c.name:{width}}  {_stored(stored[c.name], matrix.repeat)}" for c in cells[:MOST_LISTED]]
    lines += [f"  … and {len(cells) - MOST_LISTED} more"] if len(cells) > MOST_LISTED else []
    if not plan.missing:
        return "\n".join([*lines, "every run is stored; --again makes them all again"])
    if plan.seconds is None or plan.size_bytes is None:
        needs = "how long they take is known after the first"
    else:
        needs = f"about {q.duration(plan.seconds * 1e9)} and {q.size(plan.size_bytes)}, as long and as large as those"
        needs += " stored"
    lines.append(f"{q.counted(len(plan.missing), 'run')} to make: {needs}")
    whose = "every cell that lacks a run" if plan.joined else "every cell"
    lines.append(f"Each round has {whose} once, in an order drawn with the seed {matrix.order}.")
    lines += [_joined(len(plan.joined))] if plan.joined else []
    return "\n".join(lines)


def _joined(n: int) -> str:
    whose = f"{n} cells joined later and have" if n > 1 else "1 cell joined later and has"
    return f"{whose} no runs in the first rounds: comparisons with the other cells are not in pairs."


def outcome_text(outcome: Outcome) -> str:
    """One line about a run that was made: its cell, its verdict and its speed; else why it failed."""
    lines = [f"failed: {problem}" for problem in outcome.problems]
    if outcome.run is not None and outcome.usable:
        rate = q.rate(speed_of_run(outcome.run).generate_rate)
        lines.append(f"{outcome.run.name}  {outcome.cell.name}: {outcome.run.verdict}; generation {rate}")
    return "\n".join(lines)


def matrix_text(matrix: Matrix, runs: Sequence[Run], failed: Sequence[Outcome]) -> str:
    """For each cell, the median and the range of the speed of generation; and what failed."""
    of: dict[str, list[float | None]] = {cell.name: [] for cell in matrix.cells}
    for run in runs:
        of[cell_name(run.slot.factors)].append(speed_of_run(run).generate_rate)
    width = max(map(len, of))
    many = f"{_stored(len(runs), len(matrix.cells) * matrix.repeat, 'runs ')} and usable"
    lines = [f"{many}; generation in tokens/s, median (least to most):"]
    for name, rates in of.items():
        spread = spread_of(rates)
        text = "no run" if not rates else "not recorded" if spread is None else _range(spread)
        lines.append(f"  {name:{width}}  {text}, n = {len(rates)}")
    lines += [f"failed: {outcome.cell.name}, run {outcome.slot.number}: {outcome.problems[-1]}" for outcome in failed]
    return "\n".join(lines)


def _range(spread: Spread) -> str:
    return f"{q.three(spread.median)} ({q.three(spread.least)} to {q.three(spread.most)})"


def _stored(n: int, asked: int, what: str = "") -> str:
    """How many runs are stored of those that are asked for: more, if `repeat` was larger before."""
    return f"{n} of {asked} {what}stored" if n <= asked else f"{n} {what}stored, {asked} asked for"
