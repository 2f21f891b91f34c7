"""Reads of model files that the program made itself, and what it asked the kernel to read ahead."""

from collections.abc import Sequence
from pathlib import PurePosixPath

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.readers.native.events import Events
from tracegen.readers.native.fault_table import pass_at, span_of
from tracegen.readers.native.placement_table import split_numbers, tensor_extents, tensor_of
from tracegen.readers.native.recorded import Pass, Read, Records


def read_table(
    records: Records, ordered: Sequence[Pass], events: Events, files: pd.DataFrame, tensors: pd.DataFrame
) -> pd.DataFrame:
    """One row per call, in the order in which they began; `ordered`: passes and loads by pass_id."""
    reads = sorted(records.reads, key=lambda read: read.begin_ns)
    numbers = _files(records, reads, files)
    file = np.array([numbers[read.path] for read in reads], np.int64)
    offset = np.array([read.offset for read in reads], np.int64)
    size = np.array([read.size_bytes for read in reads], np.int64)
    tensor = tensor_of(file, offset + size // 2, tensor_extents(tensors))  # direct reads begin and end at whole blocks
    sizes = dict(zip(files["file"].astype(int), files["size_bytes"].astype(int), strict=True))
    # A direct read of the last block asks for more than there is; hooks know only that it did not fail.
    ends = [sizes.get(int(number), of.offset + of.got_bytes) for number, of in zip(file, reads, strict=True)]
    got = [max(0, min(of.got_bytes, end - of.offset)) for of, end in zip(reads, ends, strict=True)]
    of_pass = pass_at(np.array([read.begin_ns for read in reads], np.int64), ordered)
    thread, node = _operations(reads, of_pass, events)
    rows = [
        dict(
            read=n,
            pass_id=int(of_pass[n]) if of_pass[n] >= 0 else None,
            thread=read.thread,
            file=int(file[n]) if file[n] >= 0 else None,
            offset=read.offset,
            size_bytes=read.size_bytes,
            got_bytes=got[n],
            tensor=int(tensor[n]) if tensor[n] >= 0 else None,
            begin_ns=read.begin_ns,
            end_ns=read.end_ns,
            call=read.call,
            direct=read.direct,
            n_calls=read.n_calls,
            pool_thread=int(thread[n]) if thread[n] >= 0 else None,
            node=int(node[n]) if node[n] >= 0 else None,
        )
        for n, read in enumerate(reads)
    ]
    return contract.frame("reads", rows)


def _operations(reads: Sequence[Read], of_pass: np.ndarray, events: Events) -> tuple[np.ndarray, np.ndarray]:
    """The number of each reading thread in its pool (-1: it took no part in the pass), and the op in which it lies."""
    times = [(read.thread, read.begin_ns, read.end_ns - read.begin_ns) for read in reads]
    rows = pd.DataFrame(times, columns=["os_thread", "begin_ns", "took_ns"], dtype="int64").assign(pass_id=of_pass)
    rows = rows.merge(events.threads, on=["pass_id", "os_thread"], how="left")
    rows["thread"] = rows["thread"].fillna(-1).astype("int64")
    span = span_of(rows, events.spans)
    node = np.append(events.spans.node, -1)[np.where(span < 0, len(events.spans.node), span)]
    return rows["thread"].to_numpy(), node


def _files(records: Records, reads: Sequence[Read], files: pd.DataFrame) -> dict[str, int]:
    """Path of a file that was read -> number of the model file, or -1.

    The process sees the target of a symbolic link, while the model may be named by the link: then the file is the one
    most of whose tensors begin inside of what was read of it.
    """
    names = dict(zip(files["path"], files["file"].astype(int), strict=True))
    found = {path: names.get(PurePosixPath(path).name, -1) for path in {read.path for read in reads}}
    begins: dict[int, list[int]] = {}
    splits = split_numbers(files)
    for weight in records.weights:
        number = splits.get((weight.load, weight.split_index), -1)
        begins.setdefault(number, []).append(weight.file_offset)
    for path in [path for path, number in found.items() if number < 0]:
        mine = sorted((read.offset, read.offset + read.size_bytes) for read in reads if read.path == path)
        begin, end = np.array(mine, np.int64).T
        for number, offsets in begins.items():
            at = np.searchsorted(begin, offsets, "right") - 1
            inside = int(((at >= 0) & (np.array(offsets) < end[at])).sum())
            if number >= 0 and 2 * inside > len(offsets):
                found[path] = number
    return found
