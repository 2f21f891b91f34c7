"""Files of models with random weights that llama.cpp loads and runs, written in pieces however large they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import BinaryIO

import gguf
import numpy as np
from numpy.typing import NDArray

Value = bool | int | float | str | list[int]
Advance = Callable[[int, int], None]  # bytes done, bytes in all

N_VOCAB = 384
CONTEXT = 512
PIECE = 16 << 20  # bytes of a tensor that are in memory at a time
UNWRITTEN = 256 << 20  # bytes that may wait for the disk in the page cache


@dataclass(frozen=True)
class Weight:
    """A tensor: its name (in a layer without `blk.N.`), its component and its shape, the length of a row first.

    Vectors, and what is `plain`, are F32 whatever the type of the model; `plain` is what llama.cpp wants so.
    """

    name: str
    component: str
    shape: tuple[int, ...]
    plain: bool = False


@dataclass(frozen=True)
class Architecture:
    """A model of it: metadata (keys without the architecture), the tensors of no layer, those of each layer.

    `unread` are the tensors that llama.cpp loads and never reads.
    """

    name: str
    metadata: Mapping[str, Value]
    outside: tuple[Weight, ...]
    layers: tuple[tuple[Weight, ...], ...]
    unread: frozenset[str] = frozenset()
    n_vocab: int = N_VOCAB
    context: int = CONTEXT

    @property
    def weights(self) -> list[Weight]:
        """All tensors under their whole names, in the order of the file."""
        inside = [replace(w, name=f"blk.{i}.{w.name}") for i, layer in enumerate(self.layers) for w in layer]
        return [*self.outside, *inside]


def write_random_model(
    architecture: Architecture,
    path: Path,
    dtype: str = "F16",
    mix: Mapping[str, str] | None = None,
    advance: Advance | None = None,
) -> Path:
    """Write a model whose matrices are of `dtype`, those of the components in `mix` of another type.

    It takes little memory at any size; a large model is on the disk when this ends, and not in the page cache.
    """
    writer = gguf.GGUFWriter(path, architecture.name)
    writer.add_bool("tracegen.random_weights", True)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    for key, value in architecture.metadata.items():
        _add_value(writer, f"{architecture.name}.{key}", value)
    writer.add_block_count(len(architecture.layers))
    writer.add_context_length(architecture.context)
    _add_vocabulary(writer, architecture.n_vocab)
    types = types_of(architecture, dtype, mix or {})
    _write(writer, path, [(weight, types[weight.name]) for weight in architecture.weights], advance)
    return path


def types_of(architecture: Architecture, dtype: str, mix: Mapping[str, str]) -> dict[str, str]:
    """The type of each tensor of such a model by name."""
    return {
        weight.name: "F32" if weight.plain or len(weight.shape) == 1 else mix.get(weight.component, dtype)
        for weight in architecture.weights
    }


def size_of(architecture: Architecture, dtype: str, mix: Mapping[str, str]) -> int:
    """Bytes of the tensors of such a model; the file has a header beside them."""
    types = types_of(architecture, dtype, mix)
    return sum(_n_bytes(weight, types[weight.name]) for weight in architecture.weights)


def write_lora(architecture: Architecture, path: Path, components: Sequence[str], rank: int = 8) -> Path:
    """Write an adapter for the matrices of these components."""
    writer = gguf.GGUFWriter(path, architecture.name)
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(rank))
    pairs = [
        Weight(f"{weight.name}.lora_{side}", weight.component, shape)
        for weight in architecture.weights
        if weight.component in components and len(weight.shape) == 2
        for side, shape in (("a", (weight.shape[0], rank)), ("b", (rank, weight.shape[1])))
    ]
    _write(writer, path, [(pair, "F32") for pair in pairs])
    return path


def write_projector(path: Path) -> Path:
    """Write what is typical of a multimodal projector (mmproj): a vision encoder, and no language model."""
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_type("mmproj")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "mlp")
    writer.add_uint32("clip.vision.block_count", 1)
    weights = [Weight("mm.0.weight", "other", (64, 64)), Weight("v.blk.0.attn_q.weight", "attention_q", (64, 64))]
    _write(writer, path, [(weight, "F16") for weight in weights])
    return path


# Header


def _add_value(writer: gguf.GGUFWriter, key: str, value: Value) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def _add_vocabulary(writer: gguf.GGUFWriter, size: int) -> None:
    """A SentencePiece vocabulary of single characters, bytes and numbers."""
    kinds = gguf.TokenType
    characters = ["▁", *map(chr, range(0x21, 0x7F))]
    fillers = [f"▁{number:02d}" for number in range(size - 259 - len(characters))]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *characters, *fillers]
    normal = [kinds.NORMAL] * (len(characters) + len(fillers))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(number) for number in range(size)])
    writer.add_token_types([kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL, *[kinds.BYTE] * 256, *normal])
    writer.add_token_type_count(2)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)


# Contents


def _write(
    writer: gguf.GGUFWriter, path: Path, weights: Sequence[tuple[Weight, str]], advance: Advance | None = None
) -> None:
    """The header, and behind it the tensors; a piece of one is in memory at a time."""
    for weight, dtype in weights:
        kind = gguf.GGMLQuantizationType[dtype]
        size = _n_bytes(weight, dtype)
        writer.add_tensor_info(weight.name, weight.shape[::-1], np.dtype(np.float32), size, raw_dtype=kind)
    with closing(writer):
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
    rng = np.random.default_rng(1)
    total = sum(_n_bytes(*one) for one in weights)
    done = waiting = 0
    with path.open("ab") as stream:
        _pad(stream, writer.data_alignment)
        for weight, dtype in weights:
            for piece in _pieces(weight, dtype, rng):
                stream.write(piece.data)
                done, waiting = done + piece.nbytes, waiting + piece.nbytes
                if waiting >= UNWRITTEN:
                    _leave_the_page_cache(stream)
                    waiting = 0
                if advance:
                    advance(done, total)
            _pad(stream, writer.data_alignment)
        if total >= UNWRITTEN:
            _leave_the_page_cache(stream)


def _pad(stream: BinaryIO, alignment: int) -> None:
    stream.write(bytes(-stream.tell() % alignment))


def _leave_the_page_cache(stream: BinaryIO) -> None:
    """What was written so far lies on the disk, and in memory no more: a large file pushes nothing else out."""
    stream.flush()
    os.fdatasync(stream.fileno())
    os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


# where the scales (f16) of a block lie, in bytes
_SCALES = {
    "Q4_0": (0,), "Q8_0": (0,), "Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,),
}  # fmt: skip


def _n_bytes(weight: Weight, dtype: str) -> int:
    length, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[dtype]]
    assert weight.shape[0] % length == 0, f"{weight.name}: rows of {weight.shape[0]} cannot be {dtype}"
    return prod(weight.shape) // length * size


def _pieces(weight: Weight, dtype: str, rng: np.random.Generator) -> Iterator[NDArray[np.generic]]:
    """The tensor's values in the order of the file, at most PIECE bytes at a time. The weight of a norm is 1."""
    _, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[dtype]]
    ones = weight.component == "norm" and weight.name.endswith(".weight")
    total = _n_bytes(weight, dtype) // size
    for begin in range(0, total, PIECE // size):
        n = min(PIECE // size, total - begin)
        yield np.ones(n, np.float32) if ones else _blocks(dtype, n, size, rng)


def _blocks(dtype: str, n: int, size: int, rng: np.random.Generator) -> NDArray[np.generic]:
    """Small values; quantised blocks are random bits with a small scale."""
    if dtype in ("F32", "F16"):
        return rng.uniform(-0.1, 0.1, n).astype(np.float32 if dtype == "F32" else np.float16)
    blocks = rng.integers(0, 256, (n, size), np.uint8)
    if dtype == "MXFP4":
        blocks[:, 0] = 127 - 6  # the exponent
    for at in _SCALES.get(dtype, ()):
        blocks[:, at : at + 2] = np.array([2**-10], np.float16).view(np.uint8)
    return blocks
