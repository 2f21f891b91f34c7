"""The main job on a trained model: what tracegen records of SmolLM2 equals what others say of the same work."""

from pathlib import Path

import gguf
import pytest

from tests.integration.conftest import Case, Measured, Oracle, oracle  # noqa: F401
from tests.integration.test_against_oracle import evaluated, paired, recorded, reported
from tracegen.contract.model import Experiment
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.runs.measure import measure
from tracegen.measure.trained import trained_model
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.report.figures.context import Context
from tracegen.storing.progress import Progress

pytestmark = pytest.mark.llama

OF_BUSY_MACHINES = {"interference", "tracing_cost", "even_tokens"}  # checks that depend on what else runs


@pytest.fixture(scope="module")
def model() -> Path:
    return trained_model("smollm2", Progress())


@pytest.fixture(scope="module")
def experiment(model: Path) -> Experiment:
    return Experiment(
        name="real", question="Is it true?", model=str(model), prompt="The capital of France is", tokens=6, threads=2,
        context=128, repack=False, flags=("--temp", "0"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def loaded(experiment: Experiment, hooked: Build, tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    run = measure(experiment, tmp_path_factory.mktemp("real"), Progress(), str(hooked.programs))
    assert run.folder is not None
    return load_run(run.folder)


def test_it_knows_the_capital_and_every_check_passes(loaded: LoadedRun) -> None:
    assert loaded.run.facts["text"]["generated"].strip().startswith("Paris.")
    assert loaded.run.facts["model"]["random_weights"] is False
    bad = {check.key for check in loaded.run.checks if check.state in ("failed", "warning")}
    assert bad <= OF_BUSY_MACHINES and not [c for c in loaded.run.checks if c.state == "failed"]


def test_a_token_touches_every_weight_that_the_file_holds(loaded: LoadedRun, model: Path) -> None:
    """Against llama.cpp's own reader: the embedding is the output matrix too, so that all of it is multiplied.

    The row of the token that is taken in is used by two operations, and counts in each.
    """
    width = gguf.GGUFReader(model).fields["llama.embedding_length"].contents()
    block, in_bytes = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType.Q8_0]
    sizes = {tensor.name: int(tensor.n_bytes) for tensor in gguf.GGUFReader(model).tensors}
    used = loaded.tensors[loaded.tensors["name"].isin(sizes)]
    assert len(used) == len(sizes) and dict(zip(used["name"], used["size_bytes"], strict=True)) == sizes
    assert (
        Context(loaded.run, loaded.tables).summary.generate_token_bytes["disk"]
        == sum(sizes.values()) + width // block * in_bytes
    )


def test_operations_are_those_that_the_witness_saw(
    loaded: LoadedRun, experiment: Experiment, request: pytest.FixtureRequest
) -> None:
    witness: Oracle = request.getfixturevalue("oracle")
    measured = Measured(Case("smollm2"), experiment, loaded, witness)
    assert evaluated(measured)["kind"].tolist() == [ubatch["kind"] for ubatch in measured.witness]
    for row, ubatch in paired(measured):
        assert recorded(measured, int(row.graph)) == reported(ubatch), f"pass {row.pass_id}"


def test_logits_are_the_same_with_and_without_hooks(
    experiment: Experiment, hooked: Build, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    witness: Oracle = request.getfixturevalue("oracle")
    feed, quiet = [2260, 314, 28, 339], ("--nodes", "off")
    unhooked = witness(experiment, feed, *quiet)
    traced = witness(experiment, feed, *quiet, libraries=hooked.programs, TENSOR_TRACE_DIR=str(tmp_path))
    assert traced == unhooked and len({call["logits"]["hash"] for call in unhooked[1:]}) == 1 + len(feed)
    assert any(tmp_path.iterdir()), "it was traced"
