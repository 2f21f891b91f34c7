"""Straight lines in a graph drawing: boxes move below what they read, and trunks run in one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

APART, CLEAR = 12.0, 7.0  # distance of two boxes, and of a trunk from what it passes
SAME = 4.0  # columns nearer than this are one


class Wide(Protocol):
    """Room to the left and right of a port."""

    @property
    def left(self) -> float: ...  # noqa: D102
    @property
    def right(self) -> float: ...  # noqa: D102


def straightened(
    x: Mapping[str, float],
    boxes: Mapping[str, Wide],
    edges: Sequence[tuple[str, str]],
    ranks: Mapping[str, int],
    reach: Mapping[str, int],
    spine: Sequence[str],
) -> tuple[dict[tuple[int, str], float], float]:
    """Places of boxes and trunks by (rank, name), and the width; `spine`, from top to bottom, keeps its column.

    Another box moves below the nearest of its sources when its neighbours leave room. A trunk takes the free
    column nearest to its two ends; the margins are always free.
    """
    found = dict(x)
    for name, after in pairwise(spine):
        if abs(found[after] - found[name]) < SAME:
            found[after] = found[name]
    taken: dict[int, dict[str, tuple[float, float]]] = {}
    for name, rank in ranks.items():
        taken.setdefault(rank, {})[name] = (found[name] - boxes[name].left, found[name] + boxes[name].right)
    sources: dict[str, list[str]] = {}
    readers: dict[str, list[str]] = {}
    for a, b in edges:
        sources.setdefault(b, []).append(a)
        readers.setdefault(a, []).append(b)
    fixed = set(spine)
    direct = {a for a, b in pairwise(spine) if reach[a] == ranks[b]}  # their trunks are of the column
    for name in direct:
        for rank in range(ranks[name] + 1, reach[name]):
            taken[rank][f"{name} passing"] = (found[name], found[name])
    for name in sorted((n for n in ranks if n in sources and n not in fixed), key=lambda n: ranks[n]):
        want = min((found[s] for s in sources[name]), key=lambda at: abs(at - found[name]))
        low, high = want - boxes[name].left, want + boxes[name].right
        others = [span for other, span in taken[ranks[name]].items() if other != name]
        if all(end + APART <= low if begin < found[name] else high + APART <= begin for begin, end in others):
            found[name], taken[ranks[name]][name] = want, (low, high)
    places = {(ranks[name], name): at for name, at in found.items()}
    for name in sorted(readers, key=lambda n: (ranks[n] - reach[n], ranks[n])):
        passed = range(ranks[name] + 1, reach[name])
        if not passed:
            continue
        end = found[max(readers[name], key=lambda r: ranks[r])]
        spans = [span for rank in passed for span in taken[rank].values()]
        at = found[name] if name in direct else _free(spans, found[name], end)
        for rank in passed:
            places[rank, name] = at
            taken[rank][f"{name} passing"] = (at, at)
    low = min((span[0] for row in taken.values() for span in row.values()), default=0.0)
    high = max((span[1] for row in taken.values() for span in row.values()), default=0.0)
    return {point: at - low for point, at in places.items()}, high - low


def _free(spans: Sequence[tuple[float, float]], begin: float, end: float) -> float:
    """The place clear of all spans from which the ways to `begin` and `end` are shortest together."""
    candidates = [begin, end]
    reached = float("-inf")
    blocked: list[tuple[float, float]] = []
    for low, high in sorted(spans):
        if low - 2 * CLEAR > reached:
            blocked.append((low, high))
        else:
            blocked[-1] = (blocked[-1][0], max(blocked[-1][1], high))
        reached = blocked[-1][1]
    for low, high in blocked:
        candidates += [low - CLEAR, high + CLEAR]
    free = [c for c in candidates if all(c <= low - CLEAR or high + CLEAR <= c for low, high in blocked)]
    return min(free, key=lambda c: (abs(c - begin) + abs(c - end), abs(c - begin)))
