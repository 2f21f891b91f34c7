"""How the duration of a pass is made up: time in operations, and time before, between and after them."""

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.backends import on_program
from tracegen.analysis.passes import with_duration

# Part of a pass outside its operations -> what pages call it.
OUTSIDE_OPS = {
    "before_ns": "before operations",
    "between_ns": "between operations",
    "between_splits_ns": "between splits",
    "after_ns": "after operations",
    "awaited_ns": "waiting for other backends",
    "submitted_ns": "handing over to other backends",
    "copying_ns": "copying between backends",
}
PARTS = ("ops_ns", *OUTSIDE_OPS)
_ITEMS = ("ops_ns", "awaited_ns", "submitted_ns", "copying_ns")


def pass_parts(tables: Tables) -> pd.DataFrame:
    """The parts of each pass that has an end and at least one timed operation: wall time, ns.

    Columns: pass_id, duration_ns, ops_ns (executed operations, each from the start of its first thread to the end of
    its last thread), before_ns (until the first operation or split begins: llama.cpp prepares the graph, threads
    wake), between_ns (from the end of an operation to the start of the next: the barrier, and nodes without
    elements), between_splits_ns (the same, where the next operation belongs to another split), after_ns (from the end
    of the last operation to the end of the pass), awaited_ns (waiting for what other backends compute),
    submitted_ns (handing splits over to them; where it is not known when they are done, what they compute lies in the
    parts after it), copying_ns (copying tensors from one backend to another), apart_ns (time in which operations
    overlap or lie outside the pass; where it is 0 the parts add up to the duration), and longest_apart_ns (the longest
    such time in one place).
    """
    passes = with_duration(tables).dropna(subset=["graph", "duration_ns"])
    items = _items(tables, passes["pass_id"])
    place = items["pass_id"].to_numpy()
    begin, end = items["begin_ns"].to_numpy("int64"), items["end_ns"].to_numpy("int64")
    opens = np.diff(place, prepend=-1) != 0
    before = np.roll(end, 1)
    gap = np.where(opens, 0, begin - before)
    other_split = ~opens & (items["split"].to_numpy() != np.roll(items["split"].to_numpy(), 1))
    sums = pd.DataFrame(
        {
            "pass_id": place,
            **{part: np.where(items["part"].eq(part), end - begin, 0) for part in _ITEMS},
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
    """Executed operations with times, and what the thread that runs passes did for other backends, in order of time.

    Columns: pass_id, split, begin_ns, end_ns, and part (one of _ITEMS).
    """
    ops = tables["ops"]
    known = (ops["state"] == "executed") & (ops["time_basis"] == "measured")
    columns = {"pass_id": "int64", "split": "int64", "begin_ns": "int64", "end_ns": "int64"}
    ops = ops.loc[known.fillna(False).to_numpy(bool), list(columns)].fillna({"split": 0})
    others = on_program(tables["splits"])
    waits = others.pop("waiting").to_numpy(bool)
    copies = tables["copies"][list(columns)].astype(columns)
    parts = [
        ops.astype(columns).assign(part="ops_ns"),
        others.astype(columns).assign(part=np.where(waits, "awaited_ns", "submitted_ns")),
        _without(copies, others[waits]).assign(part="copying_ns"),
    ]
    rows = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    rows = rows[rows["pass_id"].isin(pass_ids).to_numpy(bool)]
    return rows.sort_values(["pass_id", "begin_ns", "end_ns"], ignore_index=True)


def _without(copies: pd.DataFrame, waits: pd.DataFrame) -> pd.DataFrame:
    """Copies without the time that lies in a wait for a backend, as pieces."""
    waits = waits.sort_values("begin_ns", kind="stable")
    begins, ends = (waits[name].to_numpy("int64") for name in ("begin_ns", "end_ns"))
    first = np.searchsorted(ends, copies["begin_ns"], "right")
    last = np.searchsorted(begins, copies["end_ns"], "left")
    pieces = []
    for row, i, j in zip(copies.to_dict("records"), first, last, strict=True):
        if i < j:
            edges = zip([row["begin_ns"], *ends[i:j]], [*begins[i:j], row["end_ns"]], strict=True)
            pieces += [{**row, "begin_ns": begin, "end_ns": end} for begin, end in edges if begin < end]
    whole = copies[first >= last]
    return pd.concat([whole, pd.DataFrame(pieces)]) if pieces else whole
