"""The trained mixture of the repository: its file, and that llama.cpp computes what the PyTorch model does."""

import importlib.util
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import gguf
import pytest

from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.storing.resources import cache_folder

MODEL = Path(__file__).parents[2] / "models" / "tiny-mixture"
FILE = MODEL / "tiny-mixture.gguf"
GREEDY = json.loads((Path(__file__).parents[1] / "data" / "tiny-mixture.json").read_text("utf-8"))
LIMIT = 8_000_000  # bytes in the repository
LOGITS = """
import json, sys
sys.path[:0] = sys.argv[1:3]
import evaluate, llama_cpp, numpy, pathlib, torch
torch.set_num_threads(1)
model = evaluate.loaded(pathlib.Path(sys.argv[3]))
other = llama_cpp.Llama(sys.argv[3], n_ctx=256, logits_all=True, verbose=False, n_threads=1)
found = []
for prompt in json.loads(sys.argv[4]):
    tokens = other.tokenize(prompt.encode(), add_bos=True)
    other.reset(); other.eval(tokens)
    with torch.no_grad():
        mine = model(torch.tensor([tokens]))[0].numpy()
    found.append(float(numpy.abs(mine - numpy.array(other.scores[:len(tokens)])).max()))
print(json.dumps(found))
"""


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
            "context": "context_length", "width": "embedding_length", "layers": "block_count",
            "used": "expert_used_count", "expert_width": "feed_forward_length",
            "heads": "attention.head_count", "experts": "expert_count",
            "epsilon": "attention.layer_norm_rms_epsilon", "rope_base": "rope.freq_base", "vocabulary": "vocab_size",
        }.items()
    }  # fmt: skip
    tokens, merges = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges"))
    vocabulary = {"model": {"vocab": {token: number for number, token in enumerate(tokens)}, "merges": merges}}
    convert.write(convert.read(FILE), shape, vocabulary, path, gguf.GGMLQuantizationType.F32)
    return path


def test_the_file_is_small_and_a_mixture() -> None:
    fields = gguf.GGUFReader(FILE).fields
    assert FILE.stat().st_size <= LIMIT
    assert (fields["llama.expert_count"].contents(), fields["llama.expert_used_count"].contents()) == (16, 2)


@pytest.mark.llama
@pytest.mark.parametrize("prompt", GREEDY)
def test_llama_cpp_writes_what_the_pytorch_model_wrote(prompt: str, exact: Path, plain: Build) -> None:
    command = [
        str(plain.programs / TARGET), "-m", str(exact), "-p", prompt, "-n", "40", "--temp", "0", "-no-cnv", "-t", "1",
        "--no-display-prompt", "--no-warmup", "--simple-io",
    ]  # fmt: skip
    expected, longest = GREEDY[prompt], ""
    for _ in range(10):  # it may exit before the thread of its logger has written the last tokens
        done = subprocess.run(command, capture_output=True, timeout=120, check=True, stdin=subprocess.DEVNULL)
        printed = done.stdout.decode().rstrip("\n")
        assert expected.startswith(printed)
        longest = max(longest, printed, key=len)
        if longest == expected:
            return
    raise AssertionError(f"the best of ten runs wrote {longest!r}")


@pytest.mark.llama
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs `pip install -e '.[models]'`")
def test_logits_are_those_of_the_pytorch_model(exact: Path, plain: Build, tmp_path: Path) -> None:
    """llama.cpp through the bindings of its own source package, which the build came from."""
    (archive,) = (cache_folder() / "downloads").glob("llama_cpp_python-*.tar.gz")
    with tarfile.open(archive) as packed:
        of_bindings = [m for m in packed.getmembers() if m.name.split("/")[1:2] == ["llama_cpp"] and m.isfile()]
        packed.extractall(tmp_path, of_bindings, filter="data")
    (bindings,) = tmp_path.iterdir()
    environment = os.environ | {"LLAMA_CPP_LIB_PATH": str(plain.programs)}
    command = [sys.executable, "-c", LOGITS, str(MODEL), str(bindings), str(exact), json.dumps(list(GREEDY))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, env=environment)
    assert max(json.loads(done.stdout.splitlines()[-1])) <= 1e-2
