"""Which distinct graphs the passes of a trace of operations evaluated, and where their tensors lay."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracegen.foreign.companions import Companions
from tracegen.foreign.graphs import Graph, agreement, graph_of, joined
from tracegen.foreign.ops import Described, OpTrace
from tracegen.foreign.passes import Restored


@dataclass(frozen=True)
class RestoredRun:
    """The passes, the distinct graphs with an example of each, and which of them each pass evaluated.

    `graph` and `placement` have a number for each pass; `example` has the pass in which each placement was seen first,
    and `graph_of` the graph of each placement. `dump` names the file from which a graph was taken, None: from none.
    """

    passes: Restored
    graphs: Sequence[Graph]
    ops: Sequence[Sequence[Described]]
    dump: Sequence[str | None]
    graph: Sequence[int]
    placement: Sequence[int]
    example: Sequence[int]
    graph_of: Sequence[int]

    @property
    def only_products(self) -> bool:
        """Whether no operation but MUL_MAT was recorded."""
        return {each.op for ops in self.ops for each in ops} == {"MUL_MAT"}


def distinct(trace: OpTrace, passes: Restored, companions: Companions, weights: Sequence[str]) -> RestoredRun:
    """Which passes evaluated the same graph, and which of these had their tensors at the same places."""
    shapes: dict[tuple[object, ...], int] = {}
    keys = (
        (each.op, each.name, tuple((o.name or o.address, o.size_bytes) for o in each.operands))
        for each in trace.described
    )
    codes = np.array([shapes.setdefault(key, len(shapes)) for key in keys], np.int32)
    of_graph: dict[bytes, int] = {}
    of_placement: dict[bytes, int] = {}
    graph, placement, graph_of_placement = [], [], []
    example: list[int] = []  # a pass of each placement
    first: list[int] = []  # a pass of each graph
    for i, (begin, end) in enumerate(zip(passes.begin.tolist(), passes.end.tolist(), strict=True)):
        which = trace.which[begin:end]
        number = of_graph.setdefault(codes[which].tobytes(), len(of_graph))
        if number == len(first):
            first.append(i)
        place = of_placement.setdefault(which.tobytes(), len(of_placement))
        if place == len(example):
            example.append(i)
            graph_of_placement.append(number)
        graph.append(number)
        placement.append(place)
    graphs, ops, dumps = [], [], []
    for i in first:
        described = trace.description(int(passes.begin[i]), int(passes.end[i]))
        found = _dumped(described, companions, trace.room)
        graphs.append(found[1] if found else graph_of(described, trace.room, weights))
        dumps.append(found[0] if found else None)
        ops.append(described)
    return RestoredRun(passes, graphs, ops, dumps, graph, placement, example, graph_of_placement)


def _dumped(ops: Sequence[Described], companions: Companions, room: tuple[int, int]) -> tuple[str, Graph] | None:
    """The dump that holds the operations of a pass, and its name: of several the one whose sizes agree most often."""
    best: tuple[int, str, Graph] | None = None
    for name, dump in companions.dumps.items():
        graph = joined(ops, dump, room)
        if graph is not None:
            agreeing = agreement(ops, dump, graph)
            best = (agreeing, name, graph) if best is None or agreeing > best[0] else best
    return None if best is None else best[1:]
