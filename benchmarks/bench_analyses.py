"""What the answers of a long run cost, all questions of all pages, and how fast stack distances are found."""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_tracer import disk_folder
from benchmarks.large import LAYERS, record
from benchmarks.result import Result
from tracegen.analysis.stack_distance import stack_distances
from tracegen.contract.errors import EnvironmentFailure
from tracegen.readers.gguf.file import read_model
from tracegen.readers.native.segments import segment_files
from tracegen.readers.native.trace import VERSION, ModelTables, read_trace
from tracegen.storing import store
from tracegen.storing.execute import last_lines, run_program
from tracegen.storing.progress import Progress

PASSES = 3100  # about 2.5 M operations
ALL_S, PEAK_BYTES, DISTANCE_S = 60, 3 * 2**30, 1e-6
USES, ITEMS = 4_000_000, 200_000


def run(quick: bool) -> list[Result]:
    progress = Progress()
    passes = 200 if quick else PASSES
    with tempfile.TemporaryDirectory(prefix="tracegen-bench-", dir=disk_folder()) as name:
        work = Path(name)
        progress.step(f"trace {passes} passes of {LAYERS} layers")
        model_file, trace = record(work, passes)
        model = read_model(model_file)
        read = read_trace(segment_files(trace), ModelTables(model.files, model.tensors))
        store.write_tables(work / "tables", read.tables, VERSION)
        del read
        progress.step("answer all questions")
        found = _answered(work)
    progress.step("find stack distances")
    results = [*_answers(found), _distances(3 if quick else 5)]
    progress.done()
    return results


def _answered(work: Path) -> dict[str, Any]:
    out, err = work / "answers.txt", work / "answers-err.txt"
    ended = run_program([sys.executable, "-m", "benchmarks.analyse_once", str(work / "tables")], stdout=out, stderr=err)
    if ended.status != 0:
        raise EnvironmentFailure(f"answering: {ended.ending}:\n{last_lines(err)}")
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def _answers(found: dict[str, Any]) -> list[Result]:
    rows = ", ".join(f"{n:,} {table}".replace(",", "\u2009") for table, n in found["rows"].items())
    slowest = sorted(found["seconds"].items(), key=lambda item: -item[1])[:5]
    named = ", ".join(f"{key} {seconds:.1f} s" for key, seconds in slowest)
    whole = sum(found["seconds"].values())
    return [
        Result(
            "all answers of a run", whole, "s", ALL_S, f"once, {found['answered']} answers; {rows}; longest: {named}"
        ),
        Result("peak memory of answering", found["peak"] / 2**30, "GiB", PEAK_BYTES / 2**30, "tables included"),
    ]


def _distances(repeats: int) -> Result:
    """The time of one use, with items as skewed as Zipf's law (s = 1.1) makes them."""
    items = np.random.default_rng(1).zipf(1.1, USES) % ITEMS
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        stack_distances(items)
        times.append((time.perf_counter() - begin) / USES)
    note = f"median of {repeats}; {USES:,} uses of {len(np.unique(items)):,} items".replace(",", "\u2009")
    return Result("stack distance of a use", statistics.median(times) * 1e6, "µs", DISTANCE_S * 1e6, note)
