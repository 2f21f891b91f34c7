"""The tables of a run: every column with its type, unit and meaning.

These names are public: Parquet files, pages, downloads and notebooks use them. `check` compares a table with its
contract; `data_dictionary` prints the contract for readers.

Keys: `(pass_id, node)` names an op, `(graph, node)` what is static about it; with a slot (`dst`, `src0` … `src9`)
they name an access. Node numbers are ggml's: nodes `0 … n_nodes-1` in order of execution, then the leaves. Unknown
is null. Times are integer nanoseconds of CLOCK_MONOTONIC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from tracegen.contract.errors import TableError

SLOTS: tuple[str, ...] = ("dst", *(f"src{i}" for i in range(10)))

PASS_KINDS = ("load", "warmup", "prompt", "generate", "encode", "draft", "verify", "mixed")
OP_STATES = ("executed", "fused", "empty", "noop", "off")
MEMORY_KINDS = ("disk", "copied", "buffer")
UNITS = ("row", "column", "expert")
COMPONENTS = (
    "embedding",
    "attention_q",
    "attention_k",
    "attention_v",
    "attention_output",
    "attention",
    "kv_cache",
    "router",
    "ffn_gate",
    "ffn_up",
    "ffn_down",
    "expert_gate",
    "expert_up",
    "expert_down",
    "norm",
    "output",
    "recurrent",
    "other",
)


@dataclass(frozen=True)
class Column:
    """One column: name, pandas dtype, unit (empty: none), meaning, and the values allowed."""

    name: str
    dtype: str
    unit: str
    meaning: str
    values: tuple[str, ...] = ()

    @property
    def nullable(self) -> bool:
        """Whether null ("not recorded" or "does not apply") is allowed."""
        return self.dtype in ("Int16", "Int32", "Int64", "UInt64", "Float64", "boolean", "string?", "category?")


@dataclass(frozen=True)
class Table:
    """One table: its name, what a row is, the key columns and all columns."""

    name: str
    meaning: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    added: int = 0  # number of the extension that added the table; a run stored before it has the table without rows


def _c(name: str, dtype: str, meaning: str, unit: str = "", values: tuple[str, ...] = ()) -> Column:
    return Column(name, dtype, unit, meaning, values)


_SHAPE = tuple(
    _c(f"ne{i}", "Int64", f"elements in dimension {i} (ggml order: 0 is contiguous)", "elements") for i in range(4)
)
_STRIDES = tuple(_c(f"nb{i}", "Int64", f"stride of dimension {i}", "bytes") for i in range(4))

FILES = Table(
    "files",
    "A model file (one split of a GGUF model).",
    ("file",),
    (
        _c("file", "int32", "number of the file in this run"),
        _c("model", "int32", "number of the model that the file belongs to"),
        _c("split_index", "int32", "place of the file among the splits of its model, from 0"),
        _c("path", "string", "file name as published (no folders)"),
        _c("size_bytes", "int64", "size of the file", "bytes"),
        _c("sha256", "string?", "hash of the whole file"),
        _c("axis_begin", "int64", "begin of the file on the disk axis, which joins all files of the run", "bytes"),
    ),
)

CONTEXTS = Table(
    "contexts",
    "A llama.cpp context.",
    ("context",),
    (
        _c("context", "int32", "number of the context in this run"),
        _c("model", "Int32", "number of the model that the context runs"),
        _c("n_ctx", "Int64", "context size", "tokens"),
        _c("n_batch", "Int64", "largest logical batch", "tokens"),
        _c("n_ubatch", "Int64", "largest physical batch", "tokens"),
        _c("type_k", "string?", "dtype of the K cache"),
        _c("type_v", "string?", "dtype of the V cache"),
        _c("n_threads", "Int32", "threads for one-token passes"),
    ),
)

PASSES = Table(
    "passes",
    "One evaluation of a graph (one ubatch), or one model load.",
    ("pass_id",),
    (
        _c("pass_id", "int32", "number of the pass, in order of begin"),
        _c("context", "Int32", "the context that ran it; null for a load"),
        _c("call", "Int32", "number of the llama_decode or llama_encode call that the pass belongs to"),
        _c("ubatch", "Int32", "number of the ubatch inside its call, from 0"),
        _c("kind", "category?", "what the pass was for", values=PASS_KINDS),
        _c("kind_basis", "category?", "how the kind is known", values=("recorded", "inferred")),
        _c("n_tokens", "Int32", "token rows evaluated", "tokens"),
        _c("n_sequences", "Int32", "distinct sequences in the ubatch"),
        _c("n_outputs", "Int32", "token rows for which logits were requested", "rows"),
        _c("position_begin", "Int32", "position of the first token row in its sequence"),
        _c("produced_token", "Int32", "k: the logits of this pass gave generated token k"),
        _c("graph", "Int32", "the graph that was evaluated; null for a load"),
        _c("placement", "Int32", "placement of the tensors during the pass; null for a load"),
        _c("begin_ns", "int64", "start of the evaluation", "ns"),
        _c("end_ns", "Int64", "end of the evaluation; null when the trace ends before it", "ns"),
        _c(
            "minor_faults",
            "Int64",
            "page faults that started no read, of the whole process; some may have waited for a read in progress",
        ),
        _c("major_faults", "Int64", "page faults that started a read and waited for it, of the whole process"),
        _c("voluntary_switches", "Int64", "context switches because a thread waited, of the whole process"),
        _c(
            "involuntary_switches",
            "Int64",
            "context switches because the kernel preempted a thread, of the whole process",
        ),
        _c(
            "read_bytes",
            "Int64",
            "bytes that the kernel read from the disk for the process, including read-ahead",
            "bytes",
        ),
        _c(
            "run_delay_ns",
            "Int64",
            "time that threads were runnable but had no processor, sum over the recording threads; a wait counts in "
            "the pass in which it ends",
            "ns",
        ),
        _c("cpu_ns", "Int64", "time on a processor, sum over the recording threads", "ns"),
        _c(
            "blocked_ns",
            "Int64",
            "time neither running nor runnable (waiting for a disk, or stopped), minimum over the recording threads",
            "ns",
        ),
        _c(
            "counted_ns",
            "Int64",
            "time over which run_delay_ns, cpu_ns and blocked_ns count: from just before the pass to just after it",
            "ns",
        ),
        _c("other_faults", "Int64", "page faults of recording threads outside the model files: buffers, the stack"),
        _c("other_fault_ns", "Int64", "time in these page faults, sum over threads", "ns"),
        _c("lost_faults", "Int64", "begins and ends of page faults that the kernel had no room to record", "events"),
        _c("claimed_token_id", "Int64", "the token number a foreign trace claims"),
        _c("claimed_phase", "string?", "the phase a foreign trace claims"),
    ),
)

TOKENS = Table(
    "tokens",
    "One token row of a pass: what llama.cpp put into the ubatch.",
    ("pass_id", "row"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("row", "int32", "row in the ubatch, from 0"),
        _c("token_id", "Int32", "id in the vocabulary; null when embeddings were the input"),
        _c("position", "Int32", "position in the sequence"),
        _c("sequence", "Int32", "llama.cpp's sequence number"),
        _c("output", "boolean", "whether logits were requested for this row"),
        _c(
            "generated_token",
            "Int32",
            "k: the row holds generated token k; null: the row holds a token of the prompt, or it is unknown",
        ),
    ),
)

GRAPHS = Table(
    "graphs",
    "A distinct computation graph, with shapes.",
    ("graph",),
    (
        _c("graph", "int32", "number of the graph in this run"),
        _c("topology", "string", "hash of the graph without its sizes; graphs with equal hashes share one drawing"),
        _c("n_nodes", "int32", "number of nodes, without leaves"),
        _c("n_leafs", "Int32", "number of leaves: weights, inputs, constants; null where operands were not recorded"),
    ),
)

GRAPH_NODES = Table(
    "graph_nodes",
    "A node or leaf of a graph: everything static about an op.",
    ("graph", "node"),
    (
        _c("graph", "int32", "the graph"),
        _c("node", "int32", "ggml's number; leaves follow the nodes"),
        _c("kind", "category", "whether the node computes", values=("op", "noop", "leaf")),
        _c("op", "category", "ggml's name of the operation; NONE for a leaf"),
        _c("name", "string", "full name of the tensor that the node produces"),
        _c("layer", "Int32", "layer; null when the node belongs to none", ""),
        _c("component", "category", "part of the model", values=COMPONENTS),
        _c("dtype", "category?", "ggml type of the result"),
        *_SHAPE,
        *_STRIDES,
        _c("size_bytes", "Int64", "extent of the result (ggml_nbytes)", "bytes"),
        _c("op_params", "string?", "ggml's op parameters, hexadecimal, trailing zeros cut"),
        _c("compute", "bool", "whether ggml is to compute the node; false: the state of its ops is off"),
        _c("view_of", "Int32", "the node whose memory this node views; null: the node has its own memory"),
        _c("view_offset_bytes", "int64", "offset into the viewed node", "bytes"),
    ),
)

GRAPH_EDGES = Table(
    "graph_edges",
    "An operand: node `target` reads `source` in its slot.",
    ("graph", "target", "slot"),
    (
        _c("graph", "int32", "the graph"),
        _c("source", "int32", "node or leaf that is read"),
        _c("target", "int32", "node that reads it"),
        _c("slot", "category", "operand position", values=SLOTS[1:]),
    ),
)

OPS = Table(
    "ops",
    "One graph node in one pass.",
    ("pass_id", "node"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("node", "int32", "the node, in the pass's graph"),
        _c(
            "state",
            "category?",
            "what happened to the op; null when the trace does not say",
            values=OP_STATES,
        ),
        _c("fused_into", "Int32", "for a fused op, the node whose kernel computed it"),
        _c("backend", "category?", "backend that ran the op"),
        _c("split", "Int32", "number of the scheduler's split in the pass"),
        _c("n_threads", "Int32", "threads that took part"),
        _c("begin_ns", "Int64", "begin of the first thread", "ns"),
        _c("end_ns", "Int64", "end of the last thread, without the wait after it", "ns"),
        _c(
            "time_basis",
            "category?",
            "how the times are known",
            values=("measured", "gap to next", "graph only", "split"),
        ),
    ),
)

SPLITS = Table(
    "splits",
    "A part of a pass that the scheduler gave to one backend; no rows when the CPU ran all passes without splits.",
    ("pass_id", "split"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("split", "int32", "number of the split in the pass, in order"),
        _c("backend", "string", "backend that ran the split"),
        _c("n_nodes", "int32", "number of nodes of the graph in the split"),
        _c("begin_ns", "int64", "when the scheduler gave the split to the backend", "ns"),
        _c(
            "end_ns",
            "int64",
            "when the backend returned: it had computed the split if it is the CPU or BLAS; "
            "any other may only have taken it",
            "ns",
        ),
        _c("by_op", "bool", "whether its ops were timed one by one, as only those of the CPU backend are"),
    ),
    added=1,
)

COPIES = Table(
    "copies",
    "A tensor that was copied from one backend to another for a split.",
    ("pass_id", "copy"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("copy", "int32", "number of the copy in the pass, in order"),
        _c("split", "int32", "the split that reads the copy"),
        _c("tensor", "string", "name of the tensor"),
        _c("source", "string", "backend from which the tensor was copied"),
        _c("target", "string", "backend of the split"),
        _c("size_bytes", "int64", "bytes copied; of stacked experts, only those that the split uses", "bytes"),
        _c("begin_ns", "int64", "begin of the copy, including the wait for both backends", "ns"),
        _c("end_ns", "int64", "end of the copy", "ns"),
    ),
    added=1,
)

SPANS = Table(
    "spans",
    "The part of one thread in one op: work, waiting inside the op, and waiting after it.",
    ("pass_id", "node", "thread"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("node", "int32", "the node"),
        _c("thread", "int32", "number of the thread in its pool, from 0"),
        _c("begin_ns", "int64", "begin on this thread", "ns"),
        _c("work_ns", "int64", "time in the op without barriers, waiting for a page or a processor included", "ns"),
        _c("barrier_ns", "int64", "waiting at barriers inside the op", "ns"),
        _c(
            "wait_ns",
            "int64",
            "time from the end of the op to the thread's next op: waiting at the barrier; with one thread, the "
            "overhead between ops",
            "ns",
        ),
        _c(
            "fault_ns",
            "Int64",
            "the part of work_ns in page faults of model files: the thread waited for the page, or mapped it; null: "
            "page faults were not recorded",
            "ns",
        ),
    ),
)

FAULTS = Table(
    "faults",
    "A page fault of a thread that computes or loads, on a byte of a mapped model file.",
    ("fault",),
    (
        _c("fault", "int32", "number of the fault, in order of begin"),
        _c("pass_id", "Int32", "the pass or load; null between passes, or where several ran at once"),
        _c("node", "Int32", "the op in which it lies by its time; null outside operations"),
        _c("thread", "Int32", "number of the thread in its pool; null: it took no part in a graph then"),
        _c("file", "Int32", "file of the byte; null: a file that no model lists"),
        _c("offset", "Int64", "offset of the byte in that file", "bytes"),
        _c(
            "kind",
            "category?",
            "major: the fault began a read; minor: it did not, the page was in memory or already on its way; null: its "
            "end was not recorded",
            values=("minor", "major"),
        ),
        _c("begin_ns", "int64", "begin", "ns"),
        _c("duration_ns", "Int64", "until the page was mapped; null: its end was not recorded", "ns"),
    ),
    added=2,
)

REQUESTS = Table(
    "requests",
    "A read that the kernel asked of a device that holds model files, whoever wanted it.",
    ("request",),
    (
        _c("request", "int32", "number of the request, in order of issue"),
        _c("pass_id", "Int32", "the pass or load in which it was issued; null between passes, or where several ran"),
        _c("device", "string", "number of the device: major:minor"),
        _c("place", "int64", "first byte on the device", "bytes"),
        _c("size_bytes", "int64", "bytes that were read", "bytes"),
        _c("file", "Int32", "model file that the first byte belongs to; null: none, it was read for something else"),
        _c("offset", "Int64", "offset of the first byte in that file", "bytes"),
        _c("file_bytes", "int64", "how many of the bytes belong to that file, from this offset on", "bytes"),
        _c(
            "kind",
            "category",
            "ahead: read-ahead, of pages that were not asked for yet; read: of pages that were",
            values=("read", "ahead"),
        ),
        _c("issue_ns", "int64", "when the request was handed to the device", "ns"),
        _c("duration_ns", "Int64", "until the device had completed it; null: not while it was recorded", "ns"),
    ),
    added=3,
)

BARRIERS = Table(
    "barriers",
    "A wait of a thread at a barrier inside an op. Recorded where page faults are.",
    ("pass_id", "node", "thread", "barrier"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("node", "int32", "the node"),
        _c("thread", "int32", "number of the thread in its pool"),
        _c("barrier", "int32", "number of the barrier inside the op, in order: that of one number is one for all"),
        _c("begin_ns", "int64", "when the thread came to the barrier", "ns"),
        _c("duration_ns", "int64", "until it went on: the last thread had come", "ns"),
    ),
    added=4,
)

PLACEMENTS = Table(
    "placements",
    "Where the tensor of a node or leaf lay in memory. An operand lies where the tensor of its source lies.",
    ("placement", "node"),
    (
        _c("placement", "int32", "number of the placement"),
        _c("graph", "int32", "the graph whose tensors are placed"),
        _c("node", "int32", "node or leaf"),
        _c("tensor", "Int32", "the tensor of the model file that holds these bytes, if any"),
        _c("memory", "category?", "kind of memory", values=MEMORY_KINDS),
        _c("file", "Int32", "file in which the bytes lie (disk), or from which they were copied (copied)"),
        _c("origin_offset", "Int64", "offset of the first byte in that file", "bytes"),
        _c("buffer_id", "Int32", "the runtime buffer in which the tensor lies (copied, buffer)"),
        _c("buffer_offset", "Int64", "offset of the first byte in that buffer", "bytes"),
        _c("address", "UInt64", "virtual address in the traced process"),
        _c("size_bytes", "Int64", "extent of the tensor (ggml_nbytes)", "bytes"),
    ),
)

TOUCHES = Table(
    "touches",
    "Which rows, columns or experts of an operand an op touched; neighbours are joined into one run of units.",
    ("pass_id", "node", "slot", "first_unit"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("node", "int32", "the node"),
        _c("slot", "category", "operand position of the touched tensor", values=SLOTS),
        _c("unit", "category", "whether rows, columns or experts are counted", values=UNITS),
        _c("first_unit", "int64", "first row, column or expert of the run of units"),
        _c("n_units", "int64", "length of the run of units"),
        _c("basis", "category", "how the touch is known", values=("measured", "estimated")),
    ),
)

ROUTING = Table(
    "routing",
    "An expert that a token row chose in a layer. There is one row per choice, not one per weight tensor.",
    ("pass_id", "layer", "row", "rank"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("layer", "int32", "layer"),
        _c("row", "int32", "token row in the ubatch, from 0"),
        _c("sequence", "Int32", "llama.cpp's sequence number of that row"),
        _c(
            "rank",
            "int32",
            "place in llama.cpp's order of choice, from 0; if the router chooses with a bias (deepseek2, glm4moe), the "
            "first expert does not always have the largest weight",
        ),
        _c("expert", "int32", "number of the expert"),
        _c("weight", "Float64", "weight of the expert's output; null when llama.cpp has none"),
    ),
)

TENSORS = Table(
    "tensors",
    "A tensor of the GGUF file(s).",
    ("tensor",),
    (
        _c("tensor", "int32", "number of the tensor: by file, then by offset"),
        _c("name", "string", "full name"),
        _c("file", "int32", "file that holds the tensor"),
        _c("offset", "int64", "absolute offset in that file", "bytes"),
        _c("size_bytes", "int64", "size", "bytes"),
        _c("dtype", "category?", "ggml type"),
        *_SHAPE,
        _c("layer", "Int32", "layer; null when the tensor belongs to none"),
        _c("component", "category", "part of the model", values=COMPONENTS),
        _c("n_experts", "Int32", "number of experts that the tensor stacks; null when it stacks none"),
    ),
)

BUFFERS = Table(
    "buffers",
    "The begin or the end of a runtime allocation.",
    ("buffer_id", "event"),
    (
        _c("time_ns", "int64", "time of the event", "ns"),
        _c("event", "category", "what happened", values=("alloc", "free")),
        _c("buffer_id", "int32", "number of the buffer in this run, never reused"),
        _c("address", "UInt64", "virtual address of the first byte; null when not recorded"),
        _c("name", "string?", "name of the buffer type; of an imported trace that of the buffer or of its tensor"),
        _c("backend", "string?", "backend that the buffer belongs to"),
        _c(
            "usage",
            "category?",
            "what the buffer is for; mapped: it views the mapped model file, and is no allocation",
            values=("any", "weights", "compute", "work", "mapped"),
        ),
        _c("layer", "Int32", "layer, if the buffer belongs to a single one"),
        _c("size_bytes", "int64", "size", "bytes"),
    ),
)

RESIDENCY = Table(
    "residency",
    "Pages of a file that were in memory at the end of a pass; neighbours are joined into one run of pages.",
    ("pass_id", "file", "first_page"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("file", "int32", "the file"),
        _c("first_page", "int64", "first page of the run of pages"),
        _c("n_pages", "int64", "length of the run of pages", "pages"),
    ),
)

DEVICE = Table(
    "device",
    "What a disk that holds model files did during a load or a pass, as the kernel counts it: the whole "
    "device (or partition, where its name says so), with what other programs asked of it.",
    ("pass_id", "device"),
    (
        _c("pass_id", "int32", "the pass or load"),
        _c("device", "string", "the kernel's name of the device, as in /sys/dev/block"),
        _c("n_reads", "int64", "reads that were completed", "requests"),
        _c("read_bytes", "int64", "bytes of these reads", "bytes"),
        _c(
            "read_ns",
            "int64",
            "time of these reads from request to completion, sum over requests; the kernel counts whole milliseconds",
            "ns",
        ),
        _c("n_writes", "int64", "writes that were completed", "requests"),
        _c("written_bytes", "int64", "bytes of these writes", "bytes"),
        _c(
            "busy_ns",
            "int64",
            "time with at least one request under way; the kernel counts it in its clock ticks (1 to 10 ms)",
            "ns",
        ),
        _c("in_flight", "int64", "requests under way at the end", "requests"),
        _c("counted_ns", "int64", "time over which it was counted: from just before the pass to just after it", "ns"),
    ),
    added=2,
)

CACHE = Table(
    "cache",
    "How much of a model file was in the kernel's page cache when a load or a pass had ended, mapped or not; asked "
    "together with residency. "
    "Pages of memory: host.page_bytes of the run, usually 4,096 bytes.",
    ("pass_id", "file"),
    (
        _c("pass_id", "int32", "the pass or load"),
        _c("file", "int32", "the file"),
        _c("cached_pages", "int64", "pages in memory, or on their way there", "pages"),
        _c("dirty_pages", "int64", "of these, pages that differ from the disk", "pages"),
        _c(
            "evicted_pages",
            "int64",
            "pages that the kernel dropped for want of memory, as far as it remembers them",
            "pages",
        ),
        _c(
            "recently_evicted_pages",
            "int64",
            "of these, pages dropped so recently that the kernel would count reading them again as lack of memory",
            "pages",
        ),
    ),
    added=2,
)

TABLES: tuple[Table, ...] = (
    FILES,
    CONTEXTS,
    PASSES,
    TOKENS,
    GRAPHS,
    GRAPH_NODES,
    GRAPH_EDGES,
    OPS,
    SPANS,
    SPLITS,
    COPIES,
    PLACEMENTS,
    TOUCHES,
    ROUTING,
    TENSORS,
    BUFFERS,
    RESIDENCY,
    FAULTS,
    REQUESTS,
    BARRIERS,
    DEVICE,
    CACHE,
)
BY_NAME: Mapping[str, Table] = {table.name: table for table in TABLES}


@cache
def _pandas_dtype(column: Column) -> Any:
    """The type of a column, as an object: pandas looks for it on each use of a name. "category": of any values."""
    if column.dtype in ("string", "string?"):
        return pd.StringDtype("python")
    if column.dtype in ("category", "category?"):
        return pd.CategoricalDtype(list(column.values)) if column.values else "category"
    return pd.api.types.pandas_dtype(column.dtype)


def coded(name: str, column: str, codes: np.ndarray) -> pd.Categorical[Any]:
    """The values of a column of table `name` that allows a fixed list of values: codes index that list, -1 is null.

    For millions of rows this is faster than a list of texts. Raises StopIteration for an unknown column.
    """
    values = next(c.values for c in BY_NAME[name].columns if c.name == column)
    categorical: pd.Categorical[Any] = pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(list(values)))
    return categorical


def frame(name: str, columns: Mapping[str, Any] | Iterable[Mapping[str, Any]] = ()) -> pd.DataFrame:
    """Make table `name` from columns (or rows), in the contract's order and types.

    A missing nullable column becomes null. An array of its column's type that owns its memory is not copied: the table
    takes it over. Raises TableError for a column that is unknown, missing, or has values that its type cannot hold.
    """
    table = BY_NAME[name]
    if isinstance(columns, Mapping):
        by_name: Mapping[str, Any] = columns
    else:
        rows = list(columns)
        names = dict.fromkeys(key for row in rows for key in row)
        by_name = {key: [row.get(key) for row in rows] for key in names}
    unknown = set(by_name) - {column.name for column in table.columns}
    if unknown:
        raise TableError(f"table {name}: unknown column {sorted(unknown)[0]!r}")
    length = next((len(values) for values in by_name.values()), 0)
    filled = {}
    for column in table.columns:
        dtype = _pandas_dtype(column)
        if column.name not in by_name:
            if not column.nullable and length:
                raise TableError(f"table {name}: column {column.name!r} is missing")
            filled[column.name] = pd.Series(None, index=pd.RangeIndex(length), dtype=dtype)
            continue
        try:
            values = by_name[column.name]
            if getattr(values, "dtype", None) != dtype:  # else each value fits
                if column.values:
                    _refuse_foreign_values(name, column, values)
                _refuse_overflow(name, column, values)
            series = pd.Series(values, dtype=dtype, copy=False)
            if isinstance(values, pd.Series):
                series = series.reset_index(drop=True)
            filled[column.name] = series if _is_own(values) else series.copy()
        except (TypeError, ValueError, OverflowError) as error:
            raise TableError(f"table {name}: column {column.name!r}: {error}") from error
    return check(name, pd.DataFrame(filled, copy=False))


def _is_own(values: object) -> bool:
    """Whether an array owns its memory: a view may be read-only, or keep much more memory alive than its column."""
    if isinstance(values, pd.arrays.IntegerArray):
        return True
    return isinstance(values, np.ndarray) and values.flags.owndata and values.flags.writeable


def _refuse_foreign_values(name: str, column: Column, values: Any) -> None:
    """Raise TableError for a value that the column does not allow; pandas would silently turn it into null."""
    coded_values = isinstance(values, pd.Series | pd.Categorical)
    series = pd.Series(values) if coded_values else pd.Series(values, dtype=object)
    distinct = series.cat.categories if isinstance(series.dtype, pd.CategoricalDtype) else series.dropna().unique()
    foreign = sorted(set(map(str, distinct)) - set(column.values))
    if foreign and (not isinstance(series.dtype, pd.CategoricalDtype) or series.isin(foreign).any()):
        raise TableError(
            f"table {name}: column {column.name!r}: {foreign[0]!r} is not one of {', '.join(column.values)}"
        )


def _refuse_overflow(name: str, column: Column, values: Any) -> None:
    """Raise TableError for a number beyond the column's type: from its own arrays pandas silently drops high bits."""
    if "int" not in column.dtype.lower() or not isinstance(values, pd.Series | pd.api.extensions.ExtensionArray):
        return
    series = pd.Series(values, copy=False)
    if not pd.api.types.is_numeric_dtype(series.dtype):
        return
    limits = np.iinfo(column.dtype.lower())
    for value in (series.min(), series.max()):
        if pd.notna(value) and not limits.min <= value <= limits.max:
            raise TableError(f"table {name}: column {column.name!r}: {value} does not fit {column.dtype.lower()}")


def check(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return `table` unchanged. Raises TableError when its columns, types, values or keys break the contract."""
    contract = BY_NAME[name]
    expected = [column.name for column in contract.columns]
    if list(table.columns) != expected:
        raise TableError(f"table {name}: columns are {list(table.columns)}, but the contract says {expected}")
    for column in contract.columns:
        series = table[column.name]
        if not column.nullable and bool(series.isna().any()):
            raise TableError(f"table {name}: column {column.name!r} has nulls, but must not")
        wanted = _pandas_dtype(column)
        if column.values and series.dtype != wanted:
            raise TableError(f"table {name}: column {column.name!r} has categories other than the contract's")
        if wanted != "category" and series.dtype != wanted:
            raise TableError(f"table {name}: column {column.name!r} is {series.dtype}, not {wanted}")
    if _ascends(table, contract.key):
        return table
    duplicated = table.duplicated(list(contract.key))
    if bool(duplicated.any()):
        row = table.loc[duplicated, list(contract.key)].iloc[0].to_dict()
        raise TableError(f"table {name}: the key {row} occurs twice")
    return table


def _ascends(table: pd.DataFrame, key: Iterable[str]) -> bool:
    """Whether each row's key is greater than the one before: then no key occurs twice, and no hashing is needed."""
    greater = np.zeros(max(len(table) - 1, 0), bool)
    equal = ~greater
    for name in key:
        column = table[name]
        codes = column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column
        if not isinstance(codes.dtype, np.dtype) or codes.dtype.kind not in "iu":
            return False
        values = codes.to_numpy()
        greater |= equal & (values[1:] > values[:-1])
        equal &= values[1:] == values[:-1]
    return bool(greater.all())


def empty() -> dict[str, pd.DataFrame]:
    """All tables without rows."""
    return {table.name: frame(table.name) for table in TABLES}


def data_dictionary() -> str:
    """The contract as Markdown: one section per table."""
    lines = []
    for table in TABLES:
        lines += [f"## {table.name}", "", f"{table.meaning} Key: {', '.join(f'`{k}`' for k in table.key)}.", ""]
        lines += ["| column | type | unit | meaning |", "|---|---|---|---|"]
        for column in table.columns:
            kind = column.dtype.rstrip("?").lower() + (", may be null" if column.nullable else "")
            meaning = column.meaning + (f": {', '.join(column.values)}" if column.values else "")
            lines.append(f"| `{column.name}` | {kind} | {column.unit} | {meaning} |")
        lines.append("")
    return "\n".join(lines)
