"""Which bytes each operand of each op covered, and which of them it used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from tracegen.tables import SLOTS

Tables = Mapping[str, pd.DataFrame]

# Operands of which an op uses selected units only: rows of a table, experts of a stack.
SELECTING: Mapping[tuple[str, str], str] = {
    ("GET_ROWS", "src0"): "row",
    ("MUL_MAT_ID", "src0"): "expert",
    ("ADD_ID", "src1"): "expert",
}

# Operands that only say where the result goes: the bytes written are the dst's, nothing is read.
DESTINATIONS: frozenset[tuple[str, str]] = frozenset({("SET_ROWS", "src2"), ("CPY", "src1")})

_SLOT = pd.CategoricalDtype(list(SLOTS))

ACCESS_COLUMNS = (
    "pass_id", "node", "slot", "op", "name", "source", "source_name", "layer", "component", "tensor",
    "memory", "file", "offset", "buffer_id", "size_bytes", "touched_bytes",
)  # fmt: skip


def operands(tables: Tables) -> pd.DataFrame:
    """One row per operand of every computing node: what is static about an access.

    Columns: graph, node, slot, source (the node or leaf read or written), op, name,
    layer, component, source_name, selects (unit name or null), unit_bytes (extent of
    one unit), used_bytes (bytes the op uses by its shapes alone; null when it selects),
    gathered_bytes (what a GET_ROWS reads by its shapes, a row for each of its results).
    A GET_ROWS or MUL_MAT_ID uses the units that `touches` names; SET_ROWS writes as
    many elements as its src0 holds; an operand that only names the destination is not
    used at all; every other operand is used whole.
    """
    nodes = tables["graph_nodes"]
    op = nodes.loc[nodes["kind"] == "op", ["graph", "node", "op", "name", "layer", "component"]]
    edges = tables["graph_edges"].rename(columns={"target": "node"}).astype({"slot": "object"})
    dst = op.assign(slot="dst", source=op["node"])
    rows = pd.concat([dst, op.merge(edges, on=["graph", "node"])], ignore_index=True)
    extent = nodes[["graph", "node", "name", "ne0", "ne1", "ne2", "ne3", "nb1", "nb2", "size_bytes"]].rename(
        columns={"node": "source", "name": "source_name"}
    )
    rows = rows.merge(extent, on=["graph", "source"])
    keys = list(zip(rows["op"].astype(object), rows["slot"], strict=True))
    rows["selects"] = pd.array([SELECTING.get(key) for key in keys], dtype=pd.StringDtype("python"))
    stacked = (rows["op"] == "MUL_MAT_ID").to_numpy()
    rows["unit_bytes"] = np.where(stacked, rows["nb2"], rows["nb1"])
    rows["used_bytes"] = rows["size_bytes"].astype("Int64").mask(rows["selects"].notna().to_numpy())
    rows.loc[[key in DESTINATIONS for key in keys], "used_bytes"] = 0
    _set_rows_writes(rows)
    results = nodes[["graph", "node"]].assign(n_results=nodes["ne1"] * nodes["ne2"] * nodes["ne3"])
    rows = rows.merge(results, on=["graph", "node"], how="left")
    gathers = (rows["op"] == "GET_ROWS").to_numpy()
    rows["gathered_bytes"] = (rows.pop("n_results") * rows["unit_bytes"]).astype("Int64").where(gathers)
    texts = dict.fromkeys(("name", "source_name", "selects"), "category")  # each stands in every pass
    return rows.drop(columns=["ne0", "ne1", "ne2", "ne3", "nb1", "nb2"]).astype({**texts, "slot": _SLOT})


def _set_rows_writes(rows: pd.DataFrame) -> None:
    """SET_ROWS writes the rows of src0 into dst: rows(src0) x one row of dst."""
    setting = rows["op"] == "SET_ROWS"
    given = rows[setting & (rows["slot"] == "src0")]
    written = given["ne1"] * given["ne2"] * given["ne3"]
    count = dict(zip(zip(given["graph"], given["node"], strict=True), written, strict=True))
    for index in rows.index[setting & (rows["slot"] == "dst")]:
        row = rows.loc[index]
        rows.loc[index, "used_bytes"] = count.get((row["graph"], row["node"]), 0) * row["unit_bytes"]


def accesses(
    tables: Tables, pass_ids: Iterable[int] | None = None, *, rows: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One row per operand of every executed or fused op.

    Columns as in ACCESS_COLUMNS: `name` is the op's result, `source_name` the tensor
    accessed; `offset` counts in the file (disk, copied: where the bytes came from) or
    in the buffer; `size_bytes` is the container, `touched_bytes` what was used of it,
    null when the op selects units that the trace does not hold. Which rows of a runtime
    buffer a GET_ROWS read is never recorded, but how many it read follows from its shapes.
    `rows` saves working out `placed` again.
    """
    rows = placed(tables, pass_ids) if rows is None else rows
    keys = ["pass_id", "node", "slot"]
    used = tables["touches"].astype({"slot": _SLOT}).groupby(keys, as_index=False, observed=True)[["n_units"]].sum()
    selecting = rows["used_bytes"].isna().to_numpy(bool)
    part = rows.loc[selecting, [*keys, "unit_bytes"]].merge(used, on=keys, how="left")
    touched = rows["used_bytes"].copy()
    touched[selecting] = (part["n_units"].astype("Int64") * part["unit_bytes"].astype("Int64")).array
    touched = touched.fillna(rows["gathered_bytes"].where(rows["memory"] == "buffer"))
    made = rows[[column for column in ACCESS_COLUMNS if column != "touched_bytes"]].assign(touched_bytes=touched)
    order = np.lexsort((made["slot"].cat.codes.to_numpy(), made["node"].to_numpy(), made["pass_id"].to_numpy()))
    if (order == np.arange(len(order))).all():  # as they usually come: no copy
        return made.reset_index(drop=True)
    return made.iloc[order].reset_index(drop=True)


def ranges(tables: Tables, pass_ids: Iterable[int] | None = None, *, rows: pd.DataFrame | None = None) -> pd.DataFrame:
    """The contiguous byte ranges of model files that ops used, disk and copied.

    Columns: pass_id, node, slot, source_name, layer, component, tensor, memory, file, begin, end
    (absolute offsets in the file, end exclusive). For copied bytes the offsets say
    where they came from: reading them reads no disk. What an op used of rows or experts
    that nobody recorded is in no range: see `unseen`. `rows` saves working out `placed` again.
    """
    rows = placed(tables, pass_ids) if rows is None else rows
    rows = rows[rows["file"].notna() & rows["offset"].notna()]
    whole = rows[rows["used_bytes"].notna()]
    whole = whole.assign(begin=whole["offset"], end=whole["offset"] + whole["used_bytes"])
    part = rows[rows["used_bytes"].isna()].merge(
        tables["touches"].astype({"slot": _SLOT}), on=["pass_id", "node", "slot"]
    )
    begin = part["offset"] + part["first_unit"] * part["unit_bytes"]
    part = part.assign(begin=begin, end=begin + part["n_units"] * part["unit_bytes"])
    names = ["pass_id", "node", "slot", "source_name", "layer", "component", "tensor", "memory", "file"]
    both = pd.concat([whole, part], ignore_index=True)[[*names, "begin", "end"]]
    both = both.astype({"begin": "int64", "end": "int64", "file": "int32"})
    return both.sort_values(["pass_id", "node", "slot", "begin"], ignore_index=True)


def unseen(tables: Tables, pass_ids: Iterable[int] | None = None, *, rows: pd.DataFrame | None = None) -> pd.DataFrame:
    """The operands in model files of which an op used rows or experts, and the trace does not hold which.

    Columns: pass_id, node, slot, source_name, tensor, memory. That the tensor was used is
    known, how much of it is not. `rows` saves working out `placed` again.
    """
    rows = placed(tables, pass_ids) if rows is None else rows
    rows = rows[rows["file"].notna() & rows["selects"].notna()]
    keys = ["pass_id", "node", "slot"]
    seen = tables["touches"][keys].astype({"slot": _SLOT}).drop_duplicates().assign(seen=True)
    rows = rows.merge(seen, on=keys, how="left")
    return rows.loc[rows["seen"].isna(), [*keys, "source_name", "tensor", "memory"]].reset_index(drop=True)


def placed(tables: Tables, pass_ids: Iterable[int] | None = None) -> pd.DataFrame:
    """The operands of the ops that ran in each pass, with the place of what they access.

    Columns: pass_id, those of `operands`, and placement, tensor, memory, file, origin_offset,
    buffer_id, buffer_offset, offset (in the file, else in the buffer).
    """
    passes = tables["passes"]
    if pass_ids is not None:
        passes = passes[passes["pass_id"].isin(list(pass_ids))]
    where = passes[["pass_id", "graph", "placement"]].dropna().astype("int32")
    ops = tables["ops"]
    ops = ops.loc[ops["state"].isin(["executed", "fused"]), ["pass_id", "node"]].merge(where, on="pass_id")
    rows = ops.merge(operands(tables), on=["graph", "node"])
    place = tables["placements"][
        ["placement", "node", "tensor", "memory", "file", "origin_offset", "buffer_id", "buffer_offset"]
    ].rename(columns={"node": "source"})
    rows = rows.merge(place, on=["placement", "source"], how="left")
    rows["offset"] = rows["origin_offset"].where(rows["file"].notna(), rows["buffer_offset"])
    return rows
