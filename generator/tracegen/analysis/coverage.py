"""Which bytes of the model files any pass touched: unions of ranges, per tensor."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import SELECTING, Tables, placed, ranges, unseen
from tracegen.analysis.passes import measured


def union(used: pd.DataFrame, key: str) -> pd.DataFrame:
    """Disjoint ranges per value of `key`: `key`, begin, end (bytes in the file, end exclusive).

    `used` has the columns of `accesses.ranges`. Ranges that overlap or adjoin are joined.
    """
    rows = used.loc[used["end"] > used["begin"], [key, "begin", "end"]].dropna().drop_duplicates()
    rows = rows.sort_values([key, "begin"], ignore_index=True)
    begin, end = rows["begin"].to_numpy("int64"), rows["end"].to_numpy("int64")
    base = pd.factorize(rows[key])[0] * (end.max(initial=0) + 1)  # the ranges of one value lie apart from the next's
    reach = np.maximum.accumulate(base + end)
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (base + begin)[1:] > reach[:-1]
    is_last = np.append(is_new[1:], True)[: len(rows)]
    return rows[is_new].assign(end=(reach - base)[is_last]).reset_index(drop=True)


def tensor_use(tables: Tables, used: pd.DataFrame, unseen: pd.DataFrame) -> pd.DataFrame:
    """Every tensor of the files with the bytes of it that passes touched.

    `used` and `unseen` are the results of `accesses.ranges` and `accesses.unseen` for the passes to count.
    Columns: those of `tensors`, and touched_bytes (union over all passes; null when the trace does not hold which
    rows or experts an op touched), mapped_bytes and copied_bytes (the touched bytes in the mapping and in copies; tied
    embeddings are touched in both), n_passes (passes that touched it), memory (disk, copied, or `copied + disk`;
    null when never touched). A byte touched twice counts once.
    """
    tensors = tables["tensors"]
    number = tensors["tensor"]
    unknown = number.isin(unseen["tensor"])
    mapped, copied = (used[used["memory"] == kind] for kind in ("disk", "copied"))
    in_memory = {"touched_bytes": used, "mapped_bytes": mapped, "copied_bytes": copied}
    uses = pd.concat([rows[["tensor", "pass_id", "memory"]].astype({"memory": "object"}) for rows in (used, unseen)])
    distinct = uses[["tensor", "pass_id"]].drop_duplicates().groupby("tensor").size()
    kinds = uses[["tensor", "memory"]].dropna().drop_duplicates()
    memory = kinds.sort_values("memory", kind="stable").groupby("tensor")["memory"].agg(" + ".join)
    return tensors.assign(
        **{name: _of_each(number, rows).mask(unknown) for name, rows in in_memory.items()},
        n_passes=number.map(distinct).fillna(0).astype("int64"),
        memory=number.map(memory).astype("object"),
    )


def _of_each(number: pd.Series, used: pd.DataFrame) -> pd.Series:
    """Touched bytes of each tensor, each byte once, Int64."""
    pieces = union(used, "tensor")
    return number.map((pieces["end"] - pieces["begin"]).groupby(pieces["tensor"]).sum()).fillna(0).astype("Int64")


def measured_use(tables: Tables) -> pd.DataFrame:
    """`tensor_use` of the measured passes: load and warm-up are left out."""
    passes = measured(tables)["pass_id"]
    return tensor_use(tables, ranges(tables, passes), unseen(tables, passes))


def group_use(use: pd.DataFrame, group_of: Mapping[str, str]) -> pd.DataFrame:
    """`tensor_use` summed by group of components, in the order of `group_of` (component -> group).

    Columns: group, n_tensors, size_bytes, touched_bytes, mapped_bytes and copied_bytes (these two may count the same
    byte). A value is null where it is null for one tensor of the group. Groups without tensors have no row.
    """
    return summed_by_group(use, group_of, ("size_bytes", "touched_bytes", "mapped_bytes", "copied_bytes"))


def summed_by_group(tensors: pd.DataFrame, group_of: Mapping[str, str], columns: Sequence[str]) -> pd.DataFrame:
    """Columns of a table of tensors by group of components: group, n_tensors, and their sums, as in `group_use`."""
    grouped = tensors.groupby(tensors["component"].astype("object").map(group_of).rename("group"))
    table = grouped[list(columns)].sum(skipna=False)
    table.insert(0, "n_tensors", grouped.size())
    return table.reindex([name for name in dict.fromkeys(group_of.values()) if name in table.index]).reset_index()


def tensors_read(tables: Tables, pass_ids: Iterable[int]) -> tuple[set[int], set[int]]:
    """Two sets of tensor numbers: tensors of which passes touched known bytes, and of which they touched unknown ones.

    The result is that of `ranges` and `unseen` over all ops, but faster: an operand that is touched whole is the same
    in every pass of its graph and placement, so that one pass is read; only selecting operands differ by pass.
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


def tensor_bytes(tables: Tables) -> int | None:
    """Bytes of the files that lie in a tensor, each once: the weights. None where a tensor's place is not known.

    What else the files hold is their headers (metadata and the list of tensors) and the padding between tensors.
    """
    tensors = tables["tensors"]
    if tensors[["offset", "size_bytes"]].isna().any(axis=None) or tensors.empty:
        return None
    begin = tensors["offset"].astype("int64")
    return touched_file_bytes(tensors.assign(begin=begin, end=begin + tensors["size_bytes"].astype("int64")))


def touched_file_bytes(used: pd.DataFrame) -> int:
    """Bytes of the files that lie in at least one range of `used`; overlaps count once."""
    pieces = union(used, "file")
    return int((pieces["end"] - pieces["begin"]).sum())
