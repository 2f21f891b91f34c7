"""The weights of a model: their types, how many numbers they are, and which of them tokens touch most."""

import re
from collections.abc import Mapping

import pandas as pd

_LAYER = re.compile(r"(?<=\.)\d+(?=\.)")


def by_type(tensors: pd.DataFrame) -> pd.DataFrame:
    """The types of the table `tensors`, most bytes first: dtype, n_tensors, size_bytes, share (of all bytes)."""
    grouped = tensors.groupby(tensors["dtype"].astype("object").fillna("unknown"))["size_bytes"]
    table = grouped.agg(n_tensors="size", size_bytes="sum").reset_index()
    table["share"] = table["size_bytes"] / max(int(table["size_bytes"].sum()), 1)
    return table.sort_values(["size_bytes", "dtype"], ascending=[False, True], ignore_index=True)


def n_elements(tensors: pd.DataFrame) -> int | None:
    """How many numbers the tensors hold: what is called the parameters of a model; None if a shape is not known."""
    shape = tensors[["ne0", "ne1", "ne2", "ne3"]].astype("object")
    if shape.isna().any(axis=None):
        return None
    return int(shape.prod(axis=1).sum()) if len(shape) else 0


def touched_by_group(ops: pd.DataFrame, pass_ids: pd.Series, group_of: Mapping[str, str]) -> pd.DataFrame:
    """Bytes that operations of each component group touch in one pass, in the mean over `pass_ids`.

    `ops` is the result of `operations.op_rows`, `group_of` maps components to groups. Columns: group, weight_bytes
    (mapped and copied together), buffer_bytes; Float64, null where one value is not recorded. Most weights
    first, unknown before none.
    """
    ran = ops[ops["pass_id"].isin(pass_ids) & ops["state"].isin(["executed", "fused"])]
    columns = ["disk_bytes", "copied_bytes", "buffer_bytes"]
    group = ran["component"].astype("object").map(group_of).fillna("other").rename("group")
    sums = ran.groupby(group)[columns].sum(skipna=False).astype("Float64") / max(len(pass_ids), 1)
    weights = sums["disk_bytes"] + sums["copied_bytes"]
    table = pd.DataFrame({"weight_bytes": weights, "buffer_bytes": sums["buffer_bytes"]}).reset_index()
    unknown_before_none = table["weight_bytes"].fillna(0.5)
    order = table.assign(order=unknown_before_none).sort_values(["order", "buffer_bytes"], ascending=False)
    return order.drop(columns="order").reset_index(drop=True)


def touched_by_name(accessed: pd.DataFrame, tensors: pd.DataFrame, pass_ids: pd.Series) -> pd.DataFrame:
    """Bytes of weights that one pass touches, in the mean over `pass_ids`; layers together.

    `accessed` is the result of `accesses.accesses`. Tensors whose names differ only in their layer are one row:
    `blk.*.ffn_up.weight`. Columns: name, dtype (that of most bytes), n_tensors, size_bytes, bytes_per_pass (Float64;
    null where the touched rows or experts of one of them were not recorded). Most touched first, unknown last.
    """
    named = tensors.assign(name=[_LAYER.sub("*", str(name), count=1) for name in tensors["name"]])
    rows = accessed.loc[accessed["pass_id"].isin(pass_ids), ["tensor", "memory", "touched_bytes"]]
    rows = rows[rows["tensor"].notna() & rows["memory"].isin(["disk", "copied"])]
    rows = rows.assign(name=rows["tensor"].astype("int64").map(named.set_index("tensor")["name"]))
    touched = rows.groupby("name")["touched_bytes"].sum(skipna=False).astype("Float64") / max(len(pass_ids), 1)
    largest = named.sort_values("size_bytes", ascending=False, kind="stable")
    table = largest.groupby("name").agg(
        dtype=("dtype", "first"), n_tensors=("name", "size"), size_bytes=("size_bytes", "sum")
    )
    table = table.loc[table.index.isin(touched.index)].assign(bytes_per_pass=touched)
    return table.reset_index().sort_values(
        ["bytes_per_pass", "size_bytes", "name"], ascending=[False, False, True], ignore_index=True
    )
