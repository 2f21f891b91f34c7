"""Graph records: which lie inside another, which are passes, and to which of them each operation's record belongs."""

from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracegen.foreign.ggmlviz.events import GRAPH_BEGIN, GRAPH_END, OP_BEGIN, OP_END, VizEvents


@dataclass(frozen=True)
class GraphRecords:
    """The graph records in the order of their begins, and their part in passes; a pass is an outermost record.

    `begin` and `end` are places in the events (end -1: none), `depth` is 0 for an outermost record, `root` the
    outermost record that holds it. `owner` gives for each event the innermost graph record that was open on its thread
    (-1: none); it is set for records of operations. `n_unopened` counts ends without a begin.
    """

    begin: np.ndarray
    end: np.ndarray
    depth: np.ndarray
    root: np.ndarray
    owner: np.ndarray
    n_unopened: int


@dataclass(slots=True)
class _Open:
    """A graph record that is open on a thread, and how many nodes the records inside it have so far."""

    number: int
    pointer: int
    backend: int
    n_nodes: int
    n_inside: int = 0


class _Thread:
    """The open graph records of one thread, the innermost last, and where in that list each graph stands."""

    def __init__(self) -> None:
        self.stack: list[_Open] = []
        self._of_pointer: dict[int, list[int]] = {}
        self._of_backend: dict[tuple[int, int], int] = {}

    def open(self, record: _Open) -> None:
        """Open `record`, after closing those whose ends were lost, as it cannot lie in them.

        A graph does not begin again inside itself on the same backend, and the records in one have no more nodes.
        """
        self._cut(self._of_backend.get((record.pointer, record.backend), len(self.stack)))
        while self.stack and self.stack[-1].n_inside + record.n_nodes > self.stack[-1].n_nodes:
            self._cut(len(self.stack) - 1)
        if self.stack:
            self.stack[-1].n_inside += record.n_nodes
        self._of_pointer.setdefault(record.pointer, []).append(len(self.stack))
        self._of_backend[record.pointer, record.backend] = len(self.stack)
        self.stack.append(record)

    def close(self, pointer: int) -> int | None:
        """Close the innermost record of a graph and all inside it; its number, or None where none is open."""
        places = self._of_pointer.get(pointer)
        if not places:
            return None
        number = self.stack[places[-1]].number
        self._cut(places[-1])
        return number

    def _cut(self, length: int) -> None:
        while len(self.stack) > length:
            record = self.stack.pop()
            self._of_pointer[record.pointer].pop()
            del self._of_backend[record.pointer, record.backend]


def graph_records(events: VizEvents) -> GraphRecords:
    """Pair begins and ends of graphs on each thread, and find the owners of operations."""
    at = np.flatnonzero(events.type <= GRAPH_END)
    begin, end, depth, root = array("i"), array("i"), array("i"), array("i")
    threads: defaultdict[int, _Thread] = defaultdict(_Thread)
    busy: set[int] = set()  # threads with an open record
    top, only = np.full(len(at), -1, np.int32), np.full(len(at), -1, np.int32)
    n_unopened = 0
    for i, (place, kind, number, pointer, backend, n_nodes) in enumerate(_rows(events, at)):
        thread = threads[number]
        if kind == GRAPH_BEGIN:
            thread.open(_Open(len(begin), pointer, backend, n_nodes))
            begin.append(place)
            end.append(-1)
            depth.append(len(thread.stack) - 1)
            root.append(thread.stack[0].number)
        elif (ended := thread.close(pointer)) is not None:
            end[ended] = place
        else:
            n_unopened += 1
        (busy.add if thread.stack else busy.discard)(number)
        top[i] = thread.stack[-1].number if thread.stack else -1
        if len(busy) == 1:
            only[i] = threads[next(iter(busy))].stack[-1].number
    begins, ends, depths, roots = (np.asarray(column, np.int32) for column in (begin, end, depth, root))
    return GraphRecords(begins, ends, depths, roots, _owners(events, at, top, only), n_unopened)


def _rows(events: VizEvents, at: np.ndarray) -> Iterator[tuple[int, ...]]:
    """Place, type, thread, pointer, backend and n_nodes of the events `at`; few at a time are Python numbers."""
    columns = (events.type, events.thread, events.pointer, events.backend, events.n_nodes)
    for first in range(0, len(at), 1 << 16):
        part = at[first : first + (1 << 16)]
        yield from zip(part.tolist(), *(column[part].tolist() for column in columns), strict=True)


def _owners(events: VizEvents, graphs: np.ndarray, top: np.ndarray, only: np.ndarray) -> np.ndarray:
    """The owner of each event; `top` and `only` are the open record after each graph event in `graphs`.

    `top` is the innermost of its thread. A thread without graphs of its own works for the thread that alone has one
    open, of which `only` is the innermost.
    """
    owner = np.full(len(events.type), -1, np.int32)
    owner[graphs] = top
    at = np.flatnonzero(events.type <= OP_END).astype(np.int32)
    at = at[np.argsort(events.thread[at], kind="stable")]
    thread, is_graph = events.thread[at], events.type[at] <= GRAPH_END
    last = np.maximum.accumulate(np.where(is_graph, np.arange(len(at), dtype=np.int32), -1))
    owned = last >= 0
    owned &= thread[last] == thread
    ops = owned & ~is_graph
    owner[at[ops]] = owner[at[last[ops]]]
    helpers = at[~np.isin(thread, events.thread[graphs])]
    if len(graphs) and len(helpers):
        before = np.searchsorted(graphs, helpers) - 1
        owner[helpers] = np.where(before >= 0, only[before], -1)
    return owner


def kept_operations(events: VizEvents, graphs: GraphRecords) -> tuple[np.ndarray, np.ndarray, int]:
    """Which records of operations count, the outermost graph record of each, and how many lie in no graph.

    Where a graph was recorded at several nested levels, only those of the outermost level that has any count.
    """
    at = np.flatnonzero((events.type == OP_BEGIN) | (events.type == OP_END)).astype(np.int32)
    owner = graphs.owner[at]
    outside = int((owner < 0).sum())
    at, owner = at[owner >= 0], owner[owner >= 0]
    root, depth = graphs.root[owner], graphs.depth[owner]
    level = np.full(len(graphs.begin), np.iinfo(np.int32).max, np.int32)
    np.minimum.at(level, root, depth)
    kept = depth == level[root]
    return at[kept], root[kept], outside
