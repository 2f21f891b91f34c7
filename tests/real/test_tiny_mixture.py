"""The trained mixture of the repository: its file, and that llama.cpp computes what the PyTorch model did."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import gguf
import numpy as np
import pytest

from tests.integration.conftest import Oracle, oracle  # noqa: F401
from tracegen.contract.experiment import Experiment

MODEL = Path(__file__).parents[2] / "models" / "tiny-mixture"
FILE = MODEL / "tiny-mixture.gguf"
REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "tiny-mixture.json").read_text("utf-8"))
LIMIT = 8_000_000  # bytes in the repository


def converter() -> ModuleType:
    spec = importlib.util.spec_from_file_location("convert", MODEL / "convert.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same weights as F32, so that llama.cpp rounds nothing that PyTorch does not."""
    convert, path = converter(), tmp_path_factory.mktemp("exact") / "mixture.gguf"
    fields = gguf.GGUFReader(FILE).fields
    shape = {
        name: fields[f"llama.{key}"].contents()
        for name, key in {
            "context": "context_length",
            "width": "embedding_length",
            "layers": "block_count",
            "used": "expert_used_count",
            "expert_width": "feed_forward_length",
            "heads": "attention.head_count",
            "experts": "expert_count",
            "epsilon": "attention.layer_norm_rms_epsilon",
            "rope_base": "rope.freq_base",
            "vocabulary": "vocab_size",
        }.items()
    }
    tokens, merges = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges"))
    vocabulary = {"model": {"vocab": {token: number for number, token in enumerate(tokens)}, "merges": merges}}
    convert.write(convert.read(FILE), shape, vocabulary, path, gguf.GGMLQuantizationType.F32)
    return path


def test_the_file_is_small_and_a_mixture() -> None:
    fields = gguf.GGUFReader(FILE).fields
    assert FILE.stat().st_size <= LIMIT
    assert (fields["llama.expert_count"].contents(), fields["llama.expert_used_count"].contents()) == (16, 2)


@pytest.mark.llama
@pytest.mark.parametrize("prompt", REFERENCE)
def test_llama_cpp_computes_what_the_pytorch_model_did(
    prompt: str, exact: Path, request: pytest.FixtureRequest
) -> None:
    """The likeliest token, 40 times, and logits before every eighth; PyTorch ran when the reference was made."""
    witness: Oracle = request.getfixturevalue("oracle")
    tokens, logits = REFERENCE[prompt]["tokens"], REFERENCE[prompt]["logits"]
    experiment = Experiment("exact", "Are they the same?", str(exact), prompt, len(tokens), threads=1, warmup=False)
    calls = witness(experiment, tokens[:-1], "--nodes", "off", "--logits", "2048")
    found = np.array([call["logits"]["first"] for call in calls])
    assert found.argmax(1).tolist() == tokens and found.shape == (40, 2048)
    assert np.array(logits) == pytest.approx(found[::8, ::16], abs=1e-2)
