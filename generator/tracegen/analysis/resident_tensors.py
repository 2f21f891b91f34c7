"""How much of each tensor was in memory when each load and pass had ended."""

from collections.abc import Mapping

import pandas as pd

from tracegen.analysis import axis
from tracegen.analysis.accesses import Tables
from tracegen.analysis.pieces import bytes_in

COLUMNS = ["pass_id", "tensor", "size_bytes", "resident_bytes"]


def resident_tensors(tables: Tables, page_bytes: int) -> pd.DataFrame:
    """A row for each tensor and each load or pass that ended: pass_id, tensor, size_bytes, resident_bytes.

    A page of which a tensor has a part counts for the tensor with this part. A pass after which no page of the files
    was in memory has rows with 0. No rows if the run did not look.
    """
    tensors, looked = tables["tensors"], tables["residency"]
    if looked.empty or tensors.empty:
        return pd.DataFrame({name: pd.Series(dtype="int64") for name in COLUMNS})
    start = axis.tensor_begins(tables)
    placed = pd.DataFrame({"tensor": tensors["tensor"], "begin": start, "end": start + tensors["size_bytes"]})
    placed = placed.sort_values("begin", kind="stable")
    found = bytes_in(axis.resident(tables, page_bytes), placed)
    found["tensor"] = placed["tensor"].to_numpy()[found["place"]]
    ended = tables["passes"].loc[tables["passes"]["end_ns"].notna(), "pass_id"].sort_values(kind="stable")
    every = pd.MultiIndex.from_product([ended.astype("int64"), tensors["tensor"].astype("int64")])
    resident = found.set_index(["pass_id", "tensor"])["bytes"].reindex(every, fill_value=0)
    table = resident.rename("resident_bytes").rename_axis(["pass_id", "tensor"]).reset_index()
    table["size_bytes"] = table["tensor"].map(tensors.set_index("tensor")["size_bytes"]).astype("int64")
    return table[COLUMNS]


def by_group(resident: pd.DataFrame, tensors: pd.DataFrame, group_of: Mapping[str, str]) -> pd.DataFrame:
    """The result of `resident_tensors` summed by group of components: pass_id, group, size_bytes, resident_bytes."""
    group = tensors.set_index("tensor")["component"].astype("object").map(group_of)
    rows = resident.assign(group=resident["tensor"].map(group))
    return rows.groupby(["pass_id", "group"], as_index=False)[["size_bytes", "resident_bytes"]].sum()
