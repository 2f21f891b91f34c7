"""Every pass of every case equals what llama.cpp itself reports of it through cb_eval, without hooks."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pandas as pd
import pytest

from tests.integration.conftest import LONG, Measured
from tracegen.contract.experiment import Experiment
from tracegen.contract.tables import SLOTS
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.runs.measure import measure
from tracegen.reading.notebook.loaded import load_run
from tracegen.storing.progress import Progress

pytestmark = pytest.mark.llama

Description = tuple[str, str, str, tuple[int, ...], tuple[int, ...]]
Node = tuple[Description, str, dict[str, Description]]

MEMORY_OF_BUFFER = {"CPU_Mapped": "disk", "CPU_REPACK": "copied", "CPU": "copied"}


def evaluated(measured: Measured) -> pd.DataFrame:
    """The passes that ran a graph, in order."""
    passes = measured.loaded.passes
    return passes[passes["kind"] != "load"].reset_index(drop=True)


def paired(measured: Measured) -> list[tuple[Any, dict[str, Any]]]:
    """Each pass of the trace beside the witness's ubatch."""
    return list(zip(evaluated(measured).itertuples(), measured.witness, strict=True))


def described(row: Any) -> Description:
    return (
        str(row.op),
        str(row.name),
        str(row.dtype),
        (row.ne0, row.ne1, row.ne2, row.ne3),
        (row.nb0, row.nb1, row.nb2, row.nb3),
    )


def recorded(measured: Measured, graph: int) -> list[Node]:
    """The nodes of a graph as the tables have them, each with its parameters and operands."""
    nodes, edges = measured.loaded.graph_nodes, measured.loaded.graph_edges
    rows = list(nodes[nodes["graph"] == graph].sort_values("node").itertuples())
    operands: dict[int, dict[str, Description]] = {}
    for edge in edges[edges["graph"] == graph].itertuples():
        operands.setdefault(edge.target, {})[str(edge.slot)] = described(rows[edge.source])
    return [(described(row), row.op_params, operands.get(row.node, {})) for row in rows if row.kind != "leaf"]


def reported(ubatch: dict[str, Any]) -> list[Node]:
    """The nodes of a ubatch as the witness tells them, in the same form."""

    def of(message: dict[str, Any]) -> Description:
        return message["op"], message["name"], message["dtype"].upper(), tuple(message["ne"]), tuple(message["nb"])

    return [
        (
            of(node),
            bytes.fromhex(node["params"]).rstrip(b"\0").hex(),
            {slot: of(source) for slot, source in zip(SLOTS[1:], node["sources"], strict=False) if source},
        )
        for node in ubatch["nodes"]
    ]


def selections(ubatch: dict[str, Any], op: str) -> list[tuple[int, dict[str, Any]]]:
    """The nodes of one kind that choose from a container, with their numbers."""
    return [(i, node) for i, node in enumerate(ubatch["nodes"]) if node["op"] == op and node["selected"] is not None]


def test_passes_are_the_ubatches_of_llama_cpp_behind_the_load(measured: Measured) -> None:
    passes = measured.loaded.passes
    assert list(passes["kind"]) == ["load", *(ubatch["kind"] for ubatch in measured.witness)]
    assert set(passes.loc[passes["kind"].isin(["load", "warmup"]), "kind_basis"]) == {"recorded"}


def test_operations_names_sources_shapes_and_order(measured: Measured) -> None:
    known = {graph: recorded(measured, graph) for graph in evaluated(measured)["graph"].astype(int).unique()}
    for row, ubatch in paired(measured):
        assert known[row.graph] == reported(ubatch), f"pass {row.pass_id}"


def test_tokens_of_each_pass(measured: Measured) -> None:
    """What the witness read from the operands of the embedding lookup."""
    tokens = measured.loaded.tokens
    for row, ubatch in paired(measured):
        mine = tokens.loc[tokens["pass_id"] == row.pass_id, "token_id"].tolist()
        assert mine == ubatch["nodes"][0]["selected"], f"pass {row.pass_id}"
        assert row.n_tokens == len(mine)


def test_passes_and_tokens_equal_llama_cpps_counters(measured: Measured) -> None:
    timings, passes = measured.loaded.run.facts.llama_cpp.timings, measured.loaded.passes
    n_generate = int((passes["kind"] == "generate").sum())
    assert n_generate == measured.experiment.tokens - 1
    assert timings["eval_runs"] == max(n_generate, 1)  # llama.cpp says 1 where there was none
    assert timings["prompt_tokens"] == passes.loc[passes["kind"] == "prompt", "n_tokens"].sum()
    assert len(measured.loaded.run.facts.text.token_ids) == measured.experiment.tokens


@pytest.mark.parametrize(
    ("settings", "kinds"),
    [
        # what many models without a BOS token make of a short prompt; llama.cpp counts it as a run, not as a prompt
        (
            dict(prompt="page", flags=("--override-kv", "tokenizer.ggml.add_bos_token=bool:false")),
            [("prompt", 1), ("generate", 1), ("generate", 1)],
        ),
        # a prompt in several calls of llama_decode
        (dict(prompt=LONG, flags=("-b", "8")), [("prompt", 8)] * 3 + [("prompt", 2), ("generate", 1), ("generate", 1)]),
    ],
    ids=["one token", "several calls"],
)
def test_prompts_that_are_counted_otherwise(
    demo: Path, hooked: Build, tmp_path: Path, settings: dict[str, Any], kinds: list[tuple[str, int]]
) -> None:
    experiment = Experiment(name="case", question="?", model=str(demo), tokens=3, **settings)
    run = measure(experiment, tmp_path, Progress(), str(hooked.programs))
    assert [check for check in run.checks if check.state == "failed"] == []
    passes = load_run(tmp_path / "runs" / "001").passes[2:]
    assert list(zip(passes["kind"], passes["n_tokens"], strict=True)) == kinds
    assert passes["produced_token"].dropna().tolist() == [0, 1, 2]
    assert passes["produced_token"].isna().sum() == len(kinds) - 3


def test_a_shift_of_the_kv_cache_is_no_token_pass(demo: Path, hooked: Build, tmp_path: Path) -> None:
    """It evaluates no ubatch: a pass without kind, outside the tokens, with a warning."""
    flags = ("--context-shift",)
    experiment = Experiment(
        name="case", question="?", model=str(demo), prompt=LONG, tokens=300, context=256, flags=flags
    )
    run = measure(experiment, tmp_path, Progress(), str(hooked.programs))
    assert {check.key: check.state for check in run.checks}["pass_kinds"] == "warning"
    assert [check for check in run.checks if check.state == "failed"] == []
    passes = load_run(tmp_path / "runs" / "001").passes
    shift = passes[passes["kind"].isna()]
    assert len(shift) and shift[["n_tokens", "call", "produced_token"]].isna().all(axis=None)
    assert passes["produced_token"].dropna().tolist() == list(range(300))


def test_a_prompt_is_cut_into_ubatches(measured: Measured) -> None:
    prompt = measured.loaded.passes.query("kind == 'prompt'")
    total = int(prompt["n_tokens"].sum())
    size = measured.experiment.ubatch
    assert list(prompt["n_tokens"]) == [min(size, total - begin) for begin in range(0, total, size)]
    assert list(prompt["ubatch"]) == list(range(len(prompt))) and prompt["call"].nunique() == 1
    assert list(prompt["position_begin"]) == list(range(0, total, size))
    assert list(prompt["n_outputs"]) == [0] * (len(prompt) - 1) + [1]


def test_the_last_prompt_ubatch_gives_token_0(measured: Measured) -> None:
    passes = measured.loaded.passes
    produced = passes["produced_token"].dropna()
    assert produced.tolist() == list(range(measured.experiment.tokens))
    assert produced.index[0] == passes.index[passes["kind"] == "prompt"][-1]
    assert passes.loc[passes["kind"] == "generate", "produced_token"].notna().all()


def test_the_row_that_holds_a_generated_token(measured: Measured) -> None:
    """Its id is that of the token which the sampler chose; the last one was never evaluated."""
    sampled = measured.loaded.run.facts.text.token_ids
    rows = measured.loaded.tokens.dropna(subset=["generated_token"])
    assert rows["generated_token"].tolist() == list(range(len(sampled) - 1))
    assert rows["token_id"].tolist() == [sampled[k] for k in rows["generated_token"]]


def test_every_node_is_accounted_for_on_every_thread(measured: Measured) -> None:
    loaded = measured.loaded
    assert loaded.ops["state"].notna().all()
    nodes = loaded.graphs.set_index("graph")["n_nodes"]
    per_pass = loaded.ops.groupby("pass_id").size()
    for row in evaluated(measured).itertuples():
        assert per_pass[row.pass_id] == nodes[row.graph]
    ran = loaded.ops[loaded.ops["state"].isin(["executed", "empty"])]
    expected = ran.loc[ran.index.repeat(measured.experiment.threads), ["pass_id", "node"]].reset_index(drop=True)
    spans = loaded.spans.sort_values(["pass_id", "node", "thread"], ignore_index=True)
    pd.testing.assert_frame_equal(spans[["pass_id", "node"]], expected)
    assert spans["thread"].tolist() == list(range(measured.experiment.threads)) * len(ran)


def test_fused_ops_follow_the_op_that_computed_them(measured: Measured) -> None:
    ops = measured.loaded.ops
    fused = ops[ops["state"] == "fused"]
    assert len(fused), "this llama.cpp fuses RMS_NORM and MUL"
    into = fused.merge(ops, left_on=["pass_id", "fused_into"], right_on=["pass_id", "node"], suffixes=("", "_into"))
    assert into["state_into"].isin(["executed", "empty"]).all() and len(into) == len(fused)
    assert (fused["node"] > fused["fused_into"]).all()


def test_times_of_ops_lie_in_their_pass(measured: Measured) -> None:
    loaded = measured.loaded
    ops = loaded.ops.dropna(subset=["begin_ns"]).merge(loaded.passes, on="pass_id", suffixes=("", "_pass"))
    assert (ops["begin_ns"] >= ops["begin_ns_pass"]).all() and (ops["end_ns"] <= ops["end_ns_pass"]).all()
    ends = (
        (loaded.spans["begin_ns"] + loaded.spans["work_ns"] + loaded.spans["barrier_ns"])
        .groupby([loaded.spans["pass_id"], loaded.spans["node"]])
        .max()
    )
    assert (ops.set_index(["pass_id", "node"])["end_ns"] == ends).all()


def test_tensors_equal_the_gguf_packages_reader(measured: Measured) -> None:
    loaded, folder = measured.loaded, measured.experiment.model.rpartition("/")[0]
    message = []
    for file in loaded.tables["files"].itertuples():
        for tensor in gguf.GGUFReader(f"{folder}/{file.path}").tensors:
            shape = tuple(map(int, tensor.shape)) + (1,) * (4 - len(tensor.shape))
            place = (file.file, int(tensor.data_offset), tensor.name, int(tensor.n_bytes))
            message.append((*place, tensor.tensor_type.name, shape))
    mine = [
        (t.file, t.offset, t.name, t.size_bytes, str(t.dtype), (t.ne0, t.ne1, t.ne2, t.ne3))
        for t in loaded.tensors.itertuples()
    ]
    assert mine == sorted(message)
    assert len(loaded.tables["files"]) == 1 + measured.case.split


def weights_of(measured: Measured) -> pd.DataFrame:
    """Every leaf of every placement that is a model tensor by name, beside that tensor."""
    loaded = measured.loaded
    nodes = loaded.graph_nodes
    leaves = loaded.placements.merge(nodes[nodes["kind"] == "leaf"][["graph", "node", "name"]], on=["graph", "node"])
    return leaves.merge(loaded.tensors, on="name", suffixes=("", "_tensor"))


def test_weights_lie_where_their_buffer_says(measured: Measured) -> None:
    """In a mapping: disk. Repacked or read: copied. The offset is the tensor's own in each case."""
    weights = weights_of(measured)
    buffer = {
        source["name"]: source["buffer"]
        for ubatch in measured.witness
        for node in ubatch["nodes"]
        for source in node["sources"]
        if source and source["op"] == "NONE"
    }
    assert set(weights["name"]) == set(measured.loaded.tensors["name"])
    assert (weights["memory"] == weights["name"].map(buffer).map(MEMORY_OF_BUFFER)).all()
    assert set(weights["memory"]) == measured.case.weights_in and (weights["tensor"] == weights["tensor_tensor"]).all()
    assert (weights["file"] == weights["file_tensor"]).all() and (weights["origin_offset"] == weights["offset"]).all()
    assert (weights["size_bytes"] == weights["size_bytes_tensor"]).all()
    assert weights.loc[weights["memory"] == "copied", "buffer_id"].notna().all()
    assert weights.loc[weights["memory"] == "disk", "buffer_id"].isna().all()


def test_all_else_lies_in_a_buffer(measured: Measured) -> None:
    """The KV cache, activations and inputs: no file, and a place in a buffer that was alive."""
    places, buffers = measured.loaded.placements, measured.loaded.buffers
    rest = places[places["memory"] == "buffer"]
    assert rest[["file", "origin_offset", "tensor"]].isna().all(axis=None)
    sizes = buffers[buffers["event"] == "alloc"].set_index("buffer_id")["size_bytes"]
    inside = rest.dropna(subset=["buffer_offset"])
    assert len(inside) == len(rest)
    assert (inside["buffer_offset"] + inside["size_bytes"] <= inside["buffer_id"].map(sizes)).all()


def units(measured: Measured, pass_id: int, node: int, slot: str) -> list[int]:
    touches = measured.loaded.touches
    mine = touches.query("pass_id == @pass_id and node == @node and slot == @slot")
    assert (mine["basis"] == "measured").all()
    return [unit for row in mine.itertuples() for unit in range(row.first_unit, row.first_unit + row.n_units)]


def test_rows_read_from_the_embedding_are_the_tokens(measured: Measured) -> None:
    for row, ubatch in paired(measured):
        (node, message), *_ = selections(ubatch, "GET_ROWS")
        assert message["sources"][0]["name"] == "token_embd.weight"
        assert units(measured, row.pass_id, node, "src0") == sorted(set(message["selected"]))


def test_cells_of_the_kv_cache(measured: Measured) -> None:
    """Rows where K and V are written row by row; columns where V lies transposed."""
    for row, ubatch in paired(measured)[:6]:
        for node, message in selections(ubatch, "SET_ROWS"):
            cells = message["selected"]
            if message["ne"][0] == 1:  # element by element, token after token: the first element tells the column
                cells = cells[:: len(cells) // row.n_tokens]
            assert units(measured, row.pass_id, node, "dst") == sorted(set(cells))


def test_experts_and_their_weights(measured: Measured) -> None:
    """Experts in the router's order; the last layer routes only the rows with outputs, under their own numbers."""
    loaded = measured.loaded
    n_used = loaded.run.facts.model.n_experts_used
    if n_used is None:
        assert loaded.routing.empty
        return
    routing = {key: rows.sort_values(["row", "rank"]) for key, rows in loaded.routing.groupby(["pass_id", "layer"])}
    for row, ubatch in paired(measured):
        tokens = loaded.tokens[loaded.tokens["pass_id"] == row.pass_id]
        weights = [message["selected"] for _, message in selections(ubatch, "MUL")]
        layers: dict[int, list[int]] = {}
        for node, message in selections(ubatch, "MUL_MAT_ID"):
            chosen = layers.setdefault(int(message["name"].rpartition("-")[2]), message["selected"])
            assert chosen == message["selected"], "gate, up and down share a routing"
            assert units(measured, row.pass_id, node, "src0") == sorted(set(chosen))
        assert list(layers) == list(range(loaded.run.facts.model.n_layers))
        for layer, chosen in layers.items():
            last = layer == max(layers)
            rows = tokens.loc[tokens["output"], "row"] if last else tokens["row"]
            assert len(chosen) == len(rows) * n_used
            if not chosen:
                assert (row.pass_id, layer) not in routing
                continue
            mine = routing.pop((row.pass_id, layer))
            assert mine["row"].tolist() == np.repeat(rows, n_used).tolist()
            assert mine["rank"].tolist() == list(range(n_used)) * len(rows) and mine["expert"].tolist() == chosen
            assert mine["sequence"].eq(0).all()
            np.testing.assert_allclose(mine["weight"].astype(float), weights[layer], rtol=1e-5)
            assert (mine["weight"].groupby(mine["row"]).diff().dropna() <= 0).all(), "rank 0 is the strongest"
    assert not routing, "nothing else was routed"


def test_a_ubatch_without_outputs_reads_no_output_weights(measured: Measured) -> None:
    """It runs the output product on no rows: an op that is empty, and no access."""
    loaded = measured.loaded
    passes = evaluated(measured).set_index("pass_id")
    product = loaded.accesses.query("name == 'result_output' and slot == 'src0'")
    states = loaded.ops.merge(passes["graph"], on="pass_id").merge(
        loaded.graph_nodes.query("name == 'result_output'")[["graph", "node"]], on=["graph", "node"]
    )
    with_outputs = passes["n_outputs"] > 0
    assert states["state"].tolist() == ["executed" if outputs else "empty" for outputs in with_outputs]
    assert product["pass_id"].tolist() == passes.index[with_outputs].tolist()
    assert (product["touched_bytes"] == product["size_bytes"]).all()


def test_no_check_failed(measured: Measured) -> None:
    checks = measured.loaded.run.checks
    assert [check for check in checks if check.state == "failed"] == []
    generated = int((measured.loaded.passes["kind"] == "generate").sum())
    unknown = {"observer"} | ({"even_tokens"} if generated < 3 else set())  # nothing ran untraced
    assert {check.key for check in checks if check.state == "not checked"} == unknown
