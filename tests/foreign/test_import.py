"""`tracegen import`: what the samples are restored to, what their verdicts name, and what is refused."""

import json
import os
import threading
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.foreign.decoded import whole_ops
from tests.foreign.samples import SAMPLES, copy_of, sample
from tracegen.cli.commands import import_
from tracegen.cli.main import main
from tracegen.contract.check_keys import Key
from tracegen.contract.model import Check
from tracegen.contract.records import encode
from tracegen.foreign.faults import LIMITS
from tracegen.foreign.folder import ROLES, TRACES
from tracegen.foreign.importing import import_run
from tracegen.foreign.op_numbers import TABLES
from tracegen.foreign.selection import found_in
from tracegen.foreign.tensor_trace.layouts import LAYOUTS, OPS
from tracegen.reading.notebook.loaded import LoadedRun, load
from tracegen.storing import store
from tracegen.storing.progress import Progress


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def imported(*words: str | Path, name: str = "it") -> LoadedRun:
    assert main(["import", *map(str, words), "--as", name]) in (0, 1)
    loaded = load(name)
    assert isinstance(loaded, LoadedRun)
    return loaded


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path, status: int = 2) -> str:
    assert main(["import", *map(str, words), "--as", "it"]) == status
    assert not list(Path().rglob("*.json")) and not list(Path().rglob("*.part"))  # nothing is left
    return capsys.readouterr().err


def check(loaded: LoadedRun, key: str) -> Check:
    return next(c for c in loaded.run.checks if c.key == key)


def test_the_help_names_what_there_is() -> None:
    assert set(import_.FORMATS) == set(TRACES) <= set(ROLES) and set(import_.OP_TABLES) <= set(TABLES) | {
        "2025-07",
        "2026-11",
    }
    assert set(LIMITS) <= {key.value for key in Key}


@pytest.mark.parametrize("name", ["v3-256-moe", "v3-256-tinyllama-shape", "v4b-1024-gpt-oss"])
def test_every_operation_is_in_the_tables(name: str) -> None:
    path = sample(name) / "tensor_trace.bin"
    decoded = whole_ops(path, 1024 if "1024" in name else 256)
    loaded = imported(sample(name))
    ran = loaded.ops[loaded.ops["state"] == "executed"].merge(loaded.passes[["pass_id", "graph"]], on="pass_id")
    ran = ran.merge(loaded.graph_nodes[["graph", "node", "op", "name"]], on=["graph", "node"])
    ran = ran.sort_values(["pass_id", "node"], ignore_index=True)
    assert len(ran) == len(decoded) and ran["begin_ns"].tolist() == [op.time_ns for op in decoded]
    assert ran["op"].tolist() == [OPS[op.op] for op in decoded]
    assert all(whole.strip().startswith(op.name.strip()) for whole, op in zip(ran["name"], decoded, strict=True))
    ends = ran["end_ns"].astype(object).where(ran["end_ns"].notna(), None).tolist()
    for i, (end, op) in enumerate(zip(ends, decoded, strict=True)):
        last = i + 1 == len(decoded) or ran["pass_id"][i + 1] != ran["pass_id"][i]
        assert end == (None if last else decoded[i + 1].time_ns), op
    assert set(ran["time_basis"].dropna()) == {"gap to next"}


@pytest.mark.parametrize("name", ["v3-256-moe", "v4b-1024-gpt-oss"])
def test_every_operand_has_its_place(name: str) -> None:
    decoded = whole_ops(sample(name) / "tensor_trace.bin", 1024 if "1024" in name else 256)
    loaded = imported(sample(name))
    places = loaded.placements.set_index(["placement", "node"])
    ran = loaded.ops[loaded.ops["state"] == "executed"].merge(loaded.passes[["pass_id", "graph", "placement"]])
    ran = ran.sort_values(["pass_id", "node"], ignore_index=True)
    edges = loaded.graph_edges.set_index(["graph", "target", "slot"])["source"].to_dict()
    compared = 0
    for row, op in list(zip(ran.to_dict("records"), decoded, strict=True))[:900]:
        for slot, source in enumerate(op.sources):
            place = places.loc[(row["placement"], edges[row["graph"], row["node"], f"src{slot}"])]
            assert (place["size_bytes"], place["memory"]) == (source.size, source.memory)
            if source.memory == "disk":
                assert place["origin_offset"] == source.place and place["file"] == 0
            compared += 1
    assert compared > 1200


PASSES = {
    "v1-64": ["warmup", "prompt", "generate", "generate", "generate"],
    "v2-128": ["warmup", "prompt", "generate", "generate", "generate"],
    "v3-256-moe": ["warmup", "prompt", "generate", "generate", "generate"],
    "v3-256-tinyllama-shape": ["warmup", "prompt", "generate", "generate"],
    "v4b-1024-gpt-oss": ["warmup", "prompt"],
}
TOKENS = {
    "v1-64": [2, 14, 1, 1, 1],
    "v2-128": [2, 14, 1, 1, 1],
    "v3-256-moe": [2, 11, 1, 1, 1],
    "v3-256-tinyllama-shape": [2, 12, 1, 1],
    "v4b-1024-gpt-oss": [2, 2],
}
# What each verdict must name, and the words it must hold.
NAMED = {
    "v1-64": {
        "nodes_accounted": ("failed", "MUL_MAT only"),
        "names_whole": ("warning", "no names at all"),
        "claims_agree": ("warning", "all 105 records claim phase PROMPT and token 0"),
    },
    "v2-128": {
        "nodes_accounted": ("failed", "MUL_MAT only"),
        "claims_agree": ("warning", "63 records that claim PROMPT belong to generated tokens"),
    },
    "v3-256-moe": {
        "claims_agree": ("warning", "all 595 records claim phase PROMPT and token 0"),
        "names_whole": ("warning", "420 operands 19"),
        "nodes_accounted": ("passed", "975 of 975"),
        "experts_whole": ("warning", "48 of 60 operations without"),
        "op_times": ("warning", "gap to the next record"),
    },
    "v3-256-tinyllama-shape": {
        "claims_agree": ("warning", "all 1,164 records claim phase PROMPT and token 0"),
        "nodes_accounted": ("failed", "134 MUL_MAT are missing in each of 4 passes"),
        "tensors_tile_file": ("warning", "155 sizes of the list reached into the next tensor"),
        "buffers_whole": ("warning", "only buffers of the KV cache"),
    },
    "v4b-1024-gpt-oss": {
        "claims_agree": ("warning", "848 records that claim GENERATE belong to the prompt"),
        "experts_prompt": ("warning", "chose all experts"),
        "operands_whole": ("warning", "48 operands more stand in the dumps"),
        "disk_known": ("warning", "as in one mapping"),
        "threads_known": ("warning", "1 number of 16 bits"),
    },
}


@pytest.mark.parametrize("name", SAMPLES)
def test_passes_tokens_and_the_faults_that_each_sample_has(name: str) -> None:
    loaded = imported(sample(name))
    passes = loaded.passes
    assert passes["kind"].tolist() == PASSES[name] and passes["n_tokens"].tolist() == TOKENS[name]
    assert set(passes["kind_basis"]) == {"inferred"} and passes["end_ns"].isna().all()
    produced = passes["produced_token"].astype(object).where(passes["produced_token"].notna(), None).tolist()
    assert produced == [None, *range(len(passes) - 1)]
    for key, (state, words) in NAMED[name].items():
        found = check(loaded, key)
        assert found.state == state and words in found.found, (key, found)
    assert all(c.detail for c in loaded.run.checks if c.state == "failed")


def test_the_known_figures_of_gpt_oss() -> None:
    """Facts of the first analysis of this trace: 435 reads of a pass, 434 steps, none contiguous, 146 forward."""
    loaded = imported(sample("v4b-1024-gpt-oss"))
    disk = loaded.placements[(loaded.placements["memory"] == "disk").to_numpy(bool)]
    edges = loaded.graph_edges.merge(disk[["node", "origin_offset", "size_bytes"]], left_on="source", right_on="node")
    edges = edges.sort_values(["target", "slot"])
    begin, size = edges["origin_offset"].astype(int).to_numpy(), edges["size_bytes"].astype(int).to_numpy()
    assert len(begin) == 435
    step = begin[1:] - (begin[:-1] + size[:-1])
    assert (len(step), int((step == 0).sum()), int((step > 0).sum()), int((step < 0).sum())) == (434, 0, 146, 288)
    touched = loaded.touches
    assert set(touched["n_units"]) == {32} and set(touched["basis"]) == {"estimated"}
    passes, nodes = loaded.passes, loaded.graph_nodes
    assert passes["claimed_phase"].tolist() == ["PROMPT", "GENERATE"] and passes["claimed_token_id"].tolist() == [0, 0]
    assert nodes["layer"].max() == 23
    assert {"expert_gate", "attention_q", "router"} <= set(nodes.loc[nodes["kind"] == "op", "component"])


def test_the_same_source_gives_the_same_run(capsys: pytest.CaptureFixture[str]) -> None:
    first = imported(sample("v3-256-moe"))
    assert imported(sample("v3-256-moe")).run == first.run
    assert "imported before, as it/run-001" in capsys.readouterr().out
    assert len(list(Path("experiments/it/runs").iterdir())) == 1
    again = imported(sample("v3-256-moe"), "--as", "other", name="other")  # in another experiment it is a run of that
    assert again.run.experiment == "other"


def test_tables_are_made_anew_from_what_is_kept() -> None:
    first = imported(sample("v3-256-moe"))
    tables = Path("experiments/it/runs/001/tables")
    for path in tables.iterdir():
        path.unlink()
    assert main(["read", "it"]) == 0
    again = load("it")
    for name, table in first.tables.items():
        pd.testing.assert_frame_equal(again.tables[name], table)
    assert main(["show", "it", "--verify"]) == 0


def test_what_is_kept_is_the_file_without_its_empty_end(tmp_path: Path) -> None:
    path = (
        copy_of("v3-256-moe", tmp_path / "sparse", ("graphs", "model.csv", "buffer_stats.jsonl")) / "tensor_trace.bin"
    )
    data = path.read_bytes()
    os.truncate(path, 64 << 20)
    loaded = imported(path)
    entry = loaded.run.facts.imported.files[0]
    assert entry.size_bytes == 64 << 20 and entry.kept_bytes == -(-len(data) // 1024) * 1024
    assert main(["read", "it"]) == 0 and len(load("it").ops) == len(loaded.ops)


def test_a_trace_alone_says_what_is_missing(tmp_path: Path) -> None:
    folder = copy_of("v3-256-tinyllama-shape", tmp_path / "alone", ("graphs", "model.csv", "buffer_stats.jsonl"))
    loaded = imported(folder / "tensor_trace.bin")
    assert check(loaded, "nodes_accounted").state == "not checked"
    assert check(loaded, "offsets_in_tensors").state == "not checked" and loaded.tensors.empty and loaded.files.empty
    assert check(loaded, "graphs_joined").found == "no dump; 3 different graphs were put together from names"
    assert loaded.graph_nodes["ne0"].isna().all() and loaded.placements["file"].isna().all()


def test_a_broken_companion_is_left_out_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that was named must be whole."""
    folder = copy_of("v3-256-moe", tmp_path / "broken")
    dump = folder / "graphs" / "token_00000.dot"
    dump.write_text(dump.read_text()[:-40])
    assert "expected a graph of ggml" in refused(capsys, folder / "tensor_trace.bin", dump)
    loaded = imported(folder)
    assert "left out: token_00000.dot: expected a graph of ggml" in capsys.readouterr().err
    assert check(loaded, "graphs_joined").state == "warning"


def test_a_broken_file_beside_the_trace_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copy_of("v3-256-moe", tmp_path / "beside")
    (folder / "memory-map.json").write_text('{"tensors": [')
    for source in (folder, folder / "tensor_trace.bin"):
        assert main(["import", str(source), "--as", f"of-{source.name[:6]}"]) == 0
        assert "memory-map.json: cannot be read: Expecting value" in capsys.readouterr().err


def test_a_list_of_another_model_is_reported(tmp_path: Path) -> None:
    folder = copy_of("v3-256-moe", tmp_path / "other")
    lines = (folder / "model.csv").read_text().splitlines()
    moved = [line.replace(",526336,", ",526400,") for line in lines]
    assert moved != lines
    (folder / "model.csv").write_text("\n".join(moved))
    found = check(imported(folder), "offsets_in_tensors")
    assert found.state == "failed" and "disagree on where tensors lie" in found.found


def test_a_cut_trace_fails_and_names_the_byte(tmp_path: Path) -> None:
    folder = copy_of("v3-256-moe", tmp_path / "cut")
    path = folder / "tensor_trace.bin"
    path.write_bytes(path.read_bytes()[: 256 * 300 + 17])
    loaded = imported(folder)
    assert check(loaded, "trace_complete").found == "the record at byte 76,800 is cut"
    assert loaded.run.verdict == "not usable"


def test_a_trace_that_ends_inside_a_pass_is_reported(tmp_path: Path) -> None:
    folder = copy_of("v4b-1024-gpt-oss", tmp_path / "cut", ("graph-token-00000.json", "trace-token-00000.json"))
    path = folder / "tensor_trace.bin"
    path.write_bytes(path.read_bytes()[: 1024 * 1000])
    found = check(imported(folder), "trace_complete")
    assert found.state == "failed" and found.found == "the last pass has 152 of the 848 operations of its graph"


def test_the_exported_json_gives_what_the_records_give(tmp_path: Path) -> None:
    records = imported(sample("v4b-1024-gpt-oss"))
    folder = copy_of("v4b-1024-gpt-oss", tmp_path / "json", ("tensor_trace.bin",))
    exported = imported(folder, name="json")
    names = ["passes", "ops", "graphs", "graph_nodes", "graph_edges", "placements", "touches", "tensors", "buffers"]
    for name in names:
        pd.testing.assert_frame_equal(records.tables[name], exported.tables[name])


def test_the_gguf_file_gives_the_places_of_weights(tmp_path: Path) -> None:
    """The trace of a run, with its model, has the places of its own tables."""
    root = Path(__file__).parents[2]
    version, model = root / "experiments/hot-set/versions/1", root / "models/tiny-mixture/tiny-mixture.gguf"
    assert main(["export", str(version), "json", "--pass", "3-5", "--out", str(tmp_path / "json")]) == 0
    (tmp_path / "json" / "memory-map.json").unlink()
    own, back = load(str(version)), imported(tmp_path / "json", "--model", model)
    columns = ["name", "offset", "size_bytes", "dtype", "ne0", "ne1", "ne2", "layer", "component", "n_experts"]
    assert back.tensors[columns].astype(str).to_numpy().tolist() == own.tensors[columns].astype(str).to_numpy().tolist()
    assert check(back, "offsets_in_tensors").state == "passed" and back.run.facts.model.architecture == "llama"
    assert back.files["sha256"].notna().all()
    assert main(["read", "it"]) == 0  # needs the model no more
    pd.testing.assert_frame_equal(load("it").tensors, back.tensors)
    other = tmp_path / "other.gguf"
    assert main(["model", "demo", str(other)]) == 0
    wrong = imported(tmp_path / "json", "--model", other, name="wrong")
    assert check(wrong, "offsets_in_tensors").state == "failed"


def test_what_is_no_trace_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.bin").write_bytes(b"hello world " * 400)
    (tmp_path / "empty.bin").touch()
    (tmp_path / "zeros.bin").write_bytes(bytes(5000))
    (tmp_path / "nothing").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "locked").write_bytes(b"x")
    for name in ("text.bin", "zeros.bin"):
        message = refused(capsys, tmp_path / name)
        assert "is none of the known formats" in message and "no layout of tensor_trace.bin fits" in message
    assert "is empty; name the file that holds the trace" in refused(capsys, tmp_path / "empty.bin")
    assert "no trace was found; found: nothing that is known; name the trace" in refused(capsys, tmp_path / "nothing")
    assert not Path("experiments").exists() or not list(Path("experiments").iterdir())  # not even an empty folder
    assert "is not a regular file" in refused(capsys, tmp_path / "pipe")
    assert "there is no such file or folder" in refused(capsys, tmp_path / "absent")


def test_two_traces_are_refused_with_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("v1-64", "v3-256-moe"):
        copy_of(name, tmp_path / "both" / name)
    message = refused(capsys, tmp_path / "both")
    assert "holds several traces" in message and "v1-64/tensor_trace.bin" in message


def test_a_companion_of_another_run_does_not_bring_its_neighbours(tmp_path: Path) -> None:
    """Dumps of both runs have the same names, and those of the trace itself still count."""
    own = copy_of("v3-256-moe", tmp_path / "own") / "tensor_trace.bin"
    other = copy_of("v3-256-tinyllama-shape", tmp_path / "other") / "graphs" / "token_00000.dot"
    loaded = imported(own, other)
    assert check(loaded, "graphs_joined").found == "4 dumps, 3 of 3 different graphs found in them"
    assert check(loaded, "nodes_accounted").state == "passed"


def test_a_mixture_without_its_list_of_tensors_is_usable(tmp_path: Path) -> None:
    leave_out = ("graph-token-00000.json", "trace-token-00000.json", "memory-map.json", "buffer-timeline.json")
    loaded = imported(copy_of("v4b-1024-gpt-oss", tmp_path / "alone", leave_out))
    assert check(loaded, "op_mix").state == "passed" and loaded.run.verdict == "complete with warnings"


def test_a_name_of_an_experiment_is_not_taken_for_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    copy_of("v3-256-moe", Path("it"))
    imported("it")
    capsys.readouterr()
    assert main(["show", "it"]) == 0 and "it/run-001" in capsys.readouterr().out
    assert main(["show", "./it/tensor_trace.bin"]) == 0


def test_bytes_that_were_not_recorded_are_not_shown_as_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(sample("v1-64")), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    bytes_of = {key: of["value"] for key, of in figures["measures"].items() if "touched" in of["label"]}
    assert len(bytes_of) > 6 and set(bytes_of.values()) == {None}


def test_ctrl_c_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "write_tables", interrupted)
    assert main(["import", str(sample("v3-256-moe")), "--as", "it"]) == 130
    assert not Path("experiments/it").exists()


def test_the_same_source_twice_at_once_is_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second import begins while the first one has looked for a run of this source, and not yet placed its own."""
    folder, written = Path("experiments/it"), store.write_tables
    wanted = found_in([sample("v3-256-moe")])
    answers: list[tuple[str, bool]] = []

    def once() -> None:
        run, known = import_run("it", folder, wanted, Progress())
        answers.append((run.name, known))

    second = threading.Thread(target=once)

    def meanwhile(*arguments: Any) -> None:
        if second.ident is None:
            second.start()
            second.join(0.3)  # with the lock it waits; without, it would end now or later, as a second run
        written(*arguments)

    monkeypatch.setattr(store, "write_tables", meanwhile)
    once()
    second.join()
    assert sorted(answers) == [("run-001", False), ("run-001", True)]
    assert [path.name for path in (folder / "runs").iterdir()] == ["001"]


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "tensor_trace.bin").symlink_to(sample("v3-256-moe") / "tensor_trace.bin")
    assert "no trace was found" in refused(capsys, tmp_path / "linked")
    loaded = imported(tmp_path / "linked" / "tensor_trace.bin")  # a link that is named is followed
    assert len(loaded.passes) == 5


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    folder = copy_of("v3-256-moe", tmp_path / "odd")
    odd = Path(os.fsdecode(os.fsencode(str(folder)) + b"/tr\xffce.bin"))
    (folder / "tensor_trace.bin").rename(odd)
    loaded = imported(folder)
    assert json.dumps(encode(loaded.run.facts), ensure_ascii=False).encode()  # nothing that no file can hold
    assert main(["read", "it"]) == 0


def test_show_needs_no_import(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(sample("v3-256-moe"))
    assert main(["show", path, "--stats"]) == 0 and "rows of ops" in capsys.readouterr().out
    assert main(["show", path, "--ops", "--limit", "3"]) == 0 and "inp_embd" in capsys.readouterr().out
    assert main(["show", path, "--summary"]) == 0 and "1 warmup, 1 prompt" in capsys.readouterr().out
    assert main(["show", path, "--verify"]) == 0 and "claim phase PROMPT" in capsys.readouterr().out
    assert main(["show", path, "--issue"]) == 2
    assert f"{path}: is not a run; `tracegen import {path}` makes one" in capsys.readouterr().err
    assert main(["show", str(sample("v1-64") / "tensor_trace.bin"), "--verify"]) == 1
    assert not Path("experiments").exists()


def test_settings_that_an_imported_run_does_not_have_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path("experiments/measured")
    folder.mkdir(parents=True)
    (folder / "experiment.toml").write_text('model = "demo"\nprompt = "x"\n')
    source = str(sample("v3-256-moe"))
    for name, named in (("measured", True), ("own", False)):
        assert main(["import", source, "--as", name]) == 0
        assert (f"{name}/experiment.toml holds settings" in capsys.readouterr().out) == named


def test_a_place_far_behind_its_buffer_is_not_recorded(tmp_path: Path) -> None:
    """An address of 64 bits, less the start of the buffer that the log names, fits no column."""
    folder = copy_of("v3-256-moe", tmp_path / "far")
    path = folder / "tensor_trace.bin"
    layout = next(each for each in LAYOUTS if each.size_bytes == 256)
    records = np.frombuffer(bytearray(path.read_bytes()), layout.record)
    in_buffer = (records["operands"]["memory"] == 1) & (np.arange(4) < records["n"][:, None])
    records["operands"]["address"][in_buffer] = (1 << 64) - 1
    path.write_bytes(records.tobytes())
    rows = imported(folder).tables["placements"]
    far = rows[(rows["address"] == (1 << 64) - 1).fillna(False).to_numpy(bool)]
    assert far["buffer_id"].notna().any() and far["buffer_offset"].isna().all()


def test_settings_become_an_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "settings.json"
    given = {"model_path": 'a "b".gguf', "tokens_to_generate": 7, "prompt": "Once \u00fc\n\x7f\U0001f600 upon"}
    path.write_text(
        json.dumps({"experiment": given, "paths": {"llama_cpp_dir": "/x"}, "temp_files": {"graphs_dir": "/y"}})
    )
    assert main(["import", str(path), "--as", "older"]) == 0
    output = capsys.readouterr()
    assert "temp_files is ignored" in output.err and "tracegen run older" in output.out
    written = tomllib.loads(Path("experiments/older/experiment.toml").read_text())
    assert written == {
        "question": written["question"],
        "model": given["model_path"],
        "prompt": given["prompt"],
        "tokens": 7,
    }
    assert main(["import", str(path), "--as", "older"]) == 2 and "exists already" in capsys.readouterr().err
    path.write_text(json.dumps({"experiment": {**given, "tokens_to_generate": "7"}}))
    assert main(["import", str(path), "--as", "other"]) == 2
    assert "expected experiment.tokens_to_generate as int" in capsys.readouterr().err
    path.write_text(json.dumps({"experiment": {**given, "tokens_to_generate": -7}}))
    assert main(["import", str(path), "--as", "other"]) == 2 and not Path("experiments/other").exists()
