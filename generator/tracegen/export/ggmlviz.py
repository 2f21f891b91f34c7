"""`ggmlviz`: graphs, operations and allocations as a trace of ggml-viz, with the newest known numbers of operations.

An operation is the interval from the begin of thread 0 (of the first thread, where no threads are recorded) to the end
of the last thread. The format has one number for all functions of UNARY and of GLU, and no shapes, operands or threads;
a tensor's pointer is made up from its graph and node, a thread's number from its context.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tracegen.contract.errors import SettingsError
from tracegen.export.format import Format, Source
from tracegen.export.keys import packed, packed_pairs, rows_of
from tracegen.readers.foreign.ggmlviz import events as layout
from tracegen.readers.foreign.op_numbers import NEWEST, number_of
from tracegen.storing.progress import Progress

# Pointers that no program has: bit 63 is set, and the bits below it say of what they are the pointer.
_TENSOR, _BUFFER, _GRAPH = (np.uint64(kind << 61) for kind in (0b100, 0b101, 0b110))
_NO_THREAD = 0


@dataclass(frozen=True)
class _Written:
    """Records in their order on each thread, and the place of each one's label in `names` (-1: none)."""

    records: np.ndarray
    name: np.ndarray
    names: list[str]


def _write(source: Source, folder: Path) -> None:
    passes = source.table("passes")
    with_graph = passes.dropna(subset=["graph"]).sort_values("pass_id")
    left_out = {"loads and passes without a graph": len(passes) - len(with_graph)}
    computed = _computed(source, with_graph, left_out)
    allocated = _allocated(source.table("buffers"), left_out)
    records = np.zeros(len(computed.records) + len(allocated.records), layout.RECORD)
    records[: len(computed.records)], records[len(computed.records) :] = computed.records, allocated.records
    if not len(records):
        raise SettingsError(f"{source.name}: has no graph and no allocation to write")
    name = np.concatenate(
        [computed.name, np.where(allocated.name >= 0, allocated.name + len(computed.names), allocated.name)]
    )
    times = pd.Series(records["time_ns"].astype(np.int64)).groupby(records["thread"]).cummax()  # its order stays
    order = np.argsort(times, kind="stable")
    labels = [_label(text) for text in (*computed.names, *allocated.names)]
    (folder / f"{source.stem}.ggmlviz").write_bytes(layout.encode(records[order], name[order], labels).data)
    if said := "; ".join(f"{what}: {n:,}" for what, n in left_out.items() if n):
        Progress().say(f"left out: {said}")


def _computed(source: Source, passes: pd.DataFrame, left_out: dict[str, int]) -> _Written:
    """Begin and end of each graph, and between them of each of its operations that has times."""
    ops = source.table("ops")
    ops = ops[ops["pass_id"].isin(passes["pass_id"]).to_numpy(bool)]
    timed = ops[(ops["begin_ns"].notna() & ops["end_ns"].notna()).to_numpy(bool)].sort_values(["pass_id", "node"])
    untimed = ops.drop(timed.index)["state"].astype("string").fillna("of unknown state").value_counts()
    left_out |= {f"operations without times ({state})": int(n) for state, n in untimed.items()}
    of_pass = np.searchsorted(passes["pass_id"].to_numpy(), timed["pass_id"].to_numpy())
    graph = passes["graph"].to_numpy(np.int64)
    nodes, names = _nodes(source, packed(graph[of_pass], timed["node"]))
    n_ops = np.bincount(of_pass, minlength=len(passes))
    ended = passes["end_ns"].notna().to_numpy(bool)
    n_records = 1 + 2 * n_ops + ended
    begin = np.cumsum(n_records) - n_records
    nth = np.arange(len(timed)) - (np.cumsum(n_ops) - n_ops)[of_pass]
    op_begin = begin[of_pass] + 1 + 2 * nth
    records = np.zeros(int(n_records.sum()), layout.RECORD)
    thread = passes["context"].fillna(0).to_numpy(np.int64) + 1
    records["thread"] = np.repeat(thread, n_records)
    name = np.full(len(records), -1, np.int64)
    n_nodes = source.table("graphs").set_index("graph")["n_nodes"]
    for kind, at, time_ns in (
        (layout.GRAPH_BEGIN, begin, passes["begin_ns"].to_numpy(np.int64)),
        (layout.GRAPH_END, (begin + n_records - 1)[ended], passes["end_ns"][ended].to_numpy(np.int64)),
    ):
        of = slice(None) if kind == layout.GRAPH_BEGIN else ended
        records["type"][at], records["time_ns"][at] = kind, time_ns
        records["pointer"][at] = _GRAPH | graph[of].astype(np.uint64)
        records["n_nodes"][at] = n_nodes.loc[graph[of]]
        records["n_threads"][at] = _n_threads(timed, of_pass, len(passes))[of]
    for kind, at, time_ns in (
        (layout.OP_BEGIN, op_begin, _begins(source, timed)),
        (layout.OP_END, op_begin + 1, timed["end_ns"].to_numpy(np.int64)),
    ):
        records["type"][at], records["time_ns"][at] = kind, time_ns
        records["pointer"][at] = _TENSOR | nodes["key"]
        records["op"][at], records["op_size"][at], name[at] = nodes["op"], nodes["size"], nodes["name"]
    return _Written(records, name, names)


def _nodes(source: Source, wanted: np.ndarray) -> tuple[Mapping[str, np.ndarray], list[str]]:
    """Key, number of the operation, size and place of the name in the list, for nodes by graph << 32 | node.

    Raises SettingsError for an operation that the newest table does not have.
    """
    table = source.table("graph_nodes")
    row = rows_of(packed(table["graph"], table["node"]), wanted)
    op = table["op"].astype("category").iloc[row].cat.remove_unused_categories()
    numbers = {text: number_of(text) for text in op.cat.categories}
    unknown = sorted(text for text, number in numbers.items() if number is None)
    if unknown:
        raise SettingsError(
            f"{source.name}: the operation {unknown[0]} has no number in ggml's table of {NEWEST}, so the trace would "
            "name another; export the run in another format"
        )
    name, names = pd.factorize(table["name"].iloc[row])
    number = np.array(list(numbers.values()), np.uint32)
    columns: Mapping[str, np.ndarray] = {
        "key": wanted.astype(np.uint64),
        "op": number[op.cat.codes.to_numpy()] if len(number) else np.zeros(0, np.uint32),
        "size": table["size_bytes"].iloc[row].fillna(0).to_numpy(np.uint64),
        "name": name,
    }
    return columns, [str(text) for text in names]


def _begins(source: Source, timed: pd.DataFrame) -> np.ndarray:
    """When thread 0 began each operation; where it is not recorded, when the first thread did."""
    begins = timed["begin_ns"].to_numpy(np.int64).copy()
    spans = source.table("spans")
    spans = spans[(spans["thread"] == 0).to_numpy(bool)]
    at = rows_of(packed_pairs(spans), packed_pairs(timed))
    begins[at >= 0] = spans["begin_ns"].to_numpy(np.int64)[at[at >= 0]]
    return begins


def _n_threads(timed: pd.DataFrame, of_pass: np.ndarray, n_passes: int) -> np.ndarray:
    """The most threads that computed an operation of each pass; 1, as ggml-viz writes, where it is not recorded."""
    n_threads = np.ones(n_passes, np.int64)
    np.maximum.at(n_threads, of_pass, timed["n_threads"].fillna(1).to_numpy(np.int64))
    return n_threads


def _allocated(buffers: pd.DataFrame, left_out: dict[str, int]) -> _Written:
    """Allocations and frees of runtime buffers; a buffer that only views a mapped file is none.

    A pointer is the buffer's address, and made up where that is unknown or also another buffer's: readers of the format
    take an allocation at the address of a live buffer for its end.
    """
    mapped = (buffers["usage"] == "mapped").fillna(False).to_numpy(bool)
    left_out["events of buffers that view a mapped file"] = int(mapped.sum())
    buffers = buffers[~mapped].sort_values("time_ns", kind="stable")
    records = np.zeros(len(buffers), layout.RECORD)
    is_free = (buffers["event"] == "free").to_numpy(bool)
    records["type"] = np.where(is_free, layout.TENSOR_FREE, layout.TENSOR_ALLOC)
    records["thread"], records["time_ns"] = _NO_THREAD, buffers["time_ns"].to_numpy(np.int64)
    number = _BUFFER | buffers["buffer_id"].to_numpy(np.uint64)
    address = buffers["address"].fillna(0).to_numpy(np.uint64)
    is_own = (buffers.groupby("address")["buffer_id"].transform("nunique") == 1).to_numpy(bool)
    records["pointer"] = np.where(is_own & (address > 0), address, number)
    records["alloc_size"] = buffers["size_bytes"].to_numpy(np.int64)
    name, names = pd.factorize(buffers["name"])
    return _Written(records, name, [str(text) for text in names])


def _label(text: str) -> bytes:
    """The text as ggml would hold it: 63 bytes of UTF-8 at most, cut between two characters."""
    return text.encode("utf-8", "replace")[: layout.LONGEST_LABEL].decode("utf-8", "ignore").encode()


GGMLVIZ = Format(
    "ggmlviz", "one trace for ggml-viz: graphs, operations that have times, allocations", _write, suffix=".ggmlviz"
)
