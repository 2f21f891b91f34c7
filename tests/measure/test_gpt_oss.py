"""The mixture of experts in the shape of gpt-oss: its sizes, and one that is small enough to be written."""

import json
from pathlib import Path

import gguf
import numpy as np
import pytest

from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.demo.architecture import Architecture
from tracegen.measure.demo.gpt_oss import file_bytes, of_gib, of_size, of_width, tensor_bytes, write_gpt_oss
from tracegen.measure.runs.measure import measure
from tracegen.readers.gguf.file import read_model
from tracegen.reading.notebook.loaded import load_run
from tracegen.storing.progress import Progress

GIB = 1 << 30
SMALLEST = of_size(0)  # 10 MB; the command writes nothing below 1 GiB


def counted(width: int, n_vocab: int, n_layers: int = 24) -> int:
    """Bytes of the tensors, counted by hand: Q8_0 has 34 bytes for 32 elements, MXFP4 17, F32 4 for one."""
    attention = (2 * 64 * 64 * width + 2 * 8 * 64 * width) // 32 * 34
    biases = 4 * (64 * 64 + 2 * 8 * 64 + width)
    sinks_and_norms = 4 * (64 + 2 * width)
    router = 4 * (32 * width + 32)
    experts = 3 * 32 * (width * width // 32 * 17 + 4 * width)
    outside = 2 * n_vocab * width // 32 * 34 + 4 * width
    return n_layers * (attention + biases + sinks_and_norms + router + experts) + outside


def shape_of(architecture: Architecture) -> dict[str, int]:
    keys = (
        "embedding_length",
        "feed_forward_length",
        "expert_feed_forward_length",
        "expert_count",
        "expert_used_count",
        "attention.head_count",
        "attention.head_count_kv",
    )
    return {key: architecture.metadata[key] for key in keys}  # type: ignore[misc]


@pytest.mark.parametrize(
    ("size_gib", "width", "n_vocab"), [(1, 800, 55808), (4, 1696, 118400), (11.3, 2880, 201088), (12, 2976, 207744)]
)
def test_shape_and_size(size_gib: float, width: int, n_vocab: int) -> None:
    architecture = of_gib(size_gib)
    assert shape_of(architecture) == {
        "embedding_length": width,
        "feed_forward_length": width,
        "expert_feed_forward_length": width,
        "expert_count": 32,
        "expert_used_count": 4,
        "attention.head_count": 64,
        "attention.head_count_kv": 8,
    }
    assert len(architecture.layers) == 24 and architecture.n_vocab == n_vocab
    assert tensor_bytes(architecture) == counted(width, n_vocab)
    assert tensor_bytes(architecture) == pytest.approx(size_gib * GIB, rel=0.05)
    assert file_bytes(architecture) == pytest.approx(size_gib * GIB, rel=0.05)


def test_every_size_is_met_to_four_percent_and_none_is_nearer() -> None:
    sizes = [tensor_bytes(of_width(width)) for width in range(32, 3200, 32)]
    for percent in range(100, 1201, 7):
        wanted = percent / 100 * GIB
        size = tensor_bytes(of_gib(percent / 100))
        assert size == pytest.approx(wanted, rel=0.04)
        assert abs(size - wanted) == min(abs(nearby - wanted) for nearby in sizes)


@pytest.mark.parametrize(("size_gib", "n_layers"), [(1, 1), (1, 6), (4, 12), (12, 1), (12, 6)])
def test_fewer_layers_are_wider(size_gib: float, n_layers: int) -> None:
    architecture = of_gib(size_gib, n_layers)
    width = int(architecture.metadata["embedding_length"])  # type: ignore[call-overload]
    assert len(architecture.layers) == n_layers
    assert width > of_gib(size_gib).metadata["embedding_length"]  # type: ignore[operator]
    assert tensor_bytes(architecture) == counted(width, architecture.n_vocab, n_layers)
    assert tensor_bytes(architecture) == pytest.approx(size_gib * GIB, rel=0.04)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gpt_oss(tmp_path_factory.mktemp("gpt-oss") / "m.gguf", SMALLEST, seed=7)[0]


def test_the_gguf_package_reads_types_shapes_and_finite_values(path: Path) -> None:
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    assert len(tensors) == 3 + 24 * 19
    kinds = {name: (tensor.tensor_type.name, tensor.shape.tolist()) for name, tensor in tensors.items()}
    assert kinds["token_embd.weight"] == kinds["output.weight"] == ("Q8_0", [32, 2176])
    for layer in range(24):
        for part in ("gate", "up", "down"):
            assert kinds[f"blk.{layer}.ffn_{part}_exps.weight"] == ("MXFP4", [32, 32, 32])
            assert kinds[f"blk.{layer}.ffn_{part}_exps.bias"] == ("F32", [32, 32])
        assert kinds[f"blk.{layer}.ffn_gate_inp.weight"] == ("F32", [32, 32])
        assert kinds[f"blk.{layer}.attn_q.weight"] == ("Q8_0", [32, 4096])
        assert kinds[f"blk.{layer}.attn_k.weight"] == ("Q8_0", [32, 512])
        assert kinds[f"blk.{layer}.attn_output.weight"] == ("Q8_0", [4096, 32])
        assert kinds[f"blk.{layer}.attn_sinks.weight"] == ("F32", [64])
    for name, tensor in tensors.items():
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        assert np.isfinite(values).all() and 0 < np.abs(values).max() <= 1, name
        assert abs(values.mean()) < 0.05 or "norm" in name, name


def test_tracegen_reads_what_it_is(path: Path) -> None:
    model = read_model(path)
    assert (model.architecture, model.n_layers, model.n_experts, model.n_experts_used) == ("gpt-oss", 24, 32, 4)
    assert model.random_weights and model.name == "tracegen gpt-oss (random weights)"
    assert (model.metadata["tracegen.kind"], model.metadata["tracegen.seed"]) == ("gpt-oss", 7)
    stacked = model.tensors[model.tensors["n_experts"].notna()]
    by_component = stacked.groupby(stacked["component"].astype(str))["dtype"].agg(lambda kinds: sorted(map(str, kinds)))
    expected = sorted(["MXFP4"] * 24 + ["F32"] * 24)
    assert by_component.to_dict() == {f"expert_{part}": expected for part in ("gate", "up", "down")}
    assert set(stacked["n_experts"]) == {32}
    assert int(model.tensors["size_bytes"].sum()) == counted(32, 2176) == tensor_bytes(SMALLEST)
    assert tensor_bytes(SMALLEST) < path.stat().st_size <= file_bytes(SMALLEST)


def test_bytes_of_a_seed_never_change(path: Path) -> None:
    """The first blocks of fixed tensors, computed from PCG64 alone."""
    tensors = {tensor.name: (i, tensor) for i, tensor in enumerate(gguf.GGUFReader(path).tensors)}
    for name, head in (("blk.3.ffn_up_exps.weight", [121]), ("output.weight", [0, 0x14])):
        i, tensor = tensors[name]
        raw = np.random.PCG64([7, i]).random_raw(2).view(np.uint8)
        assert tensor.data.ravel()[:16].tolist() == [*head, *raw[len(head) :].tolist()]


def test_two_files_hold_the_same_tensors(tmp_path: Path, path: Path) -> None:
    heard: list[tuple[int, int]] = []
    paths = write_gpt_oss(
        tmp_path / "m.gguf", SMALLEST, seed=7, split=True, progress=lambda done, total: heard.append((done, total))
    )
    assert sorted(tmp_path.iterdir()) == list(paths) and len(paths) == 2
    assert heard[-1] == (tensor_bytes(SMALLEST),) * 2 and heard == sorted(heard)
    whole = {tensor.name: tensor.data.tobytes() for tensor in gguf.GGUFReader(path).tensors}
    parts = [{tensor.name: tensor.data.tobytes() for tensor in gguf.GGUFReader(part).tensors} for part in paths]
    assert parts[0] | parts[1] == whole and all(len(part) < len(whole) for part in parts)
    assert read_model(paths[0]).n_layers == 24


@pytest.mark.llama
def test_a_run_gives_tokens_and_reads_four_experts_a_layer(tmp_path: Path, hooked: Build, path: Path) -> None:
    settings = {"question": "Does it run?", "model": str(path), "prompt": "The first book says", "tokens": 6}
    experiment = Experiment("case", **settings)  # type: ignore[arg-type]
    run = measure(experiment, tmp_path, Progress(), str(hooked.programs))
    assert run.folder is not None and run.verdict != "not usable"
    states = {check.key: check.state for check in run.checks}
    assert "failed" not in states.values(), json.dumps(states)
    loaded = load_run(run.folder)
    kinds = loaded.passes["kind"].astype(str).tolist()
    assert kinds == ["load", "warmup", "prompt", *["generate"] * 5]
    assert int((loaded.tokens["generated_token"].notna()).sum()) >= 5
    routed = loaded.routing.groupby(["pass_id", "layer", "row"])["expert"].nunique()
    assert set(routed) == {4} and set(loaded.routing["layer"]) == set(range(24))
