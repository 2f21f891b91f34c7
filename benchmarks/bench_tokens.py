"""What tracing costs a whole run: time per token of three sizes, bytes, memory; and whether a run knows it itself."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.bench_tracer import disk_folder
from benchmarks.result import Result
from tracegen.analysis.tracing_cost import overhead_share
from tracegen.contract.errors import EnvironmentFailure
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import TARGET, ensure_build
from tracegen.measure.capture.plan import command_for, environment_for, timings_in
from tracegen.measure.demo.models import write_demo_model
from tracegen.readers.native.segments import segment_files
from tracegen.readers.native.trace import read_trace
from tracegen.storing.execute import last_lines
from tracegen.storing.progress import Progress

TOKEN_LIMIT = 1.05  # upper end of the interval of the median ratio
REPORT_LIMIT = 2.0  # between what a run says of its own cost and what on and off say
BETWEEN_LIMIT_US = 25.0  # of a small token: counters that are read between passes, which are part of no pass
SEED = 1


@dataclass(frozen=True)
class Size:
    """A model whose tokens take about so long, how many are made, and how many pairs of runs."""

    name: str
    kind: str
    shape: dict[str, object]
    tokens: int
    pairs: int


SIZES = (
    Size("0.2 ms", "demo", {}, 200, 200),
    Size("5 ms", "tinyllama", dict(n_layers=6, n_embd=1024, n_ff=2816, n_heads=16, n_vocab=8000), 100, 40),
    Size("60 ms", "tinyllama", {}, 24, 12),
)


@dataclass
class Measured:
    """Per pair of runs, tracing off and on: ms per token, peak of resident memory in bytes; what the traces say."""

    times: np.ndarray
    memory: np.ndarray
    trace_bytes: list[int] = field(default_factory=list)
    reported: list[float] = field(default_factory=list)
    between_us: list[float] = field(default_factory=list)  # per token


def run(quick: bool) -> list[Result]:
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="tracegen-bench-", dir=disk_folder()) as name:
        progress = Progress()
        program = ensure_build(progress).programs / TARGET
        for size in SIZES:
            model = Path(name) / f"{size.kind}.gguf"
            write_demo_model(size.kind, model, **size.shape)
            for threads in sorted({1, min(2, os.cpu_count() or 1)}):
                pairs = max(3, size.pairs // 16) if quick else size.pairs
                label = f"{size.name}, {threads} thread{'s'[: threads > 1]}"
                progress.step(f"token of {label}, {pairs} pairs")
                asked = Experiment("bench", "", str(model), "Once upon a time", size.tokens, seed=SEED, threads=threads)
                results += _results(label, size, _measure(asked, program, Path(name), pairs, progress))
                progress.done()
            model.unlink()
    return results


def _measure(asked: Experiment, program: Path, work: Path, pairs: int, progress: Progress) -> Measured:
    made = Measured(np.zeros((pairs, 2)), np.zeros((pairs, 2)))
    for pair in range(pairs):
        for traced in (pair % 2, 1 - pair % 2):
            trace = work / "trace"
            trace.mkdir()
            made.times[pair, traced], made.memory[pair, traced] = _run(asked, program, trace, bool(traced))
            if traced:
                made.trace_bytes.append(sum(path.stat().st_blocks * 512 for path in trace.iterdir()))
                if pair < 3:
                    read = read_trace(segment_files(trace))
                    made.reported.append(overhead_share(read.tables, read.facts) or float("nan"))
                    made.between_us.append(statistics.median(read.facts["between_ns"].values()) / 1e3)
            shutil.rmtree(trace)
        progress.update(pair + 1, pairs, "pairs")
    return made


def _run(asked: Experiment, program: Path, trace: Path, traced: bool) -> tuple[float, int]:
    """Milliseconds per token by llama.cpp's own counters, and the peak of resident memory in bytes."""
    log = trace.with_name("err.txt")
    environment = {**os.environ, **(environment_for(asked, trace) if traced else {})}
    with log.open("wb") as err:
        child = subprocess.Popen(
            command_for(asked, program, Path(asked.model)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=err,
            env=environment,
        )
        peak = 0
        while child.poll() is None:  # the kernel's own account of the peak begins with its parent's, wait4 tells that
            peak = _peak_bytes(child.pid) or peak
            time.sleep(0.02)
    timings = timings_in(log.read_text(encoding="utf-8", errors="replace"))
    eval_ms, runs = timings["eval_ms"], timings["eval_runs"]
    if child.returncode != 0 or any(trace.iterdir()) != traced or not eval_ms or not runs:
        raise EnvironmentFailure(f"{program.name}: exit status {child.returncode}; its last lines:\n{last_lines(log)}")
    return eval_ms / runs, peak


def _peak_bytes(pid: int) -> int:
    """Most resident memory of a process so far; 0 when it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)


def _results(label: str, size: Size, found: Measured) -> list[Result]:
    ratios = found.times[:, 1] / found.times[:, 0]
    chosen = np.random.default_rng(SEED).integers(0, len(ratios), (10_000, len(ratios)))
    low, high = np.quantile(np.median(ratios[chosen], axis=1), (0.025, 0.975))
    off, on = np.median(found.times, axis=0)
    between = statistics.median(found.between_us)
    share = between / 1e3 / off  # of a token: what stands between its passes
    small = size is SIZES[0]
    made = [
        Result(f"{label}: a token, off", off, "ms", note=f"median of {len(ratios)} runs, llama.cpp's eval time"),
        Result(f"{label}: on", on, "ms", note="the same binary, TENSOR_TRACE_DIR set"),
        Result(f"{label}: on / off", float(np.median(ratios)), "×", note=f"{len(ratios)} pairs, order in turn"),
        Result(
            f"{label}: tracer between two passes",
            between,
            "µs",
            BETWEEN_LIMIT_US if small else None,
            f"median; {100 * share:.2f} % of a token; part of no pass",
        ),
        Result(
            f"{label}: on / off without that, upper end",
            float(high) - share,
            "×",
            TOKEN_LIMIT if small else None,
            f"95 % bootstrap interval from {low - share:.3f}",
        ),
        Result(f"{label}: trace per token", float(np.median(found.trace_bytes)) / size.tokens, "B", note="on the disk"),
        Result(
            f"{label}: memory, on - off",
            float(np.median(found.memory[:, 1] - found.memory[:, 0])) / 2**20,
            "MiB",
            note="peak resident (looked at 50 times a second), pages of the trace included",
        ),
        Result(
            f"{label}: cost as reported",
            100 * float(np.median(found.reported)),
            "%",
            note="by the run itself, of its passes",
        ),
    ]
    if small:  # elsewhere the cost is below what this machine can tell from noise
        measured, reported = float(np.median(ratios)) - 1, float(np.median(found.reported)) + share
        apart = max(measured / reported, reported / measured) if measured > 0 and reported > 0 else float("inf")
        how = "the larger / the smaller; with the time between passes"
        made.append(Result(f"{label}: measured beside reported", apart, "×", REPORT_LIMIT, how))
    return made
