"""Make lines of a graph drawing straight: move boxes below their sources, and keep each trunk in one column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

APART, CLEAR = 12.0, 7.0  # px: least distance of two boxes, and of a trunk from boxes
SAME = 4.0  # px: columns closer than this become one

Edge = tuple[str, str]
Span = tuple[float, float]  # left and right end of what a rank already holds


@dataclass(frozen=True)
class Box:
    """The size of a box, px: width left and right of its port, half the width that lines may enter, height."""

    left: float
    right: float
    half: float
    height: float


@dataclass(frozen=True)
class Ranked:
    """Boxes in order of execution, the edges between them, which run down, and the `spine` from top to bottom.

    `ranks` has the rank of each box, `reach` the last rank in which a box reads it.
    """

    boxes: Mapping[str, Box]
    edges: Sequence[Edge]
    ranks: Mapping[str, int]
    reach: Mapping[str, int]
    spine: Sequence[str]


def straightened(x: Mapping[str, float], of: Ranked) -> tuple[dict[tuple[int, str], float], float]:
    """Places of boxes and trunks by (rank, name), and the width; the spine keeps its column.

    Another box moves below the nearest of its sources when its neighbours leave room. A trunk takes the free
    column nearest to its two ends; the margins are always free.
    """
    boxes, ranks, reach, spine = of.boxes, of.ranks, of.reach, of.spine
    centres = dict(x)
    for name, after in pairwise(spine):
        if abs(centres[after] - centres[name]) < SAME:
            centres[after] = centres[name]
    taken: dict[int, dict[str, Span]] = {}
    for name, rank in ranks.items():
        taken.setdefault(rank, {})[name] = (centres[name] - boxes[name].left, centres[name] + boxes[name].right)
    direct = {a for a, b in pairwise(spine) if reach[a] == ranks[b]}  # their trunks stay in the column
    for name in direct:
        for rank in range(ranks[name] + 1, reach[name]):
            taken[rank][f"{name} passing"] = (centres[name], centres[name])
    _move_below(of, centres, taken)
    trunks = _run_trunks(of, centres, taken, direct)
    places = {(ranks[name], name): at for name, at in centres.items()} | trunks
    low = min((span[0] for row in taken.values() for span in row.values()), default=0.0)
    high = max((span[1] for row in taken.values() for span in row.values()), default=0.0)
    return {point: at - low for point, at in places.items()}, high - low


def _move_below(of: Ranked, centres: dict[str, float], taken: Mapping[int, dict[str, Span]]) -> None:
    """Move each reader that is not in the spine below the nearest of its sources when its neighbours leave room."""
    boxes, ranks = of.boxes, of.ranks
    sources: dict[str, list[str]] = {}
    for a, b in of.edges:
        if b not in of.spine:
            sources.setdefault(b, []).append(a)
    for name in sorted(sources, key=lambda n: ranks[n]):  # from top to bottom
        row = taken[ranks[name]]
        want = min((centres[s] for s in sources[name]), key=lambda at: abs(at - centres[name]))
        low, high = want - boxes[name].left, want + boxes[name].right
        others = [span for neighbour, span in row.items() if neighbour != name]
        if all(end + APART <= low if begin < centres[name] else high + APART <= begin for begin, end in others):
            centres[name], row[name] = want, (low, high)


def _run_trunks(
    of: Ranked, centres: Mapping[str, float], taken: Mapping[int, dict[str, Span]], direct: set[str]
) -> dict[tuple[int, str], float]:
    """The column of each trunk in the ranks it passes, the longest first."""
    ranks, reach = of.ranks, of.reach
    last: dict[str, str] = {}
    for a, b in of.edges:
        last[a] = b if a not in last or ranks[b] > ranks[last[a]] else last[a]
    places = {}
    for name in sorted(last, key=lambda n: (ranks[n] - reach[n], ranks[n])):
        passed = range(ranks[name] + 1, reach[name])
        spans = [span for rank in passed for span in taken[rank].values()]
        at = centres[name] if name in direct else _free(spans, centres[name], centres[last[name]])
        for rank in passed:
            places[rank, name] = at
            taken[rank][f"{name} passing"] = (at, at)
    return places


def _free(spans: Sequence[Span], begin: float, end: float) -> float:
    """The x outside all spans whose distances to `begin` and `end` have the smallest sum."""
    candidates = [begin, end]
    reached = float("-inf")
    blocked: list[Span] = []
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
