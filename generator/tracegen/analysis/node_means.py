"""What each node of a topology cost in a pass, on average: its time, and the bytes it touched."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import measured, of_kind
from tracegen.contract.tables import MEMORY_KINDS


@dataclass(frozen=True)
class Population:
    """The passes that a mean is taken over, all of one topology; `generate`: they are generate passes."""

    passes: tuple[int, ...]
    generate: bool


@dataclass(frozen=True)
class Costs:
    """The result of `node_means` for the nodes of a topology, and the passes that it is taken over."""

    over: Population
    means: pd.DataFrame


def costs(tables: Tables, ops: pd.DataFrame, graphs: Sequence[int]) -> Costs:
    """What the nodes of the topology of `graphs` cost."""
    over = population(tables, graphs)
    return Costs(over, node_means(ops, over.passes))


def population(tables: Tables, graphs: Sequence[int]) -> Population:
    """The measured generate passes that ran one of `graphs`; if there is none, all measured passes that did."""
    users = measured(tables)
    users = users[users["graph"].isin(list(graphs)).to_numpy(bool)]
    generate = of_kind(users, "generate")
    chosen = generate if len(generate) else users
    return Population(tuple(int(i) for i in chosen["pass_id"]), len(generate) > 0)


def node_means(ops: pd.DataFrame, passes: Sequence[int]) -> pd.DataFrame:
    """The mean cost of each node over `passes`; `ops` is the result of `op_rows`.

    Columns: node (sorted, each once), duration_ns (mean wall time over the passes that executed the node; null when
    none did, or a time is missing), n_timed (number of these passes), touched_bytes (mean over the passes that
    executed or fused the node, all kinds of memory together; null when one value is not recorded), state (executed if
    any pass executed the node, else that of the first pass) and fused_into (of the first pass that fused it).
    """
    rows = ops[ops["pass_id"].isin(list(passes))].sort_values(["node", "pass_id"])
    touched = rows[[f"{memory}_bytes" for memory in MEMORY_KINDS]].sum(axis=1, skipna=False)
    rows = rows.assign(touched_bytes=touched, state=rows["state"].astype("object"))
    executed = rows[(rows["state"] == "executed").to_numpy(bool)]
    used = rows[rows["state"].isin(["executed", "fused"]).to_numpy(bool)]
    fused = rows[(rows["state"] == "fused").to_numpy(bool)]
    means = rows.drop_duplicates("node").set_index("node")[["state"]]
    means.loc[executed["node"].unique(), "state"] = "executed"
    means["duration_ns"] = executed.groupby("node")["duration_ns"].mean(skipna=False).astype("Float64")
    means["n_timed"] = executed.groupby("node").size().reindex(means.index, fill_value=0)
    means["touched_bytes"] = used.groupby("node")["touched_bytes"].mean(skipna=False).astype("Float64")
    means["fused_into"] = fused.drop_duplicates("node").set_index("node")["fused_into"].reindex(means.index)
    return means.reset_index()[["node", "duration_ns", "n_timed", "touched_bytes", "state", "fused_into"]]


def bounds(values: pd.Series, n_steps: int, factor: int) -> list[float]:
    """The upper ends of `n_steps` steps of a scale; the last is the largest value, each is `factor` times the previous.

    Empty when no value is above zero. Values below the first end belong to the first step.
    """
    top = values.max()
    if pd.isna(top) or top <= 0:
        return []
    return [float(top) / factor**step for step in reversed(range(n_steps))]
