"""What llama.cpp's OpenCL backend writes where it was built with GGML_OPENCL_PROFILING.

`cl_profiling.csv` has a line for each kernel: tensor, kernel, time in ms, sizes. `cl_trace.json` beside it has four
for each, in the same order: when it was queued and submitted (Host), when it began and ended (Device), in µs. Layout:
`write_profiling_info` in ggml-opencl.cpp. Neither names a pass: one begins where the first tensor comes again.
"""

import re

import numpy as np

from tracegen.contract.errors import TraceFormatError
from tracegen.contract.kernel_names import ops_of
from tracegen.foreign.faults import Figures
from tracegen.foreign.profilers.profile import LATEST_NS, Profile

HEAD = b"op name, kernel name, exec duration (ms), global size, local size, output size"
_EVENT = re.compile(
    rb'\{"name": "([^"]*)", "cat": "OpenCL", "ph": "([BE])", "ts": (\d{1,18}), "pid": "", "tid": "(Host|Device)"\},?'
)
_PER_KERNEL = ((b"B", b"Host"), (b"E", b"Host"), (b"B", b"Device"), (b"E", b"Device"))
_SIZES = re.compile(r"(\d{1,18})x(\d{1,18})x(\d{1,18})x(\d{1,18})")
APART_NS = 2_000  # times of the JSON are cut to whole µs


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a cl_profiling.csv."""
    return head.startswith(HEAD)


def looks_like_events(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a cl_trace.json."""
    return head.startswith(b"[\n") and _EVENT.match(head, 2) is not None


def read(name: str, data: bytes, events: bytes | None) -> Profile:
    """The kernels of a cl_profiling.csv; `events`: the cl_trace.json that lies beside it.

    Raises TraceFormatError naming the line where they are broken, or not of the same run.
    """
    if events is None:
        raise TraceFormatError(
            f"{name}: says how long kernels took, and not when; put the cl_trace.json beside it that the same program "
            "wrote"
        )
    lines = data.decode("utf-8", "replace").splitlines()[1:]
    rows = [_row(name, number, line) for number, line in enumerate(lines, 2)]
    begin_ns, end_ns = _times(name, events, [row[1] for row in rows])
    length = np.array([row[2] for row in rows], np.int64)
    for at in np.flatnonzero(abs(end_ns - begin_ns - length) > APART_NS)[:1].tolist():
        raise TraceFormatError(
            f"{name}: line {at + 2}: the kernel took {length[at]:,} ns, but {end_ns[at] - begin_ns[at]:,} in "
            "cl_trace.json; the two files are of different runs"
        )
    ops, unnamed = ops_of(row[1] for row in rows)
    tensors = [row[0] for row in rows]
    of = np.array([tensor == tensors[0] for tensor in tensors], bool)
    first = of & ~np.append(False, of[:-1])  # a tensor may take several kernels
    figures: Figures = {
        "by_kernel": len({row[1] for row in rows}),
        "unnamed": ", ".join(unnamed[:8]),
        "passes_by": f"the first tensor, {tensors[0]}, comes again" if tensors else "",
    }
    return Profile(
        "OpenCL profiling",
        begin_ns,
        begin_ns + length,
        ops,
        tensors,
        ["OpenCL"] * len(rows),
        np.full(len(rows), -1, np.int64),
        first,
        np.array([row[3] for row in rows], np.int64),
        figures=figures,
    )


def _row(name: str, number: int, line: str) -> tuple[str, str, int, int]:
    """Tensor, kernel, time in ns and rows of the result; a tensor's name may hold commas."""
    parts = line.rsplit(",", 5)
    sizes = _SIZES.fullmatch(parts[-1])
    if len(parts) != 6 or sizes is None:
        raise TraceFormatError(
            f"{name}: line {number}: expected six columns that end in a size, found {line[:80]!r}; the file is cut or "
            "was changed"
        )
    try:
        took = float(parts[2])
    except ValueError:
        took = -1.0
    if not 0 <= took <= LATEST_NS / 1e6:
        raise TraceFormatError(f"{name}: line {number}: expected a time in ms, found {parts[2][:40]!r}")
    if int(sizes[2]) >= 1 << 31:
        raise TraceFormatError(f"{name}: line {number}: a result has {sizes[2]} rows; the file was changed")
    return parts[0], parts[1], round(took * 1e6), int(sizes[2])


def _times(name: str, events: bytes, kernels: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end of each kernel on the device, ns."""
    found = _EVENT.findall(events)
    kinds = [(phase, lane) for _, phase, _, lane in found]
    whole = kinds == [*_PER_KERNEL] * len(kernels)
    if not whole or [each[0].decode("utf-8", "replace") for each in found[::4]] != kernels:
        raise TraceFormatError(
            f"{name}: has {len(kernels):,} kernels, but cl_trace.json has {len(found) // 4:,}, or others; the two "
            "files are of different runs, or one is cut"
        )
    ts = np.array([int(ts) for _, _, ts, _ in found], np.int64).reshape(-1, 4)
    if len(ts) and int(ts.max()) > LATEST_NS // 1000:
        raise TraceFormatError(f"{name}: cl_trace.json has a time of {int(ts.max())} µs; the file was changed")
    ts = ts * 1000
    return ts[:, 2], ts[:, 3]
