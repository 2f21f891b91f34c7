"""Where things stand in the picture of the model file by token: its parts, its cells, and their names.

Places are in px of the drawing, as parts of the file have widths that grow with the root of their size only.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracegen.charts import theme
from tracegen.contract.arrays import repeated

CELL = 2.0  # px: the width of a cell of the file
LEAST = 3.0  # px: of a part
GAP = 1.0  # px between parts
FEW = 4  # rows; so few are high, and their parts of time have names
MOST_SHIFT = 12.0  # px that a name may stand beside the middle of its place
TOGETHER = (1, 2, 5, 10, 20, 50, 100)  # layers that may share a name


@dataclass(frozen=True)
class Plan:
    """Where things stand in a drawing that is `width` px wide.

    `parts` and `cells` have left and right beside begin and end; `cells` also part, the row of its part. The map of the
    file ends at `lane`, where bars of time begin; they end at `numbers`, and what was read stands in what is left.
    """

    width: int
    parts: pd.DataFrame
    cells: pd.DataFrame
    lane: float
    numbers: float

    @property
    def is_narrow(self) -> bool:
        """Whether it has no room for numbers and long names."""
        return theme.narrow(self.width)


def most_parts(width: int) -> int:
    """How many parts of the file a drawing has room for."""
    return int(_room(width)[1] / 7)


def _room(width: int, few: bool = False) -> tuple[float, float]:
    """The px left of the map, and its width; where there are `few` rows, time takes the room."""
    if few and not theme.narrow(width):
        return 116, 0.34 * width
    if theme.narrow(width):
        return 58, 0.45 * width
    return 116, (0.49 if width == theme.WIDTH else 0.42) * width


def plan(parts: pd.DataFrame, width: int, n_rows: int, has_reads: bool) -> Plan:
    """The places of the parts (begin, end: bytes on the disk axis), the width of each by the root of its bytes."""
    left, track = _room(width, n_rows <= FEW)
    root = np.sqrt((parts["end"] - parts["begin"]).to_numpy(float))
    wide = np.maximum(root / root.sum() * (track - GAP * len(parts)), LEAST)
    wide *= (track - GAP * len(parts)) / wide.sum()
    begins = left + np.cumsum(wide + GAP) - wide - GAP
    placed = parts.assign(left=begins, right=begins + wide)
    n = np.maximum((wide / CELL).astype(int), 1)
    part, number = repeated(n)
    low, high = (placed[name].to_numpy()[part] for name in ("begin", "end"))
    x, x2 = (placed[name].to_numpy()[part] for name in ("left", "right"))
    many = n[part]
    cells = pd.DataFrame(
        {
            "part": part,
            "begin": low + (high - low) * number // many,
            "end": low + (high - low) * (number + 1) // many,
            "left": x + (x2 - x) * number / many,
            "right": x + (x2 - x) * (number + 1) / many,
        }
    )
    lane = left + track + (8 if theme.narrow(width) else 24)
    return Plan(width, placed, cells, lane, width - (0 if theme.narrow(width) or not has_reads else 134))


def joined(at: Plan, found: pd.DataFrame, colour: pd.Series) -> pd.DataFrame:
    """Neighbouring cells of a row, in one part and of one colour, as one: row, part, left, right, colour."""
    table = found.assign(colour=colour, part=at.cells["part"].to_numpy()[found["cell"]])
    table = table.sort_values(["row", "cell"], ignore_index=True)
    same = table[["row", "part", "colour"]]
    new = ((same != same.shift()).any(axis=1) | (table["cell"] != table["cell"].shift() + 1)).to_numpy(bool)
    left, right = (at.cells[name].to_numpy()[table["cell"]] for name in ("left", "right"))
    return same[new].assign(left=left[new], right=right[_is_last(new)]).reset_index(drop=True)


def _is_last(is_new: np.ndarray) -> np.ndarray:
    """True where a group ends, of rows of which `is_new` says where a group begins."""
    last: np.ndarray = np.append(is_new[1:], True)[: len(is_new)]
    return last


def part_names(at: Plan) -> pd.Series:
    """`layer 3, attention` for each part."""
    names = []
    for first, last, group in at.parts[["layer", "last_layer", "group"]].itertuples(index=False):
        where = "" if pd.isna(first) else f"layer {first}" if first == last else f"layers {first} to {last}"
        names.append(", ".join(filter(None, (where, "" if pd.isna(group) else group))) or "other")
    return pd.Series(names, dtype=object)


def text(words: Iterable[str], left: Any, top: Any, align: str = "left", ink: str = "ink") -> pd.DataFrame:
    """Texts at their places (one, or one for each): text, left, top (their middle), align, ink (a colour), style."""
    left, top = (place.to_numpy() if isinstance(place, pd.Series) else place for place in (left, top))
    return pd.DataFrame({"text": list(words)}).assign(
        left=left, top=top, align=align, ink=theme.INK[ink][1], style="normal"
    )


def headings(at: Plan) -> pd.DataFrame:
    """The names of layers, and of parts outside them, above their places.

    Where single layers have no room, layers that follow one another share a name (10–19), so that none is left out.
    """
    layer = at.parts["layer"].astype("object").where(at.parts["layer"].notna(), None)
    change = (layer.fillna(-1) != layer.fillna(-1).shift()) | layer.isna()
    grouped = at.parts.assign(name=part_names(at)).groupby(change.cumsum())
    spans = grouped.agg(
        left=("left", "min"),
        right=("right", "max"),
        layer=("layer", "min"),
        last=("last_layer", "max"),
        name=("name", "first"),
    )
    texts, left_out = _placed(spans, "layer ")
    with_noun = not left_out
    for together in TOGETHER if left_out else ():
        texts, left_out = _placed(_runs(spans, together))
        if not left_out:
            break
    names = text([text for text, _ in texts], [place for _, place in texts], 22, "center")
    if not with_noun and (in_layer := spans["layer"].notna().to_numpy()).any():
        first = float(spans.loc[in_layer, "left"].min())
        names = pd.concat([names, text(["layer"], first, 7, ink="muted")], ignore_index=True)
    return names


def _runs(spans: pd.DataFrame, together: int) -> pd.DataFrame:
    """The spans with layers joined that follow one another and have the same quotient by `together`."""
    layer, last = (spans[name].astype("Float64") for name in ("layer", "last"))
    follows = (layer == last.shift() + 1) & (layer // together == layer.shift() // together)
    new = ~follows.fillna(False).to_numpy(bool)
    ends = spans[_is_last(new)]
    return spans[new].assign(right=ends["right"].array, last=ends["last"].array)


def _placed(spans: pd.DataFrame, noun: str = "") -> tuple[list[tuple[str, float]], bool]:
    """Names with the middle of their places, as far as there is room, and whether a layer has none.

    With a `noun` before each layer, a name has the room of its span; else that up to its neighbours.
    """
    texts: list[tuple[str, float]] = []
    free, left_out = 0.0, False
    for left, right, first, last, name in spans.itertuples(index=False):
        inside = not pd.isna(first)
        word = name if not inside else f"{noun}{first}" if first == last else f"{noun}{first}–{last}"
        wide = theme.GLYPH * len(word) * 0.92
        begin = (left + right - wide) / 2 if inside else max(right - wide, 0) if not texts else left
        if inside and not noun:
            begin = max(begin, min(free, begin + MOST_SHIFT))
        fits = begin >= free and (inside or not texts or wide <= right - left + 10)
        if fits and (not (inside and noun) or wide <= right - left):
            texts.append((word, begin + wide / 2))
            free = begin + wide + (3 if inside else 9)
        elif inside:
            left_out = True
    return texts, left_out
