"""The model files cut into pieces (a tensor, or one expert of a tensor), and what passes touched of each piece."""

import numpy as np
import pandas as pd

from tracegen.analysis import axis
from tracegen.analysis.accesses import SELECTING, Tables, placed
from tracegen.analysis.coverage import union
from tracegen.contract.arrays import repeated

_OF_EXPERTS = {op for (op, _), unit in SELECTING.items() if unit == "expert"}


def pieces(tables: Tables) -> pd.DataFrame:
    """One row per piece in order of the disk axis: tensor, expert (null: whole tensor), begin, end (bytes on the axis).

    A tensor of stacked experts, from which MUL_MAT_ID or ADD_ID selects, has one piece per expert; any other tensor is
    one piece. Bytes outside all tensors (header, padding) belong to no piece.
    """
    tensors = tables["tensors"]
    begin, size = axis.tensor_begins(tables), tensors["size_bytes"].to_numpy("int64")
    each = tensors["tensor"].map(_expert_bytes(tables)).fillna(0).to_numpy("int64")
    n = np.where(each > 0, np.maximum(size // np.maximum(each, 1), 1), 1)
    row, number = repeated(n)
    start = begin[row] + number * each[row]
    last = number == n[row] - 1
    table = pd.DataFrame(
        {
            "tensor": tensors["tensor"].to_numpy("int64")[row],
            "expert": pd.array(np.where(each[row] > 0, number, -1), dtype="Int64"),
            "begin": start,
            "end": np.where(last, begin[row] + size[row], start + each[row]),
        }
    )
    table["expert"] = table["expert"].mask(table["expert"] < 0)
    return table.sort_values(["begin", "end"], kind="stable", ignore_index=True)


def _expert_bytes(tables: Tables) -> dict[int, int]:
    """Bytes of one expert of each tensor of stacked experts, taken from the graphs."""
    if not tables["graph_nodes"]["op"].isin(_OF_EXPERTS).any():
        return {}
    passes = tables["passes"].dropna(subset=["graph", "placement"])
    first = passes.drop_duplicates(["graph", "placement"])["pass_id"]
    rows = placed(tables, first)
    rows = rows[(rows["selects"] == "expert").fillna(False).to_numpy(bool) & rows["tensor"].notna().to_numpy(bool)]
    rows = rows[rows["unit_bytes"] > 0]
    return {int(t): int(b) for t, b in zip(rows["tensor"], rows["unit_bytes"], strict=True)}


def overlaps(ranges_: pd.DataFrame, places: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where ranges meet places: number of the range, number of the place, bytes in both; a triple for each meeting.

    Both have begin and end (bytes, ends exclusive). Places are in order and do not overlap; ranges are in any order and
    may. Meetings stand in order of the ranges, then of the places.
    """
    low, high, begin, end = (of[name].to_numpy("int64") for of in (ranges_, places) for name in ("begin", "end"))
    first = np.searchsorted(end, low, "right")
    count = np.maximum(np.searchsorted(begin, high, "left") - first, 0)
    row, number = repeated(count)
    place = first[row] + number
    return row, place, np.minimum(high[row], end[place]) - np.maximum(low[row], begin[place])


def piece_use(tables: Tables, used: pd.DataFrame, cut: pd.DataFrame) -> pd.DataFrame:
    """What each pass touched of each piece: pass_id, piece, memory, n_uses, touched_bytes, work_ns.

    `used` is the result of `accesses.ranges`, `cut` that of `pieces`. n_uses counts the operands that touched at least
    one byte of the piece; touched_bytes sums over them, so that a byte may count twice; work_ns is the work of their
    ops over all threads (null where a time is missing). An op that touches several pieces counts fully in each.
    """
    names = ["pass_id", "piece", "memory", "n_uses", "touched_bytes", "work_ns"]
    used = used[used["end"] > used["begin"]]
    if used.empty or cut.empty:
        return pd.DataFrame({name: pd.Series(dtype="object" if name == "memory" else "Int64") for name in names})
    row, piece, share = overlaps(axis.on_axis(tables, used), cut)
    parts = pd.DataFrame(
        {
            "pass_id": used["pass_id"].to_numpy()[row],
            "node": used["node"].to_numpy()[row],
            "slot": used["slot"].cat.codes.to_numpy()[row],
            "memory": used["memory"].to_numpy()[row],
            "piece": piece,
            "touched_bytes": share,
        }
    )
    keys = ["pass_id", "piece", "memory"]
    operand = parts.groupby([*keys, "node", "slot"], observed=True, sort=False)["touched_bytes"].sum().reset_index()
    spans = tables["spans"].groupby(["pass_id", "node"], as_index=False)["work_ns"].sum()
    spans["work_ns"] = spans["work_ns"].astype("Int64")
    operand = operand.merge(spans, on=["pass_id", "node"], how="left")
    grouped = operand.groupby(keys, observed=True)
    table = grouped.agg(n_uses=("slot", "size"), touched_bytes=("touched_bytes", "sum"))
    return table.assign(work_ns=grouped["work_ns"].sum(skipna=False)).reset_index()[names]


def bytes_in(ranges_: pd.DataFrame, places: pd.DataFrame) -> pd.DataFrame:
    """Bytes of the ranges (pass_id, begin, end) in places: pass_id, place (number), bytes; as `overlaps` takes them."""
    row, cell, share = overlaps(ranges_, places)
    parts = pd.DataFrame({"pass_id": ranges_["pass_id"].to_numpy("int64")[row], "place": cell, "bytes": share})
    return parts.groupby(["pass_id", "place"], as_index=False)[["bytes"]].sum()


def piece_bytes(tables: Tables, used: pd.DataFrame, cut: pd.DataFrame) -> pd.DataFrame:
    """The different bytes of each piece that each pass touched, each once: pass_id, piece, used_bytes.

    `used` is the result of `accesses.ranges`, `cut` that of `pieces`.
    """
    table = bytes_in(union(axis.on_axis(tables, used), "pass_id"), cut)
    return table.rename(columns={"place": "piece", "bytes": "used_bytes"})
