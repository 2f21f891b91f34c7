"""The model file by token, with the time of each: one picture of what was touched, waited for and read, and how long.

Places are in px of the drawing, as parts of the file have widths that grow with the root of their size only.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from tracegen.charts import theme

CELL = 2.0  # px: the width of a cell of the file
LEAST = 3.0  # px: of a part
GAP = 1.0  # px between parts
TOP = 40.0  # px: of the first row
FEW = 4  # rows; so few are high, and their parts of time have names
STEPS = ((0.01, theme.INK["hairline"][1]), (0.5, theme.INK["band2"][1]), (1.0, theme.INK["touched"][1]))
TOUCHED = ("up to 1 % touched", "up to half", "more")
WAITED, UNUSED = "waited for", "read ahead, not used"
DISK = theme.INK["disk"][1]
# Column of the time of a pass -> what the picture calls it, and its colour; groups of components keep theirs.
WAITS = {
    "disk_ns": ("waiting for the disk", DISK),
    "behind_ns": ("waiting for a thread at the disk", theme.INK["behind"][1]),
    "mapped_ns": ("page faults, nothing read", theme.INK["muted"][1]),
    "waiting_ns": ("waiting for other threads", theme.INK["inside"][1]),
    "rest_ns": ("the rest", theme.INK["after"][1]),
}


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
    part = np.repeat(np.arange(len(parts)), n)
    number = np.arange(len(part)) - np.repeat(np.cumsum(n) - n, n)
    low, high = (placed[name].to_numpy()[part] for name in ("begin", "end"))
    x, x2 = (placed[name].to_numpy()[part] for name in ("left", "right"))
    many = n[part]
    cells = pd.DataFrame({
        "part": part, "begin": low + (high - low) * number // many, "end": low + (high - low) * (number + 1) // many,
        "left": x + (x2 - x) * number / many, "right": x + (x2 - x) * (number + 1) / many,
    })  # fmt: skip
    lane = left + track + (8 if theme.narrow(width) else 24)
    return Plan(width, placed, cells, lane, width - (0 if theme.narrow(width) or not has_reads else 134))


def chart(
    at: Plan,
    rows: pd.DataFrame,
    touched: pd.DataFrame,
    waited: pd.DataFrame,
    unused: pd.DataFrame,
    times: pd.DataFrame,
    names: Sequence[str],
) -> Any:
    """The picture.

    `rows`: row, pass_id (the first of the row), label, is_prompt, is_folded, took (text), and read and needed (texts;
    no such columns: not recorded). `touched`, `waited`, `unused`: row and cell (of the plan), `touched` also share.
    `times`: row and ns, a column for each of `names`, groups of components and the keys of WAITS.
    """
    few, top = len(rows) <= FEW, TOP
    rows = _laid(at, rows)
    bottom = float(rows["bottom"].max())
    rects = [_ground(at, rows), _cells(at, rows, touched), _marks(at, rows, waited, DISK, WAITED)]
    bars, took = _bars(at, rows, times, names)
    texts = [_names(at), _labels(rows, at), took, *_numbers(at, rows, top), *([_named(bars)] if few else [])]
    legend, legend_texts, height = _legend(at, names, not waited.empty, not unused.empty, bottom + 16)
    drawn = _rects(pd.concat([_rulers(at, top), *rects, bars, legend], ignore_index=True))
    if not unused.empty:
        drawn += _outlines(_marks(at, rows, unused, DISK, UNUSED))
    words = pd.concat([*texts, legend_texts], ignore_index=True)
    for (align, ink, style), some in words.groupby(["align", "ink", "style"], sort=False):
        mark = alt.Chart(some[["text", "left", "top"]]).mark_text(
            align=align, baseline="middle", color=ink, fontStyle=style, fontSize=theme.SMALL
        )
        drawn += mark.encode(text="text:N", x=_x("left:Q"), y=_y("top:Q"))
    return drawn.resolve_scale(x="shared", y="shared").properties(width=at.width - 10, height=height)


def simplified(
    at: Plan,
    rows: pd.DataFrame,
    touched: pd.DataFrame,
    waited: pd.DataFrame,
    times: pd.DataFrame,
    names: Sequence[str],
) -> pd.DataFrame:
    """What the picture shows without its texts: left, right, top, bottom, colour; arguments as of `chart`."""
    rows = _laid(at, rows)
    rects = [_ground(at, rows), _cells(at, rows, touched), _marks(at, rows, waited, DISK, WAITED)]
    rects.append(_bars(at, rows, times, names)[0])
    return pd.concat(rects, ignore_index=True)[["left", "right", "top", "bottom", "colour"]]


def _laid(at: Plan, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with top and bottom."""
    few = len(rows) <= FEW
    high, head = (46, 46) if few else (15, 22) if at.is_narrow or len(rows) > 24 else (18, 26)
    tall = np.where(rows["is_prompt"], head, high)
    tops = TOP + np.cumsum(tall) - tall + 3 * np.cumsum(rows["is_prompt"].shift(fill_value=False))
    return rows.assign(top=tops, bottom=tops + tall - (22 if few else 2))


def _x(field: str) -> Any:
    return alt.X(field, scale=dict(domain=[0, 1], range=[0, 1], nice=False, zero=False), axis=None)


def _y(field: str) -> Any:
    return alt.Y(field, scale=dict(domain=[0, 1], range=[0, 1], nice=False, zero=False), axis=None)


def _rects(rows: pd.DataFrame) -> Any:
    columns = ["label", "what", "colour", "left", "right", "top", "bottom", "pass_id"]
    mark = alt.Chart(rows[columns].round(1)).mark_rect()
    colour = alt.Color("colour:N", scale=None)
    return mark.encode(x=_x("left:Q"), x2=alt.X2("right:Q"), y=_y("top:Q"), y2=alt.Y2("bottom:Q"), color=colour)


def _outlines(rows: pd.DataFrame) -> Any:
    mark = alt.Chart(rows[["label", "what", "left", "right", "top", "bottom", "pass_id"]].round(1))
    mark = mark.mark_rect(filled=False, stroke=DISK, strokeWidth=1)
    return mark.encode(x=_x("left:Q"), x2=alt.X2("right:Q"), y=_y("top:Q"), y2=alt.Y2("bottom:Q"))


def _ground(at: Plan, rows: pd.DataFrame) -> pd.DataFrame:
    """A hairline below each row, by which an empty one is seen."""
    left, right = float(at.parts["left"].min()), float(at.parts["right"].max())
    return rows[["label", "pass_id"]].assign(
        what="nothing",
        colour=theme.INK["band"][1],
        left=left,
        right=right,
        top=rows["bottom"],
        bottom=rows["bottom"] + 1,
    )


def _joined(at: Plan, found: pd.DataFrame, colour: pd.Series) -> pd.DataFrame:
    """Neighbouring cells of a row, in one part and of one colour, as one: row, part, left, right, colour."""
    table = found.assign(colour=colour, part=at.cells["part"].to_numpy()[found["cell"]])
    table = table.sort_values(["row", "cell"], ignore_index=True)
    same = table[["row", "part", "colour"]]
    new = (same != same.shift()).any(axis=1) | (table["cell"] != table["cell"].shift() + 1)
    table["left"], table["right"] = (at.cells[name].to_numpy()[table["cell"]] for name in ("left", "right"))
    grouped = table.groupby(new.cumsum())
    return grouped.agg(
        row=("row", "first"), part=("part", "first"), colour=("colour", "first"), left=("left", "min"),
        right=("right", "max"),
    ).reset_index(drop=True)  # fmt: skip


def _cells(at: Plan, rows: pd.DataFrame, touched: pd.DataFrame) -> pd.DataFrame:
    step = np.searchsorted([most for most, _ in STEPS], touched["share"].to_numpy() - 1e-9).clip(0, len(STEPS) - 1)
    cells = _joined(at, touched, pd.Series([STEPS[s][1] for s in step], dtype=object))
    words = dict(zip([colour for _, colour in STEPS], TOUCHED, strict=True))
    table = cells.merge(rows[["row", "pass_id", "label", "top", "bottom"]], on="row")
    return table.assign(what=_part_names(at).to_numpy()[table["part"]] + ": " + table["colour"].map(words))


def _marks(at: Plan, rows: pd.DataFrame, found: pd.DataFrame, colour: str, words: str) -> pd.DataFrame:
    cells = _joined(at, found, pd.Series(colour, index=found.index, dtype=object))
    narrow = (LEAST - (cells["right"] - cells["left"])).clip(0) / 2
    cells = cells.assign(left=cells["left"] - narrow, right=cells["right"] + narrow)
    table = cells.merge(rows[["row", "pass_id", "label", "top", "bottom"]], on="row")
    return table.assign(what=_part_names(at).to_numpy()[table["part"]] + f": {words}")


def _part_names(at: Plan) -> pd.Series:
    names = []
    for first, last, group in at.parts[["layer", "last_layer", "group"]].itertuples(index=False):
        where = "" if pd.isna(first) else f"layer {first}" if first == last else f"layers {first} to {last}"
        names.append(", ".join(filter(None, (where, "" if pd.isna(group) else group))) or "other")
    return pd.Series(names, dtype=object)


def _rulers(at: Plan, top: float) -> pd.DataFrame:
    """The colour of its group above each part."""
    colours = [theme.INK["band2"][1] if pd.isna(group) else theme.colour(group) for group in at.parts["group"]]
    return at.parts[["left", "right"]].assign(
        label="the file", what=_part_names(at), colour=colours, top=top - 8, bottom=top - 4
    )


def _text(
    text: Iterable[str], left: Any, top: Any, align: str = "left", ink: str = "ink", style: str = "normal"
) -> pd.DataFrame:
    left, top = (place.to_numpy() if isinstance(place, pd.Series) else place for place in (left, top))
    return pd.DataFrame({"text": list(text)}).assign(
        left=left, top=top, align=align, ink=theme.INK[ink][1], style=style
    )


def _names(at: Plan) -> pd.DataFrame:
    """The names of layers, and of parts outside them, above their places; where there is no room, of every second."""
    layer = at.parts["layer"].astype("object").where(at.parts["layer"].notna(), None)
    change = (layer.fillna(-1) != layer.fillna(-1).shift()) | layer.isna()
    grouped = at.parts.assign(name=_part_names(at)).groupby(change.cumsum())
    spans = grouped.agg(left=("left", "min"), right=("right", "max"), layer=("layer", "min"),
                        last=("last_layer", "max"), name=("name", "first"))  # fmt: skip
    room = spans["right"] - spans["left"]
    short = [
        name if pd.isna(first) else str(first) if first == last else f"{first}–{last}"
        for first, last, name in spans[["layer", "last", "name"]].itertuples(index=False)
    ]
    in_layer = spans["layer"].notna().to_numpy()
    long = [f"layer {text}" if inside else text for text, inside in zip(short, in_layer, strict=True)]
    fits = all(theme.GLYPH * len(t) <= r for t, r, inside in zip(long, room, in_layer, strict=True) if inside)
    chosen = long if fits else short
    texts: list[tuple[str, float]] = []
    free = 0.0
    for text, left, right, inside in zip(chosen, spans["left"], spans["right"], in_layer, strict=True):
        wide = theme.GLYPH * len(text) * 0.92
        middle = (left + right) / 2
        begin = middle - wide / 2 if inside else max(right - wide, 0) if not texts else left
        if begin >= free and (inside or not texts or wide <= right - left + 10):
            texts.append((text, begin + wide / 2))
            free = begin + wide + 3
    names = _text([text for text, _ in texts], [place for _, place in texts], 22, "center")
    if not fits and any(in_layer):
        first = float(spans.loc[in_layer, "left"].min())
        names = pd.concat([names, _text(["layer"], first, 7, ink="muted")], ignore_index=True)
    return names


def _labels(rows: pd.DataFrame, at: Plan) -> pd.DataFrame:
    middle = (rows["top"] + rows["bottom"]) / 2
    folded = rows["is_folded"].to_numpy(bool)
    labels = _text(rows["short"] if at.is_narrow else rows["label"], float(at.parts["left"].min()) - 7, middle, "right")
    labels.loc[folded, "ink"], labels.loc[folded, "style"] = theme.INK["muted"][1], "italic"
    return labels


def _bars(at: Plan, rows: pd.DataFrame, times: pd.DataFrame, names: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The time of each row in parts, and how long it took; the prompt has a scale of its own where it is longer."""
    if times.empty:
        return pd.DataFrame(columns=["pass_id", "label", "what", "colour", "left", "right", "top", "bottom"]), _text(
            [], [], []
        )
    table = rows.merge(times, on="row", how="left").fillna(dict.fromkeys(names, 0.0))
    whole = table[list(names)].sum(axis=1)
    of_tokens = whole[~table["is_prompt"]].max() if (~table["is_prompt"]).any() else whole.max()
    longest = np.where(table["is_prompt"] & (whole > of_tokens), whole, of_tokens)
    room = at.numbers - at.lane - 62
    per_ns = room / np.where(longest > 0, longest, 1)
    bars, left = [], pd.Series(at.lane, index=table.index)
    for name in names:
        said, colour = WAITS.get(name, (f"computing: {name}", theme.colour(name)))
        right = left + table[name] * per_ns
        told = [f"{said}, {_share(part, of)}" for part, of in zip(table[name], whole, strict=True)]
        some = table[["pass_id", "label", "top", "bottom"]].assign(what=told, colour=colour, left=left, right=right)
        bars.append(some[right - left > 0.2])
        left = right
    middle = (table["top"] + table["bottom"]) / 2
    return pd.concat(bars, ignore_index=True), _text(table["took"], left + 5, middle)


def _named(bars: pd.DataFrame) -> pd.DataFrame:
    """What each part of a bar is, below it, where there is room."""
    words = bars["what"].str.replace("computing: ", "").str.replace(" of the time", "").str.replace(",", "")
    wide = bars[(bars["right"] - bars["left"] > theme.GLYPH * words.str.len()).to_numpy(bool)]
    return _text(words[wide.index], wide["left"], wide["bottom"] + 10, ink="muted")


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.0%} of the time".replace("%", " %") if whole else ""


def _numbers(at: Plan, rows: pd.DataFrame, top: float) -> list[pd.DataFrame]:
    """Heads of the columns at the right, and their numbers."""
    words = [_text(["time"], at.lane, top - 16, ink="muted")]
    if at.is_narrow or "read" not in rows:
        return words
    middle = (rows["top"] + rows["bottom"]) / 2
    for name, head, right in (("read", "read", at.width - 80), ("needed", "needed of it", at.width - 10)):
        if name in rows:
            words.append(_text([head], right, top - 16, "right", "muted"))
            words.append(_text(rows[name], right, middle, "right"))
    return words


def _legend(
    at: Plan, names: Sequence[str], waited: bool, unused: bool, top: float
) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """What colours mean: squares, texts, and where the drawing ends."""
    of_map = [*zip([colour for _, colour in STEPS], TOUCHED, strict=True)]
    of_map += [(DISK, WAITED)] if waited else []
    of_map += [("outline", UNUSED)] if unused else []
    of_time = [WAITS[name][::-1] if name in WAITS else (theme.colour(name), name) for name in names]
    squares, texts = [], []
    for entries, begin, end in ((of_map, 8.0, at.lane - 8), (of_time, 8.0, float(at.width) - 8)):
        x = begin
        for colour, text in entries:
            wide = 18 + theme.GLYPH * len(text) * 0.92 + 12
            if x + wide > (end if entries is of_time else at.width - 8) and x > begin:
                x, top = begin, top + 19
            squares.append((colour, x, top))
            texts.append((text, x + 17, top + 6))
            x += wide
        top += 22
    table = pd.DataFrame(squares, columns=["colour", "left", "top"])
    table = table.assign(label="", what="", right=table["left"] + 12, bottom=table["top"] + 12)
    outlined = table["colour"] == "outline"
    frames = [table[outlined].assign(colour=DISK)]
    inner = table[outlined].assign(colour=theme.INK["ground"][1])
    inner = inner.assign(
        left=inner["left"] + 1, right=inner["right"] - 1, top=inner["top"] + 1, bottom=inner["bottom"] - 1
    )
    words = _text([t for t, *_ in texts], [x for _, x, _ in texts], [y for *_, y in texts])
    return pd.concat([table[~outlined], *frames, inner], ignore_index=True), words, top + 2
