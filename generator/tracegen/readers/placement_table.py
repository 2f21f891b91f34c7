"""Where each tensor of a placement lay: in a file mapping, in a copy of file bytes, or in a buffer."""

from __future__ import annotations

from pathlib import PurePosixPath

import numpy as np
import pandas as pd

from tracegen import tables as contract
from tracegen.readers.recorded import NONE, Mapping, Records, Weight


def placement_table(records: Records, files: pd.DataFrame, tensors: pd.DataFrame) -> pd.DataFrame:
    """One row per tensor of each placement.

    `disk`: the address lies in a file mapping that was alive. `copied`: it lies in
    the memory llama.cpp gave to a weight that it copied. `buffer`: all else that has
    an address. An address of a file the model does not list keeps a null file.
    """
    parts = []
    for number, (graph, places, time_ns) in sorted(records.placements.items()):
        raw = records.graphs[graph][1]
        live = [m for m in records.mappings if m.begin_ns <= time_ns and (m.end_ns is None or m.end_ns > time_ns)]
        parts.append(_placement(number, graph, places, raw["size_bytes"], live, records, files, tensors))
    if not parts:
        return contract.frame("placements")
    return contract.frame(
        "placements", {name: pd.concat([part[name] for part in parts], ignore_index=True) for name in parts[0]}
    )


def _placement(
    number: int,
    graph: int,
    places: np.ndarray,
    sizes: np.ndarray,
    live: list[Mapping],
    records: Records,
    files: pd.DataFrame,
    tensors: pd.DataFrame,
) -> dict[str, pd.Series]:
    n = len(places)
    address = places["address"].astype(np.uint64)
    memory = np.full(n, None, object)
    memory[address > 0] = "buffer"
    file, offset = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    numbers = file_numbers(records, files)
    copies = [weight for weight in records.weights if not weight.mapped and weight.size_bytes and weight.address]
    at, inside = _locate(address, [(w.address, w.size_bytes) for w in copies])
    for i in np.flatnonzero(inside).tolist():
        weight = copies[at[i]]
        memory[i] = "copied"
        file[i] = _file_of_weight(weight, files)
        offset[i] = weight.file_offset + int(address[i]) - weight.address
    at, inside = _locate(address, [(m.address, m.size_bytes) for m in live])
    for i in np.flatnonzero(inside).tolist():
        mapping = live[at[i]]
        memory[i] = "disk"
        file[i] = numbers[mapping.path]
        offset[i] = mapping.file_offset + int(address[i]) - mapping.address
    buffer = places["buffer"].astype(np.int64)
    in_buffer = (memory != "disk") & (buffer != NONE) & (address > 0)
    base = np.zeros(n, np.uint64)
    for i in np.flatnonzero(in_buffer).tolist():
        base[i] = records.buffers[int(buffer[i])].address if int(buffer[i]) in records.buffers else 0
    known_base = in_buffer & (base > 0) & (address >= base)
    return {
        "placement": pd.Series(np.full(n, number)),
        "graph": pd.Series(np.full(n, graph)),
        "node": pd.Series(np.arange(n)),
        "tensor": _null_below_zero(_tensor_of(file, offset, tensors), "Int32"),
        "memory": pd.Series(memory),
        "file": _null_below_zero(file, "Int32"),
        "origin_offset": _null_below_zero(np.where(file >= 0, offset, -1), "Int64"),
        "buffer_id": _null_below_zero(np.where(in_buffer, buffer, -1), "Int32"),
        "buffer_offset": _null_below_zero(np.where(known_base, (address - base).astype(np.int64), -1), "Int64"),
        "address": pd.Series(address),
        "size_bytes": pd.Series(sizes.astype(np.int64)),
    }


def _locate(address: np.ndarray, ranges: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Index of the range that holds each address, and whether there is one. Ranges do not overlap."""
    if not ranges:
        return np.zeros(len(address), np.int64), np.zeros(len(address), bool)
    order = sorted(range(len(ranges)), key=lambda i: ranges[i][0])
    begin = np.array([ranges[i][0] for i in order], np.uint64)
    end = np.array([ranges[i][0] + ranges[i][1] for i in order], np.uint64)
    at = np.searchsorted(begin, address, side="right").astype(np.int64) - 1
    safe = np.maximum(at, 0)
    inside = (at >= 0) & (address < end[safe])
    return np.array(order)[safe], inside


def file_numbers(records: Records, files: pd.DataFrame) -> dict[str, int]:
    """Path of a mapping -> file: by the weights llama.cpp placed in it, else by name.

    The process sees the path behind a symbolic link, the model may be named by the link.
    """
    names = dict(zip(files["path"], files["file"].astype(int), strict=True))
    made = {mapping.path: names.get(PurePosixPath(mapping.path).name, -1) for mapping in records.mappings}
    mapped = [weight for weight in records.weights if weight.mapped]
    for mapping in records.mappings:
        base = mapping.address - mapping.file_offset
        end = mapping.address + mapping.size_bytes
        inside = [w for w in mapped if mapping.address <= w.address < end and w.address - w.file_offset == base]
        if inside:
            made[mapping.path] = _file_of_weight(inside[0], files)
    return made


def _file_of_weight(weight: Weight, files: pd.DataFrame) -> int:
    match = files[(files["model"] == weight.load) & (files["split_index"] == weight.split_index)]
    return int(match["file"].iloc[0]) if len(match) else -1


def _tensor_of(file: np.ndarray, offset: np.ndarray, tensors: pd.DataFrame) -> np.ndarray:
    """The model tensor that holds each (file, offset), or -1."""
    made = np.full(len(file), -1, np.int64)
    for number, group in tensors.groupby("file"):
        group = group.sort_values("offset")
        begin = group["offset"].to_numpy(np.int64)
        end = begin + group["size_bytes"].to_numpy(np.int64)
        mine = np.flatnonzero(file == number)
        at = np.searchsorted(begin, offset[mine], side="right") - 1
        ok = (at >= 0) & (offset[mine] < end[np.maximum(at, 0)])
        made[mine[ok]] = group["tensor"].to_numpy()[at[ok]]
    return made


def _null_below_zero(values: np.ndarray, dtype: str) -> pd.Series:
    made = pd.Series(pd.array(np.maximum(values, 0), dtype=dtype))
    made[values < 0] = pd.NA
    return made
