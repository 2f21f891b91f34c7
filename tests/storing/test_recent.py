"""Frames that are kept in memory: made once while there is room, and never more than the room."""

import numpy as np
import pandas as pd

from tracegen.storing.recent import Recent, size_of


def test_frames_are_made_once_and_those_asked_for_last_stay() -> None:
    calls: list[str] = []

    def frames(name: str, n: int) -> dict[str, pd.DataFrame]:
        calls.append(name)
        return {name: pd.DataFrame({"value": np.zeros(n)})}

    one = size_of(frames("size", 1000).values())
    assert one >= 8000 and size_of([pd.DataFrame({"text": ["x" * 1000]})]) >= 1000
    recent = Recent(2 * one)
    a, b, c = (recent.kept(lambda name=name: frames(name, 1000)) for name in "abc")  # type: ignore[misc]
    large = recent.kept(lambda: frames("large", 100_000))
    calls.clear()
    for of in (a, b, a, c, a):
        of()
    assert calls == ["a", "b", "c"]
    assert list(b()) == ["b"] and calls == ["a", "b", "c", "b"], "c took its room"
    assert large() and large() and calls[4:] == ["large", "large"]
    assert b() is b() and len(calls) == 6, "what has no room takes none from others"
