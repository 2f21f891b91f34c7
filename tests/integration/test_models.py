"""Models of many architectures and types: all nodes accounted for, right layers and components, no false alarm.

What a weight's component is, the tables of random_models.py say; the product reads names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest

from tests import random_models
from tests.integration.conftest import stored
from tests.random_files import write_lora, write_random_model
from tracegen.analysis import experts, routing
from tracegen.analysis.operations import op_rows
from tracegen.analysis.summary import embeddings
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.demo.architecture import Architecture, types_of
from tracegen.measure.demo.gpt_oss import GPT_OSS_TYPES
from tracegen.measure.runs.observe import Observation, observe
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.storing.progress import Progress

pytestmark = pytest.mark.llama

PROMPT = "The memory of the disk"
# a busy machine may earn these warnings
OF_THE_MACHINE = {"observer", "interference", "tracing_cost", "even_tokens", "not_stopped"}
# products that llama.cpp names after what they are for, and not after their weight
OF_ANOTHER_WEIGHT = r"result_output|q_nope_absorbed-\d|fattn_mla-\d"
# between the nodes of layers, but shared by them; the mask is copied in releases before 0.3.36
OF_ALL_LAYERS = {"rs_s_copy (view)", "attn_inp_kq_mask (copy)", "per_layer_proj"}
OF_ALL_LAYERS |= {f"inp_per_layer{of}" for of in ("", " (permuted)", " (permuted) (cont)", " (permuted) (cont) (view)")}

K_QUANTS = {
    "embedding": "Q3_K",
    "attention_q": "Q2_K",
    "attention_k": "Q5_K",
    "attention_v": "Q6_K",
    "ffn_down": "Q6_K",
    "output": "Q6_K",
}


@dataclass(frozen=True)
class Case:
    """A model of an architecture, the types of its matrices, and how llama.cpp is called.

    `unplaced` are ops without a component beside residual sums: llama.cpp gives them names of their own.
    """

    architecture: Architecture
    dtype: str = "F16"
    mix: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    lora: tuple[str, ...] = ()
    unplaced: frozenset[str] = frozenset()

    def layers_with(self, component: str | None = None) -> list[int]:
        """The layers that llama.cpp runs, all or those with a weight of a component."""
        return [
            number
            for number, layer in enumerate(self.architecture.layers)
            if any(f"blk.{number}.{weight.name}" not in self.architecture.unread for weight in layer)
            and (component is None or any(weight.component == component for weight in layer))
        ]


TYPES = ("Q4_0", "Q8_0", "Q4_K", "Q6_K", "IQ4_XS", "TQ2_0", "Q1_0", "MXFP4", "NVFP4")
CASES = {
    "llama": Case(random_models.LLAMA),
    "qwen2": Case(random_models.QWEN2, "Q8_0"),
    "qwen3": Case(random_models.QWEN3),
    "qwen3moe": Case(random_models.QWEN3_MOE, "Q8_0"),
    "glm4moe": Case(random_models.GLM4_MOE),
    "deepseek2": Case(random_models.DEEPSEEK2, "Q8_0"),
    "gemma3": Case(random_models.GEMMA3, "Q8_0"),
    "phi3": Case(random_models.PHI3),
    "gpt-oss": Case(random_models.GPT_OSS, "Q8_0", GPT_OSS_TYPES),
    "mamba": Case(random_models.MAMBA),
    "granite-hybrid": Case(random_models.GRANITE_HYBRID, "Q8_0"),
    "qwen3next": Case(random_models.QWEN3_NEXT, unplaced=frozenset({"REPEAT"})),
    "gemma4": Case(random_models.GEMMA4, "Q8_0", unplaced=frozenset({"MUL"})),  # scales what a layer hands on
    "rwkv6": Case(random_models.RWKV6, "Q8_0"),
    "rwkv7": Case(random_models.RWKV7, "Q8_0"),
    **{f"llama-{dtype}": Case(random_models.LLAMA, dtype) for dtype in TYPES},
    "llama-k-quants": Case(random_models.LLAMA, "Q4_K", K_QUANTS),
    "quantised-kv-cache": Case(random_models.LLAMA, flags=("-ctk", "q8_0", "-ctv", "q8_0")),
    "lora": Case(random_models.LLAMA, "Q8_0", lora=("attention_q", "ffn_down")),
    "lora-repacked": Case(random_models.LLAMA, "Q4_0", lora=("attention_v",)),
}


@dataclass(frozen=True)
class Traced:
    case: Case
    loaded: LoadedRun
    nodes: pd.DataFrame


@pytest.fixture(scope="module", params=CASES)
def traced(request: pytest.FixtureRequest, hooked: Build, tmp_path_factory: pytest.TempPathFactory) -> Traced:
    """The case, measured once: three ubatches of the prompt, three generated tokens behind it."""
    case, folder = CASES[request.param], tmp_path_factory.mktemp(request.param)
    model = write_random_model(case.architecture, folder / "model.gguf", case.dtype, case.mix)
    flags = case.flags
    if case.lora:
        flags = ("--lora", str(write_lora(case.architecture, folder / "adapter.gguf", case.lora)))
    experiment = Experiment(
        name=request.param,
        question="Is it true?",
        model=str(model),
        prompt=PROMPT,
        tokens=4,
        ubatch=8,
        context=256,
        flags=flags,
    )
    loaded = stored(experiment, folder, hooked)
    return Traced(case, loaded, loaded.graph_nodes)


def weight_operands(traced: Traced) -> pd.DataFrame:
    """One row per weight that a node takes as it is: the node's and the weight's name, layer and component."""
    nodes = traced.nodes
    known = {weight.name: weight.component for weight in traced.case.architecture.weights}
    leaves = nodes[nodes["name"].astype(str).isin(known.keys()) & (nodes["kind"] == "leaf")]
    rows = (
        traced.loaded.graph_edges.merge(
            leaves[["graph", "node", "name", "layer"]].rename(columns={"node": "source"}), on=["graph", "source"]
        )
        .merge(
            nodes[["graph", "node", "op", "name", "layer", "component"]].rename(columns={"node": "target"}),
            on=["graph", "target"],
            suffixes=("_weight", ""),
        )
        .astype({"name": str, "name_weight": str, "component": str, "op": str, "slot": str})
    )
    return rows.assign(expected=rows["name_weight"].map(known))


def assert_no_false_alarm(loaded: LoadedRun) -> None:
    states = {check.key: check.state for check in loaded.run.checks}
    assert loaded.run.verdict != "not usable", states
    assert len(loaded.ops) and loaded.ops["state"].notna().all()
    assert "failed" not in states.values(), states
    assert {key for key, state in states.items() if state == "warning"} <= OF_THE_MACHINE, states


def assert_tensors_are_named(loaded: LoadedRun, case: Case) -> None:
    """Each tensor of the file with its type, layer and component."""
    architecture = case.architecture
    tensors = loaded.tensors.set_index("name")
    assert dict(tensors["dtype"].astype(str)) == types_of(architecture, case.dtype, case.mix)
    assert dict(tensors["component"].astype(str)) == {weight.name: weight.component for weight in architecture.weights}
    for number, layer in enumerate(architecture.layers):
        mine = tensors.index[(tensors["layer"] == number).fillna(False)]
        assert set(mine) == {f"blk.{number}.{weight.name}" for weight in layer}
    assert set(tensors.index[tensors["layer"].isna()]) == {weight.name for weight in architecture.outside}


def assert_weights_lie_in_their_tensors(loaded: LoadedRun, architecture: Architecture) -> None:
    """What a graph calls by a weight's name lies in that tensor, whole; all are used but those known not to be."""
    names = {weight.name for weight in architecture.weights}
    leaves = loaded.graph_nodes[loaded.graph_nodes["kind"] == "leaf"]
    placed = loaded.placements.merge(leaves[["graph", "node", "name"]], on=["graph", "node"])
    placed = placed[placed["name"].isin(names)].merge(
        loaded.tensors[["tensor", "name", "offset"]], on="tensor", how="left", suffixes=("", "_tensor")
    )
    assert (placed["name"].astype(str) == placed["name_tensor"].astype(str)).all()
    assert (placed["origin_offset"] == placed["offset"]).all() and set(placed["memory"]) <= {"disk", "copied"}
    assert names - set(placed["name"].astype(str)) == architecture.unread


def test_no_false_alarm(traced: Traced) -> None:
    assert_no_false_alarm(traced.loaded)
    kinds = traced.loaded.passes["kind"].tolist()
    assert kinds == ["load", "warmup", *["prompt"] * 3, *["generate"] * 3]


def test_layers_and_components_of_the_tensors(traced: Traced) -> None:
    assert_tensors_are_named(traced.loaded, traced.case)


def test_weights_lie_in_their_tensors(traced: Traced) -> None:
    assert_weights_lie_in_their_tensors(traced.loaded, traced.case.architecture)


def test_bytes_that_ops_used(traced: Traced) -> None:
    """Of the embedding the rows of the pass's tokens, of stacked experts the chosen ones, else the whole tensor."""
    loaded = traced.loaded
    uses = loaded.accesses.merge(loaded.tensors[["tensor", "name"]], on="tensor", suffixes=("", "_tensor"))
    rows = loaded.tokens.groupby("pass_id")["token_id"].nunique()
    experts = loaded.routing.groupby(["pass_id", "layer"])["expert"].nunique()
    n_experts = traced.case.architecture.metadata.get("expert_count")
    expected = uses["size_bytes"].astype(float)
    looked_up = uses["op"] == "GET_ROWS"
    expected[looked_up] *= uses.loc[looked_up, "pass_id"].map(rows) / random_models.N_VOCAB
    if isinstance(n_experts, int):
        chosen = uses["op"].isin(["MUL_MAT_ID", "ADD_ID"])
        at = pd.MultiIndex.from_frame(uses.loc[chosen, ["pass_id", "layer"]])
        expected[chosen] *= experts.reindex(at).to_numpy() / n_experts
    assert looked_up.any() and (uses["touched_bytes"].astype(float) == expected).all()


def test_layers_of_the_nodes(traced: Traced) -> None:
    """All are there, none is missing between them, and a node that takes a weight of a layer is of that layer."""
    for _, graph in traced.nodes[traced.nodes["kind"] != "leaf"].groupby("graph"):
        message = graph["layer"].notna()
        assert sorted(graph["layer"].dropna().unique()) == traced.case.layers_with()
        between = graph.loc[message.idxmax() : message[::-1].idxmax()]
        assert set(between.loc[between["layer"].isna(), "name"]) <= OF_ALL_LAYERS
    rows = weight_operands(traced).dropna(subset=["layer_weight"])
    assert len(rows) and rows[rows["layer"].ne(rows["layer_weight"]).fillna(True)].empty


def test_components_of_the_nodes(traced: Traced) -> None:
    """A product is of its matrix's component; only residual sums, and rows chosen of them, are of no known one."""
    rows = weight_operands(traced)
    products = rows[rows["op"].isin(["MUL_MAT", "MUL_MAT_ID"]) & (rows["slot"] == "src0")]
    products = products[~products["name"].str.fullmatch(OF_ANOTHER_WEIGHT)]
    assert len(products) and products[products["component"] != products["expected"]].empty
    nodes = traced.nodes[traced.nodes["kind"] != "leaf"]
    unplaced = {"ADD", "GET_ROWS", "CONCAT", "RESHAPE", "VIEW"} | traced.case.unplaced
    assert set(nodes.loc[nodes["component"] == "other", "op"]) <= unplaced


def test_experts_are_routed_as_the_metadata_says(traced: Traced) -> None:
    used = traced.case.architecture.metadata.get("expert_used_count")
    routing = traced.loaded.routing
    if used is None:
        assert routing.empty
        return
    tokens = routing.merge(traced.loaded.passes[["pass_id", "kind"]], on="pass_id").query("kind != 'warmup'")
    chosen = tokens.groupby(["pass_id", "layer", "row"])["expert"]
    assert set(chosen.size()) == {used} and set(chosen.nunique()) == {used}
    assert tokens["weight"].notna().all() and set(tokens["layer"]) == set(traced.case.layers_with("router"))


def test_the_strongest_expert_is_the_one_with_the_largest_weight(traced: Traced) -> None:
    """Also where the router chooses with a bias, which the weight lacks: there llama.cpp's first choice may be weak."""
    rows: dict[tuple[int, int, int], list[float]] = {}
    for r in experts.generated(traced.loaded.tables).to_dict("records"):
        rows.setdefault((r["layer"], r["pass_id"], r["row"]), []).append(r["weight"])
    weights = routing.weights(experts.generated(traced.loaded.tables))
    first = {int(r["layer"]): r["mean"] for r in weights[weights["place"] == 1].to_dict("records")}
    layers = {layer for layer, _, _ in rows}
    assert set(first) == layers
    for layer in layers:
        mine = [max(weights) for (of, _, _), weights in rows.items() if of == layer]
        assert first[layer] == pytest.approx(sum(mine) / len(mine))
    every = traced.loaded.routing.sort_values("rank").groupby(["pass_id", "layer", "row"])["weight"]
    unlike = bool((every.first() < every.max()).any())
    if traced.case.architecture is random_models.GLM4_MOE:
        assert unlike, "its bias is strong enough; else this looks at nothing"
    elif not any(weight.name.endswith("exp_probs_b.bias") for weight in traced.case.architecture.weights):
        assert not unlike


def test_the_kv_cache_is_of_the_type_that_was_asked_for(traced: Traced) -> None:
    caches = traced.nodes[(traced.nodes["kind"] == "leaf") & (traced.nodes["component"] == "kv_cache")]
    caches = caches[caches["name"].astype(str).str.startswith("cache_")]
    per_layer = 1 if "attention.kv_lora_rank" in traced.case.architecture.metadata else 2
    shared = traced.case.architecture.metadata.get(
        "attention.shared_kv_layers", 0
    )  # these take those of earlier layers
    assert caches["name"].nunique() == per_layer * (len(traced.case.layers_with("attention_output")) - shared)
    assert set(caches["dtype"]) <= {"Q8_0" if "q8_0" in traced.case.flags else "F16"}


def test_an_adapter_is_no_part_of_the_model(traced: Traced) -> None:
    """Its matrices are of the components that they change, in memory of their own."""
    nodes = traced.nodes
    adapters = nodes[nodes["name"].astype(str).str.contains(".lora_", regex=False)]
    matrices = 2 * len(traced.case.lora) * len(traced.case.layers_with())
    assert adapters["name"].nunique() == matrices and set(adapters["component"].astype(str)) == set(traced.case.lora)
    placed = traced.loaded.placements.merge(adapters[["graph", "node"]], on=["graph", "node"])
    assert placed["tensor"].isna().all() and set(placed["memory"]) <= {"buffer"}


def test_an_embedding_model(hooked: Build, tmp_path: Path) -> None:
    model = write_random_model(random_models.BERT, tmp_path / "model.gguf")
    command = ("llama-embedding", "-m", str(model), "-p", PROMPT, "-t", "2", "-c", "256")
    run = observe(Observation("case", command, "Is it true?"), tmp_path, Progress(), str(hooked.programs))
    assert run.folder is not None
    case, loaded = Case(random_models.BERT), load_run(run.folder)
    assert_no_false_alarm(loaded)
    assert_tensors_are_named(loaded, case)
    assert_weights_lie_in_their_tensors(loaded, case.architecture)
    traced = Traced(case, loaded, loaded.graph_nodes)
    test_layers_of_the_nodes(traced)
    test_components_of_the_nodes(traced)
    assert not {"prompt", "generate"} & set(loaded.passes["kind"].dropna())
    assert embeddings(loaded.tables, op_rows(loaded.tables))
