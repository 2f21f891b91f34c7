"""Keeps the files of a foreign trace in its run, compressed: raw/source/NAME.zst."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tracegen.contract.errors import StoreError, os_errors
from tracegen.foreign.folder import Found
from tracegen.foreign.source import SourceFile, opened
from tracegen.storing.store import for_arrow, part_folder

PIECE = 8 << 20  # bytes that are read and written at a time


def names_of(files: Sequence[Found]) -> dict[Found, str]:
    """A name for each file in raw/source/: its own, with a number before it where two are called the same."""
    names: dict[Found, str] = {}
    for found in files:
        name = re.sub(r"[^\w.\-]", "_", found.path.name.encode("utf-8", "replace").decode())[:120]
        names[found] = name if name not in names.values() else f"{len(names)}-{name}"
    return names


def keep_all(
    files: Sequence[Found], names: Mapping[Found, str], folder: Path, executor: Executor
) -> Callable[[], list[dict[str, Any]]]:
    """Begin to hash each file and to copy it compressed, both beside other work; what is returned waits for the end.

    It gives for each file what it is, its size, the size of what is kept, and the hash of that.
    """
    hashed = [executor.submit(_hashed, found) for found in files]
    packed = [executor.submit(_packed, found, names[found], folder) for found in files]

    def entries() -> list[dict[str, Any]]:
        return [
            {"name": names[found], "role": found.role, "sha256": digest.result(), **sizes.result()}
            for found, digest, sizes in zip(files, hashed, packed, strict=True)
        ]

    return entries


def _hashed(found: Found) -> str:
    digest = hashlib.sha256()
    with opened(found.path) as file:
        for block in _blocks(file, until_zeros=found.role == "tensor_trace"):
            digest.update(block)
    return digest.hexdigest()


def _packed(found: Found, name: str, folder: Path) -> dict[str, int]:
    kept = 0
    target = folder / f"{name}.zst"
    with (
        os_errors(f"{target}: cannot be written", advice="free space"),
        opened(found.path) as file,
        for_arrow(target, "wb") as place,
        pa.output_stream(place, compression="zstd") as packed,
    ):
        for block in _blocks(file, until_zeros=found.role == "tensor_trace"):
            packed.write(block)
            kept += len(block)
        return {"kept_bytes": kept, "size_bytes": file.size_bytes}


def _blocks(file: SourceFile, *, until_zeros: bool) -> Iterator[bytes | memoryview]:
    """The content in pieces; with `until_zeros` without the zeros at its end, but for those of the last KiB.

    A piece holds until the next one is asked for: all are read into the same memory, as new memory costs a page fault
    for each 4 KiB, which takes longer than to read them.
    """
    end = file.size_bytes
    if until_zeros:
        end = max((end for _, end in file.stretches()), default=0)
    at, zeros = 0, 0
    memory = memoryview(bytearray(min(PIECE, end)))
    while at < end and (n := file.read_into(at, memory[: min(PIECE, end - at)])):
        block = memory[:n]
        at += n
        if until_zeros and not np.frombuffer(block, np.uint8).any():
            zeros += len(block)  # written only if something follows
            continue
        while zeros:
            yield bytes(min(zeros, PIECE))
            zeros -= min(zeros, PIECE)
        yield _trimmed(block) if until_zeros and at >= end else block


def _trimmed(block: memoryview) -> memoryview:
    """The block without the zeros at its end, in whole KiB: no record is larger."""
    used = len(bytes(block).rstrip(b"\0"))
    return block[: -(-used // 1024) * 1024]


@contextmanager
def unpacked(
    folder: Path, entries: Sequence[Mapping[str, Any]], runs: Path
) -> Iterator[list[tuple[Mapping[str, Any], Path]]]:
    """The kept files as they were, in a folder in `runs` that is removed after the block."""
    with part_folder(runs) as place:
        paths = []
        for entry in entries:
            if Path(entry["name"]).name != entry["name"]:
                raise StoreError(f"{folder}: holds no file named {entry['name']!r}; restore import.json from a copy")
            path = place / entry["name"]
            kept = for_arrow(folder / f"{entry['name']}.zst", "rb")
            with kept as source, pa.input_stream(source, compression="zstd") as packed, path.open("wb") as out:
                while block := packed.read(PIECE):
                    out.write(block)
            paths.append((entry, path))
        yield paths
