"""The tables of a run: every column with its type, unit and meaning.

These names are public: Parquet files, pages, downloads and notebooks use them. `check` compares a table with its
contract; `data_dictionary` prints the contract for readers.

Keys: `(pass_id, node)` names an op, `(graph, node)` what is static about it; with a slot (`dst`, `src0` … `src9`)
they name an access. Node numbers are ggml's: nodes `0 … n_nodes-1` in order of execution, then the leaves. Unknown
is null. Times are integer nanoseconds of CLOCK_MONOTONIC.
"""

from __future__ import annotations

import re
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


# A table: name (key columns) +number of the extension that added it: what a row is. A column: name, type, unit: meaning
# = the values allowed, or the name of their list. A line that is indented further goes on with the one before.
_CONTRACT = """
files (file): A model file (one split of a GGUF model).
    file int32: number of the file in this run
    model int32: number of the model that the file belongs to
    split_index int32: place of the file among the splits of its model, from 0
    path string: file name as published (no folders)
    size_bytes int64 bytes: size of the file
    sha256 string?: hash of the whole file
    axis_begin int64 bytes: begin of the file on the disk axis, which joins all files of the run

contexts (context): A llama.cpp context.
    context int32: number of the context in this run
    model Int32: number of the model that the context runs
    n_ctx Int64 tokens: context size
    n_batch Int64 tokens: largest logical batch
    n_ubatch Int64 tokens: largest physical batch
    type_k string?: dtype of the K cache
    type_v string?: dtype of the V cache
    n_threads Int32: threads for one-token passes

passes (pass_id): One evaluation of a graph (one ubatch), or one model load.
    pass_id int32: number of the pass, in order of begin
    context Int32: the context that ran it; null for a load
    call Int32: number of the llama_decode or llama_encode call that the pass belongs to
    ubatch Int32: number of the ubatch inside its call, from 0
    kind category?: what the pass was for = PASS_KINDS
    kind_basis category?: how the kind is known = recorded, inferred
    n_tokens Int32 tokens: token rows evaluated
    n_sequences Int32: distinct sequences in the ubatch
    n_outputs Int32 rows: token rows for which logits were requested
    position_begin Int32: position of the first token row in its sequence
    produced_token Int32: k: the logits of this pass gave generated token k
    graph Int32: the graph that was evaluated; null for a load
    placement Int32: placement of the tensors during the pass; null for a load
    begin_ns int64 ns: start of the evaluation
    end_ns Int64 ns: end of the evaluation; null when the trace ends before it
    minor_faults Int64: page faults that started no read, of the whole process; some may have waited for a read in
        progress
    major_faults Int64: page faults that started a read and waited for it, of the whole process
    voluntary_switches Int64: context switches because a thread waited, of the whole process
    involuntary_switches Int64: context switches because the kernel preempted a thread, of the whole process
    read_bytes Int64 bytes: bytes that the kernel read from the disk for the process, including read-ahead
    run_delay_ns Int64 ns: time that threads were runnable but had no processor, sum over the recording threads; a wait
        counts in the pass in which it ends
    cpu_ns Int64 ns: time on a processor, sum over the recording threads
    blocked_ns Int64 ns: time neither running nor runnable (waiting for a disk, or stopped), minimum over the recording
        threads
    counted_ns Int64 ns: time over which run_delay_ns, cpu_ns and blocked_ns count: from just before the pass to just
        after it
    other_faults Int64: page faults of recording threads outside the model files: buffers, the stack
    other_fault_ns Int64 ns: time in these page faults, sum over threads
    lost_faults Int64 events: begins and ends of page faults that the kernel had no room to record
    claimed_token_id Int64: the token number a foreign trace claims
    claimed_phase string?: the phase a foreign trace claims

tokens (pass_id, row): One token row of a pass: what llama.cpp put into the ubatch.
    pass_id int32: the pass
    row int32: row in the ubatch, from 0
    token_id Int32: id in the vocabulary; null when embeddings were the input
    position Int32: position in the sequence
    sequence Int32: llama.cpp's sequence number
    output boolean: whether logits were requested for this row
    generated_token Int32: k: the row holds generated token k; null: the row holds a token of the prompt, or it is
        unknown

graphs (graph): A distinct computation graph, with shapes.
    graph int32: number of the graph in this run
    topology string: hash of the graph without its sizes; graphs with equal hashes share one drawing
    n_nodes int32: number of nodes, without leaves
    n_leafs Int32: number of leaves: weights, inputs, constants; null where operands were not recorded

graph_nodes (graph, node): A node or leaf of a graph: everything static about an op.
    graph int32: the graph
    node int32: ggml's number; leaves follow the nodes
    kind category: whether the node computes = op, noop, leaf
    op category: ggml's name of the operation; NONE for a leaf
    name string: full name of the tensor that the node produces
    layer Int32: layer; null when the node belongs to none
    component category: part of the model = COMPONENTS
    dtype category?: ggml type of the result
    ne0 Int64 elements: elements in dimension 0 (ggml order: 0 is contiguous)
    ne1 Int64 elements: elements in dimension 1 (ggml order: 0 is contiguous)
    ne2 Int64 elements: elements in dimension 2 (ggml order: 0 is contiguous)
    ne3 Int64 elements: elements in dimension 3 (ggml order: 0 is contiguous)
    nb0 Int64 bytes: stride of dimension 0
    nb1 Int64 bytes: stride of dimension 1
    nb2 Int64 bytes: stride of dimension 2
    nb3 Int64 bytes: stride of dimension 3
    size_bytes Int64 bytes: extent of the result (ggml_nbytes)
    op_params string?: ggml's op parameters, hexadecimal, trailing zeros cut
    compute bool: whether ggml is to compute the node; false: the state of its ops is off
    view_of Int32: the node whose memory this node views; null: the node has its own memory
    view_offset_bytes int64 bytes: offset into the viewed node

graph_edges (graph, target, slot): An operand: node `target` reads `source` in its slot.
    graph int32: the graph
    source int32: node or leaf that is read
    target int32: node that reads it
    slot category: operand position = OPERANDS

ops (pass_id, node): One graph node in one pass.
    pass_id int32: the pass
    node int32: the node, in the pass's graph
    state category?: what happened to the op; null when the trace does not say = OP_STATES
    fused_into Int32: for a fused op, the node whose kernel computed it
    backend category?: backend that ran the op
    split Int32: number of the scheduler's split in the pass
    n_threads Int32: threads that took part
    begin_ns Int64 ns: begin of the first thread
    end_ns Int64 ns: end of the last thread, without the wait after it
    time_basis category?: how the times are known = measured, gap to next, graph only, split

spans (pass_id, node, thread): The part of one thread in one op: work, waiting inside the op, and waiting after it.
    pass_id int32: the pass
    node int32: the node
    thread int32: number of the thread in its pool, from 0
    begin_ns int64 ns: begin on this thread
    work_ns int64 ns: time in the op without barriers, waiting for a page or a processor included
    barrier_ns int64 ns: waiting at barriers inside the op
    wait_ns int64 ns: time from the end of the op to the thread's next op: waiting at the barrier; with one thread, the
        overhead between ops
    fault_ns Int64 ns: the part of work_ns in page faults of model files: the thread waited for the page, or mapped it;
        null: page faults were not recorded

splits (pass_id, split) +1: A part of a pass that the scheduler gave to one backend; no rows when the CPU ran all passes
        without splits.
    pass_id int32: the pass
    split int32: number of the split in the pass, in order
    backend string: backend that ran the split
    n_nodes int32: number of nodes of the graph in the split
    begin_ns int64 ns: when the scheduler gave the split to the backend
    end_ns int64 ns: when the backend returned: it had computed the split if it is the CPU or BLAS; any other may only
        have taken it
    by_op bool: whether its ops were timed one by one, as only those of the CPU backend are

copies (pass_id, copy) +1: A tensor that was copied from one backend to another for a split.
    pass_id int32: the pass
    copy int32: number of the copy in the pass, in order
    split int32: the split that reads the copy
    tensor string: name of the tensor
    source string: backend from which the tensor was copied
    target string: backend of the split
    size_bytes int64 bytes: bytes copied; of stacked experts, only those that the split uses
    begin_ns int64 ns: begin of the copy, including the wait for both backends
    end_ns int64 ns: end of the copy

placements (placement, node): Where the tensor of a node or leaf lay in memory. An operand lies where the tensor of its
        source lies.
    placement int32: number of the placement
    graph int32: the graph whose tensors are placed
    node int32: node or leaf
    tensor Int32: the tensor of the model file that holds these bytes, if any
    memory category?: kind of memory = MEMORY_KINDS
    file Int32: file in which the bytes lie (disk), or from which they were copied (copied)
    origin_offset Int64 bytes: offset of the first byte in that file
    buffer_id Int32: the runtime buffer in which the tensor lies (copied, buffer)
    buffer_offset Int64 bytes: offset of the first byte in that buffer
    address UInt64: virtual address in the traced process
    size_bytes Int64 bytes: extent of the tensor (ggml_nbytes)

touches (pass_id, node, slot, first_unit): Which rows, columns or experts of an operand an op touched; neighbours are
        joined into one run of units.
    pass_id int32: the pass
    node int32: the node
    slot category: operand position of the touched tensor = SLOTS
    unit category: whether rows, columns or experts are counted = UNITS
    first_unit int64: first row, column or expert of the run of units
    n_units int64: length of the run of units
    basis category: how the touch is known = measured, estimated

routing (pass_id, layer, row, rank): An expert that a token row chose in a layer. There is one row per choice, not one
        per weight tensor.
    pass_id int32: the pass
    layer int32: layer
    row int32: token row in the ubatch, from 0
    sequence Int32: llama.cpp's sequence number of that row
    rank int32: place in llama.cpp's order of choice, from 0; if the router chooses with a bias (deepseek2, glm4moe),
        the first expert does not always have the largest weight
    expert int32: number of the expert
    weight Float64: weight of the expert's output; null when llama.cpp has none

tensors (tensor): A tensor of the GGUF file(s).
    tensor int32: number of the tensor: by file, then by offset
    name string: full name
    file int32: file that holds the tensor
    offset int64 bytes: absolute offset in that file
    size_bytes int64 bytes: size
    dtype category?: ggml type
    ne0 Int64 elements: elements in dimension 0 (ggml order: 0 is contiguous)
    ne1 Int64 elements: elements in dimension 1 (ggml order: 0 is contiguous)
    ne2 Int64 elements: elements in dimension 2 (ggml order: 0 is contiguous)
    ne3 Int64 elements: elements in dimension 3 (ggml order: 0 is contiguous)
    layer Int32: layer; null when the tensor belongs to none
    component category: part of the model = COMPONENTS
    n_experts Int32: number of experts that the tensor stacks; null when it stacks none

buffers (buffer_id, event): The begin or the end of a runtime allocation.
    time_ns int64 ns: time of the event
    event category: what happened = alloc, free
    buffer_id int32: number of the buffer in this run, never reused
    address UInt64: virtual address of the first byte; null when not recorded
    name string?: name of the buffer type; of an imported trace that of the buffer or of its tensor
    backend string?: backend that the buffer belongs to
    usage category?: what the buffer is for; mapped: it views the mapped model file, and is no allocation = any,
        weights, compute, work, mapped
    layer Int32: layer, if the buffer belongs to a single one
    size_bytes int64 bytes: size

residency (pass_id, file, first_page): Pages of a file that were in memory at the end of a pass; neighbours are joined
        into one run of pages.
    pass_id int32: the pass
    file int32: the file
    first_page int64: first page of the run of pages
    n_pages int64 pages: length of the run of pages

faults (fault) +2: A page fault of a thread that computes or loads, on a byte of a mapped model file.
    fault int32: number of the fault, in order of begin
    pass_id Int32: the pass or load; null between passes, or where several ran at once
    node Int32: the op in which it lies by its time; null outside operations
    thread Int32: number of the thread in its pool; null: it took no part in a graph then
    file Int32: file of the byte; null: a file that no model lists
    offset Int64 bytes: offset of the byte in that file
    kind category?: major: the fault began a read; minor: it did not, the page was in memory or already on its way;
        null: its end was not recorded = minor, major
    begin_ns int64 ns: begin
    duration_ns Int64 ns: until the page was mapped; null: its end was not recorded

requests (request) +3: A read that the kernel asked of a device that holds model files, whoever wanted it.
    request int32: number of the request, in order of issue
    pass_id Int32: the pass or load in which it was issued; null between passes, or where several ran
    device string: number of the device: major:minor
    place int64 bytes: first byte on the device
    size_bytes int64 bytes: bytes that were read
    file Int32: model file that the first byte belongs to; null: none, it was read for something else
    offset Int64 bytes: offset of the first byte in that file
    file_bytes int64 bytes: how many of the bytes belong to that file, from this offset on
    kind category: ahead: read-ahead, of pages that were not asked for yet; read: of pages that were = read, ahead
    issue_ns int64 ns: when the request was handed to the device
    duration_ns Int64 ns: until the device had completed it; null: not while it was recorded

barriers (pass_id, node, thread, barrier) +4: A wait of a thread at a barrier inside an op. Recorded where page faults
        are.
    pass_id int32: the pass
    node int32: the node
    thread int32: number of the thread in its pool
    barrier int32: number of the barrier inside the op, in order: that of one number is one for all
    begin_ns int64 ns: when the thread came to the barrier
    duration_ns int64 ns: until it went on: the last thread had come

device (pass_id, device) +2: What a disk that holds model files did during a load or a pass, as the kernel counts it:
        the whole device (or partition, where its name says so), with what other programs asked of it.
    pass_id int32: the pass or load
    device string: the kernel's name of the device, as in /sys/dev/block
    n_reads int64 requests: reads that were completed
    read_bytes int64 bytes: bytes of these reads
    read_ns int64 ns: time of these reads from request to completion, sum over requests; the kernel counts whole
        milliseconds
    n_writes int64 requests: writes that were completed
    written_bytes int64 bytes: bytes of these writes
    busy_ns int64 ns: time with at least one request under way; the kernel counts it in its clock ticks (1 to 10 ms)
    in_flight int64 requests: requests under way at the end
    counted_ns int64 ns: time over which it was counted: from just before the pass to just after it

cache (pass_id, file) +2: How much of a model file was in the kernel's page cache when a load or a pass had ended,
        mapped or not; asked together with residency. Pages of memory: host.page_bytes of the run, usually 4,096 bytes.
    pass_id int32: the pass or load
    file int32: the file
    cached_pages int64 pages: pages in memory, or on their way there
    dirty_pages int64 pages: of these, pages that differ from the disk
    evicted_pages int64 pages: pages that the kernel dropped for want of memory, as far as it remembers them
    recently_evicted_pages int64 pages: of these, pages dropped so recently that the kernel would count reading them
        again as lack of memory
"""
_LISTS: Mapping[str, tuple[str, ...]] = {
    "PASS_KINDS": PASS_KINDS, "OP_STATES": OP_STATES, "MEMORY_KINDS": MEMORY_KINDS, "UNITS": UNITS,
    "COMPONENTS": COMPONENTS, "SLOTS": SLOTS, "OPERANDS": SLOTS[1:],
}  # fmt: skip
_TABLE = re.compile(r"(?P<name>\w+) \((?P<key>[\w, ]+)\)(?: \+(?P<added>[0-9]+))?: (?P<meaning>.+)")
_COLUMN = re.compile(r"    (?P<name>\w+) (?P<dtype>[\w?]+)(?: (?P<unit>\w+))?: (?P<meaning>.+?)(?: = (?P<values>.+))?")


def _table(text: str) -> Table:
    """The table that is described in lines of _CONTRACT."""
    head, *lines = text.replace("\n        ", " ").split("\n")
    of = _TABLE.fullmatch(head)
    assert of is not None, head
    return Table(
        of["name"], of["meaning"], tuple(of["key"].split(", ")), tuple(map(_column, lines)), int(of["added"] or 0)
    )


def _column(line: str) -> Column:
    of = _COLUMN.fullmatch(line)
    assert of is not None, line
    values = () if of["values"] is None else _LISTS.get(of["values"]) or tuple(of["values"].split(", "))
    return Column(of["name"], of["dtype"], of["unit"] or "", of["meaning"], values)


TABLES: tuple[Table, ...] = tuple(map(_table, _CONTRACT.strip().split("\n\n")))
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
    if not by_name:
        return _without_rows(name).copy(deep=False)
    return _filled(table, by_name)


@cache
def _without_rows(name: str) -> pd.DataFrame:
    """The table without rows. Whoever gets it takes a shallow copy, from which pandas lets no change reach it."""
    return _filled(BY_NAME[name], {})


def _filled(table: Table, by_name: Mapping[str, Any]) -> pd.DataFrame:
    name, length = table.name, next((len(values) for values in by_name.values()), 0)
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
    for column, dtype in zip(contract.columns, table.dtypes, strict=True):
        whole = isinstance(dtype, np.dtype) and dtype.kind in "iub"  # such a column holds no null
        if not column.nullable and not whole and bool(table[column.name].isna().any()):
            raise TableError(f"table {name}: column {column.name!r} has nulls, but must not")
        wanted = _pandas_dtype(column)
        if column.values and dtype != wanted:
            raise TableError(f"table {name}: column {column.name!r} has categories other than the contract's")
        if wanted != "category" and dtype != wanted:
            raise TableError(f"table {name}: column {column.name!r} is {dtype}, not {wanted}")
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
