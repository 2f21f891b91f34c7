"""The JSON of the older tools: own tables, exported and imported again, are the same as far as that schema reaches."""

import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from tests.builders import a_moe_run, scaled_case
from tests.foreign.samples import sample
from tests.site_project import stored
from tracegen.cli.main import main
from tracegen.export.format import only_passes
from tracegen.reading.notebook.loaded import load

VERSIONS = Path(__file__).parents[2] / "experiments"


pytestmark = pytest.mark.usefixtures("here")


class Tables(SimpleNamespace):
    """The tables of a run by name."""

    passes: pd.DataFrame


def rows(table: pd.DataFrame, columns: list[str], *, in_order: bool = True) -> list[list[object]]:
    """The rows of these columns, -1 where nothing is known; sorted by the columns unless their order counts."""
    found = table[columns].astype(object).fillna(-1).to_numpy().tolist()
    return found if in_order else sorted(found)


def there_and_back(address: str, passes: list[int] | None = None) -> tuple[Tables, Tables]:
    """The tables of a run, those of `passes` alone if given; and the tables of its export, imported."""
    chosen = [word for number in passes or () for word in ("--pass", str(number))]
    assert main(["export", address, "json", "--out", "out", *chosen]) == 0
    assert main(["import", "out", "--as", "back"]) in (0, 1)
    return Tables(**only_passes(load(address).tables, passes)), Tables(**load("back").tables)


def without_loads(table: pd.DataFrame, loaded: Tables) -> pd.DataFrame:
    """The rows of passes with a graph, numbered from 0 as an import numbers them."""
    kept = loaded.passes.loc[loaded.passes["graph"].notna(), "pass_id"].tolist()
    number = {old: new for new, old in enumerate(kept)}
    rows = table[table["pass_id"].isin(kept)]
    return rows.assign(pass_id=rows["pass_id"].map(number).astype("int32")).reset_index(drop=True)


# The view of the KV cache grows when 256 tokens are in it: two graphs that differ in sizes only.
GROWING = ("hot-set/versions/1", [1, 2, 3, 230, 231, 245, 246, 260])


@pytest.mark.parametrize(("address", "chosen"), [("sample/versions/1", None), GROWING])
def test_own_tables_come_back(address: str, chosen: list[int] | None) -> None:
    own, back = there_and_back(str(VERSIONS / address), chosen)
    passes = without_loads(own.passes, own)
    if chosen is not None:
        assert passes["graph"].nunique() == 3
        passes["produced_token"] = back.passes["produced_token"]  # the run has tokens between these
    known = ["kind", "n_tokens", "produced_token"]
    assert rows(back.passes, known) == rows(passes, known)
    assert (back.passes["begin_ns"] >= passes["begin_ns"]).all()  # a pass begins before its first operation

    ops = without_loads(own.ops, own)
    assert rows(back.ops, ["pass_id", "node"]) == rows(ops, ["pass_id", "node"])
    ran = ops["state"].isin(["executed", "fused"]).to_numpy()
    assert set(back.ops.loc[ran, "state"]) == {"executed"}
    timed = ran & ops["begin_ns"].notna().to_numpy()
    assert back.ops.loc[timed, "begin_ns"].tolist() == ops.loc[timed, "begin_ns"].tolist()
    assert (back.ops.loc[~ran, "state"] == ops.loc[~ran, "state"]).all()

    graphs = ["graph", "node", "kind", "op", "name", "layer", "component", "dtype", "ne0", "ne1", "ne2", "ne3"]
    number = {old: new for new, old in enumerate(own.passes["graph"].dropna().unique().tolist())}
    nodes = own.graph_nodes.assign(graph=own.graph_nodes["graph"].map(number)).dropna(subset="graph")
    assert rows(back.graph_nodes, graphs) == rows(nodes.sort_values(["graph", "node"]), graphs)
    edges = own.graph_edges.assign(graph=own.graph_edges["graph"].map(number)).dropna(subset="graph")
    keys = ["graph", "target", "slot", "source"]
    assert rows(back.graph_edges, keys, in_order=False) == rows(edges, keys, in_order=False)

    columns = ["name", "offset", "size_bytes", "ne0", "ne1", "ne2", "ne3", "layer", "component", "n_experts"]
    assert rows(back.tensors, columns) == rows(own.tensors, columns)
    places = ["size_bytes", "memory", "origin_offset"]
    one = without_loads(own.passes, own).iloc[-1]
    other = back.passes.iloc[-1]
    mine = own.placements[own.placements["placement"] == one["placement"]].set_index("node")[places]
    theirs = back.placements[back.placements["placement"] == other["placement"]].set_index("node")[places]
    disk = theirs[theirs["memory"] == "disk"]
    assert len(disk) > 10 and (mine.loc[disk.index, "memory"] == "disk").all()
    assert rows(disk, places) == rows(mine.loc[disk.index], places)

    # Routing is that of passes with one token
    single = passes.loc[passes["n_tokens"] == 1, "pass_id"].tolist()
    routing = without_loads(own.routing, own)
    chosen = rows(routing[routing["pass_id"].isin(single)], ["pass_id", "layer", "rank", "expert"], in_order=False)
    assert rows(back.routing, ["pass_id", "layer", "rank", "expert"], in_order=False) == chosen
    assert (len(chosen) > 50) == address.startswith("hot-set")
    keys = ["pass_id", "node", "first_unit", "n_units"]
    touches = without_loads(own.touches, own).query("unit == 'expert'")
    touched, stacks = (table[table["pass_id"].isin(single)] for table in (back.touches, touches))
    assert rows(touched, keys, in_order=False) == rows(stacks, keys, in_order=False)


def test_the_schema_is_that_of_the_older_files() -> None:
    folder = sample("v4b-1024-gpt-oss")
    assert main(["import", str(folder), "--as", "it"]) == 0 and main(["export", "it", "json", "--out", "out"]) == 0
    older = json.loads((folder / "trace-token-00000.json").read_text())
    own = json.loads(Path("out/traces/token-00000.json").read_text())
    assert list(own) == list(older) and list(own["metadata"]) == list(older["metadata"])
    assert {tuple(entry)[:11] for entry in own["entries"]} == {tuple(entry)[:11] for entry in older["entries"]}
    kinds = {(tuple(s), *(type(v).__name__ for v in s.values())) for e in older["entries"] for s in e["sources"]}
    placed = [s for e in own["entries"] for s in e["sources"] if "buffer_id" in s or "disk_offset" in s]
    assert placed and {(tuple(s), *(type(v).__name__ for v in s.values())) for s in placed} <= kinds
    names = {name: name for name in ("memory-map.json", "buffer-timeline.json")}
    for theirs, ours in (names | {"graph-token-00000.json": "graphs/token-00000.json"}).items():
        one, two = (json.loads(path.read_text()) for path in (folder / theirs, Path("out") / ours))
        assert list(two) == list(one) and list(two["metadata"]) == list(one["metadata"])
        for key in set(one) & {"tensors", "buffers", "timeline", "nodes", "edges"}:
            assert {tuple(row) for row in two[key]} == {tuple(row) for row in one[key]}


def test_one_pass_and_none(capsys: pytest.CaptureFixture[str]) -> None:
    stored(Path("experiments"), a_moe_run(), scaled_case(4, 2, moe=True))
    assert main(["export", "demo", "json", "--pass", "3"]) == 0
    assert [path.name for path in Path("demo-run-003-json/traces").iterdir()] == ["token-00000.json"]
    load_pass = load("demo").passes.query("kind == 'load'")["pass_id"].tolist()
    if load_pass:
        assert main(["export", "demo", "json", "--pass", str(load_pass[0]), "--out", "x"]) == 2
        assert "has no pass with a graph" in capsys.readouterr().err
