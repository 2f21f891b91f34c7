"""Addresses that scripts follow to a tensor, `memory/#tensor=17`, and to a node of a graph, `graph/#g0-n12`.

What they may name stands in the data of the version: the tensors in the explorer's script (memory_data.py), the nodes
in the facts of the graph page (graph_facts.py), either in the page or in a script of their own.
"""

from __future__ import annotations

import json
import re
from typing import Any

MEMORY = "data/memory.js"
_TENSOR = re.compile(r"tensor=([0-9]{1,9})")
_NODE = re.compile(r"g([0-9]{1,9})-n([0-9]{1,9})")
_CALL = re.compile(rb"(?:tracegenMemory|tracegenGraph)\((.*)\);\n", re.DOTALL)
_STATE = re.compile(rb'<script type="application/json" id="tg-graph">(.*?)</script>', re.DOTALL)


def tensor(anchor: str) -> int | None:
    """The number of the tensor that the anchor names; None for any other anchor."""
    match = _TENSOR.fullmatch(anchor)
    return None if match is None else int(match[1])


def node(anchor: str) -> tuple[int, int] | None:
    """The graph and the node that the anchor names; None for any other anchor."""
    match = _NODE.fullmatch(anchor)
    return None if match is None else (int(match[1]), int(match[2]))


def tensors_of(script: bytes) -> frozenset[int]:
    """The numbers of the tensors that the explorer's script knows; none when it is of another form."""
    return frozenset(int(number) for number in _data(script).get("tensors", ()))


def facts_of(page: bytes, graph: int) -> dict[str, Any] | str | None:
    """The facts of the drawing that stands for a graph, from the graph page, or the path of the script with them."""
    state = _STATE.search(page)
    for one in json.loads(state[1])["topologies"] if state else ():
        if graph in one["graphs"]:
            return dict(one["facts"]) if "facts" in one else str(one["path"]).removeprefix("../")
    return None


def nodes_of(facts: dict[str, Any] | bytes) -> frozenset[int]:
    """The nodes that facts, or the script that has them, tell of."""
    return frozenset((_data(facts) if isinstance(facts, bytes) else facts).get("node", ()))


def _data(script: bytes) -> dict[str, Any]:
    call = _CALL.fullmatch(script)
    return dict(json.loads(call[1])) if call else {}
