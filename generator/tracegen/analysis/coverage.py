"""Which bytes of the model files were ever used: unions of ranges, per tensor."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis.accesses import Tables


def union(used: pd.DataFrame, key: str) -> pd.DataFrame:
    """Disjoint ranges: `key`, begin, end (bytes in the file, end exclusive), touching ones joined.

    `used` has the columns of `accesses.ranges`; overlaps count once per value of `key`.
    """
    rows = used.loc[used["end"] > used["begin"], [key, "begin", "end"]].dropna().drop_duplicates()
    rows = rows.sort_values([key, "begin", "end"], ignore_index=True)
    reach = rows.groupby(key)["end"].cummax().groupby(rows[key]).shift()
    piece = (reach.isna() | (rows["begin"] > reach)).cumsum().rename("piece")
    return rows.groupby(piece).agg({key: "first", "begin": "min", "end": "max"}).reset_index(drop=True)


def tensor_use(tables: Tables, used: pd.DataFrame, unseen: pd.DataFrame) -> pd.DataFrame:
    """Every tensor of the files with what measured passes used of it.

    `used` and `unseen` are as `accesses.ranges` and `accesses.unseen` give them, for these passes.
    Columns: those of `tensors`, and touched_bytes (union over all passes; null when the trace
    does not hold which rows or experts an op used), n_passes (passes that used it), memory
    (disk, copied, both joined by ` + `; null when never used). A byte used twice counts once.
    """
    pieces = union(used, "tensor")
    touched = (pieces["end"] - pieces["begin"]).groupby(pieces["tensor"]).sum()
    tensors = tables["tensors"]
    number = tensors["tensor"]
    uses = pd.concat([rows[["tensor", "pass_id", "memory"]].astype({"memory": "object"}) for rows in (used, unseen)])
    distinct = uses[["tensor", "pass_id"]].drop_duplicates().groupby("tensor").size()
    kinds = uses[["tensor", "memory"]].dropna().drop_duplicates()
    memory = kinds.sort_values("memory").groupby("tensor")["memory"].agg(" + ".join)
    return tensors.assign(
        touched_bytes=number.map(touched).fillna(0).astype("Int64").mask(number.isin(unseen["tensor"])),
        n_passes=number.map(distinct).fillna(0).astype("int64"),
        memory=number.map(memory).astype("object"),
    )


def touched_file_bytes(used: pd.DataFrame) -> int:
    """Bytes of the files that lie in at least one range of `used`; overlaps count once."""
    pieces = union(used, "file")
    return int((pieces["end"] - pieces["begin"]).sum())
