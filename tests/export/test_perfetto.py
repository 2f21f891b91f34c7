"""The trace for Perfetto: every slice, arrow and value of the tables, to the nanosecond, and nothing else."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.builders import a_moe_run, scaled_case, with_barriers, with_device_ops, with_faults, with_requests
from tests.export.pftrace import Drawn, Slice, read
from tests.scale_tables import repeated, stretched
from tests.site_project import LONG, hostile_tables
from tracegen.contract.errors import SettingsError, TableError
from tracegen.contract.tables import BY_NAME, empty, frame
from tracegen.export.format import Source, only_passes
from tracegen.export.perfetto.trace import write

Tables = dict[str, pd.DataFrame]
SPAN = ["pass_id", "node", "thread"]


def source(tables: Mapping[str, pd.DataFrame], *, restricted: bool = False) -> Source:
    return Source("demo/run-003", a_moe_run(), tables, Path(), restricted)


def drawn(tables: Mapping[str, pd.DataFrame], folder: Path, *, restricted: bool = False) -> Drawn:
    folder.mkdir(exist_ok=True)
    write(source(tables, restricted=restricted), folder)
    (file,) = folder.iterdir()
    assert file.name == "demo-run-003.pftrace"
    return read(file)


def changed(tables: Tables, name: str, row: int, **values: object) -> Tables:
    """The tables with other values in a row of one of them."""
    table = tables[name].copy()
    for column, value in values.items():
        table.loc[row, column] = value
    return {**tables, name: table.astype(tables[name].dtypes.to_dict())}


def operations(of: Drawn) -> list[Slice]:
    return [s for s in of.slices if "op" in s.args]


def span_key(s: Slice) -> tuple[int, int, int]:
    return int(s.args["pass_id"]), int(s.args["node"]), int(s.track.removeprefix("thread "))


@pytest.fixture(scope="module")
def tables() -> Tables:
    return with_requests(with_barriers(with_faults(scaled_case(3, 2, moe=True))))


@pytest.fixture(scope="module")
def whole(tables: Tables, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return drawn(tables, tmp_path_factory.mktemp("trace"))


@pytest.mark.parametrize("of_days", [False, True])
def test_each_span_is_a_slice_of_its_thread(tables: Tables, whole: Drawn, tmp_path: Path, of_days: bool) -> None:
    if of_days:  # times that no float64 holds
        tables = stretched(tables)
        whole = drawn(tables, tmp_path)
        assert tables["spans"]["begin_ns"].min() > 2**53
    found = {span_key(s): s for s in operations(whole)}
    assert len(found) == len(tables["spans"]) == len(operations(whole))
    nodes = tables["graph_nodes"].set_index(["graph", "node"])
    graphs = tables["passes"].set_index("pass_id")["graph"]
    for span in tables["spans"].to_dict("records"):
        one = found[tuple(span[name] for name in SPAN)]
        assert one.begin == span["begin_ns"] and one.duration == span["work_ns"] + span["barrier_ns"]
        node = nodes.loc[(graphs[span["pass_id"]], span["node"])]
        assert (one.name, one.category) == (node["name"], node["component"])
        named = {"op": node["op"], "dtype": node["dtype"], "pass_id": span["pass_id"], "node": span["node"]}
        layer = {} if pd.isna(node["layer"]) else {"layer": node["layer"]}
        assert one.args == named | layer and one.inside is None
    assert whole.process == "demo/run-003" and whole.threads == {"thread 0", "thread 1"}


def test_the_wait_after_an_operation_is_a_slice_of_its_own(tables: Tables, whole: Drawn) -> None:
    spans = tables["spans"]
    waits = whole.of(category="wait")
    ends = spans["begin_ns"] + spans["work_ns"] + spans["barrier_ns"]
    expected = zip("thread " + spans["thread"].astype(str), ends, spans["wait_ns"], strict=True)
    assert Counter((s.track, s.begin, s.duration) for s in waits) == Counter(row for row in expected if row[2])
    assert all(s.inside is None and s.name == "wait" and s.args == {} for s in waits)


@pytest.mark.parametrize(("table", "category"), [("faults", "page fault"), ("barriers", "barrier")])
def test_what_an_operation_holds_is_inside_its_slice(tables: Tables, whole: Drawn, table: str, category: str) -> None:
    rows = tables[table]
    slices = whole.of(category=category)
    assert Counter((s.begin, s.duration) for s in slices) == Counter(zip(rows.begin_ns, rows.duration_ns, strict=True))
    nested = [s for s in slices if s.inside]
    assert len(nested) > len(slices) / 2
    inside = Counter((*span_key(s.inside), s.begin, s.duration) for s in nested if s.inside)
    assert not inside - Counter(map(tuple, rows[[*SPAN, "begin_ns", "duration_ns"]].to_numpy().tolist()))
    assert {s.track for s in slices if not s.inside} <= {f"{table} of thread 0", f"{table} of thread 1"}


def test_a_fault_tells_its_kind_and_place(tables: Tables, whole: Drawn) -> None:
    places = Counter((s.name, s.args["file"], s.args["offset"]) for s in whole.of(category="page fault"))
    faults = tables["faults"]
    assert places == Counter(
        (f"{kind} page fault", "model.gguf", offset)
        for kind, offset in zip(faults["kind"], faults["offset"], strict=True)
    )


def test_waits_inside_are_an_argument_where_no_barrier_was_recorded(tmp_path: Path) -> None:
    bare = scaled_case(1, 1)
    bare["spans"].loc[bare["spans"]["barrier_ns"] > 0, "barrier_ns"] += 2**60 + 1  # more than a float64 holds
    barriers = {span_key(s): s.args.get("barrier_ns") for s in operations(drawn(bare, tmp_path))}
    spans = bare["spans"].set_index(SPAN)["barrier_ns"]
    assert spans.any() and barriers == {key: value or None for key, value in spans.items()}


def edges(tables: Tables) -> Counter[tuple[int, int, int]]:
    """Pass, source and target of each operand that an executed operation has of an executed operation."""
    found = set()
    executed = tables["ops"][tables["ops"]["state"] == "executed"]
    by_graph = dict(iter(tables["graph_edges"].groupby("graph")))
    for one in tables["passes"].dropna(subset=["graph"]).to_dict("records"):
        nodes = set(executed.loc[executed["pass_id"] == one["pass_id"], "node"])
        for edge in by_graph[one["graph"]].to_dict("records"):
            if edge["source"] in nodes and edge["target"] in nodes:
                found.add((one["pass_id"], edge["source"], edge["target"]))
    return Counter(found)


def flows(of: Drawn) -> Counter[tuple[object, object, object]]:
    assert all(a.args["pass_id"] == b.args["pass_id"] for a, b in of.flows)
    return Counter((a.args["pass_id"], a.args["node"], b.args["node"]) for a, b in of.flows)


def test_an_arrow_goes_from_each_producer_to_each_consumer(tables: Tables, whole: Drawn) -> None:
    expected = edges(tables)
    assert len(expected) > 100 and flows(whole) == expected and not whole.loose_flows
    assert {s.track for both in whole.flows for s in both} == {"thread 0"}
    assert max(Counter((a.args["pass_id"], a.args["node"]) for a, _ in whole.flows).values()) > 1


def test_an_operation_that_did_not_run_has_no_arrow(tables: Tables, tmp_path: Path) -> None:
    at = tables["ops"].index[(tables["ops"]["state"] == "executed")]
    skipped = changed(tables, "ops", at[len(at) // 2], state="empty")
    timeline = drawn(skipped, tmp_path)
    assert flows(timeline) == edges(skipped) and edges(skipped) != edges(tables) and not timeline.loose_flows


def test_passes_and_loads_have_a_track(tables: Tables, whole: Drawn) -> None:
    by_pass = {s.args["pass_id"]: s for s in whole.of(track="passes")}
    for one in tables["passes"].to_dict("records"):
        shown = by_pass.pop(one["pass_id"])
        assert (shown.name, shown.begin, shown.end) == (one["kind"], one["begin_ns"], one["end_ns"])
        for name in ("n_tokens", "produced_token", "graph"):
            assert shown.args.get(name) == (None if pd.isna(one[name]) else one[name])
    assert not by_pass


def test_a_pass_without_an_end_has_none(tables: Tables, tmp_path: Path) -> None:
    last = len(tables["passes"]) - 1
    slices = drawn(changed(tables, "passes", last, end_ns=None), tmp_path).of(track="passes")
    assert [s.end is None for s in sorted(slices, key=lambda s: s.begin)] == [False] * last + [True]


def test_requests_are_on_tracks_of_their_device(tables: Tables, whole: Drawn) -> None:
    rows = tables["requests"]
    known = rows["duration_ns"].notna()
    shown = whole.of(category="request")
    assert Counter((s.begin, s.duration, s.args["place"], s.args["size_bytes"]) for s in shown) == Counter(
        map(tuple, rows.loc[known, ["issue_ns", "duration_ns", "place", "size_bytes"]].to_numpy().tolist())
    )
    assert [s.begin for s in whole.instants] == rows.loc[~known, "issue_ns"].tolist()
    assert {s.track for s in [*shown, *whole.instants]} == {"requests of 254:0"}
    assert all(s.inside is None for s in shown) and len({s.uuid for s in shown}) > 2
    of_kind = Counter(rows.loc[known, "kind"])
    assert Counter(s.name for s in shown) == {"read": of_kind["read"], "read ahead": of_kind["ahead"]}
    assert Counter(s.args.get("file") for s in shown)[None] == int(rows.loc[known, "file"].isna().sum())


def test_buffers_are_a_counter_of_each_backend(tables: Tables, tmp_path: Path) -> None:
    row = dict(address=None, name="x", layer=None)
    more = [
        row | dict(time_ns=100, event="alloc", buffer_id=90, backend="CPU", usage="mapped", size_bytes=7),
        row | dict(time_ns=101, event="alloc", buffer_id=91, backend=None, usage=None, size_bytes=1 << 40),
        row | dict(time_ns=10**12, event="free", buffer_id=91, backend=None, usage=None, size_bytes=1 << 40),
    ]
    buffers = frame("buffers", [*tables["buffers"].to_dict("records"), *more])
    counters = drawn({**tables, "buffers": buffers}, tmp_path).counters
    allocated, expected = 0, []
    for event in tables["buffers"].sort_values("time_ns").to_dict("records"):
        allocated += event["size_bytes"] * (1 if event["event"] == "alloc" else -1)
        expected.append((event["time_ns"], allocated))
    assert allocated == 0 and len(expected) == 6
    assert counters == {
        "CPU: allocated buffers": expected,
        "CPU: mapped buffers": [(100, 7)],
        "unknown backend: allocated buffers": [(101, 1 << 40), (10**12, 0)],
    }


def test_only_the_passes_that_were_asked_for(tables: Tables, tmp_path: Path) -> None:
    some = only_passes(tables, [2, 4])
    timeline = drawn(some, tmp_path, restricted=True)
    assert {s.args["pass_id"] for s in [*operations(timeline), *timeline.of(track="passes")]} == {2, 4}
    assert len(operations(timeline)) == len(some["spans"])
    assert flows(timeline) == Counter({key: n for key, n in edges(tables).items() if key[0] in (2, 4)})
    begin, end = some["passes"]["begin_ns"].min(), some["passes"]["end_ns"].max()
    buffers = tables["buffers"][tables["buffers"]["event"] == "alloc"]
    assert buffers["time_ns"].max() < begin < end < 10**8
    assert timeline.counters == {"CPU: allocated buffers": [(begin, buffers["size_bytes"].sum())]}


def test_operations_without_spans_are_slices_themselves(tables: Tables, tmp_path: Path) -> None:
    ops = tables["ops"]
    timed = ops.dropna(subset=["begin_ns"])
    basis = ops["time_basis"].where(ops["begin_ns"].isna(), "gap to next").astype(ops["time_basis"].dtype)
    bare = {**tables, **{name: empty()[name] for name in ("spans", "barriers", "faults")}}
    bare["ops"] = ops.assign(time_basis=basis)
    timeline = drawn(bare, tmp_path)
    shown = timeline.of(track="operations")
    assert Counter((s.args["pass_id"], s.args["node"], s.begin, s.end) for s in shown) == Counter(
        map(tuple, timed[["pass_id", "node", "begin_ns", "end_ns"]].to_numpy().tolist())
    )
    assert {s.args["time_basis"] for s in shown} == {"gap to next"} and not timeline.threads
    assert flows(timeline) == edges(tables)


def test_operations_of_another_backend_are_shown_as_their_split(tables: Tables, tmp_path: Path) -> None:
    one, ops, spans = tables["passes"].iloc[-1], tables["ops"].copy(), tables["spans"]
    there = (ops["pass_id"] == one["pass_id"]) & (ops["node"] < 20)
    ops.loc[there, ["begin_ns", "end_ns"]] = pd.NA
    ops.loc[there & (ops["state"] == "executed"), "time_basis"] = "split"
    spans = spans[~((spans["pass_id"] == one["pass_id"]) & (spans["node"] < 20))]
    begin, end = int(one["begin_ns"]), int(one["end_ns"])
    split = dict(pass_id=one["pass_id"], split=0, backend="CUDA0", n_nodes=20, begin_ns=begin, end_ns=begin + 900)
    rest = dict(split, split=1, backend="CPU", begin_ns=begin + 900, end_ns=end)
    copy = dict(
        pass_id=one["pass_id"],
        copy=0,
        split=1,
        tensor="x#0",
        source="CUDA0",
        target="CPU",
        size_bytes=64,
        begin_ns=begin + 900,
        end_ns=begin + 950,
    )
    timeline = drawn(
        {
            **tables,
            "ops": ops,
            "spans": spans,
            "copies": frame("copies", [copy]),
            "splits": frame("splits", [split | dict(by_op=False), rest | dict(by_op=True)]),
        },
        tmp_path,
    )
    assert len(operations(timeline)) == len(spans) < len(tables["spans"])
    assert [(s.name, s.begin, s.end, s.args["n_nodes"], s.args["by_op"]) for s in timeline.of(track="splits")] == [
        ("submitted to CUDA0", begin, begin + 900, 20, 0),
        ("CPU", begin + 900, end, 20, 1),
    ]
    assert [(s.args["backend"], s.args["submitted"]) for s in timeline.of(track="splits")] == [("CUDA0", 1), ("CPU", 0)]
    (copied,) = timeline.of(track="copies")
    assert (copied.name, copied.duration, copied.args["size_bytes"]) == ("x#0", 50, 64)
    assert (copied.args["source"], copied.args["target"]) == ("CUDA0", "CPU")
    assert not timeline.loose_flows


def test_names_with_control_characters_and_surrogates_stay_names(tmp_path: Path) -> None:
    hostile = hostile_tables()
    names = hostile["graph_nodes"]["name"].astype(object)
    names[0], names[1], names[3] = "\0\x1b[2J\x7f\r\n\ud800", "", LONG
    hostile["graph_nodes"] = hostile["graph_nodes"].assign(name=pd.array(names, dtype=pd.StringDtype("python")))
    timeline = drawn(hostile, tmp_path)
    nodes = hostile["graph_nodes"].set_index(["graph", "node"])["name"]
    graphs = hostile["passes"].set_index("pass_id")["graph"]
    for s in operations(timeline):
        assert s.name == nodes[(graphs[s.args["pass_id"]], s.args["node"])].replace("\ud800", "\\ud800")
    assert len(operations(timeline)) == len(hostile["spans"]) and LONG in {s.name for s in operations(timeline)}


def test_what_is_not_known_of_a_node_is_left_out(tables: Tables, tmp_path: Path) -> None:
    nodes, last = tables["graph_nodes"], tables["spans"].iloc[-1]
    gone = (nodes["graph"] == 1) & (nodes["node"] == last["node"])
    known = nodes[~gone].assign(dtype=pd.Categorical([None] * int((~gone).sum())))
    timeline = drawn({**tables, "graph_nodes": known}, tmp_path)
    assert operations(timeline) and all("dtype" not in s.args for s in operations(timeline))
    there = {"pass_id": last["pass_id"], "node": last["node"]}
    lost = [s for s in timeline.slices if s.args == there]
    assert [(s.name, s.category, s.track) for s in lost] == [("operation", "", f"thread {t}") for t in (0, 1)]


@pytest.mark.parametrize("name", ["no passes", "no tables' rows"])
def test_a_run_without_passes_is_an_empty_timeline(tables: Tables, tmp_path: Path, name: str) -> None:
    timeline = drawn(empty() if name == "no tables' rows" else only_passes(tables, []), tmp_path)
    assert timeline.process == "demo/run-003" and not timeline.slices and not timeline.flows
    assert bool(timeline.counters) == (name == "no passes")


def test_a_large_run_becomes_several_files_of_whole_passes(tmp_path: Path) -> None:
    many = with_requests(with_barriers(with_faults(repeated(scaled_case(1, 1, moe=True), 9))))
    one = drawn(many, tmp_path / "one")
    limit = 30_000
    (tmp_path / "several").mkdir()
    mixed = {name: table.sample(frac=1, random_state=1) for name, table in many.items()}
    write(source(mixed), tmp_path / "several", limit)
    paths = sorted((tmp_path / "several").iterdir())
    ranges = [tuple(map(int, path.stem.removeprefix("passes-").split("-"))) for path in paths]
    last = int(many["passes"]["pass_id"].max())
    assert 2 < len(paths) < last and all(path.stat().st_size <= limit for path in paths)
    assert [first for first, _ in ranges] == [0, *(end + 1 for _, end in ranges[:-1])] and ranges[-1][1] == last
    assert paths[0].name.startswith("passes-00-")
    files = [read(path) for path in paths]
    for file, (first, end) in zip(files, ranges, strict=True):
        assert {s.args["pass_id"] for s in file.of(track="passes")} == set(range(first, end + 1))
        assert {s.args["pass_id"] for s in operations(file)} <= set(range(first, end + 1))

    def key(s: Slice) -> tuple[object, ...]:
        return s.track, s.name, s.category, s.begin, s.end, tuple(s.args.items())

    assert Counter(key(s) for file in files for s in file.slices) == Counter(key(s) for s in one.slices)
    assert Counter(key(s) for file in files for s in file.instants) == Counter(key(s) for s in one.instants)
    assert sum((flows(file) for file in files), Counter()) == flows(one)
    sums = one.counters["CPU: allocated buffers"]
    (before,) = (file.counters["CPU: allocated buffers"] for file in files[1:2])
    assert before[0] == (read_begin(many, ranges[1][0]), [v for t, v in sums if t < read_begin(many, ranges[1][0])][-1])


def test_no_file_is_larger_than_the_limit(tmp_path: Path) -> None:
    """Down from a single file, each time a byte less than the first file needs."""
    tables = with_barriers(with_faults(repeated(scaled_case(1, 1), 6)))
    limit, seen = 10**9, []
    while limit > 12_000:
        (folder := tmp_path / str(limit)).mkdir()
        write(source(tables), folder, limit)
        sizes = [path.stat().st_size for path in sorted(folder.iterdir())]
        assert max(sizes) <= limit
        limit = sizes[0] - 1
        seen.append(len(sizes))
    assert seen == sorted(seen) and seen[0] == 1 and len(set(seen)) > 3


def test_slices_that_are_open_at_once_do_not_share_a_track(tmp_path: Path) -> None:
    """Also where one belongs to a pass, and chunk, before the other."""
    bare = scaled_case(2, 1)
    one, two = (int(begin) for begin in bare["passes"]["begin_ns"].iloc[-2:])
    row = dict(device="8:0", size_bytes=512, file=None, offset=None, file_bytes=0, kind="read")
    requests = [
        row | dict(request=0, pass_id=3, place=0, issue_ns=one + 5, duration_ns=two - one + 10),
        row | dict(request=1, pass_id=4, place=512, issue_ns=two + 1, duration_ns=100),
        row | dict(request=2, pass_id=4, place=1024, issue_ns=two + 101, duration_ns=0),
    ]
    write(source({**bare, "requests": frame("requests", requests)}), tmp_path, 100_000)
    (path,) = tmp_path.iterdir()
    by_place = {s.args["place"]: s for s in read(path).of(category="request")}
    assert [by_place[place].duration for place in (0, 512, 1024)] == [two - one + 10, 100, 0]
    assert by_place[0].uuid != by_place[512].uuid and all(s.inside is None for s in by_place.values())


def test_faults_of_no_operation_are_beside_the_threads(tables: Tables, tmp_path: Path) -> None:
    faults = tables["faults"].astype(object)
    faults.loc[:7, "node"] = None
    faults.loc[4:15, "thread"] = None
    faults.loc[8:19, "pass_id"] = None
    faults.loc[2:17:5, ["duration_ns", "kind"]] = None
    recorded = frame("faults", faults.to_dict("records"))
    timeline = drawn({**tables, "faults": recorded}, tmp_path)
    shown = [s for s in [*timeline.slices, *timeline.instants] if s.category == "page fault"]
    assert Counter(s.begin for s in shown) == Counter(recorded["begin_ns"])
    assert sum(s.duration for s in timeline.of(category="page fault")) == recorded["duration_ns"].sum()
    unknown = recorded[recorded["duration_ns"].isna()]
    found = [s for s in timeline.instants if s.category == "page fault"]
    assert Counter((s.begin, s.name) for s in found) == Counter((begin, "page fault") for begin in unknown["begin_ns"])
    others = recorded[recorded["thread"].isna()]
    assert Counter(s.begin for s in shown if s.track == "faults of other threads") == Counter(others["begin_ns"])
    assert len(others) == 12 and len(unknown) == 4


def read_begin(tables: Tables, number: int) -> int:
    passes = tables["passes"]
    return int(passes.loc[passes["pass_id"] == number, "begin_ns"].iloc[0])


def test_a_pass_is_never_cut(tables: Tables, tmp_path: Path) -> None:
    write(source(tables), tmp_path, 1)
    assert len(list(tmp_path.iterdir())) == len(tables["passes"])
    files = [read(path) for path in sorted(tmp_path.iterdir())]
    assert sum(len(operations(file)) for file in files) == len(tables["spans"])


def test_two_contexts_at_once_have_threads_of_their_own(tables: Tables, tmp_path: Path) -> None:
    passes = tables["passes"].copy()
    shift = int(passes["begin_ns"].iloc[-1] - passes["begin_ns"].iloc[-2]) - 5
    last = passes["pass_id"].iloc[-1]
    passes.loc[passes["pass_id"] == last, "context"] = 1
    moved = {**tables, "passes": passes}
    for name in ("passes", "ops", "spans", "faults", "barriers"):
        at = (moved[name]["pass_id"] == last).fillna(False).to_numpy(bool)
        moved[name] = moved[name].assign(
            **{
                column: moved[name][column].mask(at, moved[name][column] - shift)
                for column in ("begin_ns", "end_ns")
                if column in moved[name]
            }
        )
    timeline = drawn(moved, tmp_path)
    assert timeline.threads == {f"context {c}: thread {t}" for c in (0, 1) for t in (0, 1)}
    assert len(operations(timeline)) == len(tables["spans"]) and flows(timeline) == edges(tables)
    assert {s.uuid for s in timeline.of(track="passes")} != {s.uuid for s in timeline.of(track="passes")[:1]}


@pytest.mark.parametrize("seed", range(8))
def test_whatever_the_times_no_slice_is_lost_and_none_cross(tables: Tables, tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)

    def shaken(table: pd.DataFrame) -> pd.DataFrame:
        """Begins that move by up to 400 ns, durations of which many are 0, and rows in another order."""
        moved = table.assign(begin_ns=table["begin_ns"] + random.integers(-400, 400, len(table)))
        for column in {"work_ns", "barrier_ns", "wait_ns", "duration_ns"} & set(table.columns):
            values = table[column] * random.integers(0, 2, len(table))
            moved = moved.assign(**{column: values.astype(table[column].dtype)})
        return moved.sample(frac=1, random_state=seed)

    wild = {**tables, **{name: shaken(tables[name]) for name in ("spans", "faults", "barriers")}}
    timeline = drawn(wild, tmp_path)
    assert Counter((s.args["pass_id"], s.args["node"], s.begin, s.duration) for s in operations(timeline)) == Counter(
        (p, n, b, w + i) for p, n, _, b, w, i, *_ in wild["spans"].itertuples(index=False)
    )
    assert sum(s.duration for s in timeline.of(category="wait")) == wild["spans"]["wait_ns"].sum()
    for table, category in (("faults", "page fault"), ("barriers", "barrier")):
        shown = Counter((s.begin, s.duration) for s in timeline.of(category=category))
        assert shown == Counter(zip(wild[table]["begin_ns"], wild[table]["duration_ns"], strict=True))
    for s in timeline.slices:
        assert s.inside is None or (s.inside.begin <= s.begin and s.end <= s.inside.end and not s.inside.inside)
        assert s.inside is None or s.category in ("page fault", "barrier")
    assert any(not s.duration for s in timeline.slices)


def test_a_slice_that_ends_before_it_begins_is_refused(tables: Tables, tmp_path: Path) -> None:
    with pytest.raises(TableError, match="table spans: row 3 ends before it begins"):
        write(source(changed(tables, "spans", 3, wait_ns=-1)), tmp_path)
    with pytest.raises(TableError, match="table passes: row 0 ends before it begins"):
        write(source(changed(tables, "passes", 0, end_ns=5)), tmp_path)


def test_a_version_without_a_table_is_refused(tables: Tables, tmp_path: Path) -> None:
    for name in ("spans", "graph_edges", "requests"):
        with pytest.raises(SettingsError, match=f"holds no table '{name}'"):
            write(source({key: tables[key] for key in BY_NAME if key != name}), tmp_path)


def test_operations_of_a_device_have_a_track_of_their_own(tables: Tables, tmp_path: Path) -> None:
    whole = with_device_ops(tables)
    rows = whole["device_ops"]
    timeline = drawn(whole, tmp_path)
    slices = timeline.of(track="device_ops of Vulkan0")
    assert len(slices) == len(rows) > 0
    first = rows.sort_values("begin_ns").iloc[0]
    assert (slices[0].name, slices[0].begin, slices[0].end) == (first["label"], first["begin_ns"], first["end_ns"])
    assert slices[0].args["node"] == first["node"] and slices[0].args["exact"] == 1
