"""What devices did in each load and pass, which pages of each file lay in memory, and how much memory was used."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.arrays import nullable
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.placement_table import file_numbers
from tracegen.readers.native.recorded import Mapping, Nodes, Records


def device_table(records: Records) -> pd.DataFrame:
    """One row per load or pass and device."""
    rows = [{"pass_id": of.pass_id, "device": name, **row} for (of, name), row in records.devices.items()]
    return contract.frame("device", sorted(rows, key=lambda row: (row["pass_id"], row["device"])))


def cache_table(records: Records, files: pd.DataFrame) -> pd.DataFrame:
    """One row per load or pass and model file; a file that no model lists is left out.

    Copies of a model file that are mapped at the same time are summed up.
    """
    numbers = file_numbers(records, files)
    rows = pd.DataFrame(
        [
            {"pass_id": of.pass_id, "file": numbers[path], **row}
            for of, path, row in records.caches
            if numbers[path] >= 0
        ]
    )
    if rows.empty:
        return contract.frame("cache")
    sums = rows.groupby(["pass_id", "file"], as_index=False).sum()
    return contract.frame("cache", {name: sums[name] for name in sums.columns})


def memory_table(records: Records) -> pd.DataFrame:
    """One row per load or pass and kind of memory."""
    held = sorted((of.pass_id, kind, size) for (of, kind), size in records.memory.items())
    return contract.frame("memory", [dict(pass_id=of, kind=kind, resident_bytes=size) for of, kind, size in held])


def footprint_table(records: Records) -> pd.DataFrame:
    """One row per sample of the process's memory and part of it."""
    rows = [
        dict(
            sample=n,
            part=part,
            time_ns=of.end_ns,
            took_ns=of.end_ns - of.begin_ns,
            occasion=of.occasion,
            pass_id=None if of.of is None else of.of.pass_id,
            kind=kind,
            buffer_id=number if kind == "buffer" else None,
            saved=number if kind == "saved" else None,
            resident_bytes=size,
        )
        for n, of in enumerate(records.footprints)
        for part, (kind, number, size) in enumerate(of.parts)
    ]
    return contract.frame("footprint", rows)


def allocation_table(records: Records) -> pd.DataFrame:
    """One row per sample of the process's memory and size class, or calls.

    Calls from several places of the same functions are summed up: of a function with a name its place is not recorded.
    """
    rows = []
    for of in records.allocated:
        each: list[dict[str, object]] = [
            dict(kind="size", size_class=bits, n_live=n, live_bytes=size) for bits, n, size in of.classes
        ]
        sums: dict[str, list[int]] = {}
        for calls, *counts in of.sites:
            sums[calls] = [a + b for a, b in zip(sums.get(calls, [0, 0, 0]), counts, strict=True)]
        ordered = sorted(sums.items(), key=lambda item: -item[1][1])
        each += [dict(kind="calls", calls=text, n_live=n, live_bytes=b, n_all=a) for text, (n, b, a) in ordered]
        rows += [dict(row, sample=of.sample, part=part) for part, row in enumerate(each)]
    return contract.frame("allocations", rows)


def node_table(records: Records, files: pd.DataFrame) -> pd.DataFrame:
    """One row per stretch of a file or buffer and NUMA node with pages of it; stretches without pages are left out.

    Mappings of files that no model lists are left out. Raises TraceFormatError as `residency_table` does.
    """
    numbers = file_numbers(records, files)
    found = []
    for noted in records.nodes:
        mapping = _mapping_at(records.mappings, noted.address, noted.time_ns) if noted.buffer is None else None
        file = None if mapping is None else numbers[mapping.path]
        if file is None or file >= 0:
            found.append(_stretches(noted, mapping, file))
    if not found:
        return contract.frame("nodes")
    rows = pd.concat(found, ignore_index=True).sort_values("pass_id", kind="stable", ignore_index=True)
    rows = rows.assign(part=rows.groupby("pass_id").cumcount())
    return contract.frame("nodes", {name: rows[name] for name in rows.columns})


def _stretches(noted: Nodes, mapping: Mapping | None, file: int | None) -> pd.DataFrame:
    """The rows of a record, in order of place, then node."""
    ends = np.minimum(np.cumsum(noted.runs[:, 0]) * noted.granule_bytes, noted.size_bytes)
    begins = np.concatenate([[0], ends[:-1]])
    shift = 0 if mapping is None else mapping.file_offset + noted.address - mapping.address
    run, node = np.nonzero(noted.runs[:, 1:])
    held = noted.runs[run, 0] * noted.runs[run, 1 + node] * noted.page_bytes
    size = (ends - begins)[run]
    return pd.DataFrame(
        {
            "pass_id": noted.of.pass_id,
            "file": nullable(np.full(len(run), -1 if file is None else file)),
            "buffer_id": nullable(np.full(len(run), -1 if noted.buffer is None else noted.buffer)),
            "offset": begins[run] + shift,
            "size_bytes": size,
            "node": node,
            "resident_bytes": np.minimum(held, size),
        }
    )


def residency_table(records: Records, files: pd.DataFrame) -> pd.DataFrame:
    """One row per run of pages in memory; adjacent runs of one file are joined across its mappings.

    Pages are numbered from the start of the file. Mappings of files that no model lists are left out.
    Raises TraceFormatError when no file was mapped at the address of the pages.
    """
    numbers = file_numbers(records, files)
    runs_of: dict[tuple[int, int], list[np.ndarray]] = {}
    for noted in records.residency:
        mapping = _mapping_at(records.mappings, noted.address, noted.time_ns)
        file = numbers[mapping.path]
        key = (noted.of.pass_id, file)
        offset = mapping.file_offset + noted.address - mapping.address
        if file >= 0:
            runs_of.setdefault(key, []).append(np.add(noted.runs, (offset // noted.page_bytes, 0)))
    rows: dict[str, list[np.ndarray]] = {name: [] for name in ("pass_id", "file", "first_page", "n_pages")}
    for (pass_id, file), parts in sorted(runs_of.items()):
        first, n = _joined_runs(np.concatenate(parts))
        for name, column in zip(rows, (np.full(len(first), pass_id), np.full(len(first), file), first, n), strict=True):
            rows[name].append(column)
    none = np.zeros(0, np.int64)
    return contract.frame("residency", {name: np.concatenate([none, *columns]) for name, columns in rows.items()})


def _mapping_at(mappings: Sequence[Mapping], address: int, time_ns: int) -> Mapping:
    for mapping in mappings:
        alive = mapping.begin_ns <= time_ns and (mapping.end_ns is None or mapping.end_ns > time_ns)
        if alive and mapping.address <= address < mapping.address + mapping.size_bytes:
            return mapping
    raise TraceFormatError(
        f"the trace lists pages at address {address:#x}, where no file was mapped; the trace was changed"
    )


def _joined_runs(runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First page and number of pages of each run, by first page; runs that touch or overlap are joined."""
    if not len(runs):
        return runs[:, 0], runs[:, 1]
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    first, end = runs[:, 0], np.maximum.accumulate(runs.sum(axis=1))
    new = np.concatenate([[True], first[1:] > end[:-1]])
    begins = first[new]
    return begins, np.maximum.reduceat(end, np.flatnonzero(new)) - begins
