"""A trace that lists operations one after the other: what all formats of that kind have in common."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

PHASES = ("PROMPT", "GENERATE")  # what the numbers of OpTrace.phase mean


@dataclass(frozen=True)
class Operand:
    """An operand as recorded: its name, address (0: not recorded) and size in bytes.

    `memory` is disk or buffer, None: not recorded; `place` is the offset in the file or the number of the buffer.
    """

    name: str
    address: int
    size_bytes: int
    memory: str | None
    place: int | None


@dataclass(frozen=True)
class Described:
    """What is the same each time an operation runs: its name of ggml, its result (empty: unknown), its operands."""

    op: str
    name: str
    operands: tuple[Operand, ...]
    claimed_layer: int | None = None


def fills(name: str, room: int) -> bool:
    """Whether a name has all the bytes that there is room for, so that it may be cut; `room` 0: any name is whole."""
    return 0 < room <= len(name.encode())


@dataclass(frozen=True)
class OpTrace:
    """Operations in the order of the file.

    One entry each: `time_ns` int64 (begin), `token` and `phase` int64 (claimed; -1: not claimed), `thread` int64,
    `which` int32, the place of the rest in `described`. `expert_at` are the operations that name experts:
    `experts` has their numbers (int32, a row each), of which the first `n_experts` count. `room`: the longest names
    that a result and an operand can have, 0: any. `most_operands`: for how many there is room, 0: any.
    """

    format: str
    time_ns: np.ndarray
    token: np.ndarray
    phase: np.ndarray
    thread: np.ndarray
    which: np.ndarray
    described: Sequence[Described]
    expert_at: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    experts: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    n_experts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    room: tuple[int, int] = (0, 0)
    most_operands: int = 0
    thread_bits: int = 64
    size_bits: int = 64

    def __len__(self) -> int:
        """The number of operations."""
        return len(self.time_ns)

    def description(self, begin: int, end: int) -> list[Described]:
        """What the operations at the places `begin` to `end` (exclusive) are."""
        return [self.described[number] for number in self.which[begin:end].tolist()]
