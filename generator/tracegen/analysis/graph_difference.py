"""What differs between the graphs of two runs: nodes aligned by what they do and their order, not by their numbers."""

import re
from collections.abc import Hashable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.blocks import sources_of
from tracegen.analysis.node_means import node_means, population
from tracegen.analysis.operations import op_rows
from tracegen.analysis.passes import measured, of_kind

Change = Literal["same", "changed", "moved", "new", "gone"]
COMPARED = ("dtype", "shape", "op_params", "operands")  # what makes a node that has its counterpart "changed"
NODE = ("op", "name", "layer", "component")
COLUMNS = ["change", *NODE, "node_a", "node_b", "what", "ns_a", "ns_b", "touched_a", "touched_b"]
_NUMBER = re.compile(r"(?:node|leaf)_[0-9]+")  # of nodes that nobody named, as ggml gives it


def typical_graph(tables: Tables) -> int | None:
    """The graph that most generate passes ran, else most measured passes; the lowest of several, None without any."""
    passes = measured(tables).dropna(subset=["graph"])
    generate = of_kind(passes, "generate")
    graphs = (generate if len(generate) else passes)["graph"].astype("int64")
    counts = graphs.value_counts()
    return int(counts[counts == counts.max()].index.min()) if len(counts) else None


def nodes_of(tables: Tables, graph: int) -> pd.DataFrame:
    """The computing nodes of a graph in order of execution, and what they cost in its passes.

    Columns: node, op, name, layer, component, dtype, shape, op_params, operands (text each; names without the numbers
    that only count nodes), duration_ns and touched_bytes (means over passes; null: not known).
    """
    nodes = tables["graph_nodes"]
    every = nodes[(nodes["graph"] == graph).to_numpy(bool)].astype({"op": "object", "dtype": "object"})
    label = {
        n: _NUMBER.sub("unnamed", name) for n, name in zip(every["node"].tolist(), every["name"].tolist(), strict=True)
    }
    sources = sources_of(tables, graph)
    rows = every[(every["kind"] == "op").to_numpy(bool)].sort_values("node", kind="stable")
    shape = rows[[f"ne{i}" for i in range(4)]].astype("string").fillna("?").agg(" × ".join, axis=1)
    table = rows[["node", "op", "layer", "component", "dtype", "op_params"]].assign(
        name=[label[n] for n in rows["node"]],
        shape=shape,
        operands=[", ".join(label.get(source, "?") for source in sources.get(n, ())) for n in rows["node"]],
    )
    passes = population(tables, [graph]).passes
    means = node_means(op_rows(tables, passes), passes)
    return table.merge(means[["node", "duration_ns", "touched_bytes"]], on="node", how="left")


def graph_difference(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """The nodes of two graphs side by side, in the order of B with those that are gone where they were in A.

    `a` and `b` are results of `nodes_of`. Columns: COLUMNS. `what` lists which of COMPARED differ, with both values.
    A node is `moved` if it has a counterpart of the same name and op, but stands elsewhere in the order.
    """
    keys = [list(zip(t["op"], t["name"], t["layer"].astype("object").fillna(-1), strict=True)) for t in (a, b)]
    partner = _aligned(*keys)
    moved = _moved(keys[0], keys[1], partner)
    counterpart = partner | moved
    left, right = a.to_dict("records"), b.to_dict("records")
    rows = []
    for j, node in enumerate(right):
        other = left[counterpart[j]] if j in counterpart else None
        differ = [name for name in COMPARED if other and other[name] != node[name]]
        what = "; ".join(f"{name}: {other[name]} → {node[name]}" for name in differ) if other else ""
        change: Change = "new" if other is None else "moved" if j in moved else "changed" if what else "same"
        rows.append(((j, -1), _row(change, other, node, what)))
    after = {i: j for j, i in partner.items()}
    for i in sorted(set(range(len(left))) - set(counterpart.values())):
        j = next((after[k] for k in range(i, -1, -1) if k in after), -1)
        rows.append(((j, i), _row("gone", left[i], None, "")))
    rows.sort(key=lambda row: row[0])
    return pd.DataFrame([row for _, row in rows], columns=COLUMNS)


_Key = tuple[object, ...]
_Node = Mapping[Hashable, Any]


def _aligned(a: Sequence[_Key], b: Sequence[_Key]) -> dict[int, int]:
    """Place in B -> place in A, for nodes that follow each other in the same order on both sides."""
    partner: dict[int, int] = {}
    for tag, i1, i2, j1, _ in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            partner |= {j1 + k: i1 + k for k in range(i2 - i1)}
    return partner


def _moved(a: Sequence[_Key], b: Sequence[_Key], partner: Mapping[int, int]) -> dict[int, int]:
    """Place in B -> place in A, for the other nodes that do the same under the same name; each has one counterpart."""
    free: dict[_Key, list[int]] = {}
    taken = set(partner.values())
    for i in range(len(a) - 1, -1, -1):
        if i not in taken:
            free.setdefault(a[i], []).append(i)
    return {j: free[key].pop() for j, key in enumerate(b) if j not in partner and free.get(key)}


def _row(change: Change, a: _Node | None, b: _Node | None, what: str) -> tuple[Any, ...]:
    node = b or a or {}
    numbers = (a and a["node"], b and b["node"])
    costs = [side and side[column] for column in ("duration_ns", "touched_bytes") for side in (a, b)]
    return (change, *(node[name] for name in NODE), *numbers, what, *costs)
