"""The records of the main segment of a native trace, as plain Python values and arrays."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

NONE = 0xFFFFFFFF
UNKNOWN = 0xFFFFFFFFFFFFFFFF  # a time that the kernel did not report

NODE = np.dtype(
    [
        ("op", "<u4"),
        ("name", "<u4"),
        ("dtype", "<u4"),
        ("flags", "<u4"),
        ("computes", "<u4"),
        ("view_of", "<u4"),
        ("view_offset", "<u8"),
        ("size_bytes", "<u8"),
        ("ne", "<u8", 4),
        ("nb", "<u8", 4),
        ("src", "<u4", 10),
        ("op_params", "<u4", 16),
    ]
)
PLACE = np.dtype([("address", "<u8"), ("buffer", "<u4"), ("reserved", "<u4")])
TOKEN = np.dtype([("token", "<i4"), ("position", "<i4"), ("sequence", "<i4"), ("output", "<u4")])

WARMUP, ENCODER, OUTSIDE = 1, 2, 4
Usage = tuple[int, int, int, int, int]  # minor, major faults; voluntary, involuntary switches; bytes read
BUFFER_USAGES = ("any", "weights", "compute", "work")


# How the threads of a pass waited for processors and ran on them, in ns: `run_delay_ns` and `cpu_ns` are sums over
# threads, `blocked_ns` is the minimum over those that lived throughout the pass. All count over `counted_ns`, from just
# before the start of the pass to just after its end.
SCHEDULE = ("run_delay_ns", "cpu_ns", "blocked_ns", "counted_ns")
# What a device has counted since the system was started; times modulo 2^32 ms, sectors of 512 bytes.
DEVICE_COUNTS = ("n_reads", "read_sectors", "read_ms", "n_writes", "written_sectors", "in_flight", "busy_ms")


@dataclass(eq=False)
class Pass:
    """A pass or a load as recorded; `usage` holds the process's counters at its start, `end_usage` at its end.

    `pass_id` is its number among loads and passes by their begin, known once all are read.
    """

    number: int
    begin_ns: int
    usage: Usage
    flags: int = 0
    context: int | None = None
    graph: int | None = None
    placement: int | None = None
    n_sequences: int = 0
    tokens: np.ndarray = field(default_factory=lambda: np.zeros(0, TOKEN))
    call: int | None = None
    ubatch: int | None = None
    is_load: bool = False
    path: str = ""
    end_ns: int | None = None
    end_usage: Usage | None = None
    logits_read: bool = False
    pass_id: int = -1
    schedule: dict[str, int | None] = field(default_factory=dict)  # by SCHEDULE; None when not known
    schedule_threads: int | None = None  # of how many threads these are sums


@dataclass
class Weight:
    """A model tensor as llama.cpp placed it; `buffer`: the number of the buffer that holds it, NONE if not known."""

    load: int
    name: str
    split_index: int
    mapped: bool
    file_offset: int
    size_bytes: int
    address: int
    buffer: int


@dataclass
class Buffer:
    """A runtime allocation. Later records may change its usage, address and names."""

    number: int
    begin_ns: int
    size_bytes: int
    address: int = 0
    usage: int = 0
    name: str = ""
    backend: str = ""
    end_ns: int | None = None


@dataclass
class Mapping:
    """A part of a file that was mapped from `begin_ns` until `end_ns` (None: until the end of the trace)."""

    address: int
    size_bytes: int
    file_offset: int
    path: str
    begin_ns: int
    end_ns: int | None = None


@dataclass
class Residency:
    """The pages of a mapping that were in memory after a load or a pass.

    Each row of `runs` is a run of pages: first page and number of pages.
    """

    of: Pass
    address: int
    page_bytes: int
    runs: np.ndarray
    time_ns: int


class Nodes(NamedTuple):
    """On which NUMA node the pages of a mapped file (`buffer` None) or a buffer lay after a load or a pass.

    Each row of `runs` (int64): how many granules in a row, and pages of one of them on node 0, node 1, …
    """

    of: Pass
    time_ns: int
    address: int
    buffer: int | None
    page_bytes: int
    granule_bytes: int
    size_bytes: int
    runs: np.ndarray


@dataclass
class Compute:
    """A graph, or a part of it, that the CPU backend ran."""

    number: int
    pass_number: int
    split: int
    backend: str
    nodes: np.ndarray  # nodes of the pass's graph, in order, int32; -1: a node that is not in that graph


@dataclass
class Split:
    """What the scheduler gave to one backend in a pass; `by_op`: its ops were recorded one by one (CPU).

    `proof` and `waiting_ns` are as in the table. A later record may say that it was done by its `end_ns`.
    """

    pass_number: int
    split: int
    backend: str
    begin_ns: int
    submitted_ns: int
    waiting_ns: int | None
    end_ns: int
    by_op: bool
    proof: str | None
    nodes: np.ndarray  # as in Compute


class Chosen(NamedTuple):
    """The experts that rows chose in a layer, row by row (int32), as llama.cpp fetched them from a device."""

    pass_number: int
    layer: int
    experts: np.ndarray


class DeviceOp(NamedTuple):
    """What a device ran between two labels of its backend; `order` is that of the labels."""

    pass_number: int
    split: int
    order: int
    label: str
    begin_ns: int
    end_ns: int
    exact: bool


class Read(NamedTuple):
    """A call that read a part of a file, or asked for it; `call` as in the table."""

    path: str
    offset: int
    size_bytes: int
    got_bytes: int
    thread: int
    begin_ns: int
    end_ns: int
    call: str
    direct: bool
    n_calls: int


class Allocated(NamedTuple):
    """What was live at a sample of memory: size class, blocks, bytes; calls, blocks, bytes, blocks ever."""

    sample: int
    classes: tuple[tuple[int, int, int], ...]
    sites: tuple[tuple[str, int, int, int], ...]


class Footprint(NamedTuple):
    """What the resident memory was made of; `of`: the pass or load that had ended. Parts: kind, number, bytes."""

    of: Pass | None
    occasion: str
    begin_ns: int
    end_ns: int
    parts: tuple[tuple[str, int, int], ...]


@dataclass
class Records:
    """The whole main segment. Lists and dicts are in the order of writing."""

    info: dict[str, str] = field(default_factory=dict)
    strings: dict[int, str] = field(default_factory=dict)
    mappings: list[Mapping] = field(default_factory=list)
    loads: list[Pass] = field(default_factory=list)
    passes: dict[int, Pass] = field(default_factory=dict)
    weights: list[Weight] = field(default_factory=list)
    contexts: list[dict[str, Any]] = field(default_factory=list)  # rows of the table; `model` is a load's number
    buffers: dict[int, Buffer] = field(default_factory=dict)
    graphs: dict[int, tuple[int, np.ndarray]] = field(default_factory=dict)
    placements: dict[int, tuple[int, np.ndarray, int]] = field(default_factory=dict)
    computes: dict[int, Compute] = field(default_factory=dict)
    splits: dict[tuple[int, int], Split] = field(default_factory=dict)  # by pass and split
    copies: list[tuple[int, dict[str, Any]]] = field(default_factory=list)  # pass, and its row of the table
    device_ops: list[DeviceOp] = field(default_factory=list)
    chosen: list[Chosen] = field(default_factory=list)
    sampled: list[int] = field(default_factory=list)
    residency: list[Residency] = field(default_factory=list)
    devices: dict[tuple[Pass, str], dict[str, int]] = field(default_factory=dict)  # rows, by pass or load, and name
    caches: list[tuple[Pass, str, dict[str, int]]] = field(default_factory=list)  # pass or load, path, and the row
    memory: dict[tuple[Pass, str], int] = field(default_factory=dict)  # bytes, by pass or load, and kind of memory
    reads: list[Read] = field(default_factory=list)
    nodes: list[Nodes] = field(default_factory=list)
    allocated: list[Allocated] = field(default_factory=list)
    allocations_lost: int = 0
    footprints: list[Footprint] = field(default_factory=list)
    saved: dict[int, dict[str, Any]] = field(default_factory=dict)  # rows of the table, by number
    last_runs: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)  # by address and size of the mapping
    moments: list[tuple[int, int]] = field(default_factory=list)  # the events' clock: ticks, ns
    hook_ticks: dict[int, int] = field(default_factory=dict)  # by pass: time in the tracer's hooks without op events
    between_ticks: dict[int, int] = field(default_factory=dict)  # by pass: time in the tracer since the pass before
    n_calls: dict[int, int] = field(default_factory=dict)
    last_call: dict[int, list[Pass]] = field(default_factory=dict)
    n_records: int = 0
    end_ns: int | None = None
    end_passes: int | None = None
    end_skipped: int | None = None
    end_segments: int | None = None

    def text(self, number: int) -> str:
        """The string with this number. Raises ValueError when no record before defined it."""
        if number not in self.strings:
            raise ValueError(f"string {number} was not written before")
        return self.strings[number]
