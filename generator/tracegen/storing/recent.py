"""What was made last of tables, as far as it fits: the pages of a matrix come back to the same few runs."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import pandas as pd

Frames = TypeVar("Frames", bound="Mapping[str, pd.DataFrame]")
MOST = 384 << 20  # bytes


class Recent:
    """Frames in memory, at most `most` bytes of them: those that were asked for last. Larger ones are not kept."""

    def __init__(self, most: int = MOST) -> None:
        """Begin with none."""
        self._most = most
        self._frames: OrderedDict[object, tuple[Mapping[str, pd.DataFrame], int]] = OrderedDict()

    def kept(self, make: Callable[[], Frames]) -> Callable[[], Frames]:
        """A function that returns the result of `make`, and calls it again only if others took the room meanwhile."""
        key = object()

        def result() -> Frames:
            if key in self._frames:
                self._frames.move_to_end(key)
                return self._frames[key][0]  # type: ignore[return-value]
            frames = make()
            self._hold(key, frames)
            return frames

        return result

    def _hold(self, key: object, frames: Mapping[str, pd.DataFrame]) -> None:
        size = size_of(frames.values())
        if size > self._most:
            return
        self._frames[key] = frames, size
        while sum(of for _, of in self._frames.values()) > self._most:
            self._frames.popitem(last=False)


def size_of(frames: Iterable[pd.DataFrame]) -> int:
    """The bytes that frames take in memory, with their texts."""
    return sum(int(frame.memory_usage(deep=True).sum()) for frame in frames)


RECENT = Recent()  # of this process
