"""How long threads wait in page faults of the model's files: for which tensors, places and experts."""

import numpy as np
import pandas as pd

from tracegen.analysis import accesses, axis
from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import measured
from tracegen.analysis.pieces import bytes_in


def recorded(tables: Tables) -> bool:
    """Whether page faults of the run were recorded."""
    return bool(tables["spans"]["fault_ns"].notna().any())


def by_tensor(tables: Tables) -> pd.DataFrame:
    """Page faults of measured passes by the tensor whose bytes were missing, longest waiting first.

    Columns: tensor, name, layer, component, dtype, n_faults, n_major, n_pages (distinct pages of 4 KiB that faulted),
    waited_ns (sum over threads; faults whose end was not seen count 0), share (of the waiting of all tensors), op (the
    kind of operation in which most of the tensor's waiting was; null: between operations), op_share (of the tensor's
    waiting). Faults of bytes between tensors have no tensor and are one row.
    """
    rows = placed(tables)
    grouped = rows.groupby("tensor", dropna=False, sort=False)
    table = grouped.agg(
        n_faults=("fault", "size"),
        n_major=("major", "sum"),
        n_pages=("page", "nunique"),
        waited_ns=("waited_ns", "sum"),
    ).reset_index()
    about = tables["tensors"][["tensor", "name", "layer", "component", "dtype"]].astype({"tensor": "Int64"})
    table = about.merge(table.astype({"tensor": "Int64"}), on="tensor", how="right")
    whole = int(table["waited_ns"].sum())
    table["share"] = table["waited_ns"] / whole if whole else 0.0
    table = table.merge(_longest_use(tables, rows), on="tensor", how="left")
    return table.sort_values(["waited_ns", "tensor"], ascending=[False, True], ignore_index=True)


def _longest_use(tables: Tables, rows: pd.DataFrame) -> pd.DataFrame:
    """For each tensor of `rows` (of `placed`) the kind of operation in which most was waited: tensor, op, op_share.

    One tensor can be used in several ways: a tied matrix is looked up by row, and multiplied as the output matrix.
    """
    graph = tables["passes"].set_index("pass_id")["graph"]
    nodes = tables["graph_nodes"][["graph", "node", "op"]].astype({"graph": "Int64", "node": "Int64", "op": "object"})
    keys = {"graph": rows["pass_id"].map(graph).astype("Int64"), "node": rows["node"].astype("Int64")}
    at = rows[["tensor", "waited_ns"]].assign(**keys).astype({"tensor": "Int64"}).merge(nodes, how="left")
    sums = at.groupby(["tensor", "op"], dropna=False)["waited_ns"].sum().reset_index()
    whole = sums.groupby("tensor", dropna=False)["waited_ns"].transform("sum")
    sums = sums.assign(op_share=(sums["waited_ns"] / whole.where(whole > 0)).fillna(0.0))
    sums = sums.sort_values(["waited_ns", "op"], ascending=[False, True]).drop_duplicates("tensor")
    return sums[["tensor", "op", "op_share"]]


def placed(tables: Tables) -> pd.DataFrame:
    """The page faults of measured passes, each with the tensor of the byte that was touched.

    Columns: fault, pass_id, node, thread, file, offset (bytes), page (offset in pages of 4 KiB, with the file), major
    (bool), begin_ns, waited_ns (int64), tensor (null: between tensors, or of a file that no model lists).
    """
    faults = tables["faults"]
    chosen = faults["pass_id"].isin(measured(tables)["pass_id"]).to_numpy(bool)
    rows = faults[chosen].reset_index(drop=True)
    file, offset = _file_and_offset(rows)
    return pd.DataFrame(
        {
            **{name: rows[name] for name in ("fault", "pass_id", "node", "thread", "file", "offset", "begin_ns")},
            "page": file << 44 | offset >> 12,
            "major": (rows["kind"] == "major").to_numpy(bool),
            "waited_ns": rows["duration_ns"].fillna(0).to_numpy("int64"),
            "tensor": _tensor_at(tables["tensors"], file, offset),
        }
    )


def with_tensors(tables: Tables) -> pd.DataFrame:
    """All page faults, as the table has them, with the tensor of the byte and its name.

    Columns beside: tensor, tensor_name (null: between tensors, or of a file that no model lists).
    """
    faults, tensors = tables["faults"], tables["tensors"]
    tensor = _tensor_at(tensors, *_file_and_offset(faults))
    names = tensors.set_index("tensor")["name"].reindex(tensor)
    return faults.assign(tensor=tensor, tensor_name=names.array)


def _file_and_offset(faults: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    return faults["file"].fillna(-1).to_numpy("int64"), faults["offset"].fillna(0).to_numpy("int64")


def waits_by_piece(tables: Tables, cut: pd.DataFrame) -> pd.DataFrame:
    """Waiting for each piece of the file in each pass, warm-up too: pass_id, piece, waited_ns (sum over threads).

    `cut` is the result of `pieces.pieces`. Page faults of bytes that belong to no piece are left out; those whose end
    was not seen count 0.
    """
    faults = tables["faults"].dropna(subset=["pass_id", "file", "offset"])
    at = axis.places(tables, faults)
    piece = axis.holding(cut["begin"].to_numpy("int64"), cut["end"].to_numpy("int64"), at)
    found = pd.DataFrame(
        {
            "pass_id": faults["pass_id"].to_numpy("int64"),
            "piece": piece,
            "waited_ns": faults["duration_ns"].fillna(0).to_numpy("int64"),
        }
    )
    kept: pd.DataFrame = found[piece >= 0]
    return kept.groupby(["pass_id", "piece"], as_index=False)[["waited_ns"]].sum()


def _tensor_at(tensors: pd.DataFrame, file: np.ndarray, offset: np.ndarray) -> pd.arrays.IntegerArray:
    """The tensor that holds each byte of a file; null where none does."""
    found = np.full(len(file), -1, np.int32)
    for number, part in tensors.groupby("file"):
        part = part.sort_values("offset", kind="stable")
        begin, size = part["offset"].to_numpy("int64"), part["size_bytes"].to_numpy("int64")
        rows = np.flatnonzero(file == number)
        at = axis.holding(begin, begin + size, offset[rows])
        found[rows[at >= 0]] = part["tensor"].to_numpy()[at[at >= 0]]
    return pd.arrays.IntegerArray(np.maximum(found, 0), found < 0)


def outside_touched(tables: Tables) -> tuple[int, int]:
    """Page faults in operations of measured passes: how many, and how many lie in no byte that their operation touches.

    An operation touches what those touch that were fused into it. Faults of operations with an operand whose rows or
    experts are not known are left out of both.
    """
    faults = placed(tables)
    faults = faults[(faults["node"].notna() & faults["file"].notna()).to_numpy(bool)]
    if faults.empty:
        return 0, 0
    pass_ids = faults["pass_id"].unique()
    rows = accesses.placed(tables, pass_ids)
    unknown = accesses.unseen(tables, rows=rows)[["pass_id", "node"]]
    unknown = unknown.assign(node=accesses.kernels(tables, unknown)).drop_duplicates()
    faults = faults.astype({"pass_id": "int64", "node": "int64", "file": "int64", "offset": "int64"})
    known = faults.merge(unknown.astype("int64").assign(unknown=True), on=["pass_id", "node"], how="left")
    faults = faults[known["unknown"].isna().to_numpy(bool)]
    touched = accesses.ranges(tables, rows=rows)
    touched = touched[(touched["memory"] == "disk").to_numpy(bool)]
    touched = touched.assign(node=accesses.kernels(tables, touched)).astype({"pass_id": "int64", "node": "int64"})
    touched = touched.sort_values(["pass_id", "node", "file", "begin"])
    keys = ["pass_id", "node", "file"]
    number = touched.groupby(keys, sort=False).ngroup().to_numpy()
    groups = touched[keys].drop_duplicates().assign(group=lambda rows: np.arange(len(rows)))
    group = faults.merge(groups, on=keys, how="left")["group"].to_numpy(float)
    offset = faults["offset"].to_numpy("int64")
    step = np.int64(1) << 44  # above every offset: a group's ranges lie apart from those of the next
    begin = number * step + touched["begin"].to_numpy("int64")
    end = np.maximum.accumulate(number * step + touched["end"].to_numpy("int64"))
    there = ~np.isnan(group)
    at = np.where(there, group, 0).astype("int64") * step + offset
    return len(faults), int((~there | (axis.holding(begin, end, at) < 0)).sum())


FACTOR = 4  # between one step of colour and the next


def cells(tables: Tables, rows: pd.DataFrame, n_bins: int, n_steps: int) -> tuple[pd.DataFrame, float]:
    """Time waited for each region of the disk axis, in steps; and the longest time of a region, ns.

    `rows`: the result of `heatmap.display_rows`. The axis is cut into `n_bins` regions of equal length (the last may
    be shorter). Columns: row, step, begin, end (bytes on the axis), waited_ns (sum over threads, mean over the passes
    of the row). The last step (n_steps - 1) ends at the longest time, and each step ends at FACTOR times the end of the
    step before; the first holds all that is shorter. Stretches without a page fault have no row.
    """
    faults = placed(tables)
    faults = faults[faults["file"].notna().to_numpy(bool)]
    names = ["row", "step", "begin", "end", "waited_ns"]
    total = axis.length(tables)
    if not total or faults.empty:
        return pd.DataFrame({name: pd.Series(dtype="int64") for name in names}), 0.0
    width = -(-total // n_bins)
    place = axis.places(tables, faults)
    faults = faults.assign(bin=place // width).merge(rows[["pass_id", "row", "n_passes"]], on="pass_id")
    mean = faults.groupby(["row", "n_passes", "bin"])["waited_ns"].sum().reset_index()
    mean["waited_ns"] = mean["waited_ns"] / mean["n_passes"]
    longest = float(mean["waited_ns"].max())
    below = np.log(np.maximum(mean["waited_ns"], 1e-9) / max(longest, 1e-9)) / np.log(FACTOR)  # 0: the longest
    mean["step"] = np.clip(n_steps - 1 + np.ceil(below - 1e-9), 0, n_steps - 1).astype("int64")
    mean["begin"] = mean["bin"] * width
    mean["end"] = np.minimum(mean["begin"] + width, total)
    return mean[names], longest


def reads_by_piece(tables: Tables, cut: pd.DataFrame) -> pd.DataFrame:
    """Bytes of each piece that devices were asked for in each pass, warm-up too: pass_id, piece, read_bytes.

    `cut` is the result of `pieces.pieces`. A byte that was read twice counts twice; bytes of no piece are left out.
    """
    requests = tables["requests"].dropna(subset=["pass_id", "file"])
    low = axis.places(tables, requests)
    high = low + requests["file_bytes"].fillna(0).to_numpy("int64")
    asked = pd.DataFrame({"pass_id": requests["pass_id"], "begin": low, "end": high})
    found = bytes_in(asked, cut)
    return found[found["bytes"] > 0].rename(columns={"place": "piece", "bytes": "read_bytes"})


def by_piece(tables: Tables, cut: pd.DataFrame, *, waits: bool, reads: bool) -> pd.DataFrame:
    """Both for each piece that a pass waited for or read: pass_id, piece, waited_ns (sum over threads), read_bytes.

    A column that is not wanted, because it was not recorded, is null (Int64).
    """
    keys = ["pass_id", "piece"]
    waited = waits_by_piece(tables, cut) if waits else pd.DataFrame(columns=[*keys, "waited_ns"], dtype="int64")
    read = reads_by_piece(tables, cut) if reads else pd.DataFrame(columns=[*keys, "read_bytes"], dtype="int64")
    table = waited.merge(read, on=keys, how="outer").sort_values(keys, ignore_index=True)
    for name, wanted in (("waited_ns", waits), ("read_bytes", reads)):
        table[name] = table[name].astype("Int64").fillna(0) if wanted else pd.array([pd.NA] * len(table), "Int64")
    return table
