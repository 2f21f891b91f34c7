"""The index for the search of the operations page: the names of all ops and tensors, and their nodes."""

import pandas as pd

from tracegen.contract import quantities as q
from tracegen.report.document.assets import Assets
from tracegen.report.document.packing import script_json, whole
from tracegen.report.figures.context import Context
from tracegen.report.pages.explorers.op_chunks import CHUNKS

INDEX, INDEX_CALL = f"{CHUNKS}/index.js", "tracegenIndex"


def write_index(context: Context, assets: Assets) -> None:
    """Write `data/ops/index.js`: entries, and for each graph the nodes that are or read an entry.

    An entry is [name, op or dtype, layer, component]. A map is entry -> nodes; `maps` has each distinct one, and
    `graphs` is graph -> index of its map.
    """
    named = _named(context)
    keys = ["name", "what", "layer", "component"]
    entry = named.groupby(keys, dropna=False, sort=False, observed=True).ngroup()
    named = named.assign(entry=entry)
    entries = [
        [q.printable(name), q.printable(what), whole(layer), str(component)]
        for name, what, layer, component in named.drop_duplicates("entry")[keys].itertuples(index=False)
    ]
    maps: list[dict[int, list[int]]] = []
    known: dict[str, int] = {}
    graphs: dict[int, int] = {}
    for graph, part in named.groupby("graph"):
        readers: dict[int, list[int]] = {}
        for number, node in zip(part["entry"].tolist(), part["node"].tolist(), strict=True):
            readers.setdefault(number, []).append(node)
        graphs[int(str(graph))] = number = known.setdefault(script_json(readers), len(maps))
        if number == len(maps):
            maps.append(readers)
    data = {"entries": entries, "maps": maps, "graphs": graphs}
    assets.script(INDEX, INDEX_CALL, script_json(data))


def _named(context: Context) -> pd.DataFrame:
    """graph, node, name, what, layer, component; `node` has a row in the table and is or reads what `name` names.

    `what` is the op for a result, the dtype for a tensor. A node that only views has no row: its readers stand for it.
    """
    nodes, edges = context.tables["graph_nodes"], context.tables["graph_edges"]
    listed = context.ops[["pass_id", "node"]].merge(context.tables["passes"][["pass_id", "graph"]], on="pass_id")
    listed = listed[["graph", "node"]].drop_duplicates().astype("int64")
    columns = ["graph", "node", "name", "op", "dtype", "layer", "component"]
    texts = nodes[columns].astype({"op": "object", "dtype": "object", "component": "object", "name": "object"})
    ops = texts.merge(listed, on=["graph", "node"]).assign(what=lambda rows: rows["op"])
    read = edges.rename(columns={"source": "node", "target": "reader"})[["graph", "node", "reader"]]
    others = texts.merge(listed.assign(listed=True), on=["graph", "node"], how="left")
    others = others[others["listed"].isna()].merge(read, on=["graph", "node"])
    others = others.merge(listed.rename(columns={"node": "reader"}), on=["graph", "reader"])
    others = others.assign(what=others["dtype"], node=others["reader"]).drop_duplicates(
        ["graph", "node", "name", "what"]
    )
    both = pd.concat([ops, others], ignore_index=True)[["graph", "node", "name", "what", "layer", "component"]]
    return both.sort_values(["graph", "node", "name"], kind="stable", ignore_index=True)
