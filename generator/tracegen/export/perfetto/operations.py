"""Operations as slices: a track for each thread of a pool, with the waits and page faults inside each operation.

Where the run does not tell what threads did, the operations themselves are the slices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.export.format import Source
from tracegen.export.keys import packed, packed_pairs, rows_of
from tracegen.export.perfetto import packets
from tracegen.export.perfetto.chunks import Chunk, integers, refuse_backwards
from tracegen.export.perfetto.flows import Flows
from tracegen.export.perfetto.packets import SLICE_BEGIN, SLICE_END, Words
from tracegen.export.perfetto.tracks import Tracks
from tracegen.export.protobuf import Block, Column, Pieces, Same, joined

_WHOLE, _UNKNOWN = -1, -2  # in place of a thread: the operation itself; a thread of no pool


@dataclass(frozen=True)
class _Outer:
    """The slices of a chunk that stand for operations: arrays of one value each, by track, then by time."""

    pass_id: np.ndarray
    node: np.ndarray
    thread: np.ndarray
    context: np.ndarray  # -1: unknown
    begin: np.ndarray
    end: np.ndarray
    wait: np.ndarray  # ns after the end
    barrier: np.ndarray  # ns inside
    basis: np.ndarray  # place of the operation's time_basis among its categories; -1: unknown, or a span

    def sorted(self, order: np.ndarray) -> _Outer:
        """The same slices in another order."""
        return _Outer(**{name: values[order] for name, values in vars(self).items()})


@dataclass(frozen=True)
class Inner:
    """Slices inside others: the row of the outer one, begin, end, and for each its row in the table it is from."""

    outer: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    is_fault: np.ndarray
    row: np.ndarray

    def chosen(self, rows: np.ndarray) -> Inner:
        """Some of these slices."""
        return Inner(**{name: values[rows] for name, values in vars(self).items()})


class Operations:
    """Makes the slices of operations of one chunk after the other."""

    def __init__(self, source: Source, words: Words, tracks: Tracks) -> None:
        """Prepare what is the same in every pass."""
        self._words, self._tracks = words, tracks
        passes = source.table("passes")
        self._passes = passes["pass_id"].to_numpy(np.int64)
        self._graphs, self._contexts = integers(passes["graph"], -1), integers(passes["context"], -1)
        self._several = len(np.unique(self._contexts[self._graphs >= 0])) > 1
        nodes = source.table("graph_nodes")
        self._nodes = packed(nodes["graph"], nodes["node"])
        self._static = Pieces.of([*_static(nodes, words), words.name("operation")])
        self._flows = Flows(source.table("graph_edges"))
        basis = source.table("ops")["time_basis"].cat.categories
        self._basis = Pieces.of([*(words.argument("time_basis", str(word)) for word in basis), b""])
        self._files = file_names(source)

    def encoded(self, chunk: Chunk) -> tuple[np.ndarray, pd.DataFrame, pd.DataFrame]:
        """The packets of a chunk; and the faults and barriers that lie inside no slice of theirs."""
        outer = self._outer(chunk)
        tracks, order = self._placed(outer)
        outer, tracks = outer.sorted(order), tracks[order]
        inner, told = _inside(outer, chunk.tables["faults"], chunk.tables["barriers"])
        data = self._written(chunk, outer, tracks, inner, told)
        left = []
        for name, is_fault in (("faults", True), ("barriers", False)):
            rest = np.ones(len(chunk.tables[name]), bool)
            rest[inner.row[inner.is_fault == is_fault]] = False
            left.append(chunk.tables[name][rest])
        return data, left[0], left[1]

    def labels(self, table: pd.DataFrame) -> pd.Series:
        """What the thread of each row is called, by its columns pass_id and thread, which may be null."""
        of_pass = rows_of(self._passes, integers(table["pass_id"], -1))
        context = np.where(of_pass >= 0, np.append(self._contexts, -1)[of_pass], -1)
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

    def _outer(self, chunk: Chunk) -> _Outer:
        spans, ops = chunk.tables["spans"], chunk.tables["ops"]
        begin = integers(spans["begin_ns"])
        barrier, wait = integers(spans["barrier_ns"]), integers(spans["wait_ns"])
        end = begin + integers(spans["work_ns"]) + barrier
        refuse_backwards("spans", spans, begin, end)
        refuse_backwards("spans", spans, end, end + wait)
        timed = (ops["begin_ns"].notna() & ops["end_ns"].notna()).to_numpy(bool)
        alone = ops[timed]
        alone = alone[rows_of(packed_pairs(spans), packed_pairs(alone)) < 0]
        first, last = integers(alone["begin_ns"]), integers(alone["end_ns"])
        refuse_backwards("ops", alone, first, last)
        none = np.zeros(len(alone), np.int64)
        pass_id = np.concatenate([integers(spans["pass_id"]), integers(alone["pass_id"])])
        of_pass = rows_of(self._passes, pass_id)
        return _Outer(
            pass_id,
            np.concatenate([integers(spans["node"]), integers(alone["node"])]),
            np.concatenate([integers(spans["thread"]), none + _WHOLE]),
            np.where(of_pass >= 0, np.append(self._contexts, -1)[of_pass], -1),
            np.concatenate([begin, first]),
            np.concatenate([end, last]),
            np.concatenate([wait, none]),
            np.concatenate([barrier, none]),
            np.concatenate([np.full(len(spans), -1), alone["time_basis"].cat.codes.to_numpy(np.int64)]),
        )

    def _placed(self, outer: _Outer) -> tuple[np.ndarray, np.ndarray]:
        """The track of each slice, and the order by track, then by time."""
        pool, labels = pd.factorize(packed(outer.context, outer.thread))
        until = outer.end + outer.wait
        order = np.argsort(pool, kind="stable")
        backwards = (np.diff(outer.begin[order]) < 0) & (np.diff(pool[order]) == 0)
        if backwards.any():
            order = np.lexsort((until, outer.begin, pool))
        tracks = np.empty(len(pool), np.int64)
        ends = np.searchsorted(pool[order], np.arange(len(labels)), "right")
        for rows in np.split(order, ends[:-1]) if len(labels) else ():
            label = self._label(int(outer.context[rows[0]]), int(outer.thread[rows[0]]))
            is_thread = outer.thread[rows[0]] != _WHOLE
            tracks[rows] = self._tracks.place(label, outer.begin[rows], until[rows], thread=is_thread)
        return tracks, order[np.argsort(tracks[order], kind="stable")]

    def _written(self, chunk: Chunk, outer: _Outer, tracks: np.ndarray, inner: Inner, told: np.ndarray) -> np.ndarray:
        """All slices as packets, in the order in which a track must have them, also where times are equal.

        Slice j (from 0, an outer one before its inner ones) inside d others, with k inside itself, begins in place
        2 j - d and ends in place 2 (j + k) + 1 - d.
        """
        waits = np.flatnonzero(outer.wait)
        inside = np.bincount(inner.outer, minlength=len(outer.begin))
        sizes = 1 + inside + (outer.wait > 0)
        number = np.cumsum(sizes) - sizes
        nth = np.arange(len(inner.outer)) - (np.cumsum(inside) - inside)[inner.outer]
        in_number, wait_number = number[inner.outer] + 1 + nth, number[waits] + 1 + inside[waits]
        until = outer.end[waits] + outer.wait[waits]
        ends = np.concatenate([outer.end, inner.end, until])
        end_places = np.concatenate([2 * (number + inside) + 1, 2 * in_number, 2 * wait_number + 1])
        end_tracks = np.concatenate([tracks, tracks[inner.outer], tracks[waits]])
        waited = [Same(self._words.name("wait") + self._words.category("wait"))]
        blocks = [
            Block(2 * number, packets.events(SLICE_BEGIN, outer.begin, tracks, self._fields(chunk, outer, told))),
            Block(2 * wait_number, packets.events(SLICE_BEGIN, outer.end[waits], tracks[waits], waited)),
            Block(end_places, packets.events(SLICE_END, ends, end_tracks, [])),
        ]
        for is_fault, name, fields in ((True, "faults", self.fault_fields), (False, "barriers", self.barrier_fields)):
            chosen = np.flatnonzero(inner.is_fault == is_fault)
            some_of = inner.chosen(chosen)
            of_table = fields(chunk.tables[name].iloc[some_of.row])
            begun = packets.events(SLICE_BEGIN, some_of.begin, tracks[some_of.outer], of_table)
            blocks.append(Block(2 * in_number[chosen] - 1, begun))
        return joined(blocks)

    def _fields(self, chunk: Chunk, outer: _Outer, told: np.ndarray) -> list[Column]:
        of_pass = rows_of(self._passes, outer.pass_id)
        graph = np.where(of_pass >= 0, np.append(self._graphs, -1)[of_pass], -1)
        node = rows_of(self._nodes, packed(graph, outer.node))
        fields = [
            self._static.at(np.where(node >= 0, node, len(self._nodes))),
            *self._words.integers("pass_id", outer.pass_id),
            *self._words.integers("node", outer.node),
            *self._words.integers("barrier_ns", outer.barrier, (outer.barrier > 0) & ~told),
        ]
        if (outer.basis >= 0).any():
            fields.append(self._basis.at(outer.basis))
        ops = chunk.tables["ops"]
        executed = packed_pairs(ops[(ops["state"] == "executed").to_numpy(bool)])
        pairs = packed(outer.pass_id, outer.node)
        heads = np.flatnonzero((outer.thread <= 0) & (rows_of(executed, pairs) >= 0))
        return [*fields, self._flows.fields(outer.pass_id[heads], graph[heads], outer.node[heads], heads, len(pairs))]

    def fault_fields(self, faults: pd.DataFrame) -> list[Column]:
        """Name, category and arguments of page faults."""
        words = self._words
        return [
            words.names(faults["kind"].astype("string") + " page fault", "page fault"),
            Same(words.category("page fault")),
            words.texts("file", faults["file"].map(self._files)),
            *words.integers("offset", faults["offset"]),
        ]

    def barrier_fields(self, barriers: pd.DataFrame) -> list[Column]:
        """Name, category and arguments of waits inside an operation."""
        said = Same(self._words.name("barrier") + self._words.category("barrier"))
        return [said, *self._words.integers("barrier", barriers["barrier"])]


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


def file_names(source: Source) -> dict[int, str]:
    """The path of each model file."""
    return dict(source.table("files")[["file", "path"]].itertuples(index=False))


def _inside(outer: _Outer, faults: pd.DataFrame, barriers: pd.DataFrame) -> tuple[Inner, np.ndarray]:
    """Page faults and barriers that lie in their slices and do not cross each other there, in order.

    And for each slice of `outer` whether a barrier of it was recorded.
    """
    found, told = [], np.zeros(len(outer.begin), bool)
    for table, is_fault in ((faults, True), (barriers, False)):
        known = table[["pass_id", "node", "thread", "duration_ns"]].notna().all(axis=1).to_numpy(bool)
        row = np.flatnonzero(known)
        some = table[known]
        begin = integers(some["begin_ns"])
        end = begin + integers(some["duration_ns"])
        refuse_backwards("faults" if is_fault else "barriers", some, begin, end)
        at = _rows_of_threads(outer, some)
        if not is_fault:
            told[at[at >= 0]] = True
        fits = (at >= 0) & (begin >= outer.begin[at]) & (end <= outer.end[at]) if len(outer.begin) else at >= 0
        found.append(Inner(at[fits], begin[fits], end[fits], np.full(int(fits.sum()), is_fault), row[fits]))
    both = Inner(*(np.concatenate(values) for values in zip(*(vars(one).values() for one in found), strict=True)))
    both = both.chosen(np.lexsort((both.end, both.begin, both.outer)))
    crossing = (both.outer[1:] == both.outer[:-1]) & (both.begin[1:] < both.end[:-1])
    return both.chosen(_apart(both, crossing)) if crossing.any() else both, told


def _rows_of_threads(outer: _Outer, table: pd.DataFrame) -> np.ndarray:
    """The slice that each row of `table` belongs to, by pass, node and thread; -1: none."""
    n = len(outer.begin)
    pairs, _ = pd.factorize(np.concatenate([packed(outer.pass_id, outer.node), packed_pairs(table)]))
    threads, _ = pd.factorize(np.concatenate([outer.thread, integers(table["thread"])]))
    keys = packed(pairs, threads)
    return rows_of(keys[:n], keys[n:])


def _apart(inner: Inner, crossing: np.ndarray) -> np.ndarray:
    """The rows of `inner` that are left when none may begin before one that was kept has ended."""
    keep = np.ones(len(inner.begin), bool)
    affected = np.isin(inner.outer, inner.outer[1:][crossing])
    last, end = -1, 0
    for row in np.flatnonzero(affected).tolist():
        if inner.outer[row] == last and inner.begin[row] < end:
            keep[row] = False
        else:
            last, end = inner.outer[row], inner.end[row]
    return np.flatnonzero(keep)
