"""Writes a GGUF file again with its tensors, or the experts inside of them, in another order: bytes stay as they are.

The name of the model is the one that is not: it says the order, so that pages of both files can be told apart.

Bytes are read and written, never `copy_file_range`: a file system that shares blocks between files (btrfs, XFS) would
leave them where they lie on the device, and the new order would exist in the offsets only.
"""

import errno
import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tracegen.contract import documents
from tracegen.contract.errors import ModelFormatError, SettingsError, os_errors
from tracegen.measure.demo.whole_files import whole_files
from tracegen.readers.gguf.header import GgufFile, TensorInfo, header_of

Progress = Callable[[int, int], None]  # bytes done, bytes in all

PIECE = 8 << 20  # bytes that are in memory at a time
UNWRITTEN = 256 << 20  # bytes that may wait for the disk in the page cache
_ORDERED = re.compile(", tensors in order [a-z-]+$")
# What a layer has of each expert: a slice of a stacked tensor, or a row of the router, which numbers them.
_OF_EXPERTS = re.compile(
    r"blk\.(\d+)\.(ffn_(gate|up|down|gate_up)_exps\.\w+|ffn_gate_inp\.(weight|bias)|exp_probs_b(_vl)?\.\w+)"
)
_BY_NUMBER = re.compile(r"blk\.\d+\.(ffn_gate_tid2eid|ffn_\w+_chexps)\.")  # say which experts, or which belong together
_NOT_HERE = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


@dataclass(frozen=True)
class Original:
    """A model file, open for reading as `stream`, and its header."""

    stream: BinaryIO
    header: GgufFile


@dataclass(frozen=True)
class Layout:
    """Where each tensor will begin in the new file, in the order of the file; `size_bytes` of that file.

    `name` is what the new file calls the model, None where the original gives it no name. `shift`: by how many bytes
    the data begin later than those of the original, from which the places of tensors count on. `slots`: of a tensor
    whose experts are put in another order, the place of each.
    """

    tensors: tuple[tuple[TensorInfo, int], ...]
    size_bytes: int
    name: str | None
    shift: int
    slots: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def n_moved(self) -> int:
        """How many tensors begin at another byte of the data than in the original."""
        return sum(tensor.offset != offset for tensor, offset in self.tensors)


@contextmanager
def original(path: Path) -> Iterator[Original]:
    """Open a model that is one GGUF file, until the block ends.

    Raises SettingsError where it is not a regular file, is a part of a split model, or has no tensors; ModelFormatError
    where it is broken.
    """
    with os_errors(f"{path}: cannot be read", ModelFormatError):
        stream = documents.opened(path, SettingsError, "name a GGUF model")
    with stream:
        with os_errors(f"{path}: cannot be read", ModelFormatError):
            header = header_of(path, stream)
        _refuse_splits(header)
        if not header.tensors:
            raise SettingsError(f"{path}: holds no tensors, so there is nothing to put in order; name another model")
        yield Original(stream, header)


def _refuse_splits(header: GgufFile) -> None:
    count = header.metadata.get("split.count")
    if isinstance(count, int) and count > 1:
        raise SettingsError(
            f"{header.path}: is one of the {count} files of a split model, and tensors are put in order in one file"
            " only; join them first (llama-gguf-split --merge)"
        )


def layout(
    header: GgufFile,
    order: str,
    names: Sequence[str],
    offsets: Sequence[int],
    slots: Mapping[str, tuple[int, ...]] | None = None,
) -> Layout:
    """The layout in which the tensors `names`, all of the file, begin at `offsets` (ascending, aligned).

    `order` is the word for it in the name of the model, `slots` the result of `slots_of`.
    """
    of = {tensor.name: tensor for tensor in header.tensors}
    tensors = tuple((of[name], offset) for name, offset in zip(names, offsets, strict=True))
    assert len(tensors) == len(of)
    last, begin = tensors[-1]
    name = _name_in(header, order)
    end_of_list = max(tensor.listed_end for tensor in header.tensors)
    shift = _padded(end_of_list + _growth(header, name), header.alignment) - header.data_begin
    return Layout(tensors, begin + shift + _padded(last.size_bytes, header.alignment), name, shift, slots or {})


def slots_of(header: GgufFile, places: Mapping[int, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """Of each tensor that has a part for each expert of a layer in `places`, the place of each part.

    `places`: layer -> the place of each expert, of those that have one; others stay. The router's rows move with the
    experts, so that the model computes the same. Raises SettingsError where something else numbers experts.
    """
    path, found = header.path, dict[str, tuple[int, ...]]()
    grouped = [key for key in header.metadata if key.endswith((".expert_group_count", ".experts_per_group"))]
    if any(isinstance(n := header.metadata[key], int) and n > 1 for key in grouped):
        raise SettingsError(
            f"{path}: tokens choose groups of experts, which stand beside each other; no other order fits"
        )
    by_number = next((tensor.name for tensor in header.tensors if _BY_NUMBER.match(tensor.name)), None)
    if by_number is not None:
        raise SettingsError(f"{path}: {by_number} goes by the numbers of experts; no other order fits")
    named = [(tensor, int(match[1])) for tensor in header.tensors if (match := _OF_EXPERTS.fullmatch(tensor.name))]
    n_experts = {layer: tensor.shape[2] for tensor, layer in named if tensor.name.endswith("_exps.weight")}
    for tensor, layer in named:
        of, n = places.get(layer), next((n for n in reversed(tensor.shape) if n > 1), 1)
        if of is None or n == 1:  # a number for all experts
            continue
        if n != n_experts.get(layer) or n < len(of) or tensor.size_bytes % n:
            raise SettingsError(f"{path}: {tensor.name} has no part for each of the experts of layer {layer}")
        found[tensor.name] = (*map(int, of), *range(len(of), n))
    return found


def _name_in(header: GgufFile, order: str) -> str | None:
    """The name of the model with its order, in place of an earlier one; None if it has no name."""
    if header.name_at is None:
        return None
    return f"{_ORDERED.sub('', str(header.metadata['general.name']))}, tensors in order {order}"


def _growth(header: GgufFile, name: str | None) -> int:
    """By how many bytes the header grows with this name."""
    return 0 if name is None or header.name_at is None else 8 + len(name.encode()) - len(header.name_at)


def unclaimed_bytes(header: GgufFile) -> int:
    """Bytes behind the header that belong to no tensor and are more than padding; a new file does not hold them."""
    claimed = sum(_padded(tensor.size_bytes, header.alignment) for tensor in header.tensors)
    first = min(tensor.offset for tensor in header.tensors)
    return max(header.size_bytes - first - claimed, 0)


def _padded(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def write_reordered(
    source: Original, plan: Layout, out: Path, progress: Progress, before_placing: Callable[[], None]
) -> None:
    """Write the new file to `out`, complete or not at all.

    `before_placing` is called when the file is complete beside `out`, and may raise. Raises EnvironmentFailure when the
    disk refuses to write, ModelFormatError when the original cannot be read or changes meanwhile.
    """
    was = _stamp(source.stream)
    with whole_files(out) as part:
        with part.open("xb", buffering=0) as stream:
            _reserve(stream.fileno(), plan.size_bytes)
            _Copy(source, stream.fileno(), plan, progress).write()
        if _stamp(source.stream) != was:
            raise ModelFormatError(f"{source.header.path}: was changed while it was copied; try again")
        before_placing()


def _stamp(stream: BinaryIO) -> tuple[int, int]:
    now = os.fstat(stream.fileno())
    return now.st_size, now.st_mtime_ns


def _reserve(descriptor: int, size: int) -> None:
    """Give a new file its size; where the file system can, with blocks that lie side by side."""
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
        os.truncate(descriptor, size)


class _Copy:
    """The copying of one file; it counts bytes and keeps the page cache calm."""

    def __init__(self, source: Original, target: int, plan: Layout, progress: Progress) -> None:
        """Copy to the descriptor `target`, a file of zeros that has its size already."""
        self._source, self._target, self._plan, self._progress = source, target, plan, progress
        self._done = self._waiting = 0

    def write(self) -> None:
        """Write all but padding, which is zero already."""
        header = self._source.header
        listed_begin = min(tensor.listed_begin for tensor in header.tensors)
        growth = _growth(header, self._plan.name)
        if self._plan.name is None or header.name_at is None:
            self._copy(0, 0, listed_begin)
        else:
            name, at = self._plan.name.encode(), header.name_at
            self._copy(0, 0, at.start)
            self._put(struct.pack("<Q", len(name)) + name, at.start)
            self._copy(at.stop, at.stop + growth, listed_begin - at.stop)
        self._put(self._list(), listed_begin + growth)
        for tensor, offset in self._plan.tensors:
            slots = self._plan.slots.get(tensor.name, (0,))
            one = tensor.size_bytes // len(slots)
            for part, place in enumerate(slots):
                self._copy(tensor.offset + part * one, offset + self._plan.shift + place * one, one)
        self._leave_the_page_cache()

    def _list(self) -> bytes:
        """The list of tensors in the header, in the new order and with the new offsets."""
        entries = bytearray()
        for tensor, offset in self._plan.tensors:
            entries += self._read(tensor.listed_begin, tensor.listed_end - tensor.listed_begin - 8)
            entries += struct.pack("<Q", offset - self._source.header.data_begin)
        return bytes(entries)

    def _copy(self, begin: int, to: int, n_bytes: int) -> None:
        for at in range(0, n_bytes, PIECE):
            self._put(self._read(begin + at, min(PIECE, n_bytes - at)), to + at)

    def _read(self, begin: int, n_bytes: int) -> bytes:
        """Bytes of the original. Raises ModelFormatError when they cannot be read."""
        path, data = self._source.header.path, bytearray()
        while len(data) < n_bytes:
            with os_errors(f"{path}: cannot be read", ModelFormatError):
                read = os.pread(self._source.stream.fileno(), n_bytes - len(data), begin + len(data))
            if not read:
                raise ModelFormatError(f"{path}: ends at byte {begin + len(data)}: it was cut meanwhile; try again")
            if len(read) == n_bytes:
                return read
            data += read
        return bytes(data)

    def _put(self, data: bytes, to: int) -> None:
        view = memoryview(data)
        while view:
            n_bytes = os.pwrite(self._target, view, to)
            view, to = view[n_bytes:], to + n_bytes
            self._done, self._waiting = self._done + n_bytes, self._waiting + n_bytes
        self._progress(self._done, self._plan.size_bytes)
        if self._waiting >= UNWRITTEN:
            self._leave_the_page_cache()

    def _leave_the_page_cache(self) -> None:
        """Bring what was written to the disk and drop it from memory, so that it displaces no other file."""
        os.fdatasync(self._target)
        with suppress(OSError):  # advice
            os.posix_fadvise(self._target, 0, 0, os.POSIX_FADV_DONTNEED)
        self._waiting = 0
