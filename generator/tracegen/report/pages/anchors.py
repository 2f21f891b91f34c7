"""The addresses in a report that links may use, listed in `data/anchors.json`.

ids       by page: the ids of its elements, operations and nodes aside
nodes     lists of nodes as runs (first, how many); `passes`: which of them each pass of the operations page has
tensors   the tensors of the explorer of the page of the file
graphs    by graph: the nodes of the graph page, as runs
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tracegen.report.document.assets import Assets
from tracegen.report.document.page import ANCHORS, Page
from tracegen.report.figures.context import Context
from tracegen.report.figures.explorers import GRAPH, OPERATIONS
from tracegen.report.pages.explorers.op_chunks import written_ops

_ID = re.compile(r'<[a-z][a-z0-9]* (?:[^<>]* )?id="([A-Za-z0-9_.-]+)"')
_OF_SCRIPTS = re.compile(r"g[0-9]+-n[0-9]+")


def write_anchors(context: Context, assets: Assets, pages: Iterable[Page], explored: bool) -> None:
    """Add the list of addresses to the files; `explored`: the page of the file has its explorer."""
    nodes: dict[tuple[tuple[int, int], ...], int] = {}
    passes = {}
    if not context.refusal(OPERATIONS.needs):
        for pass_id, of_pass in written_ops(context, assets).nodes.items():
            passes[str(pass_id)] = nodes.setdefault(runs_of(of_pass.tolist()), len(nodes))
    listed: Mapping[str, object] = {
        "ids": {page.key: ids_of(page.body) for page in pages},
        "nodes": list(nodes),
        "passes": passes,
        "tensors": sorted(int(t) for t in context.tables["tensors"]["tensor"]) if explored else [],
        "graphs": {} if context.refusal(GRAPH.needs) else _graphs(context),
    }
    text = json.dumps(listed, separators=(",", ":"), sort_keys=True)
    assets.keep(ANCHORS, text + "\n")


def ids_of(body: str) -> list[str]:
    """The ids of the elements of a page, sorted, without those of graph nodes, which are listed as numbers."""
    return sorted({name for name in _ID.findall(body) if not _OF_SCRIPTS.fullmatch(name)})


def runs_of(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Numbers as sorted runs of (first, how many)."""
    ordered = np.unique(np.asarray(numbers, dtype=np.int64))
    if not len(ordered):
        return ()
    first = np.concatenate([[0], np.flatnonzero(np.diff(ordered) > 1) + 1])
    length = np.diff([*first, len(ordered)])
    return tuple((int(ordered[at]), int(n)) for at, n in zip(first, length, strict=True))


def _graphs(context: Context) -> dict[str, tuple[tuple[int, int], ...]]:
    """The nodes of each graph; graphs of one topology share a drawing, and have the same nodes."""
    nodes = context.tables["graph_nodes"]
    return {str(graph): runs_of(part["node"].tolist()) for graph, part in nodes.groupby("graph", sort=True)}
