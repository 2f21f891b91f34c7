"""The address of an op, `#pass=3&node=12`, and the chunk of its version that holds the op's row.

The operations page carries one pass; the state beside it names the chunk of every other. A chunk is
a script, `tracegenChunk([{"id": 3, "node": [0, 1, 5, …], …}, …]);`, written by op_chunks.py.
"""

from __future__ import annotations

import json
import re

STATE_ID = "tg-operations"
CHUNKS = "data/ops"
CHUNK_CALL = "tracegenChunk"
_ADDRESS = re.compile(r"pass=(?P<pass_id>[0-9]{1,9})(?:&node=(?P<node>[0-9]{1,9}))?")
_STATE = re.compile(rf'<script type="application/json" id="{STATE_ID}">(.*?)</script>'.encode(), re.DOTALL)
_CHUNK = re.compile(rf"{CHUNK_CALL}\((.*)\);\n".encode(), re.DOTALL)


def parse(anchor: str) -> tuple[int, int | None] | None:
    """The pass, and the node if one is named, of `pass=3&node=12`; None for any other anchor."""
    match = _ADDRESS.fullmatch(anchor)
    if not match:
        return None
    return int(match["pass_id"]), None if match["node"] is None else int(match["node"])


def chunk_of(operations: bytes, pass_id: int) -> str | None:
    """The path of the chunk with the ops of a pass, from the operations page; None when it has no such pass."""
    state = _STATE.search(operations)
    passes = json.loads(state[1])["passes"] if state else ()
    name = next((one["chunk"] for one in passes if one["id"] == pass_id), None)
    return None if name is None else f"{CHUNKS}/{name}.js"


def nodes_of(chunk: bytes) -> dict[int, frozenset[int]]:
    """The nodes that a chunk has a row for, by pass; none when it is of another form."""
    call = _CHUNK.fullmatch(chunk)
    made: dict[int, frozenset[int]] = {}
    nodes: frozenset[int] = frozenset()
    for one in json.loads(call[1]) if call else ():
        nodes = frozenset(one["node"]) if "node" in one else nodes  # those of the pass before it
        made[one["id"]] = nodes
    return made
