"""What took the time of the measured passes: by component, layer, kind of op, single op."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.operations import THREAD_TIMES
from tracegen.analysis.pass_parts import OUTSIDE_OPS, pass_parts
from tracegen.analysis.passes import measured
from tracegen.contract.components import GROUP_OF
from tracegen.contract.tables import MEMORY_KINDS

PHASES = ("prompt", "generate")
OUTSIDE_LAYERS = "in no layer"
SUMS = ("duration_ns", *THREAD_TIMES)
BYTES = [f"{memory}_bytes" for memory in MEMORY_KINDS]


def phases(passes: pd.DataFrame) -> pd.Series:
    """The kind of each prompt and generate pass, by pass_id."""
    return passes.loc[passes["kind"].isin(PHASES)].set_index("pass_id")["kind"].astype("object")


def timed_ops(tables: Tables, ops: pd.DataFrame) -> pd.DataFrame:
    """Executed ops of prompt and generate passes, with `phase`.

    `duration_ns` is wall time, first thread's begin to last thread's end; work_ns, barrier_ns and wait_ns are sums over
    threads. Bytes are those of the kernel: of the op, and of those that were fused into it.
    """
    phase = phases(measured(tables))
    ops = ops[ops["pass_id"].isin(phase.index)]
    rows = ops[(ops["state"] == "executed").to_numpy(bool)]
    fused = ops.dropna(subset=["fused_into"]).groupby(["pass_id", "fused_into"])[BYTES].sum(skipna=False)
    if len(fused):
        kernels = pd.MultiIndex.from_frame(rows[["pass_id", "node"]])
        more = fused.reindex(kernels).set_axis(rows.index)
        has = kernels.isin(fused.index)
        rows = rows.assign(**{name: rows[name].where(~has, rows[name] + more[name]) for name in BYTES})
    return rows.assign(phase=rows["pass_id"].map(phase))


def touching_ops(passes: pd.DataFrame, ops: pd.DataFrame) -> pd.DataFrame:
    """Executed and fused ops of prompt and generate passes, with `phase`, `group` (of components), `layer` as text."""
    phase = phases(passes)
    rows = ops[ops["state"].isin(["executed", "fused"]) & ops["pass_id"].isin(phase.index)]
    layers = [layer_name(number) for number in rows["layer"]]
    return rows.assign(phase=rows["pass_id"].map(phase), group=groups_of(rows), layer=layers)


def groups_of(rows: pd.DataFrame) -> pd.Series:
    """The group of the component of each row."""
    component = rows["component"].astype("category")
    groups = pd.array([GROUP_OF.get(str(name), "other") for name in (*component.cat.categories, None)], dtype="object")
    return pd.Series(groups[component.cat.codes.to_numpy()], rows.index, name="group")  # -1, none: the last


def layer_name(number: Any) -> str:
    """`layer 3`, `in no layer`."""
    return OUTSIDE_LAYERS if pd.isna(number) else f"layer {int(number)}"


def outside(tables: Tables, parts: pd.DataFrame | None = None) -> pd.DataFrame:
    """Wall time of prompt and generate passes that lies in no executed operation: phase, part, duration_ns.

    One row for each phase and part that takes any time; `part` is its name on pages. These parts and the operations
    add up to the duration of the passes. `parts`: the result of `pass_parts`, if the caller has it already.
    """
    rows = pass_parts(tables) if parts is None else parts
    phase = phases(measured(tables))
    rows = rows[rows["pass_id"].isin(phase.index)]
    sums = rows.groupby(rows["pass_id"].map(phase).rename("phase"))[list(OUTSIDE_OPS)].sum()
    table = sums.rename(columns=OUTSIDE_OPS).melt(var_name="part", value_name="duration_ns", ignore_index=False)
    return table[table["duration_ns"] > 0].reset_index()


def by(timed: pd.DataFrame, key: str, tokens: dict[str, int], rest: pd.DataFrame | None = None) -> pd.DataFrame:
    """Wall time per value of `key` and phase.

    Columns: phase, key, n_ops, duration_ns, work_ns, barrier_ns, wait_ns (sums), share (of all
    rows of the phase), ns_per_token (`tokens`: tokens per phase).
    Sorted by phase, longest first. A null key is kept. `rest` is the result of `outside`: its parts become rows
    without operations and thread times, and shares are then of the whole time of the passes.
    """
    rows = timed.dropna(subset=["duration_ns"])
    grouped = rows.groupby(["phase", key], observed=True, dropna=False)
    sums = grouped[list(SUMS)].sum(min_count=1)
    sums["n_ops"] = grouped.size()
    table = sums.reset_index()
    if rest is not None:
        outside_rows = rest.rename(columns={"part": key}).assign(n_ops=0)
        table = pd.concat([table.astype({key: "object"}), outside_rows], ignore_index=True)
        table = table.astype(dict.fromkeys((*SUMS, "n_ops"), "Int64"))
    total = table.groupby("phase")["duration_ns"].transform("sum").astype("float64")
    table["share"] = table["duration_ns"].astype("float64") / total.where(total > 0)
    count = table["phase"].map({phase: n for phase, n in tokens.items() if n}).astype("float64")
    table["ns_per_token"] = table["duration_ns"].astype("float64") / count
    return table.sort_values(["phase", "duration_ns"], ascending=[True, False], ignore_index=True, kind="stable")


def top_ops(timed: pd.DataFrame, phase: str, limit: int = 15) -> pd.DataFrame:
    """The operations that took most wall time in a phase, summed over its passes; equal name, op and layer are one.

    Columns: name, op, layer, component, n_ops, duration_ns, work_ns, barrier_ns, wait_ns,
    share (of the phase's op wall time), node and pass_id of its longest execution.
    """
    rows = timed[(timed["phase"] == phase) & timed["duration_ns"].notna()]
    rows = rows.astype({"op": "object", "component": "object"})
    keys = ["name", "op", "layer", "component"]
    total = float(rows["duration_ns"].sum())
    ordered = rows.sort_values("duration_ns", ascending=False, kind="stable")
    grouped = ordered.groupby(keys, dropna=False, sort=False)
    table = grouped[list(SUMS)].sum(min_count=1)
    table["n_ops"] = grouped.size()
    table[["pass_id", "node"]] = grouped[["pass_id", "node"]].first()
    table = table.reset_index().sort_values("duration_ns", ascending=False, ignore_index=True, kind="stable")
    table["share"] = table["duration_ns"].astype("float64") / total if total else None
    return table.head(limit)


def by_layer(timed: pd.DataFrame, phase: str, tokens: Mapping[str, int], group_of: Mapping[str, str]) -> pd.DataFrame:
    """Wall time per layer and group of components in the passes of a phase, in ns.

    Columns: layer (null: outside all layers), group, duration_ns, ns_per_token (`tokens`: tokens per phase).
    `group_of` maps a component to its group; a component that it lacks has a null group.
    """
    rows = timed[timed["phase"] == phase].dropna(subset=["duration_ns"])
    group = rows["component"].astype("object").map(group_of).rename("group")
    sums = rows.groupby(["layer", group], dropna=False)["duration_ns"].sum().reset_index()
    return sums.assign(ns_per_token=sums["duration_ns"].astype(float) / max(tokens[phase], 1))


def tokens_by_phase(tables: Tables) -> dict[str, int]:
    """Tokens evaluated in prompt and in generate passes (0 when unknown)."""
    passes = measured(tables)
    return {phase: int(passes.loc[passes["kind"] == phase, "n_tokens"].sum()) for phase in PHASES}
