"""For which experts threads waited for the disk."""

import pandas as pd

from tracegen.analysis import axis, disk_waits
from tracegen.analysis.accesses import Tables
from tracegen.analysis.pieces import pieces

_COLUMNS = ("layer", "expert", "n_faults", "n_major", "n_passes", "waited_ns", "share")


def by_expert(tables: Tables) -> pd.DataFrame:
    """Page faults of measured passes on bytes of experts, by layer and expert, longest waiting first.

    Columns: layer, expert, n_faults, n_major, n_passes (in how many passes they lie), waited_ns (sum over threads and
    over the tensors of the expert), share (of the waiting for all bytes of the file). Empty without experts.
    """
    faults = disk_waits.placed(tables)
    whole = int(faults["waited_ns"].sum())
    faults = faults[faults["file"].notna().to_numpy(bool)]
    parts = pieces(tables)
    place = axis.places(tables, faults)
    at = axis.holding(parts["begin"].to_numpy("int64"), parts["end"].to_numpy("int64"), place)
    inside = at >= 0
    hit = parts.iloc[at[inside]].reset_index(drop=True)
    layer = tables["tensors"].set_index("tensor")["layer"]
    rows = faults[inside].reset_index(drop=True).assign(expert=hit["expert"], layer=hit["tensor"].map(layer))
    rows = rows.dropna(subset=["expert", "layer"])
    if rows.empty:
        return pd.DataFrame({name: pd.Series(dtype="float64" if name == "share" else "int64") for name in _COLUMNS})
    table: pd.DataFrame = rows.groupby(["layer", "expert"], as_index=False).agg(
        n_faults=("fault", "size"),
        n_major=("major", "sum"),
        n_passes=("pass_id", "nunique"),
        waited_ns=("waited_ns", "sum"),
    )
    table["share"] = table["waited_ns"] / whole if whole else 0.0
    table = table.sort_values(["waited_ns", "layer", "expert"], ascending=[False, True, True], ignore_index=True)
    return table[list(_COLUMNS)]
