"""The observer: a trained model under limits of memory, traced and untraced in turn: time per token, peak, page faults.

Needs what `memory_limit_gb` needs (root, or a cgroup of one's own), and an idle machine: under a limit that is reached
a token waits for what it has just lost, and whatever else runs is waited for many times.
"""

import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.bench_tracer import disk_folder
from benchmarks.result import Result
from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.conditions import before_start
from tracegen.measure.capture.execution import Execution, Meter
from tracegen.measure.capture.limited import refuse_limit
from tracegen.measure.capture.llama_cpp import TARGET, ensure_build
from tracegen.measure.capture.page_cache import drop, fetch_code
from tracegen.measure.capture.plan import command_for, environment_for, untraced_environment
from tracegen.measure.capture.pressure import under_pressure
from tracegen.measure.capture.trace_pages import trace_pages
from tracegen.measure.trained import trained_model
from tracegen.storing.execute import run_program
from tracegen.storing.progress import Progress

LIMITS_GIB = (0.09, 0.1, 0.105, 0.11, 0.12, 0.2)
PAIRS = 10
FITS, REACHED = 1.05, 1.10  # of the median time per token, traced / untraced: where it fits; where it does not
PEAK_LIMIT_MIB = 1.0
ASKED = Experiment(
    "bench",
    "",
    "smollm2",
    "What is the capital of France? Say in one paragraph what it is known for.",
    24,
    chat=True,
    flags=("--temp", "0"),
    context=256,
    prefault=False,
    page_cache="cold",
    faults=False,
)


def run(quick: bool) -> list[Result]:
    try:
        refuse_limit(LIMITS_GIB[0])
    except SettingsError as error:
        print(f"left out: {error}")
        return []
    progress = Progress()
    program, model = ensure_build(progress).programs / TARGET, trained_model(ASKED.model, progress)
    fetch_code(program)
    pairs = 2 if quick else PAIRS
    results: list[Result] = []
    for gib in LIMITS_GIB:
        asked = replace(ASKED, memory_limit_gb=gib)
        for records in (asked, replace(asked, faults=True)):
            progress.step(f"{gib} GiB, {'with page faults, ' if records.faults else ''}{pairs} pairs")
            results += _results(records, list(_pairs(records, program, model, pairs)))
            progress.done()
    return results


def _pairs(asked: Experiment, program: Path, model: Path, pairs: int) -> Iterator[tuple[Execution, Execution]]:
    """Untraced and traced, in turn: the one that runs first alternates."""
    for number in range(pairs):
        made = {
            traced: _execute(asked, program, model, traced) for traced in ((False, True), (True, False))[number % 2]
        }
        yield made[False], made[True]


def _execute(asked: Experiment, program: Path, model: Path, traced: bool) -> Execution:
    with (
        tempfile.TemporaryDirectory(prefix="tracegen-bench-", dir=disk_folder()) as name,
        under_pressure(None, asked.memory_limit_gb) as pressure,
    ):
        raw, log = Path(name), Path(name) / "log.txt"
        (raw / "trace").mkdir()
        with trace_pages(raw, asked.max_trace_bytes) as pages:
            environment = untraced_environment(asked)
            if traced:
                environment = environment_for(asked, raw / "trace", **pages, **pressure.tracer)
            drop([model])
            meter = Meter.start([model])
            ended = run_program(
                command_for(asked, program, model),
                stdout=log,
                stderr=log,
                environment=environment,
                before=before_start(asked, pressure),
            )
            assert pressure.limit is not None
            made = meter.stop(ended, log.read_text(encoding="utf-8", errors="replace"), pressure.limit.read)
        if made.failure or not made.eval_ms or not made.eval_runs or any((raw / "trace").iterdir()) != traced:
            raise EnvironmentFailure(f"{program.name}: {made.failure or 'it timed nothing'}")
        return made


def _results(asked: Experiment, pairs: list[tuple[Execution, Execution]]) -> list[Result]:
    untraced, traced = (list(column) for column in zip(*pairs, strict=True))
    label = f"{asked.memory_limit_gb} GiB{', page faults recorded' if asked.faults else ''}"
    ms = {name: [_ms(of) for of in runs] for name, runs in (("untraced", untraced), ("traced", traced))}
    middle = {name: statistics.median(of) for name, of in ms.items()}
    reached = statistics.median(of.times_reached or 0 for of in untraced)
    peaks = [statistics.median(of.peak_bytes or 0 for of in runs) for runs in (untraced, traced)]
    spread = ", ".join(f"{name} {1e3 / max(of):.3g} to {1e3 / min(of):.3g} tokens/s" for name, of in ms.items())
    limit = None if asked.faults else FITS if reached < 1000 else REACHED
    return [
        Result(f"{label}: untraced", 1e3 / middle["untraced"], "tokens/s", note=f"limit reached {reached:.0f} times"),
        Result(
            f"{label}: a token, traced / untraced",
            middle["traced"] / middle["untraced"],
            "×",
            limit,
            f"medians of {len(pairs)} pairs in turn; {spread}",
        ),
        Result(
            f"{label}: peaks, traced and untraced apart",
            abs(peaks[1] - peaks[0]) / 2**20,
            "MiB",
            PEAK_LIMIT_MIB,
            f"medians; limit reached {statistics.median(of.times_reached or 0 for of in traced):.0f} times when traced",
        ),
    ]


def _ms(of: Execution) -> float:
    return float(of.eval_ms or 0) / float(of.eval_runs or 1)
