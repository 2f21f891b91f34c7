"""What was made last of tables, as far as it fits: the pages of a matrix come back to the same few runs."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import pandas as pd

Frames = TypeVar("Frames", bound="Mapping[str, pd.DataFrame]")
MOST = 384 << 20  # bytes


class Recent:
    """Frames in memory, at most `most` bytes of them: those that were asked for last. Larger ones are not held."""

    def __init__(self, most: int = MOST) -> None:
        """Begin with none."""
        self._most = most
        self._held: OrderedDict[object, tuple[Mapping[str, pd.DataFrame], int]] = OrderedDict()

    def kept(self, make: Callable[[], Frames]) -> Callable[[], Frames]:
        """A function that returns the result of `make`, and calls it again only if others took the room meanwhile."""
        key = object()

        def result() -> Frames:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key][0]  # type: ignore[return-value]
            made = make()
            self._hold(key, made)
            return made

        return result

    def _hold(self, key: object, made: Mapping[str, pd.DataFrame]) -> None:
        size = size_of(made.values())
        if size > self._most:
            return
        self._held[key] = made, size
        while sum(of for _, of in self._held.values()) > self._most:
            self._held.popitem(last=False)


def size_of(frames: Iterable[pd.DataFrame]) -> int:
    """The bytes that frames take in memory, with their texts."""
    return sum(int(frame.memory_usage(deep=True).sum()) for frame in frames)


RECENT = Recent()  # of this process
