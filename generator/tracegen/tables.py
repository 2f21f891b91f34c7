"""The tables of a run: every column with its type, unit and meaning.

These names are public: the Parquet files, the pages, the downloads and the
notebooks use them as they stand here. `check` holds a table against its
contract; `data_dictionary` prints the contract for readers.

Keys: `(pass_id, node)` names an op, `(graph, node)` what is static about it,
and with a slot (`dst`, `src0` … `src9`) it names an access. Node numbers are
ggml's: nodes `0 … n_nodes-1` in order of execution, then the leaves.
Unknown is null. Times are integer nanoseconds of CLOCK_MONOTONIC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracegen.errors import TableError

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
    added: bool = False  # added later: a run that was stored before has it without rows


def _c(name: str, dtype: str, meaning: str, unit: str = "", values: tuple[str, ...] = ()) -> Column:
    return Column(name, dtype, unit, meaning, values)


_SHAPE = tuple(
    _c(f"ne{i}", "int64", f"elements in dimension {i} (ggml order: 0 is contiguous)", "elements") for i in range(4)
)
_STRIDES = tuple(_c(f"nb{i}", "int64", f"stride of dimension {i}", "bytes") for i in range(4))

FILES = Table(
    "files",
    "A model file (one split of a GGUF model).",
    ("file",),
    (
        _c("file", "int32", "number of the file in this run"),
        _c("model", "int32", "number of the model it belongs to"),
        _c("split_index", "int32", "place among the splits, from 0"),
        _c("path", "string", "file name as published (no folders)"),
        _c("size_bytes", "int64", "size of the file", "bytes"),
        _c("sha256", "string?", "hash of the whole file"),
        _c("axis_begin", "int64", "where the file begins on the run's one disk axis", "bytes"),
    ),
)

CONTEXTS = Table(
    "contexts",
    "A llama.cpp context.",
    ("context",),
    (
        _c("context", "int32", "number of the context in this run"),
        _c("model", "Int32", "number of the model it runs"),
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
        _c("call", "Int32", "number of the llama_decode or llama_encode call it belongs to"),
        _c("ubatch", "Int32", "number of the ubatch inside its call, from 0"),
        _c("kind", "category?", "what the pass was for", values=PASS_KINDS),
        _c("kind_basis", "category?", "how the kind is known", values=("recorded", "inferred")),
        _c("n_tokens", "Int32", "token rows evaluated", "tokens"),
        _c("n_sequences", "Int32", "distinct sequences in the ubatch"),
        _c("n_outputs", "Int32", "rows for which logits were asked", "rows"),
        _c("position_begin", "Int32", "position of the first token row in its sequence"),
        _c("produced_token", "Int32", "k: the logits of this pass gave generated token k"),
        _c("graph", "Int32", "the graph that was evaluated; null for a load"),
        _c("placement", "Int32", "placement of the tensors during the pass; null for a load"),
        _c("begin_ns", "int64", "start of the evaluation", "ns"),
        _c("end_ns", "Int64", "end of the evaluation; null when the trace ends before it", "ns"),
        _c(
            "minor_faults",
            "Int64",
            "page faults that waited for no read of their own, whole process; some may have waited for a read under "
            "way",
        ),
        _c("major_faults", "Int64", "page faults that waited for a read of their own, whole process"),
        _c("voluntary_switches", "Int64", "context switches because a thread waited"),
        _c("involuntary_switches", "Int64", "context switches because the kernel preempted a thread"),
        _c(
            "read_bytes",
            "Int64",
            "bytes that the process made the kernel read from storage, read-ahead included",
            "bytes",
        ),
        _c(
            "run_delay_ns",
            "Int64",
            "time runnable without a processor, sum over the threads that recorded; a wait counts in the pass in "
            "which it ends",
            "ns",
        ),
        _c("cpu_ns", "Int64", "time on a processor, sum over the threads that recorded", "ns"),
        _c(
            "blocked_ns",
            "Int64",
            "time neither running nor runnable, the least of all recording threads: waiting for a disk, or stopped",
            "ns",
        ),
        _c(
            "counted_ns",
            "Int64",
            "time over which the three counters before were taken: from just before the pass to just after it",
            "ns",
        ),
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
        _c("output", "boolean", "whether logits were asked for this row"),
        _c(
            "generated_token",
            "Int32",
            "k: the row holds generated token k; null: it holds a token of the prompt, or this is not known",
        ),
    ),
)

GRAPHS = Table(
    "graphs",
    "A distinct graph, with shapes.",
    ("graph",),
    (
        _c("graph", "int32", "number of the graph in this run"),
        _c("topology", "string", "hash of the graph without sizes: equal for one drawing"),
        _c("n_nodes", "int32", "nodes without leaves"),
        _c("n_leafs", "int32", "leaves: weights, inputs, constants"),
    ),
)

GRAPH_NODES = Table(
    "graph_nodes",
    "A node or leaf of a distinct graph: everything static about an op.",
    ("graph", "node"),
    (
        _c("graph", "int32", "the graph"),
        _c("node", "int32", "ggml's number; leaves follow the nodes"),
        _c("kind", "category", "whether it computes", values=("op", "noop", "leaf")),
        _c("op", "category", "ggml's name of the operation; NONE for a leaf"),
        _c("name", "string", "full name of the tensor it produces"),
        _c("layer", "Int32", "layer; null when it belongs to none", ""),
        _c("component", "category", "part of the model", values=COMPONENTS),
        _c("dtype", "category", "ggml type of the result"),
        *_SHAPE,
        *_STRIDES,
        _c("size_bytes", "int64", "extent of the result (ggml_nbytes)", "bytes"),
        _c("op_params", "string", "ggml's op parameters, hexadecimal, trailing zeros cut"),
        _c("compute", "bool", "flagged to be computed; false: its state is off"),
        _c("view_of", "Int32", "the node whose memory it views; null: it has its own memory"),
        _c("view_offset_bytes", "int64", "offset into the viewed node", "bytes"),
    ),
)

GRAPH_EDGES = Table(
    "graph_edges",
    "An operand: the node target reads source in its slot.",
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
            "what happened to it; null when the trace does not say",
            values=OP_STATES,
        ),
        _c("fused_into", "Int32", "the node whose kernel computed it, when fused"),
        _c("backend", "category?", "backend that ran it"),
        _c("split", "Int32", "scheduler split of the pass"),
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
    "A part of a pass that the scheduler gave to one backend; empty where the CPU ran all passes whole.",
    ("pass_id", "split"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("split", "int32", "number of the split in the pass, in order"),
        _c("backend", "string", "backend that ran it"),
        _c("n_nodes", "int32", "nodes of the graph in the split"),
        _c("begin_ns", "int64", "when it was given to the backend", "ns"),
        _c("end_ns", "int64", "when the backend had finished it", "ns"),
        _c("by_op", "bool", "whether its ops were timed one by one: only those of the CPU backend are"),
    ),
    added=True,
)

COPIES = Table(
    "copies",
    "A tensor that was copied from one backend to another for a split.",
    ("pass_id", "copy"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("copy", "int32", "number of the copy in the pass, in order"),
        _c("split", "int32", "the split that reads it"),
        _c("tensor", "string", "name of the tensor"),
        _c("source", "string", "backend that had it"),
        _c("target", "string", "backend of the split"),
        _c("size_bytes", "int64", "bytes copied; of stacked experts, only those that are used", "bytes"),
        _c("begin_ns", "int64", "begin; waiting for both backends is included", "ns"),
        _c("end_ns", "int64", "end", "ns"),
    ),
    added=True,
)

SPANS = Table(
    "spans",
    "The part of one thread in one op: work and waiting inside it, then the wait after it.",
    ("pass_id", "node", "thread"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("node", "int32", "the node"),
        _c("thread", "int32", "number of the thread in its pool, from 0"),
        _c("begin_ns", "int64", "begin on this thread", "ns"),
        _c("work_ns", "int64", "time in the op without barriers; includes waiting for a page or a processor", "ns"),
        _c("barrier_ns", "int64", "waiting at barriers inside the op", "ns"),
        _c(
            "wait_ns",
            "int64",
            "from the op's end to the thread's next op: the barrier, or with one thread the way to the next op",
            "ns",
        ),
    ),
)

PLACEMENTS = Table(
    "placements",
    "Where the tensor of a node or leaf lay in memory; an operand lies where its source lies.",
    ("placement", "node"),
    (
        _c("placement", "int32", "number of the placement"),
        _c("graph", "int32", "the graph it places"),
        _c("node", "int32", "node or leaf"),
        _c("tensor", "Int32", "the model tensor whose bytes these are, if any"),
        _c("memory", "category?", "kind of memory", values=MEMORY_KINDS),
        _c("file", "Int32", "file the bytes are in (disk) or came from (copied)"),
        _c("origin_offset", "Int64", "offset of the first byte in that file", "bytes"),
        _c("buffer_id", "Int32", "the runtime buffer it lies in (copied, buffer)"),
        _c("buffer_offset", "Int64", "offset of the first byte in that buffer", "bytes"),
        _c("address", "uint64", "virtual address in the traced process"),
        _c("size_bytes", "int64", "extent (ggml_nbytes)", "bytes"),
    ),
)

TOUCHES = Table(
    "touches",
    "Which rows, columns or experts of a container an op touched; neighbours are joined into one run of units.",
    ("pass_id", "node", "slot", "first_unit"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("node", "int32", "the node"),
        _c("slot", "category", "the container's operand position", values=SLOTS),
        _c("unit", "category", "what is counted", values=UNITS),
        _c("first_unit", "int64", "first row, column or expert of the run of units"),
        _c("n_units", "int64", "length of the run of units"),
        _c("basis", "category", "how it is known", values=("measured", "estimated")),
    ),
)

ROUTING = Table(
    "routing",
    "Which expert a token row chose in a layer: once per layer, not once per weight.",
    ("pass_id", "layer", "row", "rank"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("layer", "int32", "layer"),
        _c("row", "int32", "token row in the ubatch"),
        _c("sequence", "Int32", "llama.cpp's sequence number of that row"),
        _c(
            "rank",
            "int32",
            "place in llama.cpp's choice, 0 is the first; if the router chooses with a bias (deepseek2, glm4moe), the "
            "first does not always have the largest weight",
        ),
        _c("expert", "int32", "expert"),
        _c("weight", "Float64", "weight of the expert's output, where llama.cpp has one"),
    ),
)

TENSORS = Table(
    "tensors",
    "An entry of the GGUF file(s).",
    ("tensor",),
    (
        _c("tensor", "int32", "number of the tensor: by file, then by offset"),
        _c("name", "string", "full name"),
        _c("file", "int32", "file it is in"),
        _c("offset", "int64", "absolute offset in that file", "bytes"),
        _c("size_bytes", "int64", "size", "bytes"),
        _c("dtype", "category", "ggml type"),
        *_SHAPE,
        _c("layer", "Int32", "layer; null when it belongs to none"),
        _c("component", "category", "part of the model", values=COMPONENTS),
        _c("n_experts", "Int32", "experts stacked in it; null when it holds none"),
    ),
)

BUFFERS = Table(
    "buffers",
    "A runtime allocation or its end.",
    ("buffer_id", "event"),
    (
        _c("time_ns", "int64", "when", "ns"),
        _c("event", "category", "what happened", values=("alloc", "free")),
        _c("buffer_id", "int32", "number of the buffer in this run, never reused"),
        _c("address", "UInt64", "first byte, virtual address; null when not recorded"),
        _c("name", "string?", "name of the buffer type"),
        _c("backend", "string?", "backend it belongs to"),
        _c(
            "usage",
            "category?",
            "what it is for; mapped: a view of the mapped model file, no allocation",
            values=("any", "weights", "compute", "work", "mapped"),
        ),
        _c("layer", "Int32", "layer, if the buffer belongs to a single one"),
        _c("size_bytes", "int64", "size", "bytes"),
    ),
)

RESIDENCY = Table(
    "residency",
    "File pages that were in memory at the end of a pass; neighbours are joined into one run of pages.",
    ("pass_id", "file", "first_page"),
    (
        _c("pass_id", "int32", "the pass"),
        _c("file", "int32", "the file"),
        _c("first_page", "int64", "first page of the run of pages"),
        _c("n_pages", "int64", "length of the run of pages", "pages"),
    ),
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
)
BY_NAME: Mapping[str, Table] = {table.name: table for table in TABLES}


def _pandas_dtype(column: Column) -> Any:
    if column.dtype in ("string", "string?"):
        return pd.StringDtype("python")
    if column.dtype in ("category", "category?"):
        return pd.CategoricalDtype(list(column.values)) if column.values else "category"
    return column.dtype


def coded(name: str, column: str, codes: np.ndarray) -> pd.Categorical[Any]:
    """The values of a column that has a fixed list of them, from their places in that list; -1 is null.

    For millions of rows: texts would be looked up one by one.
    """
    values = next(c.values for c in BY_NAME[name].columns if c.name == column)
    made: pd.Categorical[Any] = pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(list(values)))
    return made


def frame(name: str, columns: Mapping[str, Any] | Iterable[Mapping[str, Any]] = ()) -> pd.DataFrame:
    """Make table `name` from columns (or rows), in the contract's order and types.

    A nullable column that is left out becomes all null. An array of numbers of its column's type
    that is no view is not copied: it belongs to the table from then on. Raises TableError for a
    column that is unknown, missing, or holds values its type cannot.
    """
    table = BY_NAME[name]
    if isinstance(columns, Mapping):
        given: Mapping[str, Any] = columns
    else:
        rows = list(columns)
        names = dict.fromkeys(key for row in rows for key in row)
        given = {key: [row.get(key) for row in rows] for key in names}
    unknown = set(given) - {column.name for column in table.columns}
    if unknown:
        raise TableError(f"table {name}: unknown column {sorted(unknown)[0]!r}")
    length = next((len(values) for values in given.values()), 0)
    made = {}
    for column in table.columns:
        dtype = _pandas_dtype(column)
        if column.name not in given:
            if not column.nullable and length:
                raise TableError(f"table {name}: column {column.name!r} is missing")
            made[column.name] = pd.Series(None, index=pd.RangeIndex(length), dtype=dtype)
            continue
        try:
            values = given[column.name]
            if column.values:
                _refuse_foreign_values(name, column, values)
            _refuse_overflow(name, column, values)
            series = pd.Series(values, dtype=dtype, copy=False).reset_index(drop=True)
            made[column.name] = series if _is_own(values) else series.copy()
        except (TypeError, ValueError, OverflowError) as error:
            raise TableError(f"table {name}: column {column.name!r}: {error}") from error
    return check(name, pd.DataFrame(made, copy=False))


def _is_own(values: object) -> bool:
    """Whether they are no view: one may be read-only, or keep far more in memory than its column."""
    if isinstance(values, pd.arrays.IntegerArray):
        return True
    return isinstance(values, np.ndarray) and values.flags.owndata and values.flags.writeable


def _refuse_foreign_values(name: str, column: Column, values: Any) -> None:
    """pandas would turn a value outside the categories into null: a silent drop."""
    coded_values = isinstance(values, pd.Series | pd.Categorical)
    series = pd.Series(values) if coded_values else pd.Series(values, dtype=object)
    distinct = series.cat.categories if isinstance(series.dtype, pd.CategoricalDtype) else series.dropna().unique()
    foreign = sorted(set(map(str, distinct)) - set(column.values))
    if foreign and (not isinstance(series.dtype, pd.CategoricalDtype) or series.isin(foreign).any()):
        raise TableError(
            f"table {name}: column {column.name!r}: {foreign[0]!r} is not one of {', '.join(column.values)}"
        )


def _refuse_overflow(name: str, column: Column, values: Any) -> None:
    """pandas cuts off the high bits of numbers in arrays of its own; what numpy and lists hold it refuses itself."""
    if "int" not in column.dtype.lower() or not isinstance(values, pd.Series | pd.api.extensions.ExtensionArray):
        return
    series = pd.Series(values, copy=False)
    if not pd.api.types.is_numeric_dtype(series.dtype):
        return
    limits = np.iinfo(column.dtype.lower())
    for value in (series.min(), series.max()):
        if pd.notna(value) and not limits.min <= value <= limits.max:
            raise TableError(f"table {name}: column {column.name!r}: {value} is no {column.dtype.lower()}")


def check(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return `table` unchanged, or raise TableError saying what breaks the contract."""
    contract = BY_NAME[name]
    expected = [column.name for column in contract.columns]
    if list(table.columns) != expected:
        raise TableError(f"table {name}: columns are {list(table.columns)}, the contract says {expected}")
    for column in contract.columns:
        series = table[column.name]
        if not column.nullable and bool(series.isna().any()):
            raise TableError(f"table {name}: column {column.name!r} has nulls and may not")
        if column.values and series.dtype != pd.CategoricalDtype(list(column.values)):
            raise TableError(f"table {name}: column {column.name!r} has other values than the contract's")
        wanted = _pandas_dtype(column)
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
    """Whether each row's key is greater than the one before: then none occurs twice, and none need be hashed."""
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
