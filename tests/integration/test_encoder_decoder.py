"""A model with an encoder and a decoder (T5): its passes, and which layers and weights each of them reads."""

import re

import pytest

from tests import random_models
from tests.random_files import write_random_model
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.measure.runs.observe import Observation, observe
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.storing.progress import Progress

pytestmark = pytest.mark.llama


@pytest.fixture(scope="module")
def run(hooked: Build, tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    folder = tmp_path_factory.mktemp("t5")
    model = write_random_model(random_models.T5, folder / "model.gguf")
    told = ("-m", str(model), "-p", "The page", "-n", "4", "-t", "2", "--temp", "0", "-no-cnv", "--no-warmup")
    made = observe(Observation("t5", (str(hooked.programs / TARGET), *told), "Who reads what?"), folder, Progress())
    assert made.folder is not None
    return load_run(made.folder)


def test_the_encoder_reads_the_prompt_and_the_decoder_begins_with_its_own_token(run: LoadedRun) -> None:
    assert "failed" not in {check.state for check in run.measured.checks}
    passes = run.passes[run.passes["kind"].ne("load").to_numpy(bool)]
    kinds, tokens = passes["kind"].tolist(), passes["n_tokens"].tolist()
    assert kinds == ["encode", "prompt", "generate", "generate", "generate"]
    assert tokens[0] > 1 and tokens[1:] == [1, 1, 1, 1]
    assert passes["position_begin"].tolist() == [0, 0, 1, 2, 3]


def test_each_side_reads_its_own_weights(run: LoadedRun) -> None:
    names = run.graph_nodes["name"].astype(str)
    side = run.graph_nodes.assign(side=names.str.extract(r"^(enc|dec)\.", expand=False)).dropna(subset=["side"])
    of_graph = side.groupby("graph")["side"].agg(set)
    passes = run.passes[run.passes["kind"].ne("load").to_numpy(bool)]
    read = {kind: of_graph[graph] for kind, graph in zip(passes["kind"], passes["graph"], strict=True)}
    assert read == {"encode": {"enc"}, "prompt": {"dec"}, "generate": {"dec"}}


def test_layers_and_components_are_those_of_the_model(run: LoadedRun) -> None:
    expected = {weight.name: weight.component for weight in random_models.T5.weights}
    found = run.tensors.set_index(run.tensors["name"].astype(str))
    assert found["component"].astype(str).to_dict() == expected
    layers = {name: int(of[1]) for name in expected if (of := re.match(r"(?:enc|dec)\.blk\.(\d)", name))}
    assert found["layer"].dropna().astype(int).to_dict() == layers
