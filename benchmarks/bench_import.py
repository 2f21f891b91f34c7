"""What it costs to import a long trace of an older tool, beside the floor beneath it and a plain loop."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.foreign.samples import sample

from benchmarks.bench_tracer import disk_folder
from benchmarks.result import Result
from tracegen.contract.errors import EnvironmentFailure
from tracegen.storing.progress import Progress

RECORDS, RECORD = 1_700_000, 1024
FLOORS_LIMIT, BYTES_LIMIT, PLAIN_LIMIT, SPARSE_LIMIT = 4.0, 1.5 * 2**30, 20.0, 1.5
PLAIN_PART = 20  # the plain loop reads this part of the records, and is counted as often


def run(quick: bool) -> list[Result]:
    n, repeats = (50_000, 1) if quick else (RECORDS, 3)
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="tracegen-bench-", dir=disk_folder()) as name:
        work = Path(name)
        progress.step(f"write {n:,} records")
        trace = _written(work / "trace" / "tensor_trace.bin", n)
        found, plain, sparse = [], [], []
        for repeat in range(repeats):
            progress.step(f"import, {repeat + 1} of {repeats}")
            shutil.rmtree(work / "experiments", ignore_errors=True)
            found.append(_once(work, "benchmarks.import_once", str(trace)))
            progress.step(f"plain loop, {repeat + 1} of {repeats}")
            part = n // PLAIN_PART
            took = _once(work, "benchmarks.plain_import", str(trace), str(work / "plain.json"), str(part))
            plain.append(took["seconds"] * n / took["records"])
            progress.step(f"show a sparse file, {repeat + 1} of {repeats}")
            sparse.append(_show(work, _sparse(work / "sparse" / "tensor_trace.bin")))
        progress.done()
    floors = statistics.median(one["seconds"] / (one["read_s"] + one["write_s"]) for one in found)
    seconds = statistics.median(one["seconds"] for one in found)
    last = found[-1]
    how = (
        f"median of {repeats}; {n:,} records, {last['bytes'] / 2**30:.2f} GiB: {seconds:.2f} s with all imports; the "
        f"file read once with numpy {last['read_s']:.2f} s, its tables written with pyarrow {last['write_s']:.2f} s"
    ).replace(",", "\u2009")
    times = statistics.median(p / one["seconds"] for p, one in zip(plain, found, strict=True))
    loop = (
        f"a loop with struct that writes the older JSON, from a part of the records: {statistics.median(plain):.0f} s"
    )
    results = [
        Result("import / floor", floors, "×", FLOORS_LIMIT, how),
        Result(
            "its peak memory", max(one["peak"] for one in found) / 2**30, "GiB", BYTES_LIMIT / 2**30, "whole process"
        ),
        Result("import / plain loop", 1 / times, "×", 1 / PLAIN_LIMIT, f"{times:.1f} times as fast as {loop}"),
        Result("show --stats", statistics.median(sparse), "s", SPARSE_LIMIT, "a sparse file of 2 GiB, whole process"),
    ]
    # The limits are for the whole size: beside few records the interpreter is most of it.
    return [replace(result, limit=None) for result in results] if quick else results


def _written(path: Path, n: int) -> Path:
    """A trace of `n` records: those of the sample, again and again, with new times."""
    path.parent.mkdir(parents=True)
    pattern = np.frombuffer((sample("v4b-1024-gpt-oss") / "tensor_trace.bin").read_bytes(), np.uint8)
    pattern = pattern.reshape(-1, RECORD)
    with path.open("wb") as file:
        for begin in range(0, n, len(pattern)):
            part = pattern[: min(len(pattern), n - begin)].copy()
            part[:, :8] = (
                (10**12 + np.arange(begin, begin + len(part), dtype="<u8") * 1000).view(np.uint8).reshape(-1, 8)
            )
            file.write(part.tobytes())
    return path


def _sparse(path: Path) -> Path:
    """The sample in a file of 2 GiB, most of which is a hole, as the older tools left them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((sample("v4b-1024-gpt-oss") / "tensor_trace.bin").read_bytes())
    os.truncate(path, 2 << 30)
    return path


def _once(work: Path, module: str, *words: str) -> dict[str, Any]:
    """Run a module in a process of its own in `work`; the JSON of its last line."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])}
    ended = subprocess.run([sys.executable, "-m", module, *words], cwd=work, env=environment, capture_output=True)
    if ended.returncode != 0:
        raise EnvironmentFailure(f"{module}: ended with {ended.returncode}:\n{ended.stderr.decode()[-2000:]}")
    made: dict[str, Any] = json.loads(ended.stdout.decode().splitlines()[-1])
    return made


def _show(work: Path, path: Path) -> float:
    """Seconds of `tracegen show FILE --stats`, a process of its own."""
    begin = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-m", "tracegen", "show", str(path), "--stats"], cwd=work, capture_output=True
    )
    if ended.returncode != 0:
        raise EnvironmentFailure(f"show: ended with {ended.returncode}:\n{ended.stderr.decode()[-2000:]}")
    return time.perf_counter() - begin
