"""A trace of the C writer: the reader and tt_dump, two independent programs, find the same in it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from tests.native.conftest import Build, write
from tests.native.trace_bytes import GARBAGE
from tracegen.contract.tables import frame
from tracegen.readers.native.segments import segment_files
from tracegen.readers.native.trace import ModelTables, NativeTrace, read_trace

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def trace(written: Path) -> NativeTrace:
    return read_trace(segment_files(written))


@pytest.fixture(scope="module")
def of_model(written: Path) -> NativeTrace:
    """The same, as if the file that it mapped were a model of 64 pages."""
    file = dict(file=0, model=0, split_index=0, path="small.gguf", size_bytes=1 << 18, axis_begin=0)
    return read_trace(segment_files(written), ModelTables(frame("files", [file]), frame("tensors")))


@pytest.fixture(scope="module")
def dump(tools: Path, written: Path) -> list[str]:
    ended = subprocess.run([tools / "tt_dump", "--events", written], capture_output=True, text=True, check=True)
    return ended.stdout.splitlines()


def _rows(dump: list[str], kind: str) -> list[dict[str, str]]:
    """The `name=value` pairs of each line of a kind, without quotes."""
    lines = [line.strip() for line in dump if re.match(rf" *{kind}\b", line)]
    return [{k: v.strip('"') for k, v in re.findall(r'(\w+)=("[^"]*"|\S*)', line)} for line in lines]


def test_the_c_tests_pass(build: Build) -> None:
    log = (build("test") / "test.log").read_text()
    counts = re.findall(r"(\d+) passed, (\d+) failed", log)
    with_vulkan = subprocess.run(["cc", "-fsyntax-only", "-include", "vulkan/vk_layer.h", "-x", "c", os.devnull])
    assert len(counts) == 18 + (with_vulkan.returncode == 0)
    assert all(int(passed) > 0 and failed == "0" for passed, failed in counts)


def test_passes(trace: NativeTrace, dump: list[str]) -> None:
    passes = trace.tables["passes"]
    assert passes["kind"].tolist() == ["load", "warmup", "prompt", "generate"]
    assert passes["produced_token"].tolist() == [pd.NA, pd.NA, 0, 1] and passes["call"].tolist() == [pd.NA, 0, 1, 2]
    assert passes["minor_faults"].tolist() == [0, 3, 3, 3] and passes["read_bytes"].tolist() == [0, 4096, 4096, 4096]
    began, ended = _rows(dump, "pass_begin"), _rows(dump, "pass_end")
    assert passes["begin_ns"].tolist()[1:] == [int(row["time_ns"]) for row in began]
    assert passes["end_ns"].tolist()[1:] == [int(row["time_ns"]) for row in ended]
    assert passes["n_tokens"].tolist()[1:] == [int(row["n_tokens"]) for row in began]


def test_tokens(trace: NativeTrace, dump: list[str]) -> None:
    tokens = trace.tables["tokens"][["token_id", "position", "sequence"]].astype(int).values.tolist()
    assert tokens == [[int(row[k]) for k in ("token", "position", "sequence")] for row in _rows(dump, "row")]


def test_spans(trace: NativeTrace, dump: list[str]) -> None:
    spans = trace.tables["spans"].sort_values(["thread", "begin_ns"])
    ops = _rows(dump, "op")
    assert spans["node"].tolist() == [int(op["graph_node"]) for op in ops]
    assert spans["begin_ns"].tolist() == [int(op["begin"]) for op in ops]
    assert (spans["begin_ns"] + spans["work_ns"] + spans["barrier_ns"]).tolist() == [int(op["end"]) for op in ops]
    assert spans["barrier_ns"].tolist() == [int(op["barrier"]) for op in ops] and (spans["wait_ns"] >= 0).all()


def test_what_passes_cost_beside_their_ops(trace: NativeTrace, dump: list[str]) -> None:
    ticks = [int(row["ticks"]) for row in _rows(dump, "hooks")]  # by CLOCK_MONOTONIC a tick is a nanosecond
    assert ticks == [1000, 2000, 3000]
    between = [float(row["between"]) for row in _rows(dump, "hooks")]
    assert list(trace.facts["between_ns"].values()) == between == [0, 77, 154]
    graphs = [int(row["graph"]) for row in _rows(dump, "pass_begin")]
    again = [ticks[i] for i, graph in enumerate(graphs) if graph in graphs[:i]]  # a new graph costs once
    assert len(again) == 1
    assert trace.facts["begin_cost_ns"] == 31_000_000
    assert (trace.facts["pass_cost_ns"], trace.facts["pass_cost_most_ns"]) == (again[0], 3000)


def test_how_the_threads_of_a_pass_got_processors(trace: NativeTrace, dump: list[str]) -> None:
    passes, rows = trace.tables["passes"].iloc[1:], _rows(dump, "schedule")
    for name in ("run_delay_ns", "cpu_ns", "blocked_ns", "counted_ns"):
        known = [pd.NA if row[name] == "unknown" else int(row[name]) for row in rows]
        assert passes[name].tolist() == known
    assert passes["run_delay_ns"].tolist() == [pd.NA, 500, 1000] and passes["blocked_ns"].tolist() == [pd.NA, pd.NA, 0]
    assert trace.tables["passes"]["run_delay_ns"].isna()[0]  # not recorded for a load


def test_ticks_of_the_processor_give_the_same_times(tools: Path, tmp_path: Path) -> None:
    """With events timed by the time stamp counter, every span lies in its pass, which CLOCK_MONOTONIC times."""
    trace = read_trace(segment_files(write(tools, tmp_path, clock="tsc")))
    if trace.facts["clock"] != "tsc":
        pytest.skip("this machine's time stamp counter cannot time events")
    spans, passes = trace.tables["spans"], trace.tables["passes"].set_index("pass_id")
    assert len(spans) == 36 and (spans["begin_ns"] >= spans["pass_id"].map(passes["begin_ns"])).all()
    ends = spans["begin_ns"] + spans["work_ns"] + spans["barrier_ns"] + spans["wait_ns"]
    assert (ends <= spans["pass_id"].map(passes["end_ns"])).all()
    assert trace.facts["not_monotone"] == 0


def test_ops(trace: NativeTrace) -> None:
    ops = trace.tables["ops"]
    states = ["executed", "executed", "fused", "noop", "executed", "executed", "executed", "executed", "off"]
    for _, of_pass in ops.groupby("pass_id"):
        assert of_pass["state"].tolist() == states and of_pass["fused_into"].tolist() == [pd.NA, pd.NA, 1, *[pd.NA] * 6]
    assert trace.facts["n_ops_short_of_threads"] == 0


def test_graphs(trace: NativeTrace, dump: list[str]) -> None:
    nodes = trace.tables["graph_nodes"]
    rows = [row for line in ("node", "leaf") for row in _rows(dump, f"   {line} ")]
    assert sorted(nodes["name"]) == sorted(row["name"] for row in rows)
    assert sorted(nodes["size_bytes"]) == sorted(int(row["size_bytes"]) for row in rows)
    edges = sum(f"src{i}" in row for row in rows for i in range(10))
    assert len(trace.tables["graph_edges"]) == edges
    first = nodes[nodes["graph"] == 0].set_index("name")
    norm = first.loc["attn_norm-0"].to_dict()
    assert [norm[k] for k in ("kind", "op", "layer", "component")] == ["op", "MUL", 0, "norm"]
    assert trace.tables["graphs"]["topology"].nunique() == 1


def test_placements(trace: NativeTrace, dump: list[str]) -> None:
    places = trace.tables["placements"]
    assert [f"{address:#x}" for address in places["address"]] == [row["address"] for row in _rows(dump, "place")]
    names = trace.tables["graph_nodes"][["graph", "node", "name"]]
    memory = places.merge(names, on=["graph", "node"]).groupby("name")["memory"].unique().map(list).to_dict()
    assert memory["token_embd.weight"] == memory["blk.0.attn_norm.weight"] == ["disk"]
    assert memory["blk.0.ffn_up_exps.weight"] == ["copied"] and memory["cache_k_l0"] == memory["inp_embd"] == ["buffer"]


def test_touches_and_routing(trace: NativeTrace) -> None:
    touches = trace.tables["touches"]
    prompt = touches[touches["pass_id"] == 2][["node", "slot", "unit", "first_unit", "n_units"]].values.tolist()
    assert prompt == [
        [0, "src0", "row", 1, 1],
        [0, "src0", "row", 31, 1],
        [4, "dst", "row", 5, 2],
        [6, "src0", "expert", 0, 2],
        [6, "src0", "expert", 3, 1],
    ]
    routing = trace.tables["routing"]
    prompt = routing[routing["pass_id"] == 2][["layer", "row", "rank", "expert", "weight"]].values.tolist()
    assert prompt == [[0, 0, 0, 3, 0.75], [0, 0, 1, 0, 0.25], [0, 1, 0, 1, 0.5], [0, 1, 1, 3, 0.5]]


def test_splits_and_copies(trace: NativeTrace) -> None:
    """An op that is switched off stays off, also in a split of another backend."""
    splits, copies = trace.tables["splits"], trace.tables["copies"]
    columns = ["pass_id", "split", "backend", "n_nodes", "by_op", "proof"]
    assert splits[columns].values.tolist() == [[p, 1, "GPU", 2, False, "synchronise"] for p in (1, 2)]
    assert (splits["end_ns"] >= splits["begin_ns"]).all()
    columns = ["pass_id", "copy", "split", "tensor", "source", "target", "size_bytes", "proof"]
    copied = ["ffn_moe_weighted-0", "CPU", "GPU", 64, "blocking"]
    assert copies[columns].values.tolist() == [[p, 0, 1, *copied] for p in (1, 2)]
    ops = trace.tables["ops"]
    assert not (ops["backend"] == "GPU").any() and set(ops.loc[ops["node"] == 8, "state"]) == {"off"}


def test_residency(of_model: NativeTrace, trace: NativeTrace) -> None:
    """The first page of the file was unmapped, so the mapping begins at page 1; the passes change no residency."""
    rows = of_model.tables["residency"].values.tolist()
    assert trace.tables["residency"].empty  # without tables of the model the file is unknown
    assert rows == [[pass_id, 0, first, n] for pass_id in range(4) for first, n in ((1, 2), (11, 1))]


def test_devices(trace: NativeTrace, dump: list[str]) -> None:
    """A load and three passes; the kernel's milliseconds wrapped round in each."""
    begins, ends, records = _rows(dump, "begin"), _rows(dump, "end n_reads"), _rows(dump, "device")
    names = {
        "n_reads": ("n_reads", 1),
        "read_bytes": ("read_sectors", 512),
        "read_ns": ("read_ms", 10**6),
        "n_writes": ("n_writes", 1),
        "written_bytes": ("written_sectors", 512),
    }
    table = trace.tables["device"]
    assert table["pass_id"].tolist() == [0, 1, 2, 3] and table["device"].tolist() == ["vdz"] * 4
    for column, (name, unit) in names.items():
        differences = [unit * (int(e[name]) - int(b[name])) for b, e in zip(begins, ends, strict=True)]
        assert table[column].tolist() == differences
    assert table["read_bytes"].tolist() == [512_000] * 4 and table["busy_ns"].tolist() == [5_000_000] * 4
    assert table["in_flight"].tolist() == [int(end["in_flight"]) for end in ends]
    assert table["counted_ns"].tolist() == [int(row["time_ns"]) - int(row["begin_ns"]) for row in records]


def test_the_cache(of_model: NativeTrace, trace: NativeTrace, dump: list[str]) -> None:
    table = of_model.tables["cache"]
    assert trace.tables["cache"].empty  # nobody knows the file
    assert table["pass_id"].tolist() == [0, 1, 2, 3] and set(table["file"]) == {0}
    for name in ("cached", "dirty", "evicted", "recently_evicted"):
        assert table[f"{name}_pages"].tolist() == [int(row[name]) for row in _rows(dump, "cache")]
    assert table["evicted_pages"].tolist() == [0, 10, 20, 30]


def test_the_memory_of_the_group(of_model: NativeTrace, dump: list[str]) -> None:
    table = of_model.tables["memory"]
    rows = [
        (i, kind, int(row[f"{kind}_bytes"]))
        for i, row in enumerate(_rows(dump, "memory"))
        for kind in ("anon", "group")
    ]
    assert rows[1] == (0, "group", 2**64 - 1)  # the kernel does not say: no row
    assert [(row.pass_id, row.kind, row.resident_bytes) for row in table.itertuples()] == [rows[0], *rows[2:]]


def test_buffers(trace: NativeTrace) -> None:
    buffers = trace.tables["buffers"][["event", "buffer_id", "name"]].values.tolist()
    assert buffers == [["alloc", 0, "CPU"], ["alloc", 1, "CPU_REPACK"], ["free", 0, "CPU"], ["free", 1, "CPU_REPACK"]]


def test_the_trace_of_a_killed_process_is_read_to_its_end(tools: Path, killed: Path) -> None:
    trace = read_trace(segment_files(killed))
    assert trace.facts["ended"] is False and trace.facts["unsealed_chunks"] == 3 and trace.facts["open_computes"] == 1
    assert trace.tables["passes"]["end_ns"].tolist()[-1] is pd.NA
    spans = trace.tables["spans"].groupby(["pass_id", "thread"]).size().to_dict()
    assert (spans[3, 0], spans[3, 1]) == (6, 3)
    ended = subprocess.run([tools / "tt_dump", killed], capture_output=True, text=True, check=True)
    assert "open=1 ops=15" in ended.stdout


def test_tt_dump_refuses_invalid_files(build: Build, written: Path, tmp_path: Path) -> None:
    program = build("tools") / "asan" / "tt_dump"
    (tmp_path / "empty").mkdir()
    assert "usage" in _refused(program) and "holds no trace" in _refused(program, tmp_path / "empty")
    whole = next(written.glob("*.main.tt")).read_bytes()
    for i, payload in enumerate((*GARBAGE, *(whole[:size] for size in (0, 50, 4096 + 3, 4096 + 70)))):
        broken = tmp_path / f"{i}.tt"
        broken.write_bytes(payload)
        assert f"{i}.tt: byte" in _refused(program, broken)


def _refused(program: Path, *arguments: Path) -> str:
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}  # tt_dump does not free what it has read
    ended = subprocess.run([program, "--events", *arguments], capture_output=True, text=True, env=environment)
    assert ended.returncode == 2, ended.stderr
    return ended.stderr


def test_the_plain_and_the_sanitized_tt_dump_agree(build: Build, dump: list[str], written: Path) -> None:
    program = build("tools") / "asan" / "tt_dump"
    assert shutil.which(str(program))
    ended = subprocess.run(
        [program, "--events", written],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert ended.stdout.splitlines() == dump
