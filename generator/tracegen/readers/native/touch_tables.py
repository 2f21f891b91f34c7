"""The tables `touches` and `routing`, from the row numbers, expert numbers and weights that the tracer copied."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.arrays import repeated
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.events import Indexes
from tracegen.readers.native.recorded import Records
from tracegen.readers.native.records import NUMBER
from tracegen.readers.native.units import CELLS, COLUMNS, EXPERTS, MASK, ROWS, WEIGHTS

# What the numbers of a copy are -> (slot of the tensor that they index, unit); _SLOT and _UNIT hold them as codes.
_MEANING = {ROWS: ("src0", "row"), CELLS: ("dst", "row"), COLUMNS: ("dst", "column"), EXPERTS: ("src0", "expert")}
_SLOT, _UNIT = (
    np.array([places.index(_MEANING[what][i]) if what in _MEANING else -1 for what in range(MASK)] + [-1])
    for i, places in enumerate((contract.SLOTS, contract.UNITS))
)
_UNIT[MASK] = contract.UNITS.index("row")


def with_chosen(indexes: Indexes, records: Records, tables: Mapping[str, pd.DataFrame]) -> Indexes:
    """The copies, and the experts that llama.cpp fetched from a device, as copies at the op that would have made them.

    Those of a layer are left out where the graph of the pass multiplies by none there or by another number of them, and
    where they are known.
    """
    if not records.chosen:
        return indexes
    pass_ids = {number: p.pass_id for number, p in records.passes.items()}
    graph_of = tables["passes"].set_index("pass_id")["graph"]
    keepers = _keepers(tables)
    known = set(zip(indexes.pass_id.tolist(), indexes.node.tolist(), strict=True))
    found: dict[tuple[int, int], tuple[int, np.ndarray]] = {}
    for number, layer, experts in records.chosen:
        pass_id = pass_ids[number]
        graph = graph_of[pass_id]
        node, n_chosen, n = (-1, 0, 0) if pd.isna(graph) else keepers.get((int(graph), layer), (-1, 0, 0))
        if n == len(experts) and (pass_id, node) not in known:
            found.setdefault((pass_id, node), (n_chosen, experts))
    lengths = np.array([len(experts) for _, experts in found.values()], np.int64)
    more: dict[str, Sequence[int] | np.ndarray] = {
        "pass_id": [pass_id for pass_id, _ in found],
        "node": [node for _, node in found],
        "what": [EXPERTS] * len(found),
        "ne0": [n_chosen for n_chosen, _ in found.values()],
        "n": lengths,
        "took": [0] * len(found),
        "first": len(indexes.values) + np.cumsum(lengths) - lengths,
        "values": np.concatenate([experts for _, experts in found.values()]) if found else [],
    }
    joined = {name: np.append(getattr(indexes, name), np.asarray(values)) for name, values in more.items()}
    return Indexes(**{name: joined[name].astype(getattr(indexes, name).dtype) for name in more})


def _keepers(tables: Mapping[str, pd.DataFrame]) -> dict[tuple[int, int], tuple[int, int, int]]:
    """Graph and layer -> the op at which its expert numbers are copied, how many a row has, and how many there are."""
    nodes = tables["graph_nodes"]
    edges = tables["graph_edges"]
    ids = edges[edges["slot"] == "src2"].merge(nodes, left_on=["graph", "source"], right_on=["graph", "node"])
    ids["n"] = ids["ne0"] * ids["ne1"]
    keepers = _sharing_ids(tables)[["graph", "keeper"]].drop_duplicates()
    keepers = keepers.merge(nodes[["graph", "node", "layer"]], left_on=["graph", "keeper"], right_on=["graph", "node"])
    rows = keepers.merge(
        ids[["graph", "target", "ne0", "n"]], left_on=["graph", "keeper"], right_on=["graph", "target"]
    )
    rows = rows.dropna(subset=["layer", "ne0", "n"]).sort_values(["graph", "keeper"])
    rows = rows.drop_duplicates(["graph", "layer"])[["graph", "layer", "keeper", "ne0", "n"]].astype("int64")
    return {(graph, layer): (node, ne0, n) for graph, layer, node, ne0, n in rows.itertuples(index=False, name=None)}


def touch_tables(indexes: Indexes, tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Both tables; empty when the trace holds no copies."""
    if len(indexes.n) == 0:
        return {"touches": contract.frame("touches"), "routing": contract.frame("routing")}
    graph_of = tables["passes"].set_index("pass_id")["graph"]
    graph = graph_of.reindex(indexes.pass_id).to_numpy(np.int64)
    return {"touches": _touches(indexes, graph, tables), "routing": _routing(indexes, graph, tables)}


def _touches(indexes: Indexes, graph: np.ndarray, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    chosen = np.isin(indexes.what, list(_MEANING))
    entry = np.repeat(np.arange(len(indexes.n)), indexes.n)
    keep = chosen[entry]
    runs = _runs(entry[keep], indexes.values[keep].astype(np.int64))
    at = runs["entry"].to_numpy()
    rows = pd.DataFrame(
        {
            "pass_id": indexes.pass_id[at],
            "graph": graph[at],
            "node": indexes.node[at],
            "what": indexes.what[at],
            "first_unit": runs["first"],
            "n_units": runs["n"],
        }
    )
    experts = rows["what"] == EXPERTS
    shared = _sharing_ids(tables).rename(columns={"keeper": "node"})
    spread = rows[experts].merge(shared, on=["graph", "node"], how="left")
    spread = spread.dropna(subset=["user"])
    spread = spread.assign(node=spread["user"].astype(np.int64), slot=spread["slot"].astype(np.int64))
    plain = rows[~experts].assign(slot=_SLOT[rows.loc[~experts, "what"]])
    keys = ["pass_id", "node", "slot", "first_unit"]
    parts = [plain, spread, _mask_reads(indexes, graph, tables)]
    both = pd.concat(parts, ignore_index=True).sort_values(keys, ignore_index=True).drop_duplicates(keys)
    columns: dict[str, object] = {name: both[name] for name in ("pass_id", "node", "first_unit", "n_units")}
    columns["slot"] = contract.coded("touches", "slot", both["slot"].to_numpy())
    columns["unit"] = contract.coded("touches", "unit", _UNIT[both["what"].to_numpy()])
    columns["basis"] = contract.coded("touches", "basis", np.zeros(len(both), np.int8))
    return contract.frame("touches", columns)


def _mask_reads(indexes: Indexes, graph: np.ndarray, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The rows of keys and values that attention read, as runs: the rows that its mask let through.

    The tracer copies them at the first op that reads a mask; they count for all ops that read the same mask. Raises
    TraceFormatError when the runs do not ascend, or end beyond the cache.
    """
    chosen = np.flatnonzero(indexes.what == MASK)
    n_runs = indexes.n[chosen] // 2
    row, place = repeated(n_runs)
    entry = chosen[row]
    at = indexes.first[entry] + 2 * place
    first, n = (indexes.values[at + i].astype(np.int64) for i in (0, 1))
    before = np.where(np.diff(entry, prepend=-1) == 0, np.append(0, (first + n)[:-1])[: len(first)], -1)
    if (n < 1).any() or (first <= before).any():
        raise TraceFormatError("the rows that a mask lets through do not ascend; the trace was changed")
    rows = pd.DataFrame(
        {
            "pass_id": indexes.pass_id[entry],
            "graph": graph[entry],
            "node": indexes.node[entry],
            "what": MASK,
            "first_unit": first,
            "n_units": n,
        }
    )
    sharing = _sharing_mask(tables).rename(columns={"keeper": "node"})
    reads = rows.merge(sharing, on=["graph", "node"], how="left")
    if (reads["user"].isna() | (reads["first_unit"] + reads["n_units"] > reads["n_rows"])).any():
        raise TraceFormatError("a mask lets rows through that its op does not have; the trace was changed")
    reads = reads.drop(columns=["node", "n_rows"]).rename(columns={"user": "node"})
    return reads.astype({"node": "int64", "slot": "int64"})


def _sharing_mask(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The ops that use the rows which a mask lets through: graph, keeper, user, slot (index into SLOTS), n_rows.

    The tracer copies the rows at op `keeper`, the first that reads the mask; `user` is any op that reads it.
    """
    edges, nodes = tables["graph_edges"], tables["graph_nodes"]
    attention = nodes.loc[nodes["op"] == "FLASH_ATTN_EXT", ["graph", "node"]].rename(columns={"node": "target"})
    edges = edges.merge(attention, on=["graph", "target"])
    masks = edges[edges["slot"] == "src3"].sort_values(["graph", "target"])[["graph", "source", "target"]]
    keeper = masks.drop_duplicates(["graph", "source"]).rename(columns={"target": "keeper"})
    users = masks.merge(keeper, on=["graph", "source"]).drop(columns="source")
    caches = edges[edges["slot"].isin(["src1", "src2"])].merge(users, on=["graph", "target"])
    size = nodes[["graph", "node"]].assign(n_rows=nodes["ne1"] * nodes["ne3"]).rename(columns={"node": "source"})
    reads = caches.merge(size, on=["graph", "source"])
    reads["slot"] = reads["slot"].map({slot: contract.SLOTS.index(slot) for slot in ("src1", "src2")}).astype("int64")
    return reads.rename(columns={"target": "user"})[["graph", "keeper", "user", "slot", "n_rows"]]


def _runs(entry: np.ndarray, value: np.ndarray) -> pd.DataFrame:
    """The distinct values of each entry as runs of consecutive numbers: columns entry, first, n."""
    order = np.lexsort((value, entry))
    entry, value = entry[order], value[order]
    fresh = np.ones(len(entry), bool)
    fresh[1:] = (np.diff(entry) != 0) | (np.diff(value) != 0)
    entry, value = entry[fresh], value[fresh]
    begins = np.ones(len(entry), bool)
    begins[1:] = (np.diff(entry) != 0) | (np.diff(value) != 1)
    first = np.flatnonzero(begins)
    return pd.DataFrame({"entry": entry[first], "first": value[first], "n": np.diff(np.append(first, len(entry)))})


def _sharing_ids(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The ops that use the same expert numbers: graph, keeper, user, slot (index into SLOTS).

    MUL_MAT_ID and ADD_ID read expert numbers from src2. The tracer copies them at op `keeper`, the first MUL_MAT_ID
    that reads them; `user` is any op that reads them.
    """
    edges, nodes = tables["graph_edges"], tables["graph_nodes"]
    ids = edges[edges["slot"] == "src2"].merge(
        nodes[["graph", "node", "op"]].rename(columns={"node": "target"}), on=["graph", "target"]
    )
    ids = ids[ids["op"].isin(["MUL_MAT_ID", "ADD_ID"])].sort_values(["graph", "target"])
    products = ids[ids["op"] == "MUL_MAT_ID"].rename(columns={"target": "keeper"})
    keeper = products.drop_duplicates(["graph", "source"])[["graph", "source", "keeper"]]
    users = ids.merge(keeper, on=["graph", "source"])
    users["slot"] = np.where(users["op"] == "MUL_MAT_ID", contract.SLOTS.index("src0"), contract.SLOTS.index("src1"))
    return users.rename(columns={"target": "user"})[["graph", "keeper", "user", "slot"]]


def _routing(indexes: Indexes, graph: np.ndarray, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    layer_of = tables["graph_nodes"].set_index(["graph", "node"])["layer"]
    at = pd.MultiIndex.from_arrays([graph, indexes.node])
    layer: np.ndarray = layer_of.reindex(at).astype("Float64").fillna(-1).to_numpy(np.int64)
    ids = np.flatnonzero((indexes.what == EXPERTS) & (layer >= 0))
    ids = ids[np.argsort(indexes.node[ids], kind="stable")]
    ids = ids[np.unique(indexes.pass_id[ids] << 32 | layer[ids], return_index=True)[1]]  # the first copy of each layer
    if len(ids) == 0:
        return contract.frame("routing")
    rows = _choices(indexes, ids, layer, "expert")
    if rows["expert"].max() >= NUMBER:
        raise TraceFormatError(
            f"an op chose expert {rows['expert'].max():.0f}, but numbers are below {NUMBER}; the trace was changed"
        )
    weights = _choices(indexes, np.flatnonzero(indexes.what == WEIGHTS), layer, "weight")
    width = rows.groupby(["pass_id", "layer"])["rank"].max().rename("last").reset_index()
    flat = weights.merge(width, on=["pass_id", "layer"])
    flat["row"], flat["rank"] = flat["flat"] // (flat["last"] + 1), flat["flat"] % (flat["last"] + 1)
    keys = ["pass_id", "layer", "row", "rank"]
    rows = rows.merge(flat[[*keys, "weight"]].drop_duplicates(keys), on=keys, how="left")
    rows["row"] = _token_rows(rows, tables["tokens"])
    sequences = tables["tokens"][["pass_id", "row", "sequence"]]
    rows = rows.merge(sequences, on=["pass_id", "row"], how="left").sort_values(keys, ignore_index=True)
    return contract.frame(
        "routing",
        {
            **{name: rows[name] for name in keys},
            "sequence": rows["sequence"].astype("Int32"),
            "expert": rows["expert"].astype("int32"),
            "weight": rows["weight"].astype("Float64"),
        },
    )


def _token_rows(rows: pd.DataFrame, tokens: pd.DataFrame) -> np.ndarray:
    """The token of each choice. The last layer computes only rows with outputs, and numbers those alone.

    Raises TraceFormatError when the rows of a layer are neither all tokens nor those with outputs.
    """
    n = rows.groupby(["pass_id", "layer"])["row"].transform("max") + 1
    whole = n == rows["pass_id"].map(tokens.groupby("pass_id").size())
    outputs = tokens[tokens["output"]]
    outputs = outputs.assign(place=outputs.groupby("pass_id").cumcount())
    fits = whole | (n == rows["pass_id"].map(outputs.groupby("pass_id").size()))
    if not fits.all():
        odd = rows[~fits].iloc[0]
        raise TraceFormatError(
            f"pass {odd['pass_id']}, layer {odd['layer']}: experts are chosen for {n[~fits].iloc[0]} rows,"
            " which are neither all of its tokens nor those with outputs; the trace was changed"
        )
    at = rows[["pass_id", "row"]].rename(columns={"row": "place"})
    row_with_output = at.merge(outputs[["pass_id", "place", "row"]], on=["pass_id", "place"], how="left")["row"]
    return np.where(whole, rows["row"], row_with_output.fillna(0)).astype(np.int64)


def _choices(indexes: Indexes, chosen: np.ndarray, layer: np.ndarray, name: str) -> pd.DataFrame:
    """One row per number of the chosen copies: pass_id, layer, flat (index in the copy), row, rank, `name`."""
    n = indexes.n[chosen]
    row, flat = repeated(n)
    entry = chosen[row]
    ne0 = np.maximum(indexes.ne0[entry], 1)
    return pd.DataFrame(
        {
            "pass_id": indexes.pass_id[entry],
            "layer": layer[entry],
            "flat": flat,
            "row": flat // ne0,
            "rank": flat % ne0,
            name: indexes.values[indexes.first[entry] + flat],
        }
    )
