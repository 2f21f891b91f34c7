"""Keeps tensors of the model in memory while the traced program runs: `pin`.

Another process locks their pages (`hold_ranges.py`), so that they count within the memory limit of the program: the
kernel charges a page of a file to the cgroup that reads it first. The kernel unlocks them when that process ends.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.contract.facts import Pinned
from tracegen.measure.capture import hold_ranges
from tracegen.measure.capture.cgroup import own_cgroup
from tracegen.measure.capture.limited import Limit
from tracegen.measure.capture.locked import GIB, MARGIN, available_bytes, bytes_of, plain, refuse_more_than_allowed
from tracegen.readers.gguf.file import Model
from tracegen.storing import execute


@dataclass(frozen=True)
class Pins:
    """The tensors to keep, as ranges of bytes of the model's files, in their order."""

    n_tensors: int
    ranges: tuple[tuple[Path, int, int], ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of the ranges."""
        return sum(end - begin for _, begin, end in self.ranges)


def pins_of(patterns: Sequence[str], model: Model) -> Pins | None:
    """The tensors whose names match a pattern; None without patterns. Raises SettingsError where one matches none."""
    if not patterns:
        return None
    tensors = model.tensors
    names = tensors["name"].astype(str).tolist()
    found = {pattern: {name for name in names if fnmatchcase(name, pattern)} for pattern in patterns}
    if unknown := [pattern for pattern, of in found.items() if not of]:
        raise SettingsError(
            f"pin: {', '.join(map(repr, unknown[:3]))}: no tensor of {model.paths[0]} has such a name; they are called "
            f"{', '.join(names[:3])}, …"
        )
    chosen = tensors[tensors["name"].astype(str).isin(set().union(*found.values())).to_numpy(bool)]
    places = chosen.sort_values(["file", "offset"])[["file", "offset", "size_bytes"]].itertuples(index=False)
    joined: list[tuple[Path, int, int]] = []
    for file, begin, size in places:
        path, end = model.paths[int(file)], int(begin + size)
        if joined and joined[-1][0] == path and begin - joined[-1][2] < _APART:
            joined[-1] = (path, joined[-1][1], end)
        else:
            joined.append((path, int(begin), end))
    return Pins(len(chosen), tuple(joined))


def refuse_pins(pins: Pins, memory_limit_gb: float | None) -> None:
    """Raise SettingsError when this machine, or the limit of the run, has no room for them."""
    size = pins.size_bytes
    refuse_more_than_allowed("pin", size)
    if memory_limit_gb is not None and size >= bytes_of(memory_limit_gb):
        raise SettingsError(
            f"pin: {pins.n_tensors} tensors are {_gib(size)}, and memory_limit_gb allows {plain(memory_limit_gb)} GiB "
            "for them and the program; pin fewer, or allow more"
        )
    if size + MARGIN > (free := available_bytes()):
        raise SettingsError(
            f"pin: {pins.n_tensors} tensors are {_gib(size)}, and {_gib(free)} of memory are available, of which "
            f"{_gib(MARGIN)} must stay; pin fewer, or end other programs"
        )


@contextmanager
def pinned(pins: Pins | None, limit: Limit | None) -> Iterator[Pinned | None]:
    """During the block the pins are in memory, counted within `limit`; None: nothing is pinned.

    Raises EnvironmentFailure when the kernel refuses.
    """
    if pins is None:
        yield None
        return
    own = own_cgroup("memory" if limit.version == 1 else "") if limit else None
    asked = {
        "enter": str(limit.folder) if limit and own else "",
        "leave": str(own) if limit and own else "",
        "ranges": [(str(path), begin, end) for path, begin, end in pins.ranges],
    }
    with execute.piped([sys.executable, "-I", "-S", hold_ranges.__file__]) as holder:  # ends when its input ends
        assert holder.stdin is not None and holder.stdout is not None
        holder.stdin.write(json.dumps(asked).encode() + b"\n")
        holder.stdin.flush()
        answer = holder.stdout.readline().decode("utf-8", "replace").strip()
        word, _, number = answer.partition(" ")
        if word != "held" or not number.isdigit():
            why = answer or "the kernel ended the process that locks them, probably for lack of memory"
            raise EnvironmentFailure(f"pin: cannot lock {_gib(pins.size_bytes)} of the model: {why}; pin fewer tensors")
        yield Pinned(pins.n_tensors, int(number))


_APART = 4096  # bytes between ranges that are joined: tensors are aligned to 32 bytes or more


def _gib(size: int) -> str:
    return f"{plain(size / GIB)} GiB"
