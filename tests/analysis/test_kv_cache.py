"""The KV cache by layer: against sizes that are worked out from its shape, and windows that do not grow."""

import pandas as pd

from tests.builders import a_run, scaled_case, without
from tracegen.analysis import kv_cache
from tracegen.contract.tables import frame
from tracegen.report.figures.context import Context
from tracegen.report.figures.kv_layers import KV_LAYERS, _ranges

N_LAYERS = 3


def case(cells: dict[int, int], streams: int = 1, heads: int = 128, state: bool = False) -> dict[str, pd.DataFrame]:
    """Tables whose graphs have a cache with so many cells in each layer, half precision."""
    tables = without(scaled_case(2, N_LAYERS))
    nodes = tables["graph_nodes"]
    nodes = nodes[~nodes["name"].str.startswith("cache_").to_numpy(bool)]
    leaves = []
    for graph in nodes["graph"].unique():
        number = 10_000
        for layer, n in cells.items():
            for part in "kv":
                row = dict(graph=graph, node=number, kind="leaf", op="NONE", name=f"cache_{part}_l{layer}", layer=layer)
                shape = dict(ne0=heads, ne1=n, ne2=streams, ne3=1, nb0=2, nb1=2 * heads, nb2=2 * heads * n)
                size = dict(size_bytes=2 * heads * n * streams, nb3=2 * heads * n * streams)
                leaves.append({**row, **shape, **size, "component": "kv_cache", "dtype": "F16"})
                number += 1
        if state:
            row = dict(graph=graph, node=number, kind="leaf", op="NONE", name="cache_s_l9", layer=9)
            shape = dict(ne0=50, ne1=1, ne2=1, ne3=1, nb0=4, nb1=200, nb2=200, nb3=200, size_bytes=200)
            leaves.append({**row, **shape, "component": "recurrent", "dtype": "F32"})
    for leaf in leaves:
        leaf |= dict(compute=False, view_offset_bytes=0)
    more = frame("graph_nodes", leaves)
    return {**tables, "graph_nodes": pd.concat([nodes, more], ignore_index=True).astype(nodes.dtypes.to_dict())}


def test_each_layer_has_its_rows_and_room() -> None:
    found = kv_cache.layers(case({0: 512, 1: 512, 2: 512}, streams=2))
    assert found["layer"].tolist() == [0, 0, 1, 1, 2, 2] and found["part"].tolist() == ["keys", "values"] * 3
    assert set(found["row_bytes"]) == {256} and set(found["cells"]) == {1024} and found["grows"].all()
    assert found["allocated_bytes"].sum() == 6 * 256 * 1024
    assert kv_cache.token_bytes(found) == 6 * 256
    assert kv_cache.context_bytes(found, 512) == 6 * 256 * 1024  # for each of two slots, as it is
    assert kv_cache.context_bytes(found, 4000) == 6 * 256 * 2 * 4096


def test_windows_and_states_do_not_grow() -> None:
    found = kv_cache.layers(case({0: 512, 1: 256}, state=True))
    assert found["grows"].tolist() == [True, True, False, False, False]
    assert kv_cache.token_bytes(found) == 2 * 256
    assert kv_cache.context_bytes(found, 1024) == 2 * 256 * 1024 + 2 * 256 * 256 + 200


def test_the_table_groups_layers_that_are_alike() -> None:
    tables = case({0: 512, 1: 512, 2: 256})
    rows = KV_LAYERS.content(Context(a_run(), tables))
    assert [row[0].text for row in rows.rows] == ["0 to 1", "0 to 1", "2", "2"]
    assert [amount.value for amount in rows.answer] == [
        4 * 256,
        4 * 256 * 512 + 2 * 256 * 256,
        4 * 256 * 2048 + 2 * 256 * 256,
    ]


def test_layers_as_text() -> None:
    assert _ranges([5, 0, 1, 2, 9, 8]) == "0 to 2, 5, 8 to 9"
