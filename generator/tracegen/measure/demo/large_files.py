"""Writes the files of a model in pieces: it takes little memory, and leaves a large model out of the page cache."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import gguf
import numpy as np
from numpy.typing import NDArray

from tracegen.contract.ggml_types import BLOCKS
from tracegen.measure.demo.architecture import Architecture, Value, Weight, bytes_of
from tracegen.measure.demo.metadata import add_origin, add_tokenizer
from tracegen.measure.demo.vocabulary import Token
from tracegen.measure.demo.weights import random_bytes

Progress = Callable[[int, int], None]  # bytes done, bytes in all

UNWRITTEN = 256 << 20  # bytes that may wait for the disk in the page cache
PIECE = 16 << 20  # bytes of a tensor that are in memory at a time, at most

# where the scales (f16) of a block lie, in bytes; blocks of MXFP4 and NVFP4 begin with exponents instead
_SCALES = {
    "Q4_0": (0,),
    "Q8_0": (0,),
    "Q2_K": (80, 82),
    "Q3_K": (108,),
    "Q4_K": (0, 2),
    "Q5_K": (0, 2),
    "Q6_K": (208,),
    "MXFP4": (),
    "NVFP4": (),
    "IQ4_XS": (0,),
    "TQ2_0": (64,),
    "Q1_0": (0,),
}
_LARGEST = 0.1  # of floats
# The exponent of MXFP4 blocks, and the four of NVFP4 blocks (UE4M3): values of at most 6 / 64.
_EXPONENTS = {"MXFP4": (1, 127 - 6), "NVFP4": (4, 1 << 3)}


def write_random_model(
    architecture: Architecture,
    path: Path,
    types: Mapping[str, str],
    tokens: list[Token],
    *,
    kind: str,
    seed: int = 1,
    split: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write a model whose tensors have these `types` by name; the same arguments give the same bytes.

    `kind` stands in the name of the model; llama.cpp refuses a name with phi3 in it, for lack of that model's tokens.
    With `split` each of two files has half of the tensors.
    """
    weights = [(weight, types[weight.name]) for weight in architecture.weights]
    writer = gguf.GGUFWriter(path, architecture.name, split_max_tensors=-(-len(weights) // 2) if split else 0)
    add_origin(writer, kind, seed)
    for key, value in architecture.metadata.items():
        _add_value(writer, key if key.startswith("tokenizer.") else f"{architecture.name}.{key}", value)
    writer.add_block_count(len(architecture.layers))
    writer.add_context_length(architecture.context)
    add_tokenizer(writer, tokens)
    write_file(writer, weights, seed, progress)


def write_file(
    writer: gguf.GGUFWriter, weights: Sequence[tuple[Weight, str]], seed: int = 1, progress: Progress | None = None
) -> None:
    """Write the files of a writer that has all metadata, with random contents of these tensors and types."""
    for weight, dtype in weights:
        kind, size = gguf.GGMLQuantizationType[dtype], bytes_of(weight, dtype)
        writer.add_tensor_info(weight.name, weight.shape[::-1], np.dtype(np.float32), size, raw_dtype=kind)
    paths, counts = writer.format_shard_names(writer.path), [len(part) for part in writer.tensors]
    with closing(writer):
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
    total, done = sum(bytes_of(weight, dtype) for weight, dtype in weights), 0
    contents = (pieces(weight, dtype, np.random.PCG64([seed, i])) for i, (weight, dtype) in enumerate(weights))
    for path, count in zip(paths, counts, strict=True):
        for written in _append(path, islice(contents, count), writer.data_alignment):
            done += written
            if progress:
                progress(done, total)


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


def _append(path: Path, contents: Iterable[Iterator[np.ndarray]], alignment: int) -> Iterator[int]:
    """Append the contents of tensors to a file that has its header; yields the bytes of each piece."""
    waiting = 0
    with path.open("ab") as stream:
        _pad(stream, alignment)
        for tensor in contents:
            for piece in tensor:
                stream.write(piece.data)
                waiting += piece.nbytes
                if waiting >= UNWRITTEN:
                    _leave_the_page_cache(stream)
                    waiting = 0
                yield piece.nbytes
            _pad(stream, alignment)
        if stream.tell() >= UNWRITTEN:
            _leave_the_page_cache(stream)


def _pad(stream: BinaryIO, alignment: int) -> None:
    stream.write(bytes(-stream.tell() % alignment))


def _leave_the_page_cache(stream: BinaryIO) -> None:
    """Write what is in memory to the disk and drop it from the page cache, so that it displaces no other file."""
    stream.flush()
    os.fdatasync(stream.fileno())
    os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def pieces(weight: Weight, dtype: str, source: np.random.PCG64) -> Iterator[NDArray[np.generic]]:
    """The tensor's contents in the order of the file. The weight of a norm is 1.

    The size of the pieces does not change the contents: a piece ends where 8 random bytes end.
    """
    _, size = BLOCKS[dtype]
    ones = weight.component == "norm" and weight.name.endswith(".weight")
    total = bytes_of(weight, dtype) // size
    step = PIECE // size // 8 * 8
    for begin in range(0, total, step):
        n = min(step, total - begin)
        yield np.ones(n, np.float32) if ones else _blocks(dtype, n, size, source)


def _blocks(dtype: str, n: int, size: int, source: np.random.PCG64) -> NDArray[np.generic]:
    """`n` blocks of `size` bytes: small floats, or random bits with a small scale."""
    if dtype in ("F32", "F16"):
        halves = random_bytes(source, 2 * n).view(np.int16) + np.float32(0.5)  # none is 0: rope divides by some
        values = halves * np.float32(_LARGEST / 32768)
        return values.astype(np.float32 if dtype == "F32" else np.float16)
    blocks = random_bytes(source, n * size).reshape(n, size)
    n_exponents, exponent = _EXPONENTS.get(dtype, (0, 0))
    blocks[:, :n_exponents] = exponent
    for place in _SCALES[dtype]:
        blocks[:, place : place + 2] = np.array([2**-10], np.float16).view(np.uint8)
    return blocks
