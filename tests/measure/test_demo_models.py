import subprocess
from pathlib import Path

import gguf
import numpy as np
import pytest

from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.contract.model import DEMO_DTYPES
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.measure.demo.models import KINDS, write_demo_model
from tracegen.readers.gguf.file import read_model

SMALL_TINYLLAMA: dict[str, object] = {
    "n_embd": 256,
    "n_ff": 512,
    "n_heads": 8,
    "n_kv_heads": 2,
    "n_vocab": 800,
}


@pytest.mark.parametrize("kind", ["demo", "moe"])
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, kind: str) -> None:
    first, again = (write_demo_model(kind, tmp_path / n / "m.gguf", seed=5)[0].read_bytes() for n in "ab")
    assert first == again
    assert write_demo_model(kind, tmp_path / "m.gguf", seed=6)[0].read_bytes() != first


def test_bytes_of_a_seed_never_change(tmp_path: Path) -> None:
    """The first weights of a fixed seed, computed from PCG64 alone."""
    (path,) = write_demo_model("demo", tmp_path / "m.gguf", seed=3)
    tensor = next(t for t in gguf.GGUFReader(path).tensors if t.name == "blk.0.attn_q.weight")
    raw = np.random.PCG64([3, 4]).random_raw(1).view(np.int16).astype(np.float32)
    assert tensor.data[0, :4] == pytest.approx(raw / 32768 * 3**0.5 * 1.5 / 16, rel=1e-3)


def test_a_demo_model_says_what_it_is(tmp_path: Path) -> None:
    model = read_model(write_demo_model("moe", tmp_path / "m.gguf")[0])
    assert model.random_weights
    assert "random weights" in str(model.name)
    assert (model.architecture, model.n_layers, model.n_experts, model.n_experts_used) == ("llama", 4, 8, 2)
    assert model.metadata["tracegen.seed"] == 1
    experts = model.tensors[model.tensors["n_experts"].notna()]
    assert len(experts) == 12 and set(experts["n_experts"]) == {8}


def test_tinyllama_has_the_mix_of_a_q4_k_m_file(tmp_path: Path) -> None:
    tensors = read_model(write_demo_model("tinyllama", tmp_path / "m.gguf", **SMALL_TINYLLAMA)[0]).tensors
    assert len(tensors) == 201
    better = tensors[tensors["dtype"] == "Q6_K"]["component"].value_counts()
    assert better[better > 0].to_dict() == {"attention_v": 10, "ffn_down": 10, "output": 1}
    assert set(tensors["dtype"].unique()) == {"F32", "Q4_K", "Q6_K"}


@pytest.mark.parametrize("dtype", DEMO_DTYPES)
def test_values_are_finite_centred_and_spread_as_planned(tmp_path: Path, dtype: str) -> None:
    (path,) = write_demo_model("moe", tmp_path / "m.gguf", dtype=dtype)
    expected = {"attn_q": 1.5 / 16, "attn_k": 1.5 / 16, "attn_v": 1 / 16, "ffn_up_exps": 1 / 16}
    for tensor in gguf.GGUFReader(path).tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        assert np.isfinite(values).all()
        part = tensor.name.split(".")[-2]
        if part in expected:
            assert abs(values.mean()) < 0.05 * expected[part]
            assert values.std() == pytest.approx(expected[part], rel=0.06)


@pytest.mark.parametrize("dtype", DEMO_DTYPES)
def test_tokens_that_print_badly_are_unlikely(tmp_path: Path, dtype: str) -> None:
    """Equal first features, left alone by every layer, meet negative output rows."""
    (path,) = write_demo_model("demo", tmp_path / "m.gguf", dtype=dtype)
    values = {t.name: gguf.dequantize(t.data, t.tensor_type) for t in gguf.GGUFReader(path).tensors}
    assert np.ptp(values["token_embd.weight"][:, :32]) < 0.1
    for name in ("attn_output", "ffn_down"):
        assert not values[f"blk.0.{name}.weight"][:32].any()
    bias = values["output.weight"][:, :32].sum(axis=1)
    assert (bias[:259] < -30 * values["output.weight"][:, 32:].std()).all()
    assert (bias[-100:] == 0).all()


def test_a_seed_out_of_range(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="seed -1"):
        write_demo_model("demo", tmp_path / "m.gguf", seed=-1)


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def full(done: int, total: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(EnvironmentFailure, match="No space left on device"):
        write_demo_model("demo", tmp_path / "m.gguf", progress=full)
    assert list(tmp_path.iterdir()) == []


def test_an_old_model_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"old")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_demo_model("demo", path, progress=stop)
    assert path.read_bytes() == b"old"
    write_demo_model("demo", path)
    assert read_model(path).random_weights and 4_000_000 < path.stat().st_size < 6_000_000


@pytest.mark.llama
@pytest.mark.parametrize(
    ("kind", "shape", "split"),
    [
        *((kind, {"dtype": dtype}, kind == "moe") for kind in ("demo", "moe") for dtype in DEMO_DTYPES),
        ("tinyllama", SMALL_TINYLLAMA, True),
    ],
)
def test_llama_cpp_runs_it_and_writes_words(
    tmp_path: Path, hooked: Build, kind: str, shape: dict[str, object], split: bool
) -> None:
    """Hooks also see to it that its output is written to the end."""
    assert kind in KINDS
    path = write_demo_model(kind, tmp_path / "m.gguf", split=split, **shape)[0]
    options = ["-n", "8", "-no-cnv", "--ignore-eos", "--seed", "1", "-t", "2"]
    out = tmp_path / "out.txt"
    with out.open("wb") as stream:
        done = subprocess.run(
            [str(hooked.programs / TARGET), "-m", str(path), "-p", "Hello", *options],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.PIPE,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    text = out.read_text("ascii")
    assert text.split()[0] == "Hello"
