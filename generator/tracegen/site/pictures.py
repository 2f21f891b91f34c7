"""Small pictures for lists of experiments: the card of a bundle, or of an older one its heatmap without names and axes.

A picture holds two: the upper half for light ground, the lower half for dark. CSS shows one of them. It is a PNG of few
kilobytes, because a list has hundreds.
"""

import csv
import hashlib
import math
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracegen.charts.png import SIGNATURE, chunk
from tracegen.charts.theme import N_STEPS, SEQUENTIAL_DARK, SEQUENTIAL_LIGHT
from tracegen.publishing.bundle import Bundle
from tracegen.site.about import About

WIDTH, HEIGHT = 160, 64  # px of each half
MOST_ROWS = 32  # of passes: at least two pixels each
CARD = "figures/card.png"
MOST_BYTES = 100_000  # of a card
DATA = "data/heatmap.csv"
FOLDER = "_"  # of the pictures, below that of experiments; no experiment can have this name
_FORM = "1"  # of a picture; a change of it makes all anew


@dataclass(frozen=True)
class Pictures:
    """The pictures that a site shows, by their address below the folder of experiments; `cache` keeps them."""

    cache: Path
    files: dict[str, bytes] = field(default_factory=dict)

    def of(self, about: About) -> str:
        """The address of the picture of a version or draft; empty without one."""
        content = picture(about.bundle, about.size_bytes, self.cache)
        if not content:
            return ""
        address = f"{FOLDER}/{hashlib.sha256(content).hexdigest()[:12]}.png"
        self.files[address] = content
        return address


def picture(bundle: Bundle, total: int | None, cache: Path) -> bytes:
    """The card of a bundle as PNG; of an older one its small heatmap, kept in `cache`; empty if it has neither.

    `total`: the size of the model's files; without it the last touched byte ends the heatmap.
    """
    if CARD in bundle.document["manifest"]:
        card = (bundle.folder / CARD).read_bytes()
        return card if len(card) <= MOST_BYTES and card.startswith(SIGNATURE) else b""
    entry = bundle.document["manifest"].get(DATA)
    if not entry:
        return b""
    key = hashlib.sha256(f"{_FORM} {entry['sha256']} {total}".encode()).hexdigest()[:16]
    path = cache / f"{key}.png"
    kept = path.read_bytes() if path.is_file() else b""
    if not kept.endswith(chunk(b"IEND", b"")):  # a build that was killed may have left a part of it
        kept = drawn(bundle.folder / DATA, total, _warm_ups(bundle.folder / "data" / "tables" / "passes.csv"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(kept)
    return kept


def drawn(path: Path, total: int | None, outside: frozenset[str] = frozenset()) -> bytes:
    """The picture of a heatmap's data, without the rows that begin with a pass of `outside`; empty without a cell."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            cells = [_cell(row) for row in csv.DictReader(file) if row["pass_id"] not in outside]
    except (OSError, KeyError, TypeError, ValueError):  # other data than any version of tracegen wrote
        return b""
    end = max([total or 0, *(cell[2] for cell in cells)])
    if not cells or not end:
        return b""
    return png(_levels(cells, end))


def _cell(row: Mapping[str, str]) -> tuple[str, int, int, float]:
    """Row of the heatmap, begin and end in the file, share of the bytes there that a pass touched."""
    begin, end = int(row["begin"]), int(row["end"])
    passes = int(row.get("n_passes") or 1)
    share = int(row["touched_bytes"]) / (max(end - begin, 1) * passes)
    return row.get("row") or row["pass_id"], begin, end, min(max(share, 0.0), 1.0)


def _warm_ups(path: Path) -> frozenset[str]:
    """The passes that are no part of the measurement; none if the bundle does not list its passes."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return frozenset(row["pass_id"] for row in csv.DictReader(file) if row["kind"] in ("load", "warmup"))
    except (OSError, KeyError, ValueError):
        return frozenset()


def _levels(cells: Iterable[tuple[str, int, int, float]], end: int) -> list[list[int]]:
    """The step of the colour of each place, 1 to N_STEPS, 0 where nothing was touched; means over rows and places."""
    cells = list(cells)
    rows = list(dict.fromkeys(cell[0] for cell in cells))
    n_rows = min(len(rows), MOST_ROWS)
    row_of = {row: i * n_rows // len(rows) for i, row in enumerate(rows)}
    members = [0] * n_rows
    for row in row_of.values():
        members[row] += 1
    sums = [[0.0] * WIDTH for _ in range(n_rows)]
    step = end / WIDTH
    for name, begin, stop, share in cells:
        of = sums[row_of[name]]
        for x in range(int(begin / step), min(WIDTH, math.ceil(stop / step))):
            of[x] += share * max(0.0, min(stop, (x + 1) * step) - max(begin, x * step)) / step
    return [
        [min(N_STEPS, math.ceil(N_STEPS * value / members[row] - 1e-9)) for value in sums[row]] for row in range(n_rows)
    ]


def png(levels: list[list[int]]) -> bytes:
    """The PNG of rows of steps, HEIGHT px high on light ground and again below on dark; step 0 is transparent."""
    scales = (*("#000000", *SEQUENTIAL_LIGHT), *("#000000", *SEQUENTIAL_DARK))
    colours = b"".join(bytes.fromhex(colour[1:]) for colour in scales)
    alpha = bytes(0 if i % (N_STEPS + 1) == 0 else 255 for i in range(len(scales)))
    lines = []
    for shift in (0, N_STEPS + 1):
        for y in range(HEIGHT):
            row = levels[y * len(levels) // HEIGHT]
            lines.append(b"\0" + bytes(level + shift for level in row))
    header = struct.pack(">IIBBBBB", WIDTH, 2 * HEIGHT, 8, 3, 0, 0, 0)
    pixels = zlib.compress(b"".join(lines), 9)
    parts = ((b"IHDR", header), (b"PLTE", colours), (b"tRNS", alpha), (b"IDAT", pixels), (b"IEND", b""))
    return SIGNATURE + b"".join(chunk(kind, data) for kind, data in parts)
