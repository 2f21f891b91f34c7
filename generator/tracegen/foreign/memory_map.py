"""Lists of the tensors of a model whose file is gone: CSV of gguf-dump, and memory-map.json.

    tensor_name,file_offset,size_bytes,layer_id,component_type,n_dims,dim0,dim1,dim2,dim3

Older lists count offsets from the data section, and their sizes are those of unpacked numbers, so that tensors overlap.
Newer ones list each expert of a stack in a row of its own, NAME[0], NAME[1], …
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from tracegen.contract.errors import TraceFormatError
from tracegen.contract.ggml_types import BLOCKS
from tracegen.foreign.json_text import is_whole

HEADER = ("tensor_name", "file_offset", "size_bytes", "layer_id", "component_type", "n_dims")
FREE_LINES = 5  # lines that may stand before the header
ALIGNMENT = 32  # GGUF's default distance of the starts of tensors
_EXPERT = re.compile(r"(?P<stack>.+)\[(?P<expert>[0-9]{1,6})\]")
_LARGEST = 1 << 62


@dataclass(frozen=True)
class MapTensor:
    """A tensor of the list: where it begins, its size in bytes, its shape (ggml's order; empty: unknown), experts."""

    name: str
    offset: int
    size_bytes: int
    shape: tuple[int, ...]
    n_experts: int | None = None
    dtype: str | None = None

    @property
    def end(self) -> int:
        """The byte behind the last one."""
        return self.offset + self.size_bytes


@dataclass(frozen=True)
class MemoryMap:
    """The tensors by offset. `n_inflated`: sizes that reached into the next tensor and were cut to what fits."""

    model: str
    tensors: tuple[MapTensor, ...]
    size_bytes: int
    n_inflated: int


def looks_like_csv(head: bytes) -> bool:
    """Whether a file that begins with `head` is such a CSV: its header is one of the first lines."""
    lines = head[:4096].decode("utf-8", "replace").splitlines()[: FREE_LINES + 1]
    return any(line.startswith("tensor_name,file_offset,size_bytes") for line in lines)


def read_csv(name: str, data: bytes) -> MemoryMap:
    """Read the CSV of gguf-dump. Raises TraceFormatError with file and line."""
    lines = data.decode("utf-8", "replace").splitlines()
    first = next((i for i, line in enumerate(lines[: FREE_LINES + 1]) if line.startswith("tensor_name,")), None)
    if first is None:
        raise TraceFormatError(f"{name}: expected the header {','.join(HEADER)} in the first lines; found none")
    tensors = []
    for number, row in enumerate(csv.reader(io.StringIO("\n".join(lines[first + 1 :]))), first + 2):
        if not row:
            continue
        if len(row) < len(HEADER):
            raise TraceFormatError(f"{name}: line {number}: expected {len(HEADER)} or more values, found {len(row)}")
        shape = [_whole(text, name, number) for text in row[6:10]]
        tensors.append(MapTensor(row[0], _whole(row[1], name, number), _whole(row[2], name, number), _shape(shape)))
    return _map(name, "", tensors, None)


def read_json_map(name: str, document: dict[str, Any]) -> MemoryMap:
    """Read memory-map.json. Raises TraceFormatError."""
    listed = document.get("tensors")
    if not isinstance(listed, list):
        raise TraceFormatError(f"{name}: expected a list `tensors`, found {type(listed).__name__}")
    tensors = []
    for number, row in enumerate(listed):
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            raise TraceFormatError(f"{name}: tensor {number}: expected an object with a name")
        values = [row.get(key) for key in ("offset_start", "size_bytes")]
        shape = row.get("shape", [])
        whole = [*values, *(shape if isinstance(shape, list) else [None])]
        if not all(is_whole(value, _LARGEST) for value in whole):
            raise TraceFormatError(f"{name}: tensor {number}: expected whole numbers for place, size and shape")
        tensors.append(MapTensor(row["name"], int(whole[0]), int(whole[1]), _shape(whole[2:])))
    total = document.get("total_size_bytes")
    return _map(name, str(document.get("model_name", "")), tensors, total if is_whole(total, _LARGEST) else None)


def _whole(text: str, name: str, line: int) -> int:
    if not text.strip().isdecimal() or not text.isascii() or int(text) >= _LARGEST:
        raise TraceFormatError(f"{name}: line {line}: expected a whole number, found {text[:40]!r}")
    return int(text)


def _shape(sizes: Sequence[Any]) -> tuple[int, ...]:
    return tuple(int(n) for n in sizes if n)


def _map(name: str, model: str, tensors: Iterable[MapTensor], size: int | None) -> MemoryMap:
    ordered = sorted(_stacked(tensors), key=lambda tensor: (tensor.offset, tensor.size_bytes))
    if not ordered:
        raise TraceFormatError(f"{name}: lists no tensor")
    names = {tensor.name for tensor in ordered}
    if len(names) < len(ordered):
        raise TraceFormatError(f"{name}: lists a tensor twice; {len(ordered)} rows have {len(names)} names")
    fitted, n_inflated = [], 0
    for tensor, after in zip(ordered, [*ordered[1:], None], strict=True):
        if after is not None and tensor.end > after.offset:
            tensor, n_inflated = _fitted(tensor, after.offset - tensor.offset), n_inflated + 1
        fitted.append(tensor)
    if n_inflated:  # the last one has no neighbour that shows its size
        fitted[-1] = replace(fitted[-1], size_bytes=_fitted(fitted[-1], fitted[-1].size_bytes).size_bytes)
    return MemoryMap(model, tuple(fitted), max(size or 0, fitted[-1].end), n_inflated)


def _fitted(tensor: MapTensor, room: int) -> MapTensor:
    """The tensor with the size that its shape has in a type that fills `room` up to the alignment; else all of it."""
    n = prod(tensor.shape) if tensor.shape else 0
    row = tensor.shape[0] if tensor.shape else 1
    sizes = {n // block * size for block, size in BLOCKS.values() if row % block == 0}
    fitting = {size for size in sizes if room - ALIGNMENT < size <= room}
    return replace(tensor, size_bytes=fitting.pop() if len(fitting) == 1 else room)


def _stacked(tensors: Iterable[MapTensor]) -> list[MapTensor]:
    """The tensors, with the experts of a stack as the one tensor that they are in the file."""
    whole: list[MapTensor] = []
    stacks: dict[str, list[MapTensor]] = {}
    for tensor in tensors:
        match = _EXPERT.fullmatch(tensor.name)
        if match is None:
            whole.append(tensor)
        else:
            stacks.setdefault(match["stack"], []).append(tensor)
    for name, experts in stacks.items():
        experts.sort(key=lambda tensor: tensor.offset)
        size = sum(tensor.size_bytes for tensor in experts)
        whole.append(MapTensor(name, experts[0].offset, size, (*experts[0].shape, len(experts)), len(experts)))
    return whole


def is_map(document: object) -> bool:
    """Whether a JSON document is a memory map."""
    return isinstance(document, dict) and "tensors" in document and "total_size_bytes" in document
