"""What an op event, the numbers copied with it, a pass, a page fault and an allocation cost when they are recorded."""

import re
import shutil
import tempfile
from pathlib import Path

from benchmarks.result import Result
from tracegen.analysis.tracing_cost import FAULT_NS
from tracegen.contract.errors import EnvironmentFailure
from tracegen.storing.execute import last_lines, run_program
from tracegen.storing.progress import Progress
from tracegen.storing.resources import folder

READS_LIMIT = 1.3  # times the clock reads that are needed: two per op, two more per barrier inside it
TSC_LIMIT_NS = 25.0
EVENT_BYTES = 32
COUNTED_NS = 2000.0  # of a block of 64 KiB or more, whose calls are looked up


def run(quick: bool) -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="tracegen-bench-", dir=disk_folder()) as name:
        work = Path(name)
        program = _op_cost(work)
        faults = program.with_name("fault_cost")
        progress = Progress()
        progress.step("cost of an op event")
        events = _events(program, work, rounds=9 if quick else 51)
        progress.step("instructions of an op event")
        events += _instructions(program, work)
        progress.step("cost of recording a page fault")
        events += _faults(faults, work, rounds=51 if quick else 201)
        progress.step("cost of counting allocations")
        events += _allocations(program.with_name("allocation_cost"), work, rounds=51 if quick else 201)
        progress.done()
        return events


def disk_folder() -> str:
    """A temporary folder that is not memory: a trace in tmpfs would cost less than one on a disk."""
    candidates = (tempfile.gettempdir(), "/var/tmp", str(Path.cwd()))
    return next((path for path in candidates if _file_system(Path(path)) not in ("tmpfs", "ramfs")), candidates[0])


def _file_system(path: Path) -> str:
    """Type of the file system that holds `path`: that of the longest mount point above it."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return "unknown"
    above = [(len(at), kind) for _, at, kind, *_ in mounts if path.resolve().is_relative_to(at)]
    return max(above)[1] if above else "unknown"


def _op_cost(work: Path) -> Path:
    log = work / "make.log"
    command = ["make", "-C", str(folder("native")), f"BUILD={work / 'native'}", "bench"]
    ended = run_program(command, stdout=log, stderr=log)
    if ended.status != 0:
        raise EnvironmentFailure(f"make: {ended.ending}:\n{last_lines(log)}")
    return work / "native" / "plain" / "op_cost"


def _faults(program: Path, work: Path, rounds: int) -> list[Result]:
    """What recording a page fault costs; where the kernel refuses it, one row that says so."""
    try:
        found = _run_op_cost(program, work, str(rounds))
    except EnvironmentFailure as error:
        if "refuses" in str(error):
            return [Result("recording a page fault", float("nan"), "", note="the kernel refuses it here")]
        raise
    how = f"quickest quarter of {rounds} rounds of {found['faults_per_round']:.0f} minor faults of 16 pages each"
    return [
        Result("page fault of a thread that is not watched", found["plain_ns"], "ns", note=how),
        Result(
            "recording a page fault", found["watched_ns"] - found["plain_ns"], "ns", FAULT_NS, "beside it, ring emptied"
        ),
    ]


def _allocations(program: Path, work: Path, rounds: int) -> list[Result]:
    """What `--allocations` adds to a block that is allocated and freed, in the same process."""
    found = _run_op_cost(program, work, str(rounds))
    how = f"median of {rounds} rounds; beside the C library's own"
    return [
        Result(f"counting a {size} block", found[f"{key}_counted_ns"] - found[f"{key}_plain_ns"], "ns", limit, how)
        for key, size, limit in (("small", "small", None), ("large", "large (100 kB)", COUNTED_NS))
    ]


def _run_op_cost(program: Path, work: Path, argument: str, *before: str, clock: str = "monotonic") -> dict[str, float]:
    trace, out, err = work / "events", work / "out.txt", work / "err.txt"
    trace.mkdir()
    command = [*before, str(program), str(trace), argument]
    ended = run_program(command, stdout=out, stderr=err, environment={"TENSOR_TRACE_CLOCK": clock})
    shutil.rmtree(trace)
    if ended.status != 0:
        raise EnvironmentFailure(f"{program.name}: {ended.ending}:\n{last_lines(err)}")
    return {name: float(value) for name, value in (line.split() for line in out.read_text().splitlines())}


def _events(program: Path, work: Path, rounds: int) -> list[Result]:
    results = []
    for clock, title in (("monotonic", "CLOCK_MONOTONIC"), ("tsc", "time stamp counter")):
        found = _run_op_cost(program, work, str(rounds), clock=clock)
        if clock == "tsc" and not found["tsc"]:
            results.append(Result("time stamp counter", float("nan"), "", note="is not a clock on this machine"))
            continue
        how = f"median of {rounds} rounds of {found['events_per_round']:.0f} events"
        limit = READS_LIMIT if clock == "monotonic" else None
        results += [
            Result(f"{title}: a read", found["clock_read_ns"], "ns", note="in the same rounds"),
            Result(f"{title}: op event", found["op_ns"], "ns", note=f"{how}, new chunks included"),
            Result(
                f"{title}: op event in cache",
                found["op_in_cache_ns"],
                "ns",
                TSC_LIMIT_NS if clock == "tsc" else None,
                f"{how}, into one chunk again and again",
            ),
            Result(f"{title}: op event / 2 reads", found["op_ratio"], "×", limit, "median of the rounds' ratios"),
            Result(f"{title}: op event with a barrier inside", found["op_with_barrier_ns"], "ns", note=how),
            Result(f"{title}: copying 8 experts of a token", found["index_ns"], "ns", note="beside its op event"),
            Result(f"{title}: the same / 4 reads", found["barrier_ratio"], "×", limit, "median of the rounds' ratios"),
        ]
    return [
        *results,
        Result("bytes per op event and thread", found["bytes_per_event"], "B", EVENT_BYTES, "committed"),
        Result("dropped events", found["dropped"], "", 0),
    ]


def _instructions(program: Path, work: Path) -> list[Result]:
    """Instructions by callgrind; where there is no valgrind, nothing."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return []
    event, read = (instructions(program, work, valgrind, part) for part in ("measured_ops", "measured_clock_reads"))
    how = "callgrind, clock reads included; the kernel's part is not counted"
    return [
        Result("instructions per op event", event, "", note=how),
        Result("instructions per clock read", read, "", note="a system call under callgrind, the vDSO otherwise"),
        Result("instructions of ours per op event", event - 2 * read, ""),
    ]


def instructions(program: Path, work: Path, valgrind: str, part: str) -> float:
    """Instructions of a part of `op_cost` (the name of a function), divided by how often it did what it measures."""
    out = work / f"{part}.callgrind"
    found = _run_op_cost(
        program,
        work,
        "instructions",
        valgrind,
        "--tool=callgrind",
        "--collect-atstart=no",
        f"--toggle-collect={part}",
        f"--callgrind-out-file={out}",
    )
    total = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M)
    if total is None:
        raise EnvironmentFailure(f"{out}: callgrind wrote no total; is this valgrind whole?")
    return int(total[1]) / found["n"]
