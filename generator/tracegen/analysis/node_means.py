"""What each node of a topology cost in a pass, on average: its time, and the bytes it touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import measured
from tracegen.tables import MEMORY_KINDS


@dataclass(frozen=True)
class Population:
    """The passes that a mean is taken over, all of graphs of one topology; `generate`: each gave a token."""

    passes: tuple[int, ...]
    generate: bool


@dataclass(frozen=True)
class Costs:
    """The means of a topology's nodes as `node_means` gives them, and over which passes they are."""

    over: Population
    means: pd.DataFrame


def costs(tables: Tables, ops: pd.DataFrame, graphs: Sequence[int]) -> Costs:
    """What the nodes of a topology cost, which is that of `graphs`."""
    over = population(tables, graphs)
    return Costs(over, node_means(ops, over.passes))


def population(tables: Tables, graphs: Sequence[int]) -> Population:
    """The measured generate passes that ran one of `graphs`; where there is none, all measured ones that did."""
    users = measured(tables)
    users = users[users["graph"].isin(list(graphs)).to_numpy(bool)]
    generate = users[(users["kind"] == "generate").fillna(False).to_numpy(bool)]
    chosen = generate if len(generate) else users
    return Population(tuple(int(i) for i in chosen["pass_id"]), len(generate) > 0)


def node_means(ops: pd.DataFrame, passes: Sequence[int]) -> pd.DataFrame:
    """The mean cost of each node over those of `passes` in which it had one; `ops` are as `op_rows` gives them.

    Columns: node (sorted, each once), duration_ns (mean wall time where it was executed; null when it never was, or
    a time is missing), n_timed (passes of that mean), touched_bytes (mean over the passes in which it was executed
    or fused, all kinds of memory together; null when one of them is not recorded), n_touched, state (of its first
    pass in which it was executed, else of its first) and fused_into (of the first pass in which it was).
    """
    rows = ops[ops["pass_id"].isin(list(passes))].sort_values(["node", "pass_id"])
    touched = rows[[f"{memory}_bytes" for memory in MEMORY_KINDS]].sum(axis=1, skipna=False)
    rows = rows.assign(touched_bytes=touched, state=rows["state"].astype("object"))
    executed = rows[(rows["state"] == "executed").to_numpy(bool)]
    used = rows[rows["state"].isin(["executed", "fused"]).to_numpy(bool)]
    fused = rows[(rows["state"] == "fused").to_numpy(bool)]
    made = rows.drop_duplicates("node").set_index("node")[["state"]]
    made.loc[executed["node"].unique(), "state"] = "executed"
    made["duration_ns"], made["n_timed"] = _mean(executed, "duration_ns", made.index)
    made["touched_bytes"], made["n_touched"] = _mean(used, "touched_bytes", made.index)
    made["fused_into"] = fused.drop_duplicates("node").set_index("node")["fused_into"].reindex(made.index)
    wanted = ["node", "duration_ns", "n_timed", "touched_bytes", "n_touched", "state", "fused_into"]
    return made.reset_index()[wanted]


def _mean(rows: pd.DataFrame, column: str, nodes: pd.Index) -> tuple[pd.Series, pd.Series]:
    """The mean of a column by node and of how many rows; null where one of them is."""
    grouped = rows.groupby("node")[column]
    count, known = grouped.size(), grouped.count()
    mean = grouped.mean().astype("Float64").where(count == known)
    return mean.reindex(nodes), count.reindex(nodes).fillna(0).astype("int64")


def bounds(values: pd.Series, n_steps: int, factor: int) -> list[float]:
    """The upper ends of `n_steps` steps of a scale up to the largest value, each `factor` times the one before.

    Empty when no value is above zero. What lies below the first step belongs to it.
    """
    top = values.max()
    if pd.isna(top) or top <= 0:
        return []
    return [float(top) / factor**step for step in reversed(range(n_steps))]
