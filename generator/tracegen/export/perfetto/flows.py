"""Arrows from the operation that made a tensor to each operation that reads it."""

import numpy as np
import pandas as pd

from tracegen.export.perfetto.keys import packed, rows_of
from tracegen.export.perfetto.packets import FLOW, LAST_OF_FLOW
from tracegen.export.protobuf import Column, fixed64s


class Flows:
    """The edges of all graphs: an edge is drawn in each pass that executed both its ends.

    Perfetto joins all slices that name the same flow into one chain. An arrow from one producer to each of several
    consumers therefore needs a number of its own for each edge and pass: the pass in the upper 32 bits, the edge in
    the lower; both count from 1.
    """

    def __init__(self, edges: pd.DataFrame) -> None:
        """Take the edges of all graphs; an operand that is read in several slots is one edge."""
        distinct = edges[["graph", "source", "target"]].drop_duplicates().sort_values(["graph", "source", "target"])
        self._source, self._target = (distinct[name].to_numpy(np.int64) for name in ("source", "target"))
        self._graphs, self._first, self._n = np.unique(distinct["graph"], return_index=True, return_counts=True)

    def fields(self, passes: np.ndarray, graphs: np.ndarray, nodes: np.ndarray, rows: np.ndarray, n: int) -> Column:
        """The flows that begin and end in each of n slices.

        Slice `rows[i]` stands for node `nodes[i]` of graph `graphs[i]` (-1: unknown), executed in pass `passes[i]`.
        """
        executed = packed(passes, nodes)
        each, first = np.unique(passes, return_index=True)
        graph = rows_of(self._graphs, graphs[first])
        each, graph = each[graph >= 0], graph[graph >= 0]
        counts = self._n[graph]
        number = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        edge, of_pass = np.repeat(self._first[graph], counts) + number, np.repeat(each, counts)
        source = rows_of(executed, packed(of_pass, self._source[edge]))
        target = rows_of(executed, packed(of_pass, self._target[edge]))
        drawn = np.flatnonzero((source >= 0) & (target >= 0))
        ids = packed(of_pass[drawn] + 1, number[drawn] + 1)
        kinds = np.repeat([FLOW, LAST_OF_FLOW], len(drawn))
        ends = np.concatenate([rows[source[drawn]], rows[target[drawn]]])
        return fixed64s(kinds, np.concatenate([ids, ids]), ends, n)
