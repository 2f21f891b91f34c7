"""What it costs to export a long run as a timeline: `tracegen export RUN perfetto`, in a process of its own."""

import json
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.builders import a_moe_run, scaled_case
from tests.scale_tables import repeated
from tests.site_project import stored

from benchmarks.bench_tracer import disk_folder
from benchmarks.large import LAYERS
from benchmarks.result import Result
from tracegen.contract.errors import EnvironmentFailure
from tracegen.storing.execute import last_lines, run_program
from tracegen.storing.progress import Progress

SECONDS_LIMIT, BYTES_LIMIT = 30.0, 1 << 30
PASSES = 4921  # 2.5 M operations that are executed, by two threads, among 3.6 M


def run(quick: bool) -> list[Result]:
    passes, repeats = (200, 1) if quick else (PASSES, 3)
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="tracegen-bench-", dir=disk_folder()) as name:
        work = Path(name)
        progress.step(f"store a run of {passes} passes of {LAYERS} layers")
        tables = repeated(scaled_case(1, LAYERS, moe=True), passes)
        rows = ", ".join(f"{len(tables[key]):,} {key}".replace(",", "\u2009") for key in ("passes", "ops", "spans"))
        stored(work / "experiments", a_moe_run(), tables)
        del tables
        found = []
        for repeat in range(repeats):
            progress.step(f"export it, {repeat + 1} of {repeats}")
            found.append(_export(work, work / f"timeline-{repeat}"))
        progress.done()
    last = found[-1]
    size = f"{last['bytes'] / 2**20:.0f} MiB in {last['files']} files"
    seconds = statistics.median(one["seconds"] for one in found)
    peak = max(one["peak"] for one in found)
    how = f"median of {repeats}, the command with its imports; {rows}; {size}"
    results = [
        Result("timeline for Perfetto", seconds, "s", SECONDS_LIMIT, how),
        Result("its peak memory", peak / 2**30, "GiB", BYTES_LIMIT / 2**30, "of the whole process"),
    ]
    # The limits are for the whole size: beside few passes the interpreter is most of it.
    return [replace(result, limit=None) for result in results] if quick else results


def _export(work: Path, target: Path) -> dict[str, Any]:
    out, err = work / "export.txt", work / "export-err.txt"
    run_folder = next((work / "experiments").glob("*/runs/*"))
    command = [sys.executable, "-m", "benchmarks.export_once", str(run_folder), "perfetto", str(target)]
    ended = run_program(command, stdout=out, stderr=err)
    if ended.status != 0:
        raise EnvironmentFailure(f"exporting: {ended.ending}:\n{last_lines(err)}")
    made: dict[str, Any] = json.loads(out.read_text().splitlines()[-1])
    return made
