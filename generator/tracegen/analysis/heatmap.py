"""The memory heatmap: how many bytes of each region of the model file a pass touched."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from tracegen.analysis import axis
from tracegen.analysis.accesses import Tables, ranges
from tracegen.analysis.coverage import union
from tracegen.analysis.passes import OUTSIDE, labels
from tracegen.analysis.pieces import bytes_in, pieces

MOST_ROWS, LEAST_ROWS = 240, 60  # of the heatmap of shares: more passes share rows
SMALL = 100  # a share of at most one in so many has a colour of its own
MOST_RANGES = 6_000  # of the file, in all rows of a drawing: above it, rows are fewer


def file_cells(
    tables: Tables, n_bins: int, pass_ids: Iterable[int] | None = None, used: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Bytes touched per pass, memory kind and region of the disk axis.

    The axis lays the run's files end to end and is cut into `n_bins` regions of
    equal length (the last may be shorter). Columns: pass_id, memory, bin, begin, end
    (of the region, on the axis), touched_bytes. A byte that two ops touch counts twice.
    Stretches that a pass did not touch have no row. `used`: the result of `ranges`, if the caller has it already.
    """
    names = ["pass_id", "memory", "bin", "begin", "end", "touched_bytes"]
    total = axis.length(tables)
    used = ranges(tables, pass_ids) if used is None else used
    if total == 0 or used.empty:
        return pd.DataFrame({name: pd.Series(dtype="int64") for name in names})
    width = -(-total // n_bins)
    flat = axis.on_axis(tables, used)
    row, place, share = axis.in_bins(flat["begin"].to_numpy("int64"), flat["end"].to_numpy("int64"), width)
    cells = pd.DataFrame(
        {
            "pass_id": used["pass_id"].to_numpy()[row],
            "memory": used["memory"].astype(object).to_numpy()[row],
            "bin": place,
            "touched_bytes": share,
        }
    )
    cells = cells.groupby(["pass_id", "memory", "bin"])["touched_bytes"].sum().reset_index()
    cells["begin"] = cells["bin"] * width
    cells["end"] = np.minimum(cells["begin"] + width, total)
    return cells[names]


def places(tables: Tables, n_columns: int, cut: pd.DataFrame | None = None) -> pd.DataFrame:
    """The cells of a row of the heatmap that is `n_columns` pixels wide: the disk axis without gaps or overlaps.

    Columns: begin, end (bytes on the axis), first_tensor, last_tensor (numbers of the tensors there, null without
    any), n_tensors, expert (null unless the cell lies in one expert). A tensor, or an expert of one, that is wider
    than two pixels is a cell of its own; what lies between such cells is cut at the edges of pixels and of files.
    `cut`: the result of `pieces`, if the caller has it already.
    """
    files, cut = tables["files"], pieces(tables) if cut is None else cut
    total = axis.length(tables)
    begin, end = cut["begin"].to_numpy("int64"), cut["end"].to_numpy("int64")
    wide = (end - begin) * n_columns > 2 * total
    columns = np.array([i * total // n_columns for i in range(n_columns + 1)], dtype="int64")
    # an edge of a pixel that lies inside a wide tensor is none of a cell
    opened = np.searchsorted(np.sort(begin[wide]), columns, "left")
    closed = np.searchsorted(np.sort(end[wide]), columns, "right")
    whole = [files["axis_begin"], files["axis_begin"] + files["size_bytes"]]
    edges = np.unique(np.concatenate([columns[opened == closed], begin[wide], end[wide], *whole]).astype("int64"))
    edges = edges[(edges >= 0) & (edges <= total)]
    left, right = edges[:-1], edges[1:]
    first = np.searchsorted(np.maximum.accumulate(end), left, "right") if len(cut) else np.zeros(len(left), int)
    last = np.searchsorted(begin, right, "left") - 1
    any_there = last >= first
    numbers, experts = cut["tensor"], cut["expert"].astype("Int64")
    table = pd.DataFrame({"begin": left, "end": right})
    rank = (numbers != numbers.shift()).cumsum().to_numpy()
    at_first, at_last = np.where(any_there, first, 0), np.where(any_there, last, 0)
    for name, at in (("first_tensor", at_first), ("last_tensor", at_last)):
        table[name] = numbers.astype("Int64").take(at).mask(~any_there).array if len(cut) else pd.NA
    table["n_tensors"] = np.where(any_there, rank[at_last] - rank[at_first] + 1, 0) if len(cut) else 0
    alone = any_there & (first == last)
    table["expert"] = experts.take(at_first).mask(~alone).array if len(cut) else pd.NA
    return table


def shares(
    tables: Tables,
    n_columns: int,
    max_rows: int = MOST_ROWS,
    *,
    used: pd.DataFrame | None = None,
    cut: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """How much of the bytes of each cell the passes of a row used, each byte once in a pass.

    Columns: row, pass_id (the first of the row), n_passes, those of `places`, size_bytes (of the cell), touched_bytes
    and copied_bytes (different bytes, sums over the passes of the row; copied: of those, in copied memory), share
    (touched_bytes of size_bytes, mean of the passes, 0 to 1). A cell that no pass of its row touched has no line.
    `max_rows` as in `display_rows`. `used`: the result of `ranges`, `cut`: that of `pieces`, if the caller has them.
    """
    rows = display_rows(tables, max_rows)
    used = ranges(tables) if used is None else used
    cells = places(tables, n_columns, cut)
    flat = axis.on_axis(tables, used)
    touched, copied = (
        bytes_in(union(some, "pass_id"), cells).rename(columns={"bytes": name, "place": "cell"})
        for name, some in (
            ("touched_bytes", flat),
            ("copied_bytes", flat[(flat["memory"] == "copied").to_numpy(bool)]),
        )
    )
    both = touched.merge(copied, on=["pass_id", "cell"], how="left")
    both["copied_bytes"] = both["copied_bytes"].fillna(0).astype("int64")
    both = both.merge(rows[["pass_id", "row"]], on="pass_id")
    sums = both.groupby(["row", "cell"], as_index=False)[["touched_bytes", "copied_bytes"]].sum()
    about = rows.groupby("row", as_index=False).agg(pass_id=("pass_id", "first"), n_passes=("n_passes", "first"))
    table = about.merge(sums, on="row").merge(cells.rename_axis("cell").reset_index(), on="cell")
    table["size_bytes"] = table["end"] - table["begin"]
    table["share"] = table["touched_bytes"] / (table["size_bytes"] * table["n_passes"])
    table = table.sort_values(["row", "begin"], ignore_index=True)
    names = ["row", "pass_id", "n_passes", *cells.columns, "size_bytes", "touched_bytes", "copied_bytes", "share"]
    return table[names]


def joined_shares(cells: pd.DataFrame, n_steps: int, most: int) -> pd.DataFrame:
    """The result of `shares` with the step of its colour; neighbours of one step are joined if there are over `most`.

    Added columns: step (0 … n_steps-1; step s holds shares in (s, s+1] / n_steps; -1: at most one in SMALL), memory
    (of most of the touched bytes: disk or copied). A joined cell has the sums of size, touched and copied bytes, and
    the tensors of all.
    """
    whole = cells["size_bytes"] * cells["n_passes"]
    step = -(-n_steps * cells["touched_bytes"] // whole.where(whole > 0, 1)) - 1
    memory = np.where(2 * cells["copied_bytes"] >= cells["touched_bytes"], "copied", "disk")
    step = step.clip(0, n_steps - 1).mask(SMALL * cells["touched_bytes"] <= whole, -1)
    table = cells.assign(step=step.astype("int64"), memory=memory)
    if len(table) <= most:
        return table
    same = ["row", "memory", "step"]
    change = (table[same] != table[same].shift()).any(axis=1) | (table["begin"] != table["end"].shift())
    again = table["first_tensor"] == table["last_tensor"].shift()
    table["n_new"] = table["n_tensors"] - (again.fillna(False).astype("int64") * (~change).astype("int64"))
    summed = ("size_bytes", "touched_bytes", "copied_bytes")
    grouped = table.groupby(change.cumsum())
    joined = grouped.agg(
        **{name: (name, "first") for name in ("row", "pass_id", "n_passes", "begin", "first_tensor", *same[1:])},
        end=("end", "last"),
        last_tensor=("last_tensor", "last"),
        n_tensors=("n_new", "sum"),
        **{name: (name, "sum") for name in summed},
        n_cells=("row", "size"),
        expert=("expert", "first"),
    ).reset_index(drop=True)
    joined["expert"] = joined["expert"].mask(joined.pop("n_cells") > 1)
    joined["share"] = joined["touched_bytes"] / (joined["size_bytes"] * joined["n_passes"])
    return joined[list(table.columns.drop("n_new"))]


def display_rows(tables: Tables, max_rows: int = 60) -> pd.DataFrame:
    """The row of the heatmap for each pass that evaluates a graph.

    Columns: pass_id, row (0 is the top), label, outside (load and warm-up), generate (of that kind), n_passes of the
    row. Every pass has a row for itself if there are few; else neighbouring generate passes share rows, equally many in
    each.
    """
    passes = tables["passes"].dropna(subset=["graph"]).sort_values("pass_id", ignore_index=True, kind="stable")
    name = labels(tables)
    alone = (passes["kind"] != "generate").to_numpy()
    room = max(1, max_rows - int(alone.sum()))
    per_row = max(1, -(-int((~alone).sum()) // room))
    step = np.where(alone, 0, np.cumsum(~alone) - 1) // per_row
    keys = np.stack([np.cumsum(alone), alone, step])
    begins = (np.diff(keys, prepend=-1) != 0).any(axis=0)
    table = pd.DataFrame({"pass_id": passes["pass_id"], "row": np.cumsum(begins) - 1})
    table["outside"], table["generate"] = passes["kind"].isin(OUTSIDE).to_numpy(), ~alone
    first = [name[p] for p in table.groupby("row")["pass_id"].transform("first")]
    last = [name[p] for p in table.groupby("row")["pass_id"].transform("last")]
    table["label"] = [a if a == b else f"{a}–{b.removeprefix('token ')}" for a, b in zip(first, last, strict=True)]
    table["n_passes"] = table.groupby("row")["pass_id"].transform("size")
    return table


def rows_that_fit(used: pd.DataFrame) -> int:
    """At most how many rows a heatmap of shares has, so that its drawing stays small: LEAST_ROWS to MOST_ROWS.

    `used` is the result of `ranges`. Rows times the ranges of the file that a pass uses, in the median, stay below
    MOST_RANGES.
    """
    each = used.groupby("pass_id").size()
    return MOST_ROWS if each.empty else int(min(max(MOST_RANGES // each.median(), LEAST_ROWS), MOST_ROWS))


def bands(tables: Tables, key: str) -> pd.DataFrame:
    """Where layers or components lie on the disk axis: neighbouring tensors with equal `key` are joined.

    Columns: `key` (null where tensors have none), begin, end (bytes on the axis), n_tensors.
    """
    tensors, begin = tables["tensors"], axis.tensor_begins(tables)
    rows = tensors.assign(begin=begin, end=begin + tensors["size_bytes"]).sort_values(
        "begin", ignore_index=True, kind="stable"
    )
    value = rows[key].astype("object").where(rows[key].notna(), None)
    shown = value.map(str)
    change = (shown != shown.shift()) | (rows["file"] != rows["file"].shift())
    grouped = rows.assign(value=value).groupby(change.cumsum())
    table = grouped.agg(begin=("begin", "min"), end=("end", "max"), n_tensors=("tensor", "size"))
    table.insert(0, key, grouped["value"].first())
    return table.reset_index(drop=True)
