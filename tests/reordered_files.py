"""GGUF files with random contents, what the gguf package reads of them, and the order `layer`, written by hand."""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import gguf

from tests.readers import gguf_bytes as made
from tracegen.cli.main import main

Entry = tuple[str, tuple[int, ...], str]  # name, shape, type


def gguf_file(
    entries: Sequence[Entry], pairs: Iterable[bytes] = (), alignment: int = 32, version: int = 3, tail: bytes = b""
) -> bytes:
    """A file with random contents in the order of `entries`."""
    given_alignment = [made.u32("general.alignment", alignment)] if alignment != 32 else []
    infos, data, source = [], b"", random.Random(repr(entries))
    for name, shape, dtype in entries:
        kind = gguf.GGMLQuantizationType[dtype]
        block, block_bytes = gguf.GGML_QUANT_SIZES[kind]
        n = 1
        for size in shape:
            n *= size
        infos.append(made.tensor(name, shape, int(kind), len(data)))
        data = made.padded(data + source.randbytes(n // block * block_bytes), alignment)
    head = made.header([*given_alignment, *pairs], infos, version=version)
    return made.padded(head, alignment) + data + tail


def contents(path: Path) -> dict[str, Any]:
    """Tensors (type, shape, bytes) and key-values (types, bytes) as the gguf package reads them, by name."""
    reader = gguf.GGUFReader(path)
    whole = path.read_bytes()
    tensors = {}
    for t in reader.tensors:
        assert t.data_offset % reader.alignment == 0
        assert t.data.tobytes() == whole[t.data_offset : t.data_offset + t.n_bytes]
        tensors[t.name] = (t.tensor_type, t.shape.tolist(), t.data.tobytes())
    fields = {name: (field.types, [part.tobytes() for part in field.parts]) for name, field in reader.fields.items()}
    return {"tensors": tensors, "fields": fields, "keys": list(reader.fields)}


def but_name(path: Path) -> dict[str, Any]:
    """`contents` without the name of the model."""
    all_of = contents(path)
    fields = {key: value for key, value in all_of["fields"].items() if key != "general.name"}
    return {**all_of, "fields": fields}


def in_order(path: Path) -> list[str]:
    """The names of tensors by offset; the list in the header must have the same order, and no gaps in the data."""
    reader = gguf.GGUFReader(path)
    offsets = [int(t.data_offset) for t in reader.tensors]
    assert offsets == sorted(offsets) and offsets[0] == reader.data_offset
    end = int(reader.data_offset)
    for t in reader.tensors:
        assert t.data_offset == end, "llama.cpp refuses tensors that do not follow each other"
        end += -(-int(t.n_bytes) // int(reader.alignment)) * int(reader.alignment)
    assert path.stat().st_size == end
    return [t.name for t in reader.tensors]


def by_layer(names: Sequence[str]) -> list[str]:
    """The order `layer`, written by hand."""
    embedding = [name for name in names if name.startswith("token_embd")]
    blocks = [[name for name in names if name.startswith(f"blk.{n}.")] for n in range(12)]
    rest = [name for name in names if not name.startswith(("token_embd", "blk."))]
    return [*embedding, *(name for block in blocks for name in block), *rest]


def reorder(*words: str | Path) -> int:
    return main(["reorder", *map(str, words)])
