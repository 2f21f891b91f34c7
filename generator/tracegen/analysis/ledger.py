"""What became of the bytes of the model files: loaded, touched, copied, in memory at the end; each byte once.

Ranges count, not tensors: a tensor of which a token touches 4 of 32 experts is touched by an eighth. A byte can be in
several columns: touched in the mapping by one operation and in a copy by another (tied embeddings).
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tracegen.analysis import axis
from tracegen.analysis.accesses import Tables
from tracegen.analysis.coverage import summed_by_group, union
from tracegen.analysis.passes import measured

BLOCKS = (4096, 131072, 2097152)  # bytes: a page, what read-ahead asks for, a huge page
_KEPT = ("loaded", "waste", "resident", "gone", "copied_resident")
SUMS = ("size_bytes", "touched_bytes", "copied_bytes", *(f"{name}_bytes" for name in _KEPT))

Ranges = tuple[np.ndarray, np.ndarray]  # begins and ends on the disk axis, bytes, in any order; they may overlap


def by_tensor(tables: Tables, used: pd.DataFrame, unseen: pd.DataFrame, page_bytes: int) -> pd.DataFrame:
    """The bytes of each tensor by what became of them; a row per tensor: tensor, component, layer and `SUMS`.

    `used` and `unseen` are the results of `accesses.ranges` and `accesses.unseen`. Measured passes count:
    touched_bytes were touched in the mapping, copied_bytes in copies. loaded_bytes were in memory when the last load
    had ended, waste_bytes are those of them that nothing touched in the mapping afterwards. resident_bytes were in
    memory when the last pass had ended, gone_bytes were touched in the mapping and were not in memory then,
    copied_resident_bytes were touched in copies and were in memory as file, too. What needs residency is null if the
    run did not record it, or had no load; what needs the touched bytes is null where the trace does not hold them.
    """
    tensors = tables["tensors"]
    begin = axis.tensor_begins(tables)
    counted = set(measured(tables)["pass_id"])
    rows = axis.on_axis(tables, used[used["pass_id"].isin(counted) & (used["end"] > used["begin"])])
    sets = {kind: _ranges(rows[(rows["memory"] == kind).to_numpy(bool)]) for kind in ("disk", "copied")}
    loads, last = _observed(tables)
    runs = axis.resident(tables, page_bytes)
    for name, pass_id in (("loaded", loads), ("resident", last)):
        sets[name] = _ranges(runs[runs["pass_id"] == (-1 if pass_id is None else pass_id)])
    parts = segments(sets, np.concatenate([begin, begin + tensors["size_bytes"].to_numpy("int64")]))
    at = np.searchsorted(np.sort(begin), parts["begin"].to_numpy(), "right") - 1
    tensor = tensors["tensor"].to_numpy()[np.argsort(begin, kind="stable")][at]
    in_ = {name: parts[name].to_numpy() for name in sets}
    chosen = {
        "touched_bytes": in_["disk"],
        "copied_bytes": in_["copied"],
        "loaded_bytes": in_["loaded"],
        "waste_bytes": in_["loaded"] & ~in_["disk"],
        "resident_bytes": in_["resident"],
        "gone_bytes": in_["disk"] & ~in_["resident"],
        "copied_resident_bytes": in_["copied"] & in_["resident"],
    }
    size = (parts["end"] - parts["begin"]).to_numpy()
    table = tensors[["tensor", "component", "layer", "size_bytes"]].copy()
    inside = at >= 0
    end = pd.Series(begin + tensors["size_bytes"].to_numpy("int64"), index=tensors["tensor"])
    inside &= parts["end"].to_numpy() <= end.reindex(tensor).to_numpy()  # not in the header, nor between tensors
    for name, which in chosen.items():
        sums = pd.Series(size * which * inside).groupby(tensor).sum()
        table[name] = table["tensor"].map(sums).fillna(0).astype("Int64")
    table.loc[
        table["tensor"].isin(unseen["tensor"]),
        ["touched_bytes", "copied_bytes", "waste_bytes", "gone_bytes", "copied_resident_bytes"],
    ] = pd.NA
    if loads is None:
        table[["loaded_bytes", "waste_bytes"]] = pd.NA
    if last is None:
        table[["resident_bytes", "gone_bytes", "copied_resident_bytes"]] = pd.NA
    return table.astype(dict.fromkeys(SUMS, "Int64"))


def by_group(ledger: pd.DataFrame, group_of: Mapping[str, str]) -> pd.DataFrame:
    """`by_tensor` summed by group of components, in the order of `group_of`: group, n_tensors and `SUMS`.

    A sum is null where it is null for one tensor of the group. Groups without tensors have no row.
    """
    return summed_by_group(ledger, group_of, SUMS)


def segments(sets: Mapping[str, Ranges], edges: np.ndarray) -> pd.DataFrame:
    """The axis cut at each start and end of `sets` and at `edges`: begin, end, and for each set whether it holds it."""
    cuts = np.unique(np.concatenate([edges, *(side for ranges in sets.values() for side in ranges)]).astype("int64"))
    table = pd.DataFrame({"begin": cuts[:-1], "end": cuts[1:]})
    for name, (begin, end) in sets.items():
        change = np.zeros(len(cuts), dtype=np.int64)
        np.add.at(change, np.searchsorted(cuts, begin), 1)
        np.subtract.at(change, np.searchsorted(cuts, end), 1)
        table[name] = np.cumsum(change)[: len(table)] > 0
    return table


def blocks(accesses: pd.DataFrame, disk_bytes: int) -> pd.DataFrame:
    """What a token touches in whole blocks: pass_id, block_bytes, touched_bytes, in_blocks_bytes; a row for each size.

    `accesses` is the result of `order.disk_accesses`. touched_bytes are the different bytes that the pass touched of
    the mapped files, in_blocks_bytes those of the blocks (aligned on the disk axis) in which at least one of them lies,
    the last of them up to disk_bytes, the end of the files.
    """
    tables = []
    for size in (1, *BLOCKS):
        end = (-(-accesses["end"] // size) * size).clip(upper=disk_bytes)
        rows = union(accesses[["pass_id"]].assign(begin=accesses["begin"] // size * size, end=end), "pass_id")
        sums = (rows["end"] - rows["begin"]).groupby(rows["pass_id"]).sum()
        tables.append(sums.rename("in_blocks_bytes").reset_index().assign(block_bytes=size))
    whole = pd.concat(tables, ignore_index=True)
    touched = whole[whole["block_bytes"] == 1].set_index("pass_id")["in_blocks_bytes"]
    whole = whole[whole["block_bytes"] > 1]
    whole = whole.assign(touched_bytes=whole["pass_id"].map(touched))
    names = ["pass_id", "block_bytes", "touched_bytes", "in_blocks_bytes"]
    return whole[names].sort_values(["pass_id", "block_bytes"], ignore_index=True)


def _ranges(rows: pd.DataFrame) -> Ranges:
    return rows["begin"].to_numpy("int64"), rows["end"].to_numpy("int64")


def _observed(tables: Tables) -> tuple[int | None, int | None]:
    """The last load and the last pass after which residency was looked at; None where it was not."""
    runs, passes = tables["residency"], tables["passes"]
    if runs.empty:
        return None, None
    ended = passes[passes["end_ns"].notna()]
    loads, others = ended[ended["kind"] == "load"], ended[ended["kind"] != "load"]
    return tuple(int(rows["pass_id"].max()) if len(rows) else None for rows in (loads, others))  # type: ignore[return-value]
