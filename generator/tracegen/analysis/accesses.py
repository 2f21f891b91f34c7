"""Which bytes each operand of each op covered, and which of them the op touched."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from tracegen.analysis.extents import DIMENSIONS, content_bytes, stretches
from tracegen.contract.arrays import repeated
from tracegen.contract.tables import SLOTS

Tables = Mapping[str, pd.DataFrame]

# Operands of which an op touches selected units only: rows of a table, experts of a stack, unmasked rows.
SELECTING: Mapping[tuple[str, str], str] = {
    ("GET_ROWS", "src0"): "row",
    ("MUL_MAT_ID", "src0"): "expert",
    ("ADD_ID", "src1"): "expert",
    ("FLASH_ATTN_EXT", "src1"): "row",
    ("FLASH_ATTN_EXT", "src2"): "row",
}
# The dimensions that a unit spans, if not dimension 0 alone. A row of attention has all heads of a position.
_UNIT_SPANS: Mapping[str, tuple[int, ...]] = {"FLASH_ATTN_EXT": (0, 2), "MUL_MAT_ID": (0, 1)}

# Operands that only say where the result goes: the bytes written are the dst's, nothing is read.
DESTINATIONS: frozenset[tuple[str, str]] = frozenset({("SET_ROWS", "src2"), ("CPY", "src1")})

_SLOT = pd.CategoricalDtype(list(SLOTS))

_OPERAND = ["pass_id", "node", "slot", "op", "name", "source", "source_name", "layer", "component"]
_PLACE = ["tensor", "memory", "file", "offset", "buffer_id", "size_bytes"]
ACCESS_COLUMNS = (*_OPERAND, *_PLACE, "touched_bytes")


def operands(tables: Tables) -> pd.DataFrame:
    """What each operand of each computing node is in every pass of its graph; one row per operand.

    Columns: graph, node, slot, source (the node or leaf read or written), op, name, layer, component, source_name,
    size_bytes (extent), selects (unit name or null), unit_bytes (elements of one unit), used_bytes (elements that
    the op touches, as its shapes say; null when it selects units, or when the type is not known), else_bytes (what
    counts for a buffer if the touched units were not recorded: for GET_ROWS one row per result, for FLASH_ATTN_EXT
    all rows, masked ones too).
    GET_ROWS, MUL_MAT_ID, ADD_ID, and FLASH_ATTN_EXT with a mask touch the units that the table `touches` lists.
    SET_ROWS writes as many elements as its src0 holds. An operand that only names the destination counts 0 bytes.
    Every other operand is touched whole: its elements, without the holes between its strides.
    """
    nodes = tables["graph_nodes"]
    op = nodes.loc[nodes["kind"] == "op", ["graph", "node", "op", "name", "layer", "component"]]
    edges = tables["graph_edges"].rename(columns={"target": "node"}).astype({"slot": "object"})
    dst = op.assign(slot="dst", source=op["node"])
    rows = pd.concat([dst, op.merge(edges, on=["graph", "node"])], ignore_index=True)
    extent = nodes[["graph", "node", "name", "dtype", *DIMENSIONS, "size_bytes"]].rename(
        columns={"node": "source", "name": "source_name"}
    )
    rows = rows.merge(extent, on=["graph", "source"])
    keys = list(zip(rows["op"].astype(object), rows["slot"], strict=True))
    rows["selects"] = pd.array([SELECTING.get(key) for key in keys], dtype=pd.StringDtype("python"))
    rows.loc[_unmasked(rows, edges), "selects"] = pd.NA
    content = content_bytes(rows)
    rows["unit_bytes"] = content_bytes(rows, (0,))
    for name, spans in _UNIT_SPANS.items():
        at = (rows["op"] == name).to_numpy()
        rows.loc[at, "unit_bytes"] = content_bytes(rows[at], spans)
    rows["used_bytes"] = content.mask(rows["selects"].notna().to_numpy())
    rows.loc[[key in DESTINATIONS for key in keys], "used_bytes"] = 0
    _set_rows_writes(rows)
    results = nodes[["graph", "node"]].assign(n_results=nodes["ne1"] * nodes["ne2"] * nodes["ne3"])
    rows = rows.merge(results, on=["graph", "node"], how="left")
    gathered = (rows.pop("n_results") * rows["unit_bytes"]).where((rows["op"] == "GET_ROWS").to_numpy())
    rows["else_bytes"] = gathered.fillna(content.where((rows["op"] == "FLASH_ATTN_EXT").to_numpy()))
    texts = dict.fromkeys(("name", "source_name", "selects"), "category")  # each stands in every pass
    return rows.drop(columns=["dtype", *DIMENSIONS]).astype({**texts, "slot": _SLOT})


def _unmasked(rows: pd.DataFrame, edges: pd.DataFrame) -> np.ndarray:
    """Which operands belong to attention without a mask, which touches every row: one bool per row."""
    masked = edges.loc[edges["slot"] == "src3", ["graph", "node"]].assign(masked=True)
    mask = rows[["graph", "node"]].merge(masked, on=["graph", "node"], how="left")["masked"]
    return ((rows["op"] == "FLASH_ATTN_EXT") & mask.isna().to_numpy()).to_numpy()


def _set_rows_writes(rows: pd.DataFrame) -> None:
    """Set the used_bytes of what SET_ROWS writes: the number of rows of src0, times the bytes of a row of dst."""
    setting = rows["op"] == "SET_ROWS"
    sources = rows[setting & (rows["slot"] == "src0")]
    sources = sources[["graph", "node"]].assign(written=sources["ne1"] * sources["ne2"] * sources["ne3"])
    taking = setting & (rows["slot"] == "dst")
    n_rows = rows.loc[taking, ["graph", "node"]].merge(sources, on=["graph", "node"], how="left")["written"].fillna(0)
    rows.loc[taking, "used_bytes"] = (n_rows.astype("Int64") * rows.loc[taking, "unit_bytes"].array).array


def accesses(
    tables: Tables, pass_ids: Iterable[int] | None = None, *, rows: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One row per operand of every executed or fused op.

    Columns as in ACCESS_COLUMNS. `name` is the op's result, `source_name` the accessed tensor. `offset` counts from
    the start of the file (disk; copied: where the bytes came from) or of the buffer. `size_bytes` is the extent of
    the tensor, `touched_bytes` the bytes of its elements that the op touched: null when the op selects units and
    the trace does not hold which; 0 for a result that a fused kernel passes on without storing it. Which rows of a
    buffer a GET_ROWS read is never recorded, but its shapes say how many.
    `rows`: the result of `placed`, if the caller has it already.
    """
    rows = placed(tables, pass_ids) if rows is None else rows
    keys = ["pass_id", "node", "slot"]
    used = tables["touches"].astype({"slot": _SLOT}).groupby(keys, as_index=False, observed=True)[["n_units"]].sum()
    selecting = rows["used_bytes"].isna().to_numpy(bool)
    part = rows.loc[selecting, [*keys, "unit_bytes"]].merge(used, on=keys, how="left")
    touched = rows["used_bytes"].copy()
    touched[selecting] = (part["n_units"].astype("Int64") * part["unit_bytes"].astype("Int64")).array
    touched = touched.fillna(rows["else_bytes"].where(rows["memory"] == "buffer"))
    table = rows[[*_OPERAND, *_PLACE]].assign(touched_bytes=touched)
    order = np.lexsort((table["slot"].cat.codes.to_numpy(), table["node"].to_numpy(), table["pass_id"].to_numpy()))
    if (order == np.arange(len(order))).all():  # the usual case needs no copy
        return table.reset_index(drop=True)
    return table.iloc[order].reset_index(drop=True)


def ranges(tables: Tables, pass_ids: Iterable[int] | None = None, *, rows: pd.DataFrame | None = None) -> pd.DataFrame:
    """The contiguous byte ranges of model files that ops touched, disk and copied.

    Columns: pass_id, node, slot, source_name, layer, component, tensor, memory, file, begin, end (absolute offsets
    in the file, end exclusive). For copied bytes the offsets say where they came from; reading them reads no disk.
    Rows and experts that were not recorded are in no range: see `unseen`. `rows`: the result of `placed`, if the
    caller has it already.
    """
    rows = placed(tables, pass_ids) if rows is None else rows
    rows = rows[rows["file"].notna() & rows["offset"].notna()]
    whole = rows[rows["used_bytes"].notna()]
    whole = whole.assign(begin=whole["offset"], end=whole["offset"] + whole["used_bytes"])
    whole = _with_holes(whole, tables)
    part = rows[rows["used_bytes"].isna() & rows["unit_bytes"].notna()].merge(
        tables["touches"].astype({"slot": _SLOT}), on=["pass_id", "node", "slot"]
    )
    part = _units_apart(part.assign(stride=_unit_strides(part, tables["graph_nodes"])))
    begin = part["offset"] + part["first_unit"] * part["stride"]
    part = part.assign(begin=begin, end=begin + part["n_units"] * part["unit_bytes"])
    names = ["pass_id", "node", "slot", "source_name", "layer", "component", "tensor", "memory", "file"]
    both = pd.concat([whole, part], ignore_index=True)[[*names, "begin", "end"]]
    both = both.astype({"begin": "int64", "end": "int64", "file": "int32"})
    return both.sort_values(["pass_id", "node", "slot", "begin"], ignore_index=True)


def _unit_strides(rows: pd.DataFrame, nodes: pd.DataFrame) -> np.ndarray:
    """Distance between neighbouring units of each operand, bytes: experts lie along dimension 2, rows along 1.

    Where strides were not recorded, units follow each other without room between them.
    """
    known = nodes[["graph", "node", "nb1", "nb2"]].rename(columns={"node": "source"})
    strides = rows[["graph", "source"]].merge(known, on=["graph", "source"], how="left")
    along = strides["nb2"].where((rows["op"] == "MUL_MAT_ID").to_numpy(), strides["nb1"])
    tight = rows["unit_bytes"].array
    return along.where(along.notna(), tight).to_numpy("int64")


def _units_apart(rows: pd.DataFrame) -> pd.DataFrame:
    """`rows` with each run of units split into single units where there is room between the units."""
    apart = (rows["stride"] != rows["unit_bytes"]).to_numpy(bool) & (rows["n_units"] > 1).to_numpy(bool)
    if not apart.any():
        return rows
    row, place = repeated(rows.loc[apart, "n_units"].to_numpy("int64"))
    each = rows[apart].iloc[row]
    each = each.assign(first_unit=each["first_unit"] + place, n_units=1)
    return pd.concat([rows[~apart], each], ignore_index=True)


def _with_holes(rows: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    """`rows` of operands that are touched whole; one with holes becomes one row for each of its stretches."""
    nodes = tables["graph_nodes"].rename(columns={"node": "source"})
    holed = nodes[(content_bytes(nodes) < nodes["size_bytes"]).fillna(False).to_numpy(bool)]
    known = holed[["graph", "source", "dtype", *DIMENSIONS]]
    matches = rows[["graph", "source"]].reset_index(names="row").merge(known, on=["graph", "source"])
    matches = matches[(rows.loc[matches["row"], "used_bytes"] > 0).to_numpy(bool)]
    if matches.empty:
        return rows
    parts: list[pd.DataFrame] = [rows.drop(index=matches["row"])]
    for shape, same in matches.groupby(["dtype", *DIMENSIONS], observed=True):
        dtype, sizes = shape[0], [int(value) for value in shape[1:]]
        layout = stretches(str(dtype), sizes[:4], sizes[4:])
        assert layout is not None  # an unknown type has null used_bytes and was left out above
        offsets, length = layout
        pieces = rows.loc[np.repeat(same["row"].to_numpy(), len(offsets))]
        begin = pieces["offset"].to_numpy("int64") + np.tile(offsets, len(same))
        parts.append(pieces.assign(begin=begin, end=begin + length))
    return pd.concat(parts, ignore_index=True)


def unseen(tables: Tables, pass_ids: Iterable[int] | None = None, *, rows: pd.DataFrame | None = None) -> pd.DataFrame:
    """The operands in model files that an op touched, where the trace does not say which bytes.

    The touched rows or experts were not recorded, or the type of the tensor is not known. Columns: pass_id, node,
    slot, source_name, tensor, memory. `rows`: the result of `placed`, if the caller has it already.
    """
    rows = placed(tables, pass_ids) if rows is None else rows
    rows = rows[rows["file"].notna() & rows["used_bytes"].isna()]
    keys = ["pass_id", "node", "slot"]
    recorded = tables["touches"][keys].astype({"slot": _SLOT}).drop_duplicates().assign(seen=True)
    rows = rows.merge(recorded, on=keys, how="left")
    return rows.loc[
        rows["seen"].isna() | rows["unit_bytes"].isna(), [*keys, "source_name", "tensor", "memory"]
    ].reset_index(drop=True)


def placed(tables: Tables, pass_ids: Iterable[int] | None = None) -> pd.DataFrame:
    """The operands of all executed or fused ops, with the place in memory of each.

    Columns: pass_id, those of `operands`, and placement, tensor, memory, file, origin_offset, buffer_id,
    buffer_offset, offset (in the file if there is one, else in the buffer).
    """
    passes = tables["passes"]
    if pass_ids is not None:
        passes = passes[passes["pass_id"].isin(list(pass_ids))]
    where = passes[["pass_id", "graph", "placement"]].dropna().astype("int32")
    ops = tables["ops"]
    ran = ops.loc[ops["state"].isin(["executed", "fused"]), ["pass_id", "node", "fused_into"]]
    ran = _fused_until(ran).merge(where, on="pass_id")
    rows = ran.merge(operands(tables), on=["graph", "node"])
    # results of all nodes of a fused kernel but the last never reach memory
    handed_on = ((rows["source"] >= rows["fused_from"]) & (rows["source"] < rows["fused_until"])).to_numpy(bool)
    rows.loc[handed_on, "used_bytes"] = 0
    rows.loc[handed_on, "selects"] = np.nan
    rows = rows.drop(columns=["fused_from", "fused_until"])
    place = tables["placements"][
        ["placement", "node", "tensor", "memory", "file", "origin_offset", "buffer_id", "buffer_offset"]
    ].rename(columns={"node": "source"})
    rows = rows.merge(place, on=["placement", "source"], how="left")
    rows["offset"] = rows["origin_offset"].where(rows["file"].notna(), rows["buffer_offset"])
    return rows


def _fused_until(ops: pd.DataFrame) -> pd.DataFrame:
    """`ops` with the first and the last node of the group that one kernel computed together.

    Columns: pass_id, node, fused_from, fused_until (int32). Both are the node itself where nothing was fused.
    """
    begin = ops["fused_into"].fillna(ops["node"]).astype("int32")
    grouped = ops["node"].groupby([ops["pass_id"], begin])
    last = grouped.transform("max") if ops["fused_into"].notna().any() else ops["node"]
    return ops[["pass_id", "node"]].assign(fused_from=begin, fused_until=last.astype("int32"))


def kernels(tables: Tables, rows: pd.DataFrame) -> np.ndarray:
    """The node whose kernel did the work of each op (pass_id, node): that into which it was fused, else its own."""
    fused = tables["ops"][["pass_id", "node", "fused_into"]].dropna().astype("int64")
    into = rows[["pass_id", "node"]].astype("int64").merge(fused, on=["pass_id", "node"], how="left")["fused_into"]
    return into.fillna(rows["node"].reset_index(drop=True)).to_numpy("int64")
