"""The main job on a trained model: what tracegen records of SmolLM2 equals what others say of the same work."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import gguf
import jinja2
import pytest

from tests.integration.conftest import Case, Measured, Oracle, oracle  # noqa: F401
from tests.integration.test_against_oracle import evaluated, paired, recorded, reported
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.runs.measure import measure
from tracegen.measure.runs.observe import Observation, observe
from tracegen.measure.trained import trained_model
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.report.figures.context import Context
from tracegen.storing.native import read_upstream
from tracegen.storing.progress import Progress
from tracegen.storing.resources import folder as resource_folder

pytestmark = pytest.mark.llama

# checks that depend on what else runs
OF_BUSY_MACHINES = {"observer", "interference", "tracing_cost", "even_tokens", "not_stopped"}
OF_BINDINGS = """
import sys
from llama_cpp import Llama
model = Llama(sys.argv[1], n_ctx=128, n_threads=2, verbose=False)
sys.stdout.write(model("The capital of France is", max_tokens=6, temperature=0)["choices"][0]["text"])
"""


@pytest.fixture(scope="module")
def model() -> Path:
    return trained_model("smollm2", Progress())


@pytest.fixture(scope="module")
def experiment(model: Path) -> Experiment:
    return Experiment(
        name="real",
        question="Is it true?",
        model=str(model),
        prompt="The capital of France is",
        tokens=6,
        threads=2,
        context=128,
        repack=False,
        flags=("--temp", "0"),
    )


@pytest.fixture(scope="module")
def loaded(experiment: Experiment, hooked: Build, tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    run = measure(experiment, tmp_path_factory.mktemp("real"), Progress(), str(hooked.programs))
    assert run.folder is not None
    return load_run(run.folder)


def found_bad(loaded: LoadedRun) -> dict[str, str]:
    """What checks found that did not pass; those of busy machines may warn."""
    bad = [check for check in loaded.run.checks if check.state in ("failed", "warning")]
    return {check.key: check.found for check in bad if check.key not in OF_BUSY_MACHINES or check.state == "failed"}


def test_it_knows_the_capital_and_every_check_passes(loaded: LoadedRun) -> None:
    assert loaded.run.facts.text.generated.strip().startswith("Paris.")
    assert loaded.run.facts.model.random_weights is False
    assert found_bad(loaded) == {}


def test_a_token_touches_every_weight_that_the_file_holds(loaded: LoadedRun, model: Path) -> None:
    """Against llama.cpp's own reader: the embedding is the output matrix too, so that all of it is multiplied.

    The row of the token that is taken in is used by two operations, and counts in each.
    """
    reader = gguf.GGUFReader(model)
    width = reader.fields["llama.embedding_length"].contents()
    block, in_bytes = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType.Q8_0]
    sizes = {tensor.name: int(tensor.n_bytes) for tensor in reader.tensors}
    used = loaded.tensors[loaded.tensors["name"].isin(sizes)]
    assert len(used) == len(sizes) and dict(zip(used["name"], used["size_bytes"], strict=True)) == sizes
    assert (
        Context(loaded.run, loaded.tables).summary.generate_token_bytes["disk"]
        == sum(sizes.values()) + width // block * in_bytes
    )


@pytest.mark.nightly
def test_operations_are_those_that_the_witness_saw(
    loaded: LoadedRun, experiment: Experiment, request: pytest.FixtureRequest
) -> None:
    witness: Oracle = request.getfixturevalue("oracle")
    measured = Measured(Case("smollm2"), experiment, loaded, witness)
    assert evaluated(measured)["kind"].tolist() == [ubatch["kind"] for ubatch in measured.witness]
    for row, ubatch in paired(measured):
        assert recorded(measured, int(row.graph)) == reported(ubatch), f"pass {row.pass_id}"


@pytest.mark.nightly
def test_logits_are_the_same_with_and_without_hooks(
    experiment: Experiment, hooked: Build, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    witness: Oracle = request.getfixturevalue("oracle")
    feed, quiet = [2260, 314, 28, 339], ("--nodes", "off")
    unhooked = witness(experiment, feed, *quiet)
    traced = witness(experiment, feed, *quiet, libraries=hooked.programs, TENSOR_TRACE_DIR=str(tmp_path))
    assert traced == unhooked and len({call["logits"]["hash"] for call in unhooked[1:]}) == 1 + len(feed)
    assert any(tmp_path.iterdir()), "it was traced"


@pytest.mark.nightly
def test_the_prompt_of_a_conversation_is_what_the_model_read(
    experiment: Experiment, hooked: Build, model: Path, tmp_path: Path
) -> None:
    """Against Jinja2 with the template in the file: what tracegen says was read, and the tokens that passes took in."""
    chat = replace(experiment, prompt="Where is {{ Paris }}?", chat=True)
    run = measure(chat, tmp_path, Progress(), str(hooked.programs))
    assert run.folder is not None
    loaded, fields = load_run(run.folder), gguf.GGUFReader(model).fields
    message, template = {"role": "user", "content": chat.prompt}, fields["tokenizer.chat_template"].contents()
    expected = jinja2.Template(template).render(messages=[message], add_generation_prompt=True)
    assert expected.count(chat.prompt) == 1 and expected != chat.prompt
    assert loaded.run.facts.text.prompt == expected
    vocabulary = fields["tokenizer.ggml.tokens"].contents()
    prompt = loaded.passes.loc[loaded.passes["kind"] == "prompt", "pass_id"]
    read = "".join(vocabulary[token] for token in loaded.tokens[loaded.tokens["pass_id"].isin(prompt)]["token_id"])
    assert read.translate({ord("Ġ"): " ", ord("Ċ"): "\n"}) == expected
    assert found_bad(loaded) == {}


@pytest.mark.nightly
def test_attached_to_the_bindings_as_pip_installs_them(model: Path, tmp_path: Path) -> None:
    """llama-cpp-python builds its llama.cpp itself: nine minutes of processor time, once, as pip keeps the wheel."""
    python, version = str(tmp_path / "venv/bin/python"), read_upstream(resource_folder("native")).version
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"llama-cpp-python=={version}"], check=True)
    command = (python, "-c", OF_BINDINGS, str(model))
    run = observe(Observation("bindings", command, "Is it true?", attach=True), tmp_path / "bindings", Progress())
    assert run.folder is not None
    loaded = load_run(run.folder)
    text = loaded.run.facts.text
    assert (run.folder / "raw/stdout.txt").read_text("utf-8").startswith(" Paris.")
    assert text["prompt"] == "The capital of France is" and text["generated"].startswith(" Paris.")
    assert loaded.run.facts.trace.attached is True and found_bad(loaded) == {}
