"""The addresses in a bundle without a list of them (published before 0.2.0): searched in its pages and scripts.

The operations page contains one pass; the JSON in it names the chunk of every other pass. A chunk is a script,
`tracegenChunk([{"id": 3, "node": [0, 1, 5, …], …}, …]);`. The addresses of the memory and graph pages are in the data
of their explorers, which is in the page or in a separate script.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from tracegen.contract import address
from tracegen.contract.documents import parse_json
from tracegen.publishing.bundle import Bundle

_OPERATIONS = re.compile(rb'<script type="application/json" id="tg-operations">(.*?)</script>', re.DOTALL)
_GRAPH = re.compile(rb'<script type="application/json" id="tg-graph">(.*?)</script>', re.DOTALL)
_CHUNK = re.compile(rb"tracegenChunk\((.*)\);\n", re.DOTALL)
_CALL = re.compile(rb"(?:tracegenMemory|tracegenGraph)\((.*)\);\n", re.DOTALL)

_SCRIPTS = "the scripts of a version"


def shows(bundle: Bundle, page: Mapping[str, str], anchor: str) -> bool:
    """Whether an address of the page ends in `#anchor`: the id of an element, or an op, tensor or node of scripts."""
    body, key = bundle.body(page["path"]), page["key"]
    if f'id="{escape(anchor)}"'.encode() in body:
        return True
    if key in ("operations", "timeline"):
        return _lists(bundle, anchor)
    if key == "memory":
        script = _file(bundle, "data/memory.js")
        return script is not None and address.tensor(anchor) in _tensors(*script)
    at = address.node(anchor) if key == "graph" else None
    if at is None:
        return False
    facts = _facts_of(body, at[0])
    script = _file(bundle, facts) if isinstance(facts, str) else None
    known = script[0].read_bytes() if script else facts
    return not isinstance(known, str | None) and at[1] in _nodes_of(known)


def _lists(bundle: Bundle, anchor: str) -> bool:
    """Whether the operations page has a row for the op or the pass; the timeline has the same addresses."""
    op = address.op(anchor)
    body = next((bundle.body(page["path"]) for page in bundle.pages if page["key"] == "operations"), b"")
    if op is None or f'id="{escape(anchor)}"'.encode() in body:
        return op is not None
    pass_id, node = op
    chunk = _chunk_of(body, pass_id)
    script = None if chunk is None else _file(bundle, chunk)
    nodes = _nodes(*script).get(pass_id, frozenset()) if script else frozenset()
    return bool(nodes) if node is None else node in nodes


def _file(bundle: Bundle, path: str) -> tuple[Path, str] | None:
    """A file of the bundle and its hash; None if the bundle lacks it."""
    entry = bundle.document["manifest"].get(path)
    return None if entry is None else (bundle.folder / path, entry["sha256"])


@lru_cache(maxsize=8)  # a journal has many references to one chunk
def _nodes(path: Path, sha256: str) -> Mapping[int, frozenset[int]]:
    return _rows_of(path.read_bytes())


@lru_cache(maxsize=8)
def _tensors(path: Path, sha256: str) -> frozenset[int]:
    return _tensors_of(path.read_bytes())


def _chunk_of(operations: bytes, pass_id: int) -> str | None:
    """The path of the chunk of a pass, from the operations page; None if the page does not list the pass."""
    state = _OPERATIONS.search(operations)
    passes = parse_json(state[1], _SCRIPTS)["passes"] if state else ()
    name = next((entry["chunk"] for entry in passes if entry["id"] == pass_id), None)
    return None if name is None else f"data/ops/{name}.js"


def _rows_of(chunk: bytes) -> dict[int, frozenset[int]]:
    """The nodes of each pass in a chunk; empty if the script has another form."""
    call = _CHUNK.fullmatch(chunk)
    rows: dict[int, frozenset[int]] = {}
    nodes: frozenset[int] = frozenset()
    for entry in parse_json(call[1], _SCRIPTS) if call else ():
        nodes = frozenset(entry["node"]) if "node" in entry else nodes  # if absent, those of the previous pass
        rows[entry["id"]] = nodes
    return rows


def _tensors_of(script: bytes) -> frozenset[int]:
    """The numbers of the tensors in the explorer's script; empty if the script has another form."""
    return frozenset(int(number) for number in _data(script).get("tensors", ()))


def _facts_of(page: bytes, graph: int) -> dict[str, Any] | str | None:
    """The facts of a graph's topology from the graph page, or the path of the script with them; None without any."""
    state = _GRAPH.search(page)
    for topology in parse_json(state[1], _SCRIPTS)["topologies"] if state else ():
        if graph in topology["graphs"]:
            return dict(topology["facts"]) if "facts" in topology else str(topology["path"]).removeprefix("../")
    return None


def _nodes_of(facts: dict[str, Any] | bytes) -> frozenset[int]:
    """The nodes in the facts of a topology, or in the script with them."""
    return frozenset((_data(facts) if isinstance(facts, bytes) else facts).get("node", ()))


def _data(script: bytes) -> dict[str, Any]:
    call = _CALL.fullmatch(script)
    return dict(parse_json(call[1], _SCRIPTS)) if call else {}
