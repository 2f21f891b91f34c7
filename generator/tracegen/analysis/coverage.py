"""Which bytes of the model files were ever used: unions of ranges, per tensor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from tracegen.analysis.accesses import SELECTING, Tables, placed, ranges, unseen
from tracegen.analysis.passes import measured


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
    does not hold which rows or experts an op used), mapped_bytes and copied_bytes (of these in a mapping of the
    file, and in copies: a tensor may be used in both, as tied embeddings are), n_passes (passes that used it), memory
    (disk, copied, both joined by ` + `; null when never used). A byte used twice counts once.
    """
    tensors = tables["tensors"]
    number = tensors["tensor"]
    unknown = number.isin(unseen["tensor"])
    in_memory = {"touched_bytes": used} | {f"{name}_bytes": used[used["memory"] == kind] for kind, name in _NAMES}
    uses = pd.concat([rows[["tensor", "pass_id", "memory"]].astype({"memory": "object"}) for rows in (used, unseen)])
    distinct = uses[["tensor", "pass_id"]].drop_duplicates().groupby("tensor").size()
    kinds = uses[["tensor", "memory"]].dropna().drop_duplicates()
    memory = kinds.sort_values("memory").groupby("tensor")["memory"].agg(" + ".join)
    return tensors.assign(
        **{name: _of_each(number, rows).mask(unknown) for name, rows in in_memory.items()},
        n_passes=number.map(distinct).fillna(0).astype("int64"),
        memory=number.map(memory).astype("object"),
    )


_NAMES = (("disk", "mapped"), ("copied", "copied"))


def _of_each(number: pd.Series, used: pd.DataFrame) -> pd.Series:
    """Bytes used of each tensor, each once, Int64."""
    pieces = union(used, "tensor")
    return number.map((pieces["end"] - pieces["begin"]).groupby(pieces["tensor"]).sum()).fillna(0).astype("Int64")


def measured_use(tables: Tables) -> pd.DataFrame:
    """`tensor_use` of the measured passes: load and warm-up are left out."""
    passes = measured(tables)["pass_id"]
    return tensor_use(tables, ranges(tables, passes), unseen(tables, passes))


def group_use(use: pd.DataFrame, group_of: Mapping[str, str]) -> pd.DataFrame:
    """`tensor_use` by group of components, in the order of `group_of` (component -> group).

    Columns: group, n_tensors, size_bytes, touched_bytes, and of these mapped_bytes and copied_bytes, which may have
    bytes in common; a group is unknown where one of its tensors is. Groups without tensors have no row.
    """
    group = use["component"].astype("object").map(group_of).rename("group")
    grouped = use.groupby(group)
    made = grouped[["size_bytes", "touched_bytes", "mapped_bytes", "copied_bytes"]].sum(skipna=False)
    made.insert(0, "n_tensors", grouped.size())
    return made.reindex([name for name in dict.fromkeys(group_of.values()) if name in made.index]).reset_index()


def tensors_read(tables: Tables, pass_ids: Iterable[int]) -> tuple[set[int], set[int]]:
    """Numbers of the tensors of which the passes used bytes, and of those of which nobody recorded which they used.

    The same as from `ranges` and `unseen` of all ops. An operand that is used whole is the same in every pass of
    its graph and placement, of which one is looked at; only those of which units are selected differ by pass.
    """
    passes, nodes, ops = tables["passes"], tables["graph_nodes"], tables["ops"]
    where = passes.loc[passes["pass_id"].isin(list(pass_ids)), ["pass_id", "graph", "placement"]].dropna()
    ran = ops.loc[ops["state"].isin(["executed", "fused"]), ["pass_id", "node"]]
    ran = ran.reset_index().merge(where.astype("int32"), on="pass_id").set_index("index")
    once = ran.index[~ran.duplicated(["graph", "placement", "node"])]
    selecting = nodes.loc[nodes["op"].isin([op for op, _ in SELECTING]), ["graph", "node"]]
    keys = pd.MultiIndex.from_frame(selecting)
    each = ran.index[pd.MultiIndex.from_frame(ran[["graph", "node"]]).isin(keys)]
    whole = placed({**tables, "ops": ops.loc[once]})
    parts = placed({**tables, "ops": ops.loc[each]})
    whole, parts = whole[whole["selects"].isna()], parts[parts["selects"].notna()]
    used: set[int] = set()
    read: set[int] = set()
    for rows in (whole, parts):
        covered = ranges(tables, rows=rows)
        used.update(covered.loc[covered["end"] > covered["begin"], "tensor"].dropna())
        read.update(unseen(tables, rows=rows)["tensor"])
    return used, read


def touched_file_bytes(used: pd.DataFrame) -> int:
    """Bytes of the files that lie in at least one range of `used`; overlaps count once."""
    pieces = union(used, "file")
    return int((pieces["end"] - pieces["begin"]).sum())
