"""The rows of the operation table: every op of a pass with its times and bytes."""

from collections.abc import Iterable

import pandas as pd

from tracegen.analysis.accesses import Tables, accesses
from tracegen.contract.tables import MEMORY_KINDS

NODE = ["op", "name", "layer", "component", "dtype"]
THREAD_TIMES = ["work_ns", "barrier_ns", "wait_ns"]


def op_rows(
    tables: Tables, pass_ids: Iterable[int] | None = None, *, accessed: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One row per computing node of each pass, in order of execution.

    Columns: pass_id, node, op, name, layer, component, dtype, state, fused_into,
    begin_ns (since the pass began), duration_ns (first begin to last end over all
    threads), work_ns, barrier_ns, wait_ns (sums over threads), n_threads, and
    disk_bytes, copied_bytes, buffer_bytes: what it touched in each kind of memory
    (null when the trace does not say). `accessed`: the result of `accesses`, if the caller has it already.
    """
    passes = tables["passes"][["pass_id", "graph", "begin_ns"]].dropna(subset=["graph"])
    if pass_ids is not None:
        passes = passes[passes["pass_id"].isin(list(pass_ids))]
    passes = passes.astype({"graph": "int32"}).rename(columns={"begin_ns": "pass_begin_ns"})
    ops = tables["ops"]
    ops = ops.loc[ops["state"] != "noop", ["pass_id", "node", "state", "fused_into", "n_threads", "begin_ns", "end_ns"]]
    rows = ops.merge(passes, on="pass_id")
    rows = rows.merge(tables["graph_nodes"][["graph", "node", *NODE]], on=["graph", "node"])
    rows["duration_ns"] = rows["end_ns"] - rows["begin_ns"]
    rows["begin_ns"] = rows["begin_ns"] - rows["pass_begin_ns"]
    spans = tables["spans"]
    sums = spans.groupby(["pass_id", "node"], as_index=False)[THREAD_TIMES].sum()
    rows = rows.merge(sums.astype(dict.fromkeys(THREAD_TIMES, "Int64")), how="left")
    touched = touched_by_memory(accesses(tables, pass_ids) if accessed is None else accessed)
    rows = rows.merge(touched, on=["pass_id", "node"], how="left")
    times = ["begin_ns", "duration_ns", *THREAD_TIMES, "n_threads"]
    names = ["pass_id", "node", *NODE, "state", "fused_into", *times, *(f"{memory}_bytes" for memory in MEMORY_KINDS)]
    return rows.sort_values(["pass_id", "node"], ignore_index=True)[names]


def touched_by_memory(accessed: pd.DataFrame) -> pd.DataFrame:
    """Bytes that each op touched, one column per kind of memory; null where those of one operand are not known."""
    rows = accessed[accessed["memory"].notna()]
    grouped = rows.groupby(["pass_id", "node", "memory"], observed=True)["touched_bytes"]
    table, known = (
        of.unstack("memory").reindex(columns=list(MEMORY_KINDS)) for of in (grouped.sum(skipna=False), grouped.size())
    )
    table = table.where(known.notna(), 0).astype("Int64")
    table.columns = pd.Index([f"{memory}_bytes" for memory in MEMORY_KINDS])
    return table.reset_index()
