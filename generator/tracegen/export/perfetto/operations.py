"""Operations as slices: a track for each thread of a pool, with the waits and page faults inside each operation.

Where the run does not tell what threads did, the operations themselves are the slices.
"""

import numpy as np
import pandas as pd

from tracegen.export.format import Source
from tracegen.export.perfetto import packets
from tracegen.export.perfetto.chunks import Chunk, integers, refuse_backwards
from tracegen.export.perfetto.described import Described
from tracegen.export.perfetto.flows import Flows
from tracegen.export.perfetto.keys import packed, packed_pairs, rows_of
from tracegen.export.perfetto.packets import SLICE_BEGIN, SLICE_END, Words
from tracegen.export.perfetto.tracks import Tracks
from tracegen.export.protobuf import Column, chosen, woven

_WHOLE, _UNKNOWN = -1, -2  # in place of a thread: the operation itself; a thread of no pool


class Operations:
    """Makes the slices of operations of one chunk after the other.

    Outer slices stand for operations, a row each: pass_id, node, thread, context (-1: unknown), begin_ns, end_ns,
    barrier_ns inside, wait_ns after the end, basis (place of the operation's time_basis among its categories; -1:
    unknown, or a span). Inner slices lie in them: outer (row of the outer one), begin_ns, end_ns, table, row.
    """

    def __init__(self, source: Source, words: Words, tracks: Tracks, described: Described) -> None:
        """Prepare what is the same in every pass."""
        self._words, self._tracks, self._described = words, tracks, described
        passes = source.table("passes")
        self._passes = passes["pass_id"].to_numpy(np.int64)
        graphs, contexts = integers(passes["graph"], -1), integers(passes["context"], -1)
        self._several = len(np.unique(contexts[graphs >= 0])) > 1
        self._graphs, self._contexts = np.append(graphs, -1), np.append(contexts, -1)  # the last: of no pass
        nodes = source.table("graph_nodes")
        self._nodes = packed(nodes["graph"], nodes["node"])
        self._static = [*_static(nodes, words), words.name("operation")]
        self._flows = Flows(source.table("graph_edges"))
        basis = source.table("ops")["time_basis"].cat.categories
        self._basis = [*(words.argument("time_basis", str(word)) for word in basis), b""]

    def encoded(self, chunk: Chunk) -> tuple[memoryview, dict[str, pd.DataFrame]]:
        """The packets of a chunk; and the faults and barriers that lie inside no slice of theirs."""
        outer = self._outer(chunk.tables["spans"], chunk.tables["ops"])
        outside = {name: chunk.tables[name] for name in ("faults", "barriers")}
        found = [_found(outer, name, table) for name, table in outside.items()]
        has_barrier = np.zeros(len(outer), bool)
        has_barrier[found[-1]["outer"]] = True  # a barrier of it was recorded
        inner = _inside(outer, pd.concat(found))
        for name in outside:
            rest = np.ones(len(outside[name]), bool)
            rest[inner["row"][inner["table"] == name]] = False
            outside[name] = outside[name][rest]
        return self._written(chunk, outer, inner, has_barrier), outside

    def labels(self, table: pd.DataFrame) -> pd.Series:
        """What the thread of each row is called, by its columns pass_id and thread, which may be null."""
        context = self._contexts[rows_of(self._passes, integers(table["pass_id"], -1))]
        threads = integers(table["thread"], _UNKNOWN)
        codes, _ = pd.factorize(packed(context, threads))
        _, first = np.unique(codes, return_index=True)
        names = [self._label(int(context[row]), int(threads[row])) for row in first]
        return pd.Series(names, dtype=object).iloc[codes]

    def _label(self, context: int, thread: int) -> str:
        if thread == _UNKNOWN:
            return "other threads"
        name = "operations" if thread == _WHOLE else f"thread {thread}"
        return f"context {context}: {name}" if self._several and context >= 0 else name

    def _outer(self, spans: pd.DataFrame, ops: pd.DataFrame) -> pd.DataFrame:
        """The outer slices by track, then by time, with their `track`."""
        ops = ops[(ops["begin_ns"].notna() & ops["end_ns"].notna()).to_numpy(bool)]
        ops = ops[rows_of(packed_pairs(spans), packed_pairs(ops)) < 0]
        parts = []
        for name, table in (("spans", spans), ("ops", ops)):
            part = pd.DataFrame({column: integers(table[column]) for column in ("pass_id", "node", "begin_ns")})
            for column, unknown in (("thread", _WHOLE), ("barrier_ns", 0), ("wait_ns", 0)):
                part[column] = integers(table[column]) if name == "spans" else unknown
            if name == "spans":
                part["end_ns"] = part["begin_ns"] + integers(table["work_ns"]) + part["barrier_ns"]
                part["basis"] = -1
            else:
                part["end_ns"], part["basis"] = integers(table["end_ns"]), table["time_basis"].cat.codes.to_numpy()
            part["until"] = part["end_ns"] + part["wait_ns"]
            for first, last in (("begin_ns", "end_ns"), ("end_ns", "until")):
                refuse_backwards(name, table, part[first].to_numpy(), part[last].to_numpy())
            parts.append(part.astype(np.int64))
        outer = pd.concat(parts, ignore_index=True)
        outer["context"] = self._contexts[rows_of(self._passes, outer["pass_id"].to_numpy())]
        pool, _ = pd.factorize(packed(outer["context"], outer["thread"]))
        order = np.lexsort((outer["until"], outer["begin_ns"], pool))
        outer = outer.iloc[order]
        tracks = [
            self._tracks.place(
                self._label(*one[["context", "thread"]].iloc[0]),
                one["begin_ns"].to_numpy(),
                one["until"].to_numpy(),
                thread=bool(one["thread"].iloc[0] != _WHOLE),
            )
            for _, one in outer.groupby(pool[order])
        ]
        outer["track"] = np.concatenate([np.zeros(0, np.int64), *tracks])
        return outer.sort_values("track", kind="stable", ignore_index=True)

    def _written(self, chunk: Chunk, outer: pd.DataFrame, inner: pd.DataFrame, has_barrier: np.ndarray) -> memoryview:
        """All slices as packets, in the order in which a track must have them, also where times are equal.

        Slice j (from 0, an outer one before its inner ones), with k inside itself, begins with the key 2 j and ends
        with 2 (j + k) + 1; of ends with one key that of the inner slice is first.
        """
        begin, end, until, track = (outer[name].to_numpy() for name in ("begin_ns", "end_ns", "until", "track"))
        of = inner["outer"].to_numpy()
        waits = np.flatnonzero(until > end)
        inside = np.bincount(of, minlength=len(outer))
        sizes = 1 + inside + (until > end)
        number = np.cumsum(sizes) - sizes
        of_inner = number[of] + 1 + np.arange(len(inner)) - (np.cumsum(inside) - inside)[of]
        of_waits = (number + 1 + inside)[waits]
        ends = np.concatenate([inner["end_ns"], end, until[waits]])
        keys = 2 * np.concatenate([of_inner, number + inside, of_waits]) + 1
        waited = [self._words.name("wait") + self._words.category("wait")]
        blocks = [
            (2 * number, packets.events(SLICE_BEGIN, begin, track, self._fields(chunk, outer, has_barrier))),
            (2 * of_waits, packets.events(SLICE_BEGIN, end[waits], track[waits], waited)),
            (keys, packets.events(SLICE_END, ends, np.concatenate([track[of], track, track[waits]]), [])),
        ]
        for name in ("faults", "barriers"):
            at = np.flatnonzero(inner["table"] == name)
            fields = self._described.fields(name, chunk.tables[name].iloc[inner["row"].iloc[at]], ("pass_id", "node"))
            begins = packets.events(SLICE_BEGIN, inner["begin_ns"].to_numpy()[at], track[of[at]], fields)
            blocks.append((2 * of_inner[at], begins))
        return woven(*blocks)

    def _fields(self, chunk: Chunk, outer: pd.DataFrame, has_barrier: np.ndarray) -> list[Column]:
        pass_id, numbers, barrier, basis = (
            outer[name].to_numpy() for name in ("pass_id", "node", "barrier_ns", "basis")
        )
        graph = self._graphs[rows_of(self._passes, pass_id)]
        fields = [
            chosen(self._static, rows_of(self._nodes, packed(graph, numbers)) % len(self._static)),
            *self._words.integers("pass_id", pass_id),
            *self._words.integers("node", numbers),
            *self._words.integers("barrier_ns", barrier, (barrier > 0) & ~has_barrier),
        ]
        if (basis >= 0).any():
            fields.append(chosen(self._basis, basis % len(self._basis)))
        ops = chunk.tables["ops"]
        executed = packed_pairs(ops[(ops["state"] == "executed").to_numpy(bool)])
        heads = np.flatnonzero((outer["thread"] <= 0) & (rows_of(executed, packed(pass_id, numbers)) >= 0))
        return [*fields, self._flows.fields(pass_id[heads], graph[heads], numbers[heads], heads, len(outer))]


def _static(nodes: pd.DataFrame, words: Words) -> list[bytes]:
    """Name, category and arguments of the operations of each node that never change."""
    columns = [
        nodes[name].astype(object).where(nodes[name].notna(), None).tolist()
        for name in ("name", "component", "op", "layer", "dtype")
    ]
    return [
        words.name("operation" if name is None else name)
        + (b"" if component is None else words.category(component))
        + words.argument("op", op)
        + words.argument("layer", None if layer is None else int(layer))
        + words.argument("dtype", dtype)
        for name, component, op, layer, dtype in zip(*columns, strict=True)
    ]


def _found(outer: pd.DataFrame, name: str, table: pd.DataFrame) -> pd.DataFrame:
    """The page faults or barriers of known times of the thread, pass and node of an outer slice, as inner ones."""
    row = np.flatnonzero(table[["pass_id", "node", "thread", "duration_ns"]].notna().all(axis=1))
    some = table.iloc[row]
    begin = integers(some["begin_ns"])
    end = begin + integers(some["duration_ns"])
    refuse_backwards(name, some, begin, end)
    n = len(outer)
    pairs, _ = pd.factorize(np.concatenate([packed_pairs(outer), packed_pairs(some)]))
    threads, _ = pd.factorize(np.concatenate([outer["thread"], integers(some["thread"])]))
    keys = packed(pairs, threads)
    found = {"outer": rows_of(keys[:n], keys[n:]), "begin_ns": begin, "end_ns": end, "table": name, "row": row}
    return pd.DataFrame(found).query("outer >= 0")


def _inside(outer: pd.DataFrame, inner: pd.DataFrame) -> pd.DataFrame:
    """The inner slices that lie within the times of their outer ones and do not cross each other there, in order."""
    of = outer.iloc[inner["outer"]]
    begins = inner["begin_ns"].to_numpy() >= of["begin_ns"].to_numpy()
    inner = inner[begins & (inner["end_ns"].to_numpy() <= of["end_ns"].to_numpy())]
    inner = inner.sort_values(["outer", "begin_ns", "end_ns"], kind="stable", ignore_index=True)
    places, begin, end = (inner[name].to_numpy() for name in ("outer", "begin_ns", "end_ns"))
    crossing = (places[1:] == places[:-1]) & (begin[1:] < end[:-1])
    keep = np.ones(len(inner), bool)
    last, ended = -1, 0
    for row in np.flatnonzero(np.isin(places, places[1:][crossing])).tolist():
        if places[row] == last and begin[row] < ended:
            keep[row] = False
        else:
            last, ended = places[row], end[row]
    return inner[keep].reset_index(drop=True)
