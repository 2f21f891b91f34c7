"""On which NUMA node memory lies: a run on two nodes beside numa_maps, and tensors page by page."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.builders import a_run, scaled_case, with_facts, with_nodes
from tracegen.analysis import nodes
from tracegen.contract.tables import frame
from tracegen.readers.gguf.file import tensor_table
from tracegen.readers.gguf.header import read_header
from tracegen.report.figures.context import Context
from tracegen.report.findings import numa

MODEL = Path(__file__).parents[2] / "models/tiny-mixture/tiny-mixture.gguf"
RECORDED = Path(__file__).with_name("nodes_of_tiny_mixture.csv")
KV_CACHE, COMPUTE = 257, 258


@pytest.fixture(scope="module")
def recorded() -> dict[str, pd.DataFrame]:
    """The last look of a run in a virtual machine of two nodes; the model had been copied there on node 1.

    /proc/PID/numa_maps of that process: `file=/tmp/m.gguf dirty=1877 N1=1877`.
    """
    rows = pd.read_csv(RECORDED, dtype={"file": "Int32", "buffer_id": "Int32"})
    empty = scaled_case(1, 1)
    return {
        **empty,
        "nodes": frame("nodes", {name: rows[name] for name in rows.columns}),
        "tensors": tensor_table([read_header(MODEL)]),
        "placements": frame("placements"),
    }


def test_all_pages_of_the_file_lie_where_numa_maps_says(recorded: dict[str, pd.DataFrame]) -> None:
    file = recorded["nodes"][recorded["nodes"]["file"].notna().to_numpy(bool)]
    assert set(file["node"]) == {1} and file["resident_bytes"].sum() == 1877 * 4096
    found = nodes.by_tensor(recorded)
    size = recorded["tensors"].set_index("tensor")["size_bytes"]
    assert set(found["node"]) == {1} and found.set_index("tensor")["resident_bytes"].to_dict() == size.to_dict()


def test_buffers_lie_where_threads_touched_them_first(recorded: dict[str, pd.DataFrame]) -> None:
    held = recorded["nodes"].groupby(["buffer_id", "node"])["resident_bytes"].sum()
    assert held[KV_CACHE].to_dict() == {0: 241 * 4096}, "cleared by the thread that made it"
    assert set(held[COMPUTE].index) == {0, 1}, "written by both threads"


def test_a_tensor_has_its_part_of_each_stretch() -> None:
    """Each page of the file by itself: on node 1 in the first nine tenths."""
    tables = with_nodes(scaled_case(2, 2))
    size = int(tables["files"]["size_bytes"].iloc[0])
    pages = -(-size // 4096)
    cut = round(0.9 * pages) * 4096
    row = dict(pass_id=9, file=0, buffer_id=None)
    stretches = [
        dict(row, part=0, offset=0, size_bytes=cut, node=1, resident_bytes=cut),
        dict(row, part=1, offset=cut, size_bytes=pages * 4096 - cut, node=0, resident_bytes=pages * 4096 - cut),
    ]
    tables = {**tables, "nodes": frame("nodes", stretches), "placements": frame("placements")}
    node_of = np.zeros(pages * 4096, np.int8)
    node_of[:cut] = 1
    expected = {}
    for of in tables["tensors"].to_dict("records"):
        part = node_of[of["offset"] : of["offset"] + of["size_bytes"]]
        expected |= {(of["tensor"], node): n for node in (0, 1) if (n := int((part == node).sum()))}
    found = nodes.by_tensor(tables).set_index(["tensor", "node"])["resident_bytes"]
    assert found.to_dict() == expected and len({node for _, node in expected}) == 2


def test_the_last_look_counts() -> None:
    tables = with_nodes(scaled_case(2, 2), share=0.9)
    before = with_nodes(scaled_case(2, 2), share=0.0)["nodes"].assign(pass_id=1)
    both = {**tables, "nodes": frame("nodes", {n: pd.concat([before, tables["nodes"]])[n] for n in before.columns})}
    pd.testing.assert_frame_equal(nodes.by_kind(both), nodes.by_kind(tables))


def findings(share: float, processors: tuple[int, ...] | None) -> list[str]:
    tables = with_nodes(scaled_case(2, 2), share)
    run = with_facts(a_run(), trace=dict(numa_processors=processors))
    return [found.text for found in numa.findings(Context(run, tables))]


def test_memory_on_one_node_is_said_where_others_compute() -> None:
    (text,) = findings(0.9, (4, 12))
    assert text.startswith("NUMA node 1 holds 89.9 % of the resident memory")
    assert "may also compute on other nodes (4 of 16 processors)" in text
    assert "numactl --interleave=all" in text


@pytest.mark.parametrize(("share", "processors"), [(0.5, (4, 4)), (0.9, (0, 8)), (0.9, None)])
def test_nothing_is_said_where_it_is_spread_or_one_node_computes(
    share: float, processors: tuple[int, ...] | None
) -> None:
    assert findings(share, processors) == []
