"""The positions of the boxes of a graph drawing, and the paths of the lines between them.

Boxes stand in ranks, sources above their readers. Graphviz orders the boxes of each rank;
it gets numbers and sizes only. straight.py then sets the x positions. This module draws the
lines: they run down, and sideways only in the channel between two ranks, each on its own
track, so that no line runs up or crosses a box. All lines that leave a box share one trunk,
which has a position in every rank it passes. The boxes of the spine, the main path of the
activations, stand in one column.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pygraphviz

from tracegen.charts.graph.straight import Box, Edge, Ranked, straightened

CHANNEL, TRACK, RADIUS = 24.0, 9.0, 6.0  # px: least height of a channel, distance of tracks, radius of a bend
PASSING, ENTRY = 8, 9.0  # px: room of a trunk that passes a rank, distance of lines that enter one box
SPINE, LONG = 100, 20  # Graphviz weights that keep lines straight; an ordinary line has 1
MANY = 200  # boxes: for more, Graphviz gets less time

Places = Mapping[tuple[int, str], float]  # (rank, box) -> x of the box, or of its trunk in a later rank


@dataclass(frozen=True)
class Layout:
    """Port x and middle y of each box; lines as (SVG path, whether it ends at a box); the size of the drawing."""

    places: Mapping[str, tuple[float, float]]
    lines: tuple[tuple[str, bool], ...]
    width: float
    height: float


@dataclass
class _Run:
    """A trunk in one channel: its source, its x above the channel, and its ends below it.

    An end is (x, reader); the reader is None where the trunk passes the next rank.
    """

    source: str
    x: float
    ends: list[tuple[float, str | None]] = field(default_factory=list)
    track: int = 0

    @property
    def span(self) -> tuple[float, float]:
        every = [self.x, *(x for x, _ in self.ends)]
        return min(every), max(every)

    @property
    def straight(self) -> bool:
        return self.span[1] - self.span[0] < 0.6


def lay_out(boxes: Mapping[str, Box], edges: Sequence[Edge], spine: Sequence[str]) -> Layout:
    """Place `boxes`, which are in order of execution, and run the lines of `edges`, (source, reader)."""
    position = {name: i for i, name in enumerate(boxes)}
    # ggml executes sources first. A foreign graph may not: its edges are turned so that ranks exist.
    down = [edge if position[edge[0]] < position[edge[1]] else edge[::-1] for edge in edges if edge[0] != edge[1]]
    ranks = _ranks(list(boxes), down)
    reach = dict(ranks)
    for a, b in down:
        reach[a] = max(reach[a], ranks[b])
    of = Ranked(boxes, down, ranks, reach, spine)
    # The result of Graphviz depends on the order of its input: small graphs try two orders and take the better one.
    orders = [list(boxes), [*spine, *(name for name in boxes if name not in set(spine))]]
    tried = orders if len(boxes) <= MANY else orders[:1]
    layouts = [straightened(_across(order, of), of) for order in tried]
    x, width = min(layouts, key=lambda layout: layout[1])
    depth = max(ranks.values(), default=-1) + 1
    channels = _channels(of, x, depth)
    heights = [max(boxes[name].height for name in boxes if ranks[name] == rank) for rank in range(depth)]
    tops = [0.0]
    for height, runs in zip(heights, channels, strict=True):
        tracks = max((run.track for run in runs), default=0) + 1
        tops.append(tops[-1] + height + max(CHANNEL, (tracks + 1) * TRACK + 6))
    places = {name: (x[rank, name], tops[rank] + heights[rank] / 2) for name, rank in ranks.items()}
    lines: list[tuple[str, bool]] = []
    for rank, runs in enumerate(channels):
        for run in runs:
            lines += _lines(run, rank, of, places, tops, heights)
    return Layout(places, tuple(lines), width, tops[-2] + heights[-1] if heights else 0.0)


def _ranks(names: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """The rank of each box: below its sources; just above its readers if at least as many lines leave as enter it."""
    sources: dict[str, list[str]] = {name: [] for name in names}
    readers: dict[str, list[str]] = {name: [] for name in names}
    for a, b in edges:
        sources[b].append(a)
        readers[a].append(b)
    ranks: dict[str, int] = {}
    for name in names:
        ranks[name] = max((ranks[s] + 1 for s in sources[name]), default=0)
    for name in reversed(names):
        if readers[name] and len(readers[name]) >= len(sources[name]):
            ranks[name] = min(ranks[r] for r in readers[name]) - 1
    return ranks


def _across(order: Sequence[str], of: Ranked) -> dict[str, float]:
    """The x of each box as Graphviz places it.

    Each line gets a point in every rank that it passes, so that Graphviz cannot change the ranks.
    """
    boxes, ranks, reach = of.boxes, of.ranks, of.reach
    follows = dict(pairwise(of.spine))
    column = set(of.spine)
    points = [(rank, name) for name in order for rank in range(ranks[name], max(reach[name], ranks[name] + 1))]
    number = {point: i for i, point in enumerate(points)}
    limit = 4 if len(boxes) > MANY else 1000  # rounds of the search for straight lines, per point
    text = ["strict digraph {", f"splines=false; nodesep=0.2; ranksep=0.3; nslimit={limit}; node [shape=plain];"]
    for (rank, name), i in number.items():
        box = boxes[name]
        cells = (box.left - 1, 2, box.right - 1) if rank == ranks[name] else (PASSING / 2, 2, PASSING / 2)
        straight = name in column and (rank == ranks[name] or rank < ranks[follows.get(name, name)])
        text.append(f"{i} [label=<{_table(cells)}>{' group=s' if straight else ''}];")
        if (rank + 1, name) in number and rank + 1 > ranks[name] and reach[name] > rank + 1:
            ahead = name in follows and ranks[follows[name]] > rank + 1
            text.append(f"{i}:p:s -> {number[rank + 1, name]}:p:n [weight={SPINE if ahead else LONG}];")
    for a, b in of.edges:
        weight = SPINE if follows.get(a) == b else 1
        text.append(f"{number[ranks[b] - 1, a]}:p:s -> {number[ranks[b], b]}:p:n [weight={weight}];")
    drawing = pygraphviz.AGraph(string="\n".join([*text, "}"]))
    drawing.layout(prog="dot")
    centres = {}
    for node in drawing.nodes():
        rank, name = points[int(node)]
        if rank == ranks[name]:
            centres[name] = float(node.attr["pos"].split(",")[0]) + (boxes[name].left - boxes[name].right) / 2
    return centres


def _table(widths: Sequence[float]) -> str:
    """A box as a Graphviz table of three cells: the left part, the port, the right part."""
    cells = "".join(
        f'<TD FIXEDSIZE="TRUE" WIDTH="{max(width, 1):.0f}" HEIGHT="8"{port}></TD>'
        for width, port in zip(widths, ("", ' PORT="p"', ""), strict=True)
    )
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"><TR>{cells}</TR></TABLE>'


def _channels(of: Ranked, x: Places, depth: int) -> list[list[_Run]]:
    """The runs below each rank, with their tracks."""
    ranks, reach = of.ranks, of.reach
    runs = {(rank, name): _Run(name, x[rank, name]) for name in of.boxes for rank in range(ranks[name], reach[name])}
    for (rank, name), run in runs.items():
        if reach[name] > rank + 1:
            run.ends.append((x[rank + 1, name], None))
    follows = dict(pairwise(of.spine))
    entering: dict[str, list[str]] = {}
    for a, b in of.edges:
        entering.setdefault(b, []).append(a)
    for target, sources in entering.items():
        above = {a: x[ranks[target] - 1, a] for a in sources}
        port = x[ranks[target], target]
        main = min(sources, key=lambda a: (follows.get(a) != target, abs(above[a] - port)))
        for a, at in _entries(above, main, port, of.boxes[target].half).items():
            runs[ranks[target] - 1, a].ends.append((at, target))
    channels: list[list[_Run]] = [[] for _ in range(depth)]
    for (rank, _), run in runs.items():
        channels[rank].append(run)
    for channel in channels:
        _assign_tracks([run for run in channel if not run.straight])
    return channels


def _entries(above: Mapping[str, float], main: str, port: float, half: float) -> dict[str, float]:
    """The x at which each line enters a box: `main` at the port, the others beside it, on the side they come from."""
    others = [a for a in above if a != main]
    sides = (
        sorted((a for a in others if above[a] < above[main]), key=lambda a: -above[a]),
        sorted((a for a in others if above[a] >= above[main]), key=lambda a: above[a]),
    )
    step = min(ENTRY, (half - 6) / max(1, *(len(side) for side in sides)))
    entries = {main: port}
    for side, sign in zip(sides, (-1, 1), strict=True):
        entries |= {a: port + sign * step * (i + 1) for i, a in enumerate(side)}
    return entries


def _assign_tracks(runs: list[_Run]) -> None:
    """Set the track of each run, from the top; overlapping runs get different tracks.

    A run that leaves a column lies above a run that enters the same column.
    """
    above = {
        id(run): [o for o in runs if o is not run and any(abs(o.x - x) < ENTRY / 2 for x, _ in run.ends)]
        for run in runs
    }
    waiting, placed = sorted(runs, key=lambda run: run.span), list[_Run]()
    while waiting:
        free = (run for run in waiting if all(o in placed for o in above[id(run)]))
        run = next(free, waiting[0])  # a cycle cannot be ordered: the leftmost run goes first
        waiting.remove(run)
        run.track = max((o.track + 1 for o in above[id(run)] if o in placed), default=0)
        low, high = run.span
        while any(o.track == run.track and o.span[0] < high + 4 and low < o.span[1] + 4 for o in placed):
            run.track += 1
        placed.append(run)


def _lines(
    run: _Run,
    rank: int,
    of: Ranked,
    places: Mapping[str, tuple[float, float]],
    tops: Sequence[float],
    heights: Sequence[float],
) -> list[tuple[str, bool]]:
    """The SVG paths of a run, each with whether it ends at a box."""
    source = run.source
    begin = places[source][1] + of.boxes[source].height / 2 if of.ranks[source] == rank else tops[rank]
    level = tops[rank] + heights[rank] + (run.track + 1) * TRACK + 2
    paths = []
    for x, target in run.ends:
        end = tops[rank + 1] if target is None else places[target][1] - of.boxes[target].height / 2
        path = f"M{run.x:.1f},{begin:.1f}"
        if abs(x - run.x) >= 0.6:
            bend = min(RADIUS, abs(x - run.x) / 2)
            side = bend if x > run.x else -bend
            path += f"V{level - bend:.1f}q0,{bend:.1f} {side:.1f},{bend:.1f}"
            path += f"H{x - side:.1f}q{side:.1f},0 {side:.1f},{bend:.1f}"
        paths.append((f"{path}V{end:.1f}", target is not None))
    return paths
