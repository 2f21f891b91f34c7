"""The operations of one pass, the nodes of a graph, and the tokens."""

import unicodedata

from tests.recompute.plain.experts import token_of
from tests.recompute.plain.rows import Row, Rows
from tests.recompute.plain.times import op_times

STATIC = ("op", "name", "layer", "component", "dtype")
TIMES = ("begin_ns", "duration_ns", "work_ns", "barrier_ns", "wait_ns", "n_threads")
OpBytes = dict[tuple[int, int], dict[str, int]]


def operations(rows: Rows, one: Row, n_bytes: OpBytes) -> list[Row]:
    """Every op of a pass, those that only view aside, with its times and the bytes it used in each kind of memory.

    Only ops that ran on threads have times, only those that were executed or fused use bytes.
    """
    table = []
    for op in rows.ops[one["pass_id"]]:
        if op["state"] == "noop":
            continue
        static, used = rows.nodes[one["graph"], op["node"]], n_bytes.get((one["pass_id"], op["node"]))
        times = op_times(rows, one["pass_id"], op["node"]) or {}
        table.append(
            {name: op[name] for name in ("pass_id", "node", "state", "fused_into")}
            | {name: static[name] for name in STATIC}
            | {name: times.get(name) for name in TIMES}
            | {f"{memory}_bytes": used[memory] if used else None for memory in ("disk", "copied", "buffer")}
        )
    return table


def node_costs(rows: Rows, graphs: list[int], n_bytes: OpBytes) -> dict[int, Row]:
    """What each node of these graphs, alike but for sizes, cost in a generate pass that ran one of them, in the mean.

    time: wall time where it was executed, in n_timed passes. bytes: used in all kinds of memory together, where it
    was executed or fused. Where no generate pass ran them, all measured passes that did are counted. Rounded to whole
    numbers; None where there is nothing to count.
    """
    users = [one for one in rows.of_kind("generate") if one["graph"] in graphs]
    users = users or [one for one in rows.measured if one["graph"] in graphs]
    by_node = {}
    for node in sorted(node for graph, node in rows.nodes if graph == graphs[0]):
        times, used = [], []
        for one in users:
            op = next((op for op in rows.ops[one["pass_id"]] if op["node"] == node), None)
            if op is not None and op["state"] == "executed":
                spent = op_times(rows, one["pass_id"], node)
                times += [spent["duration_ns"]] if spent else []
            if op is not None and op["state"] in ("executed", "fused"):
                used.append(sum(n_bytes[one["pass_id"], node].values()))
        by_node[node] = {
            "time": round(sum(times) / len(times)) if times else None,
            "n_timed": len(times),
            "bytes": round(sum(used) / len(used)) if used else None,
        }
    return by_node


def node_statics(rows: Rows, graph: int) -> dict[int, Row]:
    """Kind, name, layer, op, component, dtype, shape without ones at its end, and sources of each node of a graph."""
    by_node = {}
    for (of, node), row in sorted(rows.nodes.items()):
        if of != graph:
            continue
        shape = [row[f"ne{i}"] for i in range(4)]
        while len(shape) > 1 and shape[-1] == 1:
            shape.pop()
        sources = rows.sources.get((graph, node), {})
        by_node[node] = {name: row[name] for name in ("kind", "name", "layer", "op", "component", "dtype")} | {
            "shape": " × ".join(map(str, shape)),
            "sources": [sources[slot] for slot in sorted(sources, key=lambda slot: int(slot.removeprefix("src")))],
        }
    return by_node


def is_control(char: str) -> bool:
    """Whether it could steer a terminal: published CSV has its escape. Line breaks and tabs stay."""
    return unicodedata.category(char) == "Cc" and char not in "\n\t"


def generated_tokens(rows: Rows, token_ids: list[int], pieces: dict[str, str]) -> list[Row]:
    """Each generated token: its id and text, the pass whose logits gave it, and the pass that took it in.

    The last prompt ubatch gives token 0, each generate pass the next one. The tokens of the generate passes hold
    the generated tokens in order; nothing holds the last.
    """
    giving = [rows.of_kind("prompt")[-1], *rows.of_kind("generate")]
    ids = {(row["pass_id"], row["row"]): row["token_id"] for row in rows["tokens"]}
    holding = {k: key for key, k in token_of(rows).items()}
    assert [ids[holding[k]] for k in range(len(holding))] == list(token_ids)[:-1]
    return [
        {
            "token": k,
            "token_id": token_id,
            "pass_id": giving[k]["pass_id"],
            "held_by_pass": holding[k][0] if k in holding else None,
            "text": "".join(f"\\x{ord(c):02x}" if is_control(c) else c for c in pieces[str(token_id)]),
        }
        for k, token_id in enumerate(token_ids)
    ]
