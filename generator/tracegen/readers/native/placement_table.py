"""Where each tensor of a placement lay: in a file mapping, in a copy of file bytes, or in a buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from tracegen import tables as contract
from tracegen.readers.native.recorded import NONE, Records

_ADDRESSES = 1 << 64


def placement_table(records: Records, files: pd.DataFrame, tensors: pd.DataFrame) -> pd.DataFrame:
    """One row per tensor of each placement.

    `disk`: the address lies in a file mapping that was alive. `copied`: it lies in
    the memory llama.cpp gave to a weight that it copied. `buffer`: all else that has
    an address. An address of a file the model does not list keeps a null file.
    """
    parts = []
    known = _known(records, files, tensors)
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
        parts.append(_placement(number, graph, places, sizes, np.array(live, np.int64), live_at[live], known))
    if not parts:
        return contract.frame("placements")
    return contract.frame("placements", {name: _joined([part[name] for part in parts]) for name in parts[0]})


def _joined(parts: list[Any]) -> Any:
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else pd.concat(parts, ignore_index=True)


@dataclass(frozen=True)
class _Ranges:
    """Ranges of addresses that do not overlap, by their begin; `order` leads to their places in what they came from."""

    order: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    def holding(self, address: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which addresses lie in a range, and in which each of them does."""
        if not len(self.order):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        at = np.searchsorted(self.begin, address, side="right") - 1
        inside = np.flatnonzero((at >= 0) & (address < self.end[np.maximum(at, 0)]))
        return inside, self.order[at[inside]]


def _ranges(found: list[tuple[int, int]]) -> _Ranges:
    """From address and size of each."""
    order = np.array(sorted(range(len(found)), key=lambda i: found[i][0]), np.int64)
    begin = np.array([found[i][0] for i in order.tolist()], np.uint64)
    return _Ranges(order, begin, begin + np.array([found[i][1] for i in order.tolist()], np.uint64))


@dataclass(frozen=True)
class _Known:
    """What is the same for all placements.

    Of each copied weight and of each mapping: its file (-1: of no model), and how far an address in it lies from its
    offset in that file (modulo 2**64, as addresses count). Of each buffer its base address (0: not recorded), of each
    file begin, end and number of its tensors, by offset.
    """

    copied: _Ranges
    copied_file: np.ndarray
    copied_apart: np.ndarray
    mapping_file: np.ndarray
    mapping_apart: np.ndarray
    buffer_base: Mapping[int, int]
    tensors: Mapping[int, tuple[np.ndarray, np.ndarray, np.ndarray]]


def _known(records: Records, files: pd.DataFrame, tensors: pd.DataFrame) -> _Known:
    copies = [weight for weight in records.weights if not weight.mapped and weight.size_bytes and weight.address]
    splits, numbers = _splits(files), file_numbers(records, files)
    by_offset = tensors.sort_values("offset").groupby("file")
    return _Known(
        copied=_ranges([(w.address, w.size_bytes) for w in copies]),
        copied_file=np.array([splits.get((w.load, w.split_index), -1) for w in copies], np.int64),
        copied_apart=np.array([(w.address - w.file_offset) % _ADDRESSES for w in copies], np.uint64),
        mapping_file=np.array([numbers[m.path] for m in records.mappings], np.int64),
        mapping_apart=np.array([(m.address - m.file_offset) % _ADDRESSES for m in records.mappings], np.uint64),
        buffer_base={number: buffer.address for number, buffer in records.buffers.items()},
        tensors={int(str(number)): _extents(group) for number, group in by_offset},
    )


def _extents(tensors: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    begin, size, number = (tensors[name].to_numpy(np.int64) for name in ("offset", "size_bytes", "tensor"))
    return begin, begin + size, number


def _placement(
    number: int, graph: int, places: np.ndarray, sizes: np.ndarray, live: np.ndarray, mapped: _Ranges, known: _Known
) -> dict[str, Any]:
    """The columns of one placement; `live` are the numbers of the mappings that `mapped` has the ranges of."""
    n = len(places)
    address = places["address"].astype(np.uint64)
    memory = np.full(n, None, object)
    memory[address > 0] = "buffer"
    file, offset = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    inside, weight = known.copied.holding(address)
    memory[inside], file[inside] = "copied", known.copied_file[weight]
    offset[inside] = (address[inside] - known.copied_apart[weight]).astype(np.int64)
    inside, at = mapped.holding(address)
    mapping = live[at]
    memory[inside], file[inside] = "disk", known.mapping_file[mapping]
    offset[inside] = (address[inside] - known.mapping_apart[mapping]).astype(np.int64)
    buffer = places["buffer"].astype(np.int64)
    in_buffer = (memory != "disk") & (buffer != NONE) & (address > 0)
    base = np.zeros(n, np.uint64)
    base[in_buffer] = [known.buffer_base.get(one, 0) for one in buffer[in_buffer].tolist()]
    known_base = in_buffer & (base > 0) & (address >= base)
    return {
        "placement": np.full(n, number),
        "graph": np.full(n, graph),
        "node": np.arange(n),
        "tensor": _null_below_zero(_tensor_of(file, offset, known), "Int32"),
        "memory": memory,
        "file": _null_below_zero(file, "Int32"),
        "origin_offset": _null_below_zero(np.where(file >= 0, offset, -1), "Int64"),
        "buffer_id": _null_below_zero(np.where(in_buffer, buffer, -1), "Int32"),
        "buffer_offset": _null_below_zero(np.where(known_base, (address - base).astype(np.int64), -1), "Int64"),
        "address": address,
        "size_bytes": sizes.astype(np.int64),
    }


def file_numbers(records: Records, files: pd.DataFrame) -> dict[str, int]:
    """Path of a mapping -> file: by the weights llama.cpp placed in it, else by name.

    The process sees the path behind a symbolic link, the model may be named by the link.
    """
    names = dict(zip(files["path"], files["file"].astype(int), strict=True))
    made = {mapping.path: names.get(PurePosixPath(mapping.path).name, -1) for mapping in records.mappings}
    mapped, splits = [weight for weight in records.weights if weight.mapped], _splits(files)
    for mapping in records.mappings:
        base = mapping.address - mapping.file_offset
        end = mapping.address + mapping.size_bytes
        inside = [w for w in mapped if mapping.address <= w.address < end and w.address - w.file_offset == base]
        if inside:
            made[mapping.path] = splits.get((inside[0].load, inside[0].split_index), -1)
    return made


def _splits(files: pd.DataFrame) -> dict[tuple[int, int], int]:
    """Model and place among its splits -> file."""
    keys = zip(files["model"].tolist(), files["split_index"].tolist(), strict=True)
    return dict(zip(keys, files["file"].tolist(), strict=True))


def _tensor_of(file: np.ndarray, offset: np.ndarray, known: _Known) -> np.ndarray:
    """The model tensor that holds each (file, offset), or -1."""
    made = np.full(len(file), -1, np.int64)
    for number, (begin, end, tensor) in known.tensors.items():
        mine = np.flatnonzero(file == number)
        at = np.searchsorted(begin, offset[mine], side="right") - 1
        ok = (at >= 0) & (offset[mine] < end[np.maximum(at, 0)])
        made[mine[ok]] = tensor[at[ok]]
    return made


def _null_below_zero(values: np.ndarray, dtype: str) -> pd.Series:
    made = pd.Series(pd.array(np.maximum(values, 0), dtype=dtype))
    made[values < 0] = pd.NA
    return made
