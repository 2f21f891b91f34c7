"""What reading a long trace costs: native trace to stored tables, and the checks, in a process of its own."""

import json
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.bench_tracer import disk_folder
from benchmarks.large import LAYERS, record
from benchmarks.result import Result
from tracegen.contract.errors import EnvironmentFailure
from tracegen.storing.execute import last_lines, run_program
from tracegen.storing.progress import Progress

SECONDS_LIMIT, BYTES_LIMIT, TIMES_LIMIT = 6.0, 1.5 * 2**30, 3.0
PASSES = 2000


def run(quick: bool) -> list[Result]:
    passes, repeats = (200, 1) if quick else (PASSES, 3)
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="tracegen-bench-", dir=disk_folder()) as name:
        work = Path(name)
        progress.step(f"trace {passes} passes of {LAYERS} layers")
        model, _ = record(work, passes)
        found = []
        for repeat in range(repeats):
            progress.step(f"read it, {repeat + 1} of {repeats}")
            found.append(_read(work, model, repeat))
        progress.done()
    last = found[-1]
    rows = ", ".join(f"{n:,} {table}".replace(",", "\u2009") for table, n in last["rows"].items())
    total = statistics.median(one["read_s"] + one["store_s"] for one in found)
    peak, peak_checked = (max(one[name] for one in found) for name in ("peak", "peak_checked"))
    how = f"median of {repeats}; {rows}; {last['trace'] / 2**20:.0f} MiB of trace"
    parts = (
        f"beside {last['store_s']:.2f} s of storing; {last['import_s']:.2f} s of imports and {last['check_s']:.2f} s of"
        " checks are in none of these"
    )
    whole = f"of the whole process, of which interpreter and imports had {last['peak_imports'] / 2**20:.0f} MiB before"
    tables = (
        f"the same peak beside the tables as DataFrames in memory, {last['tables'] / 2**20:.0f} MiB; stored they are"
        f" {last['stored'] / 2**20:.0f} MiB"
    )
    results = [
        Result("native trace to stored tables", total, "s", SECONDS_LIMIT, how),
        Result("reading alone, last round", last["read_s"], "s", note=parts),
        Result("peak memory", peak / 2**30, "GiB", BYTES_LIMIT / 2**30, whole),
        Result("peak memory / tables", peak / last["tables"], "×", TIMES_LIMIT, tables),
        Result("peak with checks / tables", peak_checked / last["tables"], "×", TIMES_LIMIT, "of the same process"),
    ]
    # The limits are for the whole size: beside few passes the interpreter is most of it.
    return [replace(result, limit=None) for result in results] if quick else results


def _read(work: Path, model: Path, repeat: int) -> dict[str, Any]:
    out, err = work / "read.txt", work / "read-err.txt"
    tables = str(work / f"tables-{repeat}")
    command = [sys.executable, "-m", "benchmarks.read_once", str(model), str(work), tables]
    ended = run_program(command, stdout=out, stderr=err)
    if ended.status != 0:
        raise EnvironmentFailure(f"reading: {ended.ending}:\n{last_lines(err)}")
    made: dict[str, Any] = json.loads(out.read_text())
    return made
