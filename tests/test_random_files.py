from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest

from tests import random_files
from tests.random_files import size_of, types_of, write_random_model
from tests.random_models import GPT_OSS, GPT_OSS_TYPES, gpt_oss
from tracegen.capture.page_cache import cached


def test_a_model_written_in_pieces_is_whole_and_leaves_the_page_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_files, "PIECE", 1000)
    monkeypatch.setattr(random_files, "UNWRITTEN", 100_000)
    told: list[tuple[int, int]] = []
    path = write_random_model(
        GPT_OSS, tmp_path / "m.gguf", "Q8_0", GPT_OSS_TYPES, lambda done, total: told.append((done, total))
    )
    assert cached(path).cached_bytes == 0
    size = size_of(GPT_OSS, "Q8_0", GPT_OSS_TYPES)
    assert told[-1] == (size, size) and len(told) > size // 1000
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    assert {name: tensor.tensor_type.name for name, tensor in tensors.items()} == types_of(
        GPT_OSS, "Q8_0", GPT_OSS_TYPES
    )
    assert sum(tensor.n_bytes for tensor in tensors.values()) == size
    for tensor in tensors.values():
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        assert np.isfinite(values).all() and np.abs(values).max() <= 1, tensor.name
        assert values.std() > 0 or "norm" in tensor.name, tensor.name


def test_the_architecture_in_another_size() -> None:
    made = gpt_oss(
        n_layers=3, embd=128, heads=8, kv_heads=2, head=16, ff=64, n_experts=16, n_used=4, window=32, n_vocab=500
    )
    shapes = {weight.name: weight.shape for weight in made.weights}
    assert len(made.layers) == 3 and made.n_vocab == 500
    assert shapes["output.weight"] == shapes["token_embd.weight"] == (128, 500)
    assert shapes["blk.2.ffn_down_exps.weight"] == (64, 128, 16)
    assert shapes["blk.0.attn_k.weight"] == (128, 32) and shapes["blk.0.attn_sinks.weight"] == (8,)
