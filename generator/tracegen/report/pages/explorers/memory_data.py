"""The data of the explorer of the file: its pieces, and what each row of passes touched of them.

`data/memory.js` is a classic script with one call; the page loads it when the explorer becomes visible. What a single
pass touched is computed in the browser from its operations (op_chunks.py), what it waited for and read stands beside
them (pass_disk.py).
"""

from typing import Any

import numpy as np
import pandas as pd

from tracegen.analysis.pieces import piece_bytes, piece_use
from tracegen.contract import quantities as q
from tracegen.report.document.assets import Assets
from tracegen.report.document.packing import packed, script_json, whole
from tracegen.report.figures.context import Context
from tracegen.report.figures.explorers import GRAPH
from tracegen.report.figures.heatmap import HEATMAP
from tracegen.report.pages.explorers.op_chunks import written_ops
from tracegen.report.pages.explorers.pass_disk import pass_disk, recorded

DATA, CALL = "data/memory.js", "tracegenMemory"
QUANTITIES, DISK = ("n_uses", "touched_bytes", "work_ns"), ("waited_ns", "read_bytes")


def write_memory(context: Context, assets: Assets) -> bool:
    """Write the data of the explorer; returns False and writes nothing if there is nothing to explore."""
    tables, cut = context.tables, context.pieces
    rows = context.heatmap_rows
    use = piece_use(tables, context.used, cut)
    if cut.empty or use.empty or rows.empty or context.refusal(HEATMAP.needs):
        return False
    disk = pass_disk(context)[["pass_id", "piece", *(name for name, has in recorded(context).items() if has)]]
    written, files = written_ops(context, assets), tables["files"].sort_values("axis_begin", kind="stable")
    graph = dict(zip(tables["passes"]["pass_id"], tables["passes"]["graph"], strict=True))
    end = np.array([len(cut)])
    data = {
        "total": int((files["axis_begin"] + files["size_bytes"]).max()),
        "files": {
            str(f): [q.printable(path), int(begin), int(size)]
            for f, path, begin, size in zip(
                *(files[c] for c in ("file", "path", "axis_begin", "size_bytes")), strict=True
            )
        },
        "tensors": _tensors(tables["tensors"]),
        "cut": {
            "tensor": packed(cut["tensor"], end)[0],
            "expert": packed(cut["expert"], end)[0],
            "begin": packed(np.diff(cut["begin"].to_numpy(), prepend=0), end)[0],
            "size": packed(cut["end"] - cut["begin"], end)[0],
        },
        "top": {name: whole(of[name].max()) for of in (use, disk) for name in of if name in (*QUANTITIES, *DISK)},
        "rows": _rows(context, use, piece_bytes(tables, context.used, cut), rows, disk),
        "graphs": not context.refusal(GRAPH.needs),
        "passes": [
            [int(p), context.labels[int(p)], written.chunk.get(int(p)), written.static[int(p)], int(row), int(graph[p])]
            for p, row in zip(rows["pass_id"], rows["row"], strict=True)
        ],
    }
    assets.script(DATA, CALL, script_json(data))
    return True


def _tensors(tensors: pd.DataFrame) -> dict[str, list[Any]]:
    """By number: name, layer, component, dtype, file, offset in it, size."""
    columns = ("tensor", "name", "layer", "component", "dtype", "file", "offset", "size_bytes")
    return {
        str(t): [q.printable(name), whole(layer), str(component), str(dtype), int(file), int(offset), int(size)]
        for t, name, layer, component, dtype, file, offset, size in zip(*(tensors[c] for c in columns), strict=True)
    }


def _rows(
    context: Context, use: pd.DataFrame, once: pd.DataFrame, rows: pd.DataFrame, disk: pd.DataFrame
) -> list[dict[str, Any]]:
    """Per row of the heatmap: number of passes, and sums over them of what they touched of pieces and buffers.

    `once` is the result of `piece_bytes`, `disk` what of `pass_disk` was recorded. Where a piece has two kinds of
    memory, its bytes, the waiting for it and what was read of it stand with the first.
    """
    merged = use.merge(rows[["pass_id", "row"]], on="pass_id")
    grouped = merged.groupby(["row", "piece", "memory"], observed=True)
    sums = grouped[list(QUANTITIES)].sum().reset_index()
    sums["work_ns"] = sums["work_ns"].mask((grouped["work_ns"].count() < grouped.size()).to_numpy())
    names = [name for name in DISK if name in disk]
    if names:
        sums = _with_disk(sums, disk, names, rows)
    sums = sums.sort_values(["row", "piece"], ignore_index=True)
    different = once.merge(rows[["pass_id", "row"]], on="pass_id").groupby(["row", "piece"])["used_bytes"].sum()
    sums = sums.merge(different.reset_index(), on=["row", "piece"], how="left")
    sums["used_bytes"] = sums["used_bytes"].fillna(0).astype("int64").mask(sums.duplicated(["row", "piece"]), 0)
    for name in names:
        sums[name] = sums[name].mask(sums.duplicated(["row", "piece"]), 0)
    touched = context.buffer_use.merge(rows[["pass_id", "row"]], on="pass_id")
    of_buffers = touched.groupby(["row", "group"])["touched_bytes"].sum().reset_index()
    each = rows.drop_duplicates("row").sort_values("row", kind="stable")
    ends = np.searchsorted(sums["row"].to_numpy(), each["row"].to_numpy(), "right")
    begins = np.concatenate([[0], ends[:-1]])
    gap = np.diff(sums["piece"].to_numpy(), prepend=0)
    gap[begins[begins < ends]] = sums["piece"].to_numpy()[begins[begins < ends]]
    columns = {"piece": packed(gap, ends), "copied": packed((sums["memory"] == "copied").astype(int), ends)}
    columns |= {name: packed(sums[name], ends) for name in (*QUANTITIES, "used_bytes", *names)}
    records = []
    for i, row in enumerate(each.to_dict("records")):
        groups = of_buffers[of_buffers["row"] == row["row"]]
        records.append(
            {
                "label": row["label"],
                "n": int(row["n_passes"]),
                "outside": bool(row["outside"]),
                "first": int(row["pass_id"]),
                "buffers": {str(g): whole(b) for g, b in zip(groups["group"], groups["touched_bytes"], strict=True)},
                **{name: column[i] for name, column in columns.items()},
            }
        )
    return records


def _with_disk(sums: pd.DataFrame, disk: pd.DataFrame, names: list[str], rows: pd.DataFrame) -> pd.DataFrame:
    """`sums` with the columns `names` of `disk`; pieces that a row did not use, but waited for or read, are added."""
    found = disk.merge(rows[["pass_id", "row"]], on="pass_id").groupby(["row", "piece"])[names].sum()
    sums = sums.merge(found.reset_index(), on=["row", "piece"], how="outer", indicator=True)
    alone = (sums.pop("_merge") == "right_only").to_numpy(bool)
    sums.loc[alone, list(QUANTITIES)] = 0
    sums["memory"] = sums["memory"].astype("object").where(~alone, "disk")
    return sums.assign(**{name: sums[name].fillna(0).astype("int64") for name in names})
