"""The places of a bundle that was published without a list of them (before 0.2.0): looked for in its pages and scripts.

The operations page carries one pass; the state beside it names the chunk of every other. A chunk is a script,
`tracegenChunk([{"id": 3, "node": [0, 1, 5, …], …}, …]);`. What places of memory and graph there are stands in the
data of their explorers, either in the page or in a script of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from tracegen import address
from tracegen.publishing.bundle import Bundle

_OPERATIONS = re.compile(rb'<script type="application/json" id="tg-operations">(.*?)</script>', re.DOTALL)
_GRAPH = re.compile(rb'<script type="application/json" id="tg-graph">(.*?)</script>', re.DOTALL)
_CHUNK = re.compile(rb"tracegenChunk\((.*)\);\n", re.DOTALL)
_CALL = re.compile(rb"(?:tracegenMemory|tracegenGraph)\((.*)\);\n", re.DOTALL)


def shows(bundle: Bundle, page: Mapping[str, str], anchor: str) -> bool:
    """Whether the page has an element with this id, or its scripts lead to what the anchor is the address of."""
    body, key = bundle.body(page["path"]), page["key"]
    if f'id="{escape(anchor)}"'.encode() in body:
        return True
    if key in ("operations", "timeline"):
        return _lists(bundle, anchor)
    if key == "memory":
        found = _file(bundle, "data/memory.js")
        return found is not None and address.tensor(anchor) in _tensors(*found)
    at = address.node(anchor) if key == "graph" else None
    if at is None:
        return False
    facts = _facts_of(body, at[0])
    found = _file(bundle, facts) if isinstance(facts, str) else None
    known = found[0].read_bytes() if found else facts
    return not isinstance(known, str | None) and at[1] in _nodes_of(known)


def _lists(bundle: Bundle, anchor: str) -> bool:
    """Whether the operations page, which the timeline follows, has a row for the op or the pass."""
    op = address.op(anchor)
    body = next((bundle.body(page["path"]) for page in bundle.pages if page["key"] == "operations"), b"")
    if op is None or f'id="{escape(anchor)}"'.encode() in body:
        return op is not None
    pass_id, node = op
    chunk = _chunk_of(body, pass_id)
    found = None if chunk is None else _file(bundle, chunk)
    nodes = _nodes(*found).get(pass_id, frozenset()) if found else frozenset()
    return bool(nodes) if node is None else node in nodes


def _file(bundle: Bundle, path: str) -> tuple[Path, str] | None:
    """A file of the bundle and its hash; None when the bundle does not have it."""
    entry = bundle.document["manifest"].get(path)
    return None if entry is None else (bundle.folder / path, entry["sha256"])


@lru_cache(maxsize=8)  # one chunk answers for all the references to its passes
def _nodes(path: Path, sha256: str) -> Mapping[int, frozenset[int]]:
    return _rows_of(path.read_bytes())


@lru_cache(maxsize=8)
def _tensors(path: Path, sha256: str) -> frozenset[int]:
    return _tensors_of(path.read_bytes())


def _chunk_of(operations: bytes, pass_id: int) -> str | None:
    """The path of the chunk with the ops of a pass, from the operations page; None when it has no such pass."""
    state = _OPERATIONS.search(operations)
    passes = json.loads(state[1])["passes"] if state else ()
    name = next((one["chunk"] for one in passes if one["id"] == pass_id), None)
    return None if name is None else f"data/ops/{name}.js"


def _rows_of(chunk: bytes) -> dict[int, frozenset[int]]:
    """The nodes that a chunk has a row for, by pass; none when it is of another form."""
    call = _CHUNK.fullmatch(chunk)
    made: dict[int, frozenset[int]] = {}
    nodes: frozenset[int] = frozenset()
    for one in json.loads(call[1]) if call else ():
        nodes = frozenset(one["node"]) if "node" in one else nodes  # those of the pass before it
        made[one["id"]] = nodes
    return made


def _tensors_of(script: bytes) -> frozenset[int]:
    """The numbers of the tensors that the explorer's script knows; none when it is of another form."""
    return frozenset(int(number) for number in _data(script).get("tensors", ()))


def _facts_of(page: bytes, graph: int) -> dict[str, Any] | str | None:
    """The facts of the drawing that stands for a graph, from the graph page, or the path of the script with them."""
    state = _GRAPH.search(page)
    for one in json.loads(state[1])["topologies"] if state else ():
        if graph in one["graphs"]:
            return dict(one["facts"]) if "facts" in one else str(one["path"]).removeprefix("../")
    return None


def _nodes_of(facts: dict[str, Any] | bytes) -> frozenset[int]:
    """The nodes that facts, or the script that has them, tell of."""
    return frozenset((_data(facts) if isinstance(facts, bytes) else facts).get("node", ()))


def _data(script: bytes) -> dict[str, Any]:
    call = _CALL.fullmatch(script)
    return dict(json.loads(call[1])) if call else {}
