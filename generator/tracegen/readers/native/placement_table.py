"""The table `placements`: whether each tensor lay in a file mapping, in a copy of file bytes, or in a buffer.

Weights that an attached tracer saw in memory have their place in the model file by their names.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.arrays import nullable
from tracegen.readers.native.recorded import BUFFER_USAGES, NONE, Records, Weight

_WEIGHTS = BUFFER_USAGES.index("weights")
_ADDRESSES = 1 << 64
_NULLABLE: Mapping[str, type[np.generic]] = {
    "tensor": np.int32,
    "file": np.int32,
    "origin_offset": np.int64,
    "buffer_id": np.int32,
    "buffer_offset": np.int64,
}


def placement_table(records: Records, files: pd.DataFrame, tensors: pd.DataFrame) -> pd.DataFrame:
    """One row per tensor of each placement.

    Its memory is `disk` when the address lies in a file mapping that was alive, `copied` when it lies in a copy of a
    weight that llama.cpp made, `buffer` for any other address, and null without an address. `file` is null when no
    model lists the mapped file. An address says something only together with its buffer: those of other devices may be
    made up, or of another process, and be the same in several buffers.
    """
    parts = []
    common = _common(records, files, tensors)
    live_at: dict[tuple[int, ...], _Ranges] = {}
    for number, (graph, places, time_ns) in sorted(records.placements.items()):
        live = tuple(
            i
            for i, m in enumerate(records.mappings)
            if m.begin_ns <= time_ns and (m.end_ns is None or m.end_ns > time_ns)
        )
        if live not in live_at:
            live_at[live] = _ranges([(m.address, m.size_bytes) for m in (records.mappings[i] for i in live)])
        sizes = records.graphs[graph][1]["size_bytes"]
        parts.append(_placement(number, graph, places, sizes, np.array(live, np.int64), live_at[live], common))
    if not parts:
        return contract.frame("placements")
    models = _models_of_placements(records, {row["context"]: row["model"] for row in records.contexts})
    for part in parts:
        if (model := models.get(int(part["placement"][0]) if len(part["placement"]) else -1)) is not None:
            _name_copies(part, records, tensors[tensors["file"].isin(files.loc[files["model"] == model, "file"])])
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return contract.frame("placements", columns | {name: nullable(columns[name], of) for name, of in _NULLABLE.items()})


Extents = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class _Ranges:
    """Address ranges that do not overlap, sorted by begin; `order` holds the index of each in the list it came from."""

    order: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    def holding(self, address: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The indexes of the addresses that lie in a range, and for each of them the index of its range in the list."""
        if not len(self.order):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        at = np.searchsorted(self.begin, address, side="right") - 1
        inside = np.flatnonzero((at >= 0) & (address < self.end[np.maximum(at, 0)]))
        return inside, self.order[at[inside]]


def _ranges(ranges: list[tuple[int, int]]) -> _Ranges:
    """The ranges with these addresses and sizes."""
    order = np.array(sorted(range(len(ranges)), key=lambda i: ranges[i][0]), np.int64)
    begin = np.array([ranges[i][0] for i in order.tolist()], np.uint64)
    return _Ranges(order, begin, begin + np.array([ranges[i][1] for i in order.tolist()], np.uint64))


@dataclass(frozen=True)
class _Common:
    """What is the same for all placements.

    `copied` are the address ranges of copied weights by the number of their buffer, each with the numbers of the
    weights; at NONE, of those whose buffer is not known: they may lie in any that `copied` does not have. `mapped` are
    the buffers in file mappings; None: not known, it may be any. `copied_file` and `mapping_file` hold the file of each
    copied weight or mapping (-1: a file of no model), `copied_apart` and `mapping_apart` its address minus its file
    offset (modulo 2**64). `buffer_base` maps buffer numbers to addresses (0: not recorded), `tensors` maps files to
    begin, end and number of their tensors, sorted by begin.
    """

    copied: Mapping[int, tuple[_Ranges, np.ndarray]]
    mapped: frozenset[int] | None
    copied_file: np.ndarray
    copied_apart: np.ndarray
    mapping_file: np.ndarray
    mapping_apart: np.ndarray
    buffer_base: Mapping[int, int]
    tensors: Mapping[int, Extents]


def _common(records: Records, files: pd.DataFrame, tensors: pd.DataFrame) -> _Common:
    copies = [weight for weight in records.weights if not weight.mapped and weight.size_bytes and weight.address]
    mapped = {weight.buffer for weight in records.weights if weight.mapped}
    splits, numbers = split_numbers(files), file_numbers(records, files)
    return _Common(
        copied={number: _copied(copies, number) for number in {weight.buffer for weight in copies}},
        mapped=None if not mapped or NONE in mapped else frozenset(mapped),
        copied_file=np.array([splits.get((w.load, w.split_index), -1) for w in copies], np.int64),
        copied_apart=np.array([(w.address - w.file_offset) % _ADDRESSES for w in copies], np.uint64),
        mapping_file=np.array([numbers[m.path] for m in records.mappings], np.int64),
        mapping_apart=np.array([(m.address - m.file_offset) % _ADDRESSES for m in records.mappings], np.uint64),
        buffer_base={number: buffer.address for number, buffer in records.buffers.items()},
        tensors=tensor_extents(tensors),
    )


def _copied(copies: Sequence[Weight], buffer: int) -> tuple[_Ranges, np.ndarray]:
    numbers = [i for i, weight in enumerate(copies) if weight.buffer == buffer]
    return _ranges([(copies[i].address, copies[i].size_bytes) for i in numbers]), np.array(numbers, np.int64)


def tensor_extents(tensors: pd.DataFrame) -> dict[int, Extents]:
    """Begin, end and number of the tensors of each file, in order of their begin."""
    by_offset = tensors.sort_values("offset", kind="stable").groupby("file")
    return {int(str(number)): _extents(group) for number, group in by_offset}


def _extents(tensors: pd.DataFrame) -> Extents:
    begin, size, number = (tensors[name].to_numpy(np.int64) for name in ("offset", "size_bytes", "tensor"))
    return begin, begin + size, number


def _placement(
    number: int, graph: int, places: np.ndarray, sizes: np.ndarray, live: np.ndarray, mapped: _Ranges, common: _Common
) -> dict[str, np.ndarray]:
    """The columns of one placement, -1 for null. `mapped`: the ranges of the mappings whose numbers are in `live`."""
    n = len(places)
    address = places["address"].astype(np.uint64)
    memory = np.full(n, None, object)
    memory[address > 0] = "buffer"
    file, offset = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    buffer = places["buffer"].astype(np.int64)
    for held, (ranges, weights) in common.copied.items():
        there = buffer == held if held != NONE else ~np.isin(buffer, [of for of in common.copied if of != NONE])
        rows = np.flatnonzero(there)
        inside, at = ranges.holding(address[rows])
        inside, weight = rows[inside], weights[at]
        memory[inside], file[inside] = "copied", common.copied_file[weight]
        offset[inside] = (address[inside] - common.copied_apart[weight]).astype(np.int64)
    rows = np.arange(n)
    if common.mapped is not None:
        rows = np.flatnonzero((buffer == NONE) | np.isin(buffer, list(common.mapped)))
    inside, at = mapped.holding(address[rows])
    inside, mapping = rows[inside], live[at]
    memory[inside], file[inside] = "disk", common.mapping_file[mapping]
    offset[inside] = (address[inside] - common.mapping_apart[mapping]).astype(np.int64)
    in_buffer = (memory != "disk") & (buffer != NONE) & (address > 0)
    base = np.zeros(n, np.uint64)
    base[in_buffer] = [common.buffer_base.get(buffer_number, 0) for buffer_number in buffer[in_buffer].tolist()]
    known_base = in_buffer & (base > 0) & (address >= base)
    return {
        "placement": np.full(n, number),
        "graph": np.full(n, graph),
        "node": np.arange(n),
        "tensor": tensor_of(file, offset, common.tensors),
        "memory": memory,
        "file": file,
        "origin_offset": np.where(file >= 0, offset, -1),
        "buffer_id": np.where(in_buffer, buffer, -1),
        "buffer_offset": np.where(known_base, (address - base).astype(np.int64), -1),
        "address": address,
        "size_bytes": sizes.astype(np.int64),
    }


def _name_copies(part: dict[str, np.ndarray], records: Records, tensors: pd.DataFrame) -> None:
    """Say of copies that llama.cpp made of weights after the load which tensor they are of, by their names.

    The scheduler names a copy for another backend `BACKEND#NAME#N`, and the cache of experts names the view of its
    slots that stands for a tensor `moe_cache.NAME`; any of its experts may lie there, whatever the number of slots.
    """
    raw = records.graphs[int(part["graph"][0])][1]["name"]
    in_buffer = np.flatnonzero((part["memory"] == "buffer") & (part["tensor"] < 0))
    names = {i: copied_name(records.text(int(raw[i]))) for i in in_buffer.tolist()}
    known = tensors.set_index("name")[["tensor", "file", "offset", "size_bytes"]]
    for i, name in names.items():
        if name is not None and name in known.index:
            part["memory"][i] = "copied"
            columns = ("tensor", "file", "origin_offset", "size_bytes")
            for column, value in zip(columns, known.loc[name], strict=True):
                part[column][i] = value


_COPY = re.compile(r"(?:[^#]+#([^#]+)#\d+|moe_cache\.(?!\d+\.)(.+))")


def copied_name(name: str) -> str | None:
    """The name of the tensor of which a tensor with this name is a copy; None: it is none."""
    found = _COPY.fullmatch(name)
    return found and (found[1] or found[2])


def file_numbers(records: Records, files: pd.DataFrame) -> dict[str, int]:
    """Path of a mapping -> number of the model file, or -1.

    The weights that llama.cpp placed in the mapping decide, else the file name. Names alone are not enough: the
    process sees the target of a symbolic link, while the model may be named by the link.
    """
    names = dict(zip(files["path"], files["file"].astype(int), strict=True))
    numbers = {mapping.path: names.get(PurePosixPath(mapping.path).name, -1) for mapping in records.mappings}
    mapped, splits = [weight for weight in records.weights if weight.mapped], split_numbers(files)
    for mapping in records.mappings:
        base = mapping.address - mapping.file_offset
        end = mapping.address + mapping.size_bytes
        inside = [w for w in mapped if mapping.address <= w.address < end and w.address - w.file_offset == base]
        if inside:
            numbers[mapping.path] = splits.get((inside[0].load, inside[0].split_index), -1)
    return numbers


def split_numbers(files: pd.DataFrame) -> dict[tuple[int, int], int]:
    """(Model, split_index) -> number of the file."""
    keys = zip(files["model"].tolist(), files["split_index"].tolist(), strict=True)
    return dict(zip(keys, files["file"].tolist(), strict=True))


def tensor_of(file: np.ndarray, offset: np.ndarray, extents: Mapping[int, Extents]) -> np.ndarray:
    """The number of the model tensor that holds each (file, offset), or -1; `extents`: see `tensor_extents`."""
    tensors = np.full(len(file), -1, np.int64)
    for number, (begin, end, tensor) in extents.items():
        mine = np.flatnonzero(file == number)
        at = np.searchsorted(begin, offset[mine], side="right") - 1
        ok = (at >= 0) & (offset[mine] < end[np.maximum(at, 0)])
        tensors[mine[ok]] = tensor[at[ok]]
    return tensors


def named_weights(records: Records, files: pd.DataFrame, tensors: pd.DataFrame) -> list[Weight]:
    """The weights that graphs read from buffers of weights and that no weight record places, each once.

    When llama.cpp reads a file into memory, ggml does not learn the file offset. The tensor's name, looked up in the
    model of the context, gives it. A tensor whose name or size the model lacks is left out: nothing is guessed.
    """
    where = tensors.merge(files[["file", "model", "split_index"]], on="file")
    known = {
        (model, name): (split, offset, size)
        for model, name, split, offset, size in zip(
            *(where[column].tolist() for column in ("model", "name", "split_index", "offset", "size_bytes")),
            strict=True,
        )
    }
    placed = {(weight.buffer, weight.address) for weight in records.weights}
    somewhere = {address for buffer, address in placed if buffer == NONE}
    model_of = {row["context"]: row["model"] for row in records.contexts}
    weights: dict[tuple[int, int], Weight] = {}
    for placement, model in _models_of_placements(records, model_of).items():
        graph, places, _ = records.placements[placement]
        n_nodes, raw = records.graphs[graph]
        for at in range(n_nodes, len(places)):
            address, size = int(places["address"][at]), int(raw["size_bytes"][at])
            split, offset, expected = known.get((model, records.text(int(raw["name"][at]))), (0, 0, -1))
            buffer = int(places["buffer"][at])
            in_weights = buffer != NONE and records.buffers[buffer].usage == _WEIGHTS
            known_place = (buffer, address) in placed or address in somewhere
            if expected == size and not known_place and in_weights:
                name = records.text(int(raw["name"][at]))
                weights[buffer, address] = Weight(model, name, split, False, offset, size, address, buffer)
    return list(weights.values())


def _models_of_placements(records: Records, model_of: dict[int, int]) -> dict[int, int]:
    models = {}
    for p in records.passes.values():
        if p.placement is not None and p.context in model_of:
            models[p.placement] = model_of[p.context]
    return models
