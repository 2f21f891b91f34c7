"""How the duration of a pass is made up: time in operations, and time before, between and after them."""

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.backends import submitted
from tracegen.analysis.passes import with_duration

# Part of a pass outside its operations -> what pages call it.
OUTSIDE_OPS = {
    "before_ns": "before operations",
    "between_ns": "between operations",
    "between_splits_ns": "between splits",
    "after_ns": "after operations",
    "elsewhere_ns": "other backends",
    "submitted_ns": "submitting to other backends",
}
PARTS = ("ops_ns", *OUTSIDE_OPS)


def pass_parts(tables: Tables) -> pd.DataFrame:
    """The parts of each pass that has an end and at least one timed operation: wall time, ns.

    Columns: pass_id, duration_ns, ops_ns (executed operations, each from the start of its first thread to the end of
    its last thread), before_ns (until the first operation or split begins: llama.cpp prepares the graph, threads
    wake), between_ns (from the end of an operation to the start of the next: the barrier, and nodes without
    elements), between_splits_ns (the same, where the next operation belongs to another split), after_ns (from the end
    of the last operation to the end of the pass), elsewhere_ns (splits that other backends ran, from hand-over to
    finish), submitted_ns (the same of backends that may return before they have computed: only the hand-over is known,
    and what they compute lies in the parts after it), apart_ns (time in which operations overlap or lie outside the
    pass; where it is 0 the parts add up to the duration), and longest_apart_ns (the longest such time in one place).
    """
    passes = with_duration(tables).dropna(subset=["graph", "duration_ns"])
    items = _items(tables, passes["pass_id"])
    place = items["pass_id"].to_numpy()
    begin, end = items["begin_ns"].to_numpy("int64"), items["end_ns"].to_numpy("int64")
    opens = np.diff(place, prepend=-1) != 0
    before = np.roll(end, 1)
    gap = np.where(opens, 0, begin - before)
    other_split = ~opens & (items["split"].to_numpy() != np.roll(items["split"].to_numpy(), 1))
    elsewhere, handed = items["elsewhere"].to_numpy(bool), items["submitted"].to_numpy(bool)
    sums = pd.DataFrame(
        {
            "pass_id": place,
            "ops_ns": np.where(elsewhere, 0, end - begin),
            "elsewhere_ns": np.where(elsewhere & ~handed, end - begin, 0),
            "submitted_ns": np.where(handed, end - begin, 0),
            "between_ns": np.where(other_split, 0, gap).clip(0),
            "between_splits_ns": np.where(other_split, gap, 0).clip(0),
            "overlap_ns": (-gap).clip(0),
        }
    )
    by_pass = sums.groupby("pass_id")
    table = by_pass.sum().assign(longest_ns=by_pass["overlap_ns"].max())
    ends = items.groupby("pass_id").agg(first=("begin_ns", "min"), last=("end_ns", "max"))
    table = passes.set_index("pass_id")[["begin_ns", "end_ns", "duration_ns"]].join(table.join(ends), how="inner")
    before_ns, after_ns = table["first"] - table["begin_ns"], table["end_ns"] - table["last"]
    early, late = (-before_ns).clip(0), (-after_ns).clip(0)
    table = table.assign(before_ns=before_ns.clip(0), after_ns=after_ns.clip(0))
    table["apart_ns"] = table.pop("overlap_ns") + early + late
    table["longest_apart_ns"] = np.maximum.reduce([table.pop("longest_ns"), early, late])
    wanted = ["duration_ns", *PARTS, "apart_ns", "longest_apart_ns"]
    return table[wanted].astype("int64").reset_index()


def _items(tables: Tables, pass_ids: pd.Series) -> pd.DataFrame:
    """Executed operations with times, and splits of other backends, in order of time.

    Columns: pass_id, split, begin_ns, end_ns, elsewhere, submitted (see `backends.submitted`).
    """
    ops = tables["ops"]
    known = (ops["state"] == "executed") & (ops["time_basis"] == "measured") & ops["pass_id"].isin(pass_ids)
    ops = ops.loc[known.fillna(False).to_numpy(bool), ["pass_id", "split", "begin_ns", "end_ns"]]
    splits = tables["splits"]
    others = splits.loc[~splits["by_op"].to_numpy(bool) & splits["pass_id"].isin(pass_ids).to_numpy(bool)]
    columns = {"pass_id": "int64", "split": "int64", "begin_ns": "int64", "end_ns": "int64"}
    parts = [
        ops.assign(split=ops["split"].fillna(0)).astype(columns).assign(elsewhere=False, submitted=False),
        others[list(columns)].astype(columns).assign(elsewhere=True, submitted=submitted(others)),
    ]
    if others.empty:
        parts.pop()
    return pd.concat(parts, ignore_index=True).sort_values(["pass_id", "begin_ns", "end_ns"], ignore_index=True)
