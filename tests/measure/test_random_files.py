import hashlib
from pathlib import Path

import gguf
import numpy as np
import pytest

from tests.random_files import characters
from tests.random_models import GPT_OSS
from tracegen.contract.ggml_types import BLOCKS
from tracegen.measure.capture.page_cache import cached
from tracegen.measure.demo import large_files
from tracegen.measure.demo.architecture import Weight, bytes_of, size_of, types_of
from tracegen.measure.demo.gpt_oss import GPT_OSS_TYPES, gpt_oss

TYPES = types_of(GPT_OSS, "Q8_0", GPT_OSS_TYPES)
TOKENS = characters(GPT_OSS.n_vocab)


def test_a_model_written_in_pieces_is_whole_and_leaves_the_page_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_files, "PIECE", 1000)
    monkeypatch.setattr(large_files, "UNWRITTEN", 100_000)
    path, updates = tmp_path / "m.gguf", list[tuple[int, int]]()
    large_files.write_random_model(
        GPT_OSS, path, TYPES, TOKENS, kind="test", progress=lambda done, total: updates.append((done, total))
    )
    assert cached(path).cached_bytes == 0
    size = size_of(GPT_OSS, "Q8_0", GPT_OSS_TYPES)
    assert updates[-1] == (size, size) and len(updates) > size // 1000
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    assert {name: tensor.tensor_type.name for name, tensor in tensors.items()} == TYPES
    assert sum(tensor.n_bytes for tensor in tensors.values()) == size
    for tensor in tensors.values():
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        assert np.isfinite(values).all() and np.abs(values).max() <= 1, tensor.name
        assert values.std() > 0 or "norm" in tensor.name, tensor.name


def test_the_size_of_the_pieces_does_not_change_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = set()
    for piece in (1000, 4096, large_files.PIECE):
        monkeypatch.setattr(large_files, "PIECE", piece)
        large_files.write_random_model(GPT_OSS, tmp_path / "m.gguf", TYPES, TOKENS, kind="test")
        hashes.add(hashlib.sha256((tmp_path / "m.gguf").read_bytes()).hexdigest())
    assert len(hashes) == 1


@pytest.mark.parametrize("dtype", ["F32", "F16", *sorted({*large_files._SCALES} - {"Q1_0"})])  # gguf decodes no Q1_0
def test_contents_of_each_type_are_small_and_finite(dtype: str) -> None:
    weight = Weight("w.weight", "other", (256, 64))
    blocks = b"".join(piece.tobytes() for piece in large_files.pieces(weight, dtype, np.random.PCG64(1)))
    assert len(blocks) == bytes_of(weight, dtype)
    kind = gguf.GGMLQuantizationType[dtype]
    stored = np.frombuffer(blocks, {"F32": np.float32, "F16": np.float16}.get(dtype, np.uint8))
    values = gguf.dequantize(stored.reshape(64, -1), kind)
    assert values.shape == (64, 256)
    assert np.isfinite(values).all() and values.std() > 0 and np.abs(values).max() <= 8


def test_a_type_that_nobody_can_fill_is_refused() -> None:
    with pytest.raises(KeyError):
        list(large_files.pieces(Weight("w", "other", (256, 2)), "Q4_1", np.random.PCG64(1)))
    with pytest.raises(ValueError, match=r"w: rows of 48 elements cannot be Q8_0, in blocks of 32"):
        bytes_of(Weight("w", "other", (48, 2)), "Q8_0")


def test_blocks_are_as_the_gguf_package_says() -> None:
    for dtype in ("F32", "F16", *large_files._SCALES):
        assert BLOCKS[dtype] == gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[dtype]]


def test_the_architecture_in_another_size() -> None:
    architecture = gpt_oss(
        n_layers=3,
        embd=128,
        heads=8,
        kv_heads=2,
        head=16,
        ff=64,
        n_experts=16,
        n_used=4,
        window=32,
        n_vocab=500,
        context=512,
    )
    shapes = {weight.name: weight.shape for weight in architecture.weights}
    assert len(architecture.layers) == 3 and architecture.n_vocab == 500
    assert shapes["output.weight"] == shapes["token_embd.weight"] == (128, 500)
    assert shapes["blk.2.ffn_down_exps.weight"] == (64, 128, 16)
    assert shapes["blk.0.attn_k.weight"] == (128, 32) and shapes["blk.0.attn_sinks.weight"] == (8,)
