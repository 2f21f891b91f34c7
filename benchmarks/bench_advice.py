"""The advice: situations with a planted cause and some with none; is it named, and is the gain the predicted one?

Each situation is run once, its report concludes, and its first remedy is tried: runs with and without it, in turn. It
needs root (limits, requests, read-ahead) and an idle machine. `TRACEGEN_ADVICE_SEED` draws others from the list.
"""

import os
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from benchmarks.bench_tracer import disk_folder
from benchmarks.result import Result
from tracegen.analysis.causes.cause import Cause
from tracegen.analysis.remedies.remedy import WIDEST, Remedy
from tracegen.contract.errors import SettingsError
from tracegen.contract.experiment import Experiment
from tracegen.contract.model import Run
from tracegen.measure.capture.limited import refuse_limit
from tracegen.measure.demo.gpt_oss import of_gib, write_gpt_oss
from tracegen.measure.runs.measure import measure
from tracegen.reading.notebook.loaded import load_run
from tracegen.report.figures.context import Context
from tracegen.report.findings.answer import conclusion
from tracegen.storing.progress import Progress

PLANTED, IDLE, PAIRS = 24, 8, 3
MEMORY = frozenset({"evicted", "paging"})
AHEAD = frozenset({"unused-reads", "evicted"})
COLD = frozenset({"first-reads", "unused-reads"})
THREADS, ALONE = frozenset({"processor", "barriers"}), frozenset({"kernel", "memory-bandwidth"})
DENSE = Experiment(
    "advice",
    "",
    "smollm2",
    "What is the capital of France? Say in one paragraph what it is known for.",
    8,
    chat=True,
    flags=("--temp", "0"),
    context=256,
    control=False,
)
SHORT = replace(DENSE, prefault=False, page_cache="cold", disk=True, faults=True)
MIXTURE = replace(SHORT, model="gpt-oss", prompt="The first book", tokens=12, chat=False, flags=(), repack=False)


@dataclass(frozen=True)
class Situation:
    """An experiment, and the causes of which one is to be named first; none where no remedy may be offered."""

    name: str
    experiment: Experiment
    planted: frozenset[str] = frozenset()


def situations() -> list[Situation]:
    """The list that is drawn from: those with a planted cause, then those without."""
    dense = [
        Situation(f"dense, {gib} GiB", replace(SHORT, memory_limit_gb=gib), MEMORY)
        for gib in (0.085, 0.09, 0.095, 0.1, 0.103, 0.106, 0.109)
    ]
    mixture = [
        Situation(
            f"mixture, {gib} GiB, {kib} KiB ahead",
            replace(MIXTURE, memory_limit_gb=gib, read_ahead_kib=kib),
            AHEAD if kib >= 1024 else MEMORY,
        )
        for gib in (0.5, 0.6)
        for kib in (16, 128, 1024, 4096, 8192)
    ]
    cold = [
        Situation(f"mixture, cold, {kib} KiB ahead", replace(MIXTURE, warmup=False, read_ahead_kib=kib), COLD)
        for kib in (4, 16, 32, 64)
    ]
    threads = [
        Situation(f"dense, {n} threads, context {context}", replace(DENSE, threads=n, context=context), planted)
        for n, planted in ((1, ALONE), (3, THREADS), (4, THREADS), (6, THREADS))
        for context in (256, 1024)
    ]
    return [*dense, *mixture, *cold, *threads]


def idle() -> list[Situation]:
    """Situations in which nothing is to gain."""
    more: Sequence[dict[str, object]] = (
        {},
        {"context": 512},
        {"context": 1024},
        {"tokens": 16},
        {"repack": False},
        {"ubatch": 32},
        {"page_cache": "warm"},
        {"faults": True},
        {"warmup": False},
        {"disk": True},
    )
    return [Situation(f"dense, {of or 'as it is'}", replace(DENSE, **of)) for of in more]  # type: ignore[arg-type]


@dataclass(frozen=True)
class Outcome:
    """What was said of a situation, and measured: `gain` is None where nothing was tried."""

    situation: Situation
    cause: Cause | None
    remedy: Remedy | None
    gain: float | None

    @property
    def inside(self) -> bool:
        """Whether the measured gain is in the predicted interval, and that is narrow enough."""
        if self.remedy is None or self.gain is None:
            return False
        low, high = self.remedy.gain
        return low <= self.gain <= high and high / low <= WIDEST * 1.001

    @property
    def line(self) -> str:
        """A row of the table."""
        cause = "nothing" if self.cause is None else f"{self.cause.key} {self.cause.share:.0%}"
        if self.remedy is None:
            return f"| {self.situation.name} | {cause} | none | | |"
        low, high = self.remedy.gain
        measured = "" if self.gain is None else f"{self.gain:.2f}"
        said = "in it" if self.inside else "" if self.gain is None else "**missed**"
        return f"| {self.situation.name} | {cause} | {self.remedy.key} | {low:.2f} to {high:.2f} | {measured} {said} |"


def run(quick: bool) -> list[Result]:
    try:
        refuse_limit(1.0)
    except SettingsError as error:
        print(f"left out: {error}")
        return []
    draw = random.Random(os.environ.get("TRACEGEN_ADVICE_SEED", "1"))
    n_planted, n_idle, pairs = (6, 3, 2) if quick else (PLANTED, IDLE, PAIRS)
    drawn = [*draw.sample(situations(), n_planted), *draw.sample(idle(), n_idle)]
    with tempfile.TemporaryDirectory(dir=disk_folder()) as place:
        (model,) = write_gpt_oss(Path(place) / "mixture.gguf", architecture=of_gib(1))
        outcomes = []
        print("| situation | first cause | remedy | predicted | measured |\n|---|---|---|---|---|")
        for number, one in enumerate(drawn):
            asked = one.experiment if one.experiment.model == "smollm2" else replace(one.experiment, model=str(model))
            outcomes.append(_outcome(replace(one, experiment=asked), Path(place) / str(number), pairs))
            print(outcomes[-1].line, flush=True)
    planted, quiet = outcomes[:n_planted], outcomes[n_planted:]
    named = sum(of.cause is not None and of.cause.key in of.situation.planted for of in planted)
    inside = sum(of.inside for of in planted)
    offered = sum(of.remedy is not None for of in quiet)
    return [
        Result("causes not named first", n_planted - named, "situations", n_planted * 2 / 24, f"of {n_planted}"),
        Result("gains not as predicted", n_planted - inside, "situations", n_planted * 6 / 24, f"of {n_planted}"),
        Result("remedies where there is none", offered, "situations", 0, f"of {n_idle}"),
    ]


def _outcome(one: Situation, folder: Path, pairs: int) -> Outcome:
    first = measure(one.experiment, folder, Progress())
    assert first.folder is not None
    context = Context(first, load_run(first.folder).tables)
    of = conclusion(context, context.phase)
    remedy, cause = of.advice[0].remedy if of.advice else None, of.causes[0] if of.causes else None
    gain = None if remedy is None or not remedy.settings or not one.planted else _gain(one, remedy, folder, pairs)
    return Outcome(one, cause, remedy, gain)


def _gain(one: Situation, remedy: Remedy, folder: Path, pairs: int) -> float:
    """The median speed of the best value of a remedy, over that without it; runs in turn, without requests."""
    base = replace(one.experiment, disk=False)
    experiments = [base, *(replace(base, **dict(of)) for of in remedy.settings)]
    speeds: list[list[float]] = [[] for _ in experiments]
    for _ in range(pairs):
        for number, experiment in enumerate(experiments):
            speeds[number].append(_speed(measure(experiment, folder, Progress())))
    without, *others = (median(of) for of in speeds)
    return max(others) / without


def _speed(run: Run) -> float:
    assert run.folder is not None
    rate = Context(run, load_run(run.folder).tables).summary.generate_rate
    assert rate is not None
    return rate
