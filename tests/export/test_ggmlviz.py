"""`tracegen export … ggmlviz`: what is written is what the reader finds again."""

from pathlib import Path

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case
from tests.readers.foreign.ggmlviz_bytes import plain, sample
from tests.site_project import stored
from tracegen.cli.main import main
from tracegen.contract import tables as contract
from tracegen.contract.errors import SettingsError
from tracegen.export.format import Source, only_passes
from tracegen.export.ggmlviz import GGMLVIZ
from tracegen.readers.foreign import ggmlviz
from tracegen.readers.foreign.op_numbers import FUNCTIONS
from tracegen.readers.foreign.trace import ForeignTrace

Tables = dict[str, pd.DataFrame]


def written(folder: Path, tables: Tables) -> bytes:
    """The bytes of the file that is written of a run with these tables."""
    GGMLVIZ.write(Source("demo/run-003", a_run(), tables, folder), folder)
    (path,) = folder.iterdir()
    assert path.name == "demo-run-003.ggmlviz"
    data = path.read_bytes()
    path.unlink()
    return data


def read_again(folder: Path, tables: Tables) -> ForeignTrace:
    return ggmlviz.read("it", written(folder, tables), op_table="2026-11")


def timed(tables: Tables) -> list[tuple[object, ...]]:
    """Operations with times, in order: begin of their pass, operation, name, size, begin of thread 0, end."""
    passes = tables["passes"].set_index("pass_id")
    nodes = tables["graph_nodes"].set_index(["graph", "node"])
    spans = tables["spans"]
    firsts = spans[spans["thread"] == 0].set_index(["pass_id", "node"])["begin_ns"].to_dict()
    rows = []
    for row in tables["ops"].dropna(subset=["begin_ns", "end_ns"]).itertuples():
        node = nodes.loc[(passes.loc[row.pass_id, "graph"], row.node)]
        begin = firsts.get((row.pass_id, row.node), row.begin_ns)
        op = FUNCTIONS.get(node["op"], node["op"])
        rows.append((passes.loc[row.pass_id, "begin_ns"], op, node["name"], node["size_bytes"], begin, row.end_ns))
    return rows


@pytest.mark.parametrize("moe", [False, True])
def test_operations_come_back_with_names_and_times(tmp_path: Path, moe: bool) -> None:
    tables = scaled_case(4, 2, moe=moe)
    trace = read_again(tmp_path, tables)
    assert timed(dict(trace.tables)) == timed(tables) and len(trace.tables["ops"]) > 50
    computed = tables["passes"].dropna(subset=["graph"])
    for column in ("begin_ns", "end_ns"):
        assert trace.tables["passes"][column].tolist() == computed[column].tolist()
    states = {check.key: check.state for check in trace.checks}
    assert states["op_times"] == states["monotone_time"] == states["recorded_once"] == "passed"
    assert states["op_names"] == "passed"


def test_what_is_left_out_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = scaled_case(1, 1)
    untimed = tables["ops"][tables["ops"]["begin_ns"].isna()]["state"].value_counts()
    written(tmp_path, tables)
    said = capsys.readouterr().err
    assert said.startswith("left out: loads and passes without a graph: 1")
    for state, n in untimed.items():
        assert f"operations without times ({state}): {n}" in said or n == 0
    mapped = (tables["buffers"]["usage"] == "mapped").sum()
    assert (f"events of buffers that view a mapped file: {mapped}" in said) == bool(mapped)


def test_a_graph_says_how_many_nodes_it_has(tmp_path: Path) -> None:
    """Also those whose operations are left out: a reader sees that they are missing."""
    tables = scaled_case(1, 1)
    n_nodes = tables["graphs"].set_index("graph")["n_nodes"]
    graphs = tables["passes"]["graph"].dropna()
    data = written(tmp_path, tables)
    begins = [event for event in plain(data) if event.type == 0]
    assert [event.number(21, 4) for event in begins] == n_nodes[graphs].tolist()
    assert {event.number(25, 4) for event in begins} == {2}


def test_a_trace_of_ggml_viz_comes_back(tmp_path: Path) -> None:
    before = ggmlviz.read("it", sample("07"))
    after = ggmlviz.read("it", written(tmp_path, dict(before.tables)))
    for name in ("passes", "ops", "graph_nodes", "graphs"):
        pd.testing.assert_frame_equal(after.tables[name], before.tables[name])
    columns = ["time_ns", "event", "name", "size_bytes", "layer"]
    buffers = [trace.tables["buffers"].sort_values(["time_ns", "buffer_id"])[columns] for trace in (before, after)]
    pd.testing.assert_frame_equal(*(table.reset_index(drop=True) for table in buffers))


def test_buffers_without_an_address_stay_apart(tmp_path: Path) -> None:
    rows = [
        dict(time_ns=time, event=event, buffer_id=number, name=None, size_bytes=10 + number)
        for time, event, number in ((1, "alloc", 0), (2, "alloc", 1), (3, "free", 0), (4, "free", 1))
    ]
    tables = contract.empty() | {"buffers": contract.frame("buffers", rows)}
    back = read_again(tmp_path, tables).tables["buffers"]
    assert back[["event", "size_bytes"]].to_numpy().tolist() == [
        ["alloc", 10], ["alloc", 11], ["free", 10], ["free", 11],
    ]  # fmt: skip


def test_names_are_cut_between_characters(tmp_path: Path) -> None:
    tables = scaled_case(1, 1)
    nodes = tables["graph_nodes"].copy()
    nodes.loc[0, "name"] = "é" * 40
    data = written(tmp_path, tables | {"graph_nodes": nodes})
    labels = {event.label for event in plain(data) if event.label}
    assert "é" * 31 in labels and all(len(label.encode()) <= 63 for label in labels)


def test_an_operation_without_a_number_is_refused(tmp_path: Path) -> None:
    tables = scaled_case(1, 1)
    nodes = tables["graph_nodes"]
    op = nodes["op"].astype(str).where(nodes["op"] != "MUL_MAT", "FROM_THE_FUTURE").astype("category")
    with pytest.raises(SettingsError, match=r"FROM_THE_FUTURE has no number in ggml's table of 2026-11"):
        written(tmp_path, tables | {"graph_nodes": nodes.assign(op=op)})
    assert not list(tmp_path.iterdir())


def test_two_contexts_at_once_keep_their_operations(tmp_path: Path) -> None:
    """Their passes overlap: each has its own thread, on which time runs forward."""
    tables = scaled_case(2, 1)
    passes, ops, spans = (tables[name].copy() for name in ("passes", "ops", "spans"))
    second = passes["pass_id"].iloc[-1]
    passes.loc[passes["pass_id"] == second, "context"] = 1
    earlier = int(passes["begin_ns"].iloc[-1] - passes["begin_ns"].iloc[-2]) - 7
    for table, names in ((passes, ("begin_ns", "end_ns")), (ops, ("begin_ns", "end_ns")), (spans, ("begin_ns",))):
        for name in names:
            table.loc[table["pass_id"] == second, name] -= earlier
    moved = tables | {"passes": passes, "ops": ops, "spans": spans}
    trace = read_again(tmp_path, moved)
    assert timed(dict(trace.tables)) == timed(moved)
    assert {check.key: check.state for check in trace.checks}["monotone_time"] == "passed"
    assert trace.facts["thread_hashes"] == [0, 1, 2]


def test_a_pass_that_did_not_end_has_no_end(tmp_path: Path) -> None:
    tables = scaled_case(1, 1)
    passes = tables["passes"].copy()
    passes.loc[passes.index[-1], "end_ns"] = pd.NA
    back = read_again(tmp_path, tables | {"passes": passes}).tables["passes"]["end_ns"]
    assert back.isna().tolist() == [False] * (len(back) - 1) + [True]


def test_a_run_without_graphs_and_buffers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="demo/run-003: has no graph and no allocation to write"):
        written(tmp_path, contract.empty())


def test_the_command_writes_one_file(here: Path) -> None:
    tables = scaled_case(2, 1)
    stored(Path("experiments"), a_run(), tables)
    assert main(["export", "demo", "ggmlviz", "--pass", "2"]) == 0
    trace = ggmlviz.read("it", Path("demo-run-003.ggmlviz").read_bytes())
    assert timed(dict(trace.tables)) == timed(only_passes(tables, [2]))
