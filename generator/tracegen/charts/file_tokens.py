"""The model file by token, with the time of each: one picture of what was touched, waited for and read, and how long.

Places are in px of the drawing, as parts of the file have widths that grow with the root of their size only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tracegen.charts import file_memory, theme
from tracegen.charts.file_plan import FEW, LEAST, Plan, headings, joined, part_names, text
from tracegen.charts.lazy import alt
from tracegen.contract import quantities as q

CUT = 4  # times the median of the rows of tokens: a longer bar is cut
TOP = 40.0  # px: of the first row
STEPS = ((0.01, theme.INK["hairline"][1]), (0.5, theme.INK["band2"][1]), (1.0, theme.INK["touched"][1]))
TOUCHED = ("up to 1 % touched", "up to half", "more")
TOOLTIPS = (TOUCHED[0], "up to half touched", "more than half touched")
LINE = 15  # px: of a line of numbers below a bar
TIGHT = 250.0  # px: less room for bars has none for two times beside them
LONGEST = ("longest pass of a row", theme.INK["ink"][1])
WAITED, UNUSED = "waited for", "read ahead, not used"
DISK = theme.INK["disk"][1]
# Column of the time of a pass -> what the picture calls it, and its colour; groups of components keep theirs.
WAITS = {
    "disk_ns": ("waiting for the disk", DISK),
    "behind_ns": ("waiting for a thread at the disk", theme.INK["behind"][1]),
    "paging_ns": ("page faults, no read under way", theme.INK["paging"][1]),
    "processor_ns": ("waiting for a processor", theme.INK["processor"][1]),
    "waiting_ns": ("waiting for other threads", theme.INK["inside"][1]),
    "elsewhere_ns": ("other backends", theme.INK["elsewhere"][1]),
    "rest_ns": ("outside operations", theme.INK["outside"][1]),
}


@dataclass(frozen=True)
class Picture:
    """What the picture of one width shows.

    `rows`: row, pass_id (the first of the row), label, is_prompt, is_folded, took (text); longest_ns and longest
    (text) of its longest pass, null and empty where that is not marked (no such columns: in no row); read and
    needed (texts; no such columns: not recorded). `touched`, `waited`, `unused`: row and cell (of the plan),
    `touched` also share. `times`: row and ns, a column for each of `names`, groups of components and the keys of
    WAITS; `others`: what the other backends are called. `often`: cell and share (of the tokens); `memory`: size_bytes
    and share (of uses), as of `file_memory`; neither where it is empty.
    """

    at: Plan
    rows: pd.DataFrame
    touched: pd.DataFrame
    waited: pd.DataFrame
    unused: pd.DataFrame
    times: pd.DataFrame
    names: Sequence[str]
    others: str = WAITS["elsewhere_ns"][0]
    often: pd.DataFrame = field(default_factory=pd.DataFrame)
    memory: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def waits(self) -> Mapping[str, tuple[str, str]]:
        """WAITS, with the name of the other backends."""
        return {**WAITS, "elsewhere_ns": (self.others, WAITS["elsewhere_ns"][1])}


def chart(of: Picture) -> Any:
    """The picture as a chart."""
    at, few = of.at, len(of.rows) <= FEW
    rows = _laid(at, of.rows)
    bars, took = _bars(at, rows, of.times, of.names, of.waits)
    texts = [headings(at), _labels(rows, at), took, *_numbers(at, rows), *([_named(bars)] if few else [])]
    below, below_texts, bottom = file_memory.below(at, of.often, of.memory, float(rows["bottom"].max()))
    is_named = (bars["what"] == LONGEST[0]).any() and not _is_tight(at)  # else the words below its bar name it
    named = [*of.names, LONGEST[0]] if is_named else of.names
    legend, legend_texts, height = _legend(of, named, bottom + 16)
    layers = [_rects(pd.concat([_rulers(at), *_map(of, rows), bars, below, legend], ignore_index=True))]
    if not of.unused.empty:
        layers.append(_rects(_marks(at, rows, of.unused, UNUSED), outlined=True))
    words = pd.concat([*texts, below_texts, legend_texts], ignore_index=True)
    for (align, ink, style), some in words.groupby(["align", "ink", "style"], sort=False):
        mark = alt.Chart(some[["text", "left", "top"]]).mark_text(
            align=align, baseline="middle", color=ink, fontStyle=style, fontSize=theme.SMALL
        )
        layers.append(mark.encode(text=alt.Text("text:N"), x=alt.X("left:Q", **_PX), y=alt.Y("top:Q", **_PX)))
    together = alt.Resolve(scale=alt.ScaleResolveMap(x="shared", y="shared"))
    return alt.layer(*layers, resolve=together, width=at.width - 10, height=height)


def simplified(of: Picture) -> pd.DataFrame:
    """What the picture shows without its texts: left, right, top, bottom, colour."""
    rows = _laid(of.at, of.rows)
    bars, _ = _bars(of.at, rows, of.times, of.names, of.waits)
    return pd.concat([*_map(of, rows), bars], ignore_index=True)[["left", "right", "top", "bottom", "colour"]]


def _map(of: Picture, rows: pd.DataFrame) -> list[pd.DataFrame]:
    """The rectangles of the file in the laid `rows`."""
    return [_ground(of.at, rows), _cells(of.at, rows, of.touched), _marks(of.at, rows, of.waited, WAITED)]


def _laid(at: Plan, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with top, bottom, and end, the bottom of their bars: a narrow picture has numbers below these."""
    few = len(rows) <= FEW
    high, head = (
        (46, 46)
        if few
        else (12, 18)
        if at.is_narrow
        else (15, 22)
        if at.width < theme.WIDTH or len(rows) > 24
        else (18, 26)
    )
    below = LINE * sum(((line != "").to_numpy(int) for line in _below(at, rows)), np.zeros(len(rows)))
    tall = np.where(rows["is_prompt"], head, high) + below
    tops = TOP + np.cumsum(tall) - tall + 3 * np.cumsum(rows["is_prompt"].shift(fill_value=False))
    ends = tops + tall - (22 if few else 2)
    return rows.assign(top=tops, bottom=ends, end=ends - below)


_PX = dict(scale=dict(domain=[0, 1], range=[0, 1], nice=False, zero=False), axis=None)


def _rects(rows: pd.DataFrame, *, outlined: bool = False) -> Any:
    columns = ["label", "what", "colour", "left", "right", "top", "bottom", "pass_id"]
    if outlined:
        mark = alt.Chart(rows[columns].drop(columns="colour").round(1))
        mark = mark.mark_rect(filled=False, stroke=DISK, strokeWidth=1)
    else:
        mark = alt.Chart(rows[columns].round(1)).mark_rect().encode(color=alt.Color("colour:N", scale=None))
    return mark.encode(x=alt.X("left:Q", **_PX), x2=alt.X2("right:Q"), y=alt.Y("top:Q", **_PX), y2=alt.Y2("bottom:Q"))


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


def _cells(at: Plan, rows: pd.DataFrame, touched: pd.DataFrame) -> pd.DataFrame:
    step = np.searchsorted([most for most, _ in STEPS], touched["share"].to_numpy() - 1e-9).clip(0, len(STEPS) - 1)
    cells = joined(at, touched, pd.Series([STEPS[s][1] for s in step], dtype=object))
    words = dict(zip([colour for _, colour in STEPS], TOOLTIPS, strict=True))
    return _in_rows(at, rows, cells, cells["colour"].map(words))


def _marks(at: Plan, rows: pd.DataFrame, found: pd.DataFrame, words: str) -> pd.DataFrame:
    cells = joined(at, found, pd.Series(DISK, index=found.index, dtype=object))
    narrow = (LEAST - (cells["right"] - cells["left"])).clip(0) / 2
    return _in_rows(at, rows, cells.assign(left=cells["left"] - narrow, right=cells["right"] + narrow), words)


def _in_rows(at: Plan, rows: pd.DataFrame, cells: pd.DataFrame, words: pd.Series | str) -> pd.DataFrame:
    """The cells at the height of their rows, with what they tell."""
    named = cells.assign(what=part_names(at).to_numpy()[cells["part"]] + ": " + words)
    return named.merge(rows[["row", "pass_id", "label", "top", "bottom"]], on="row")


def _rulers(at: Plan) -> pd.DataFrame:
    """The colour of its group above each part."""
    colours = [theme.INK["band2"][1] if pd.isna(group) else theme.colour(group) for group in at.parts["group"]]
    return at.parts[["left", "right"]].assign(
        label="the file", what=part_names(at), colour=colours, top=TOP - 8, bottom=TOP - 4
    )


def _labels(rows: pd.DataFrame, at: Plan) -> pd.DataFrame:
    middle = (rows["top"] + rows["bottom"]) / 2
    folded = rows["is_folded"].to_numpy(bool)
    labels = text(rows["short"] if at.is_narrow else rows["label"], float(at.parts["left"].min()) - 7, middle, "right")
    labels.loc[folded, "ink"], labels.loc[folded, "style"] = theme.INK["muted"][1], "italic"
    return labels


def _bars(
    at: Plan,
    rows: pd.DataFrame,
    times: pd.DataFrame,
    names: Sequence[str],
    waits: Mapping[str, tuple[str, str]] = WAITS,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The time of each row in parts, and how long it took; prompts have a scale of their own where one is longer."""
    if times.empty:
        return pd.DataFrame(
            columns=["pass_id", "label", "what", "short", "colour", "left", "right", "top", "bottom"]
        ), text([], [], [])
    table = rows.assign(bottom=rows["end"]).merge(times, on="row", how="left").fillna(dict.fromkeys(names, 0.0))
    whole = table[list(names)].sum(axis=1)
    longest_ns = table["longest_ns"].fillna(whole) if "longest_ns" in table else whole
    tokens = longest_ns[~table["is_prompt"]] if (~table["is_prompt"]).any() else whole
    of_tokens = min(tokens.max(), CUT * tokens.median()) if tokens.median() else tokens.max()
    of_prompts = max(whole[table["is_prompt"]].max() if table["is_prompt"].any() else 0, of_tokens)
    longest = np.where(table["is_prompt"], of_prompts, of_tokens)
    marked = (longest_ns > whole).to_numpy(bool)
    room = at.numbers - at.lane - (128 if marked.any() and not _is_tight(at) else 62)
    end = at.lane + room
    per_ns = room / np.where(longest > 0, longest, 1)
    bars, left = [], pd.Series(at.lane, index=table.index)
    for name in names:
        label, colour = waits.get(name, (f"computing: {name}", theme.colour(name)))
        right = left + table[name] * per_ns
        shares = [
            f"{part / of:.0%}".replace("%", " %") if of else "" for part, of in zip(table[name], whole, strict=True)
        ]
        words = [
            f"{label}, {q.duration(part)}, {share} of the time" for part, share in zip(table[name], shares, strict=True)
        ]
        some = table[["pass_id", "label", "top", "bottom"]].assign(what=words, colour=colour, left=left)
        some["short"] = [f"{label.removeprefix('computing: ')} {share}" for share in shares]
        some["right"] = right.clip(upper=end)
        bars.append(some[some["right"] - left > 0.2])
        left = right
    far = left.where(~marked, at.lane + longest_ns * per_ns)
    cut, left, far = far > end + 0.5, left.clip(upper=end), far.clip(upper=end)
    bars += _longest(table[marked], left[marked], far[marked])
    left = far
    own = table["is_prompt"] & (of_prompts > of_tokens) & (left > at.lane + 24)
    scale = "a scale of its own"
    for gapped, what, back in ((cut, "longer: cut here", 12), (own, scale, 12), (own, scale, 18)):
        gap = table.loc[gapped.to_numpy(bool), ["pass_id", "label", "top", "bottom"]]
        places = left[gap.index] - back
        gap = gap.assign(what=what, short="", colour=theme.INK["ground"][1], left=places, right=places + 3)
        bars.append(gap)
    middle = (table["top"] + table["bottom"]) / 2
    took = table["took"]
    if marked.any() and not _is_tight(at):
        took = took.where(~marked, took + ", to " + table["longest"])
    return pd.concat(bars, ignore_index=True), text(took, left + 5, middle)


def _longest(rows: pd.DataFrame, left: pd.Series, right: pd.Series) -> list[pd.DataFrame]:
    """A line from the bar of each row to where its longest pass ends, and a mark there."""
    middle = (rows["top"] + rows["bottom"]) / 2
    marks = rows[["pass_id", "label"]].assign(what=LONGEST[0], short="", colour=LONGEST[1])
    return [
        marks.assign(left=left, right=right, top=middle - 0.5, bottom=middle + 0.5),
        marks.assign(left=right - 1.5, right=right, top=middle - 3, bottom=middle + 3),
    ]


def _named(bars: pd.DataFrame) -> pd.DataFrame:
    """What each part of a bar is, below it, where there is room."""
    words = bars["short"]
    wide = bars[(bars["right"] - bars["left"] > theme.GLYPH * words.str.len()).to_numpy(bool)]
    return text(words[wide.index], wide["left"], wide["bottom"] + 10, ink="muted")


def _is_tight(at: Plan) -> bool:
    """Whether two times have no room beside a bar."""
    return at.numbers - at.lane < TIGHT


def _below(at: Plan, rows: pd.DataFrame) -> list[pd.Series]:
    """What stands below the bars where it has no room beside them, line by line: a text for each row, or ""."""
    lines = []
    if at.is_narrow and "read" in rows:
        both = rows["read"] + ", " + rows["needed"] if "needed" in rows else rows["read"]
        lines.append(both.where(rows["read"] != "–", ""))
    if _is_tight(at) and "longest" in rows:
        lines.append(("longest " + rows["longest"]).where(rows["longest"] != "", ""))
    return lines


def _numbers(at: Plan, rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Heads of the columns at the right, and their numbers."""
    heads = ["time"]
    if at.is_narrow and "read" in rows:
        heads.append("read, needed of it" if "needed" in rows else "read")
    words = [text(heads, at.lane, pd.Series([TOP - 31, TOP - 16][-len(heads) :]), ink="muted")]
    top = rows["end"] + (24 if len(rows) <= FEW else 8)
    for line in _below(at, rows):
        has = (line != "").to_numpy(bool)
        words.append(text(line[has], at.lane, top[has], ink="muted"))
        top = top + LINE * has
    if at.is_narrow or "read" not in rows:
        return words
    middle = (rows["top"] + rows["end"]) / 2
    for name, head, right in (("read", "read", at.width - 80), ("needed", "needed of it", at.width - 10)):
        if name in rows:
            words.append(text([head], right, TOP - 16, "right", "muted"))
            words.append(text(rows[name], right, middle, "right"))
    return words


def _legend(of: Picture, names: Sequence[str], top: float) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """What colours mean: squares, texts, and where the drawing ends."""
    at = of.at
    of_map = [*zip([colour for _, colour in STEPS], TOUCHED, strict=True)]
    of_map += [(DISK, WAITED)] if len(of.waited) and "disk_ns" not in names else []  # else the time names this red
    of_map += [("outline", UNUSED)] if len(of.unused) else []
    named = {**of.waits, LONGEST[0]: LONGEST}
    of_time = [named[name][::-1] if name in named else (theme.colour(name), name) for name in names]
    squares, texts = [], []
    for entries, begin, end in ((of_map, 8.0, at.lane - 8), (of_time, 8.0, float(at.width) - 8)):
        x = begin
        for colour, word in entries:
            wide = 18 + theme.GLYPH * len(word) * 0.92 + 12
            if x + wide > (end if entries is of_time else at.width - 8) and x > begin:
                x, top = begin, top + 19
            squares.append((colour, x, top))
            texts.append((word, x + 17, top + 6))
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
    words = text([t for t, *_ in texts], [x for _, x, _ in texts], [y for *_, y in texts])
    return pd.concat([table[~outlined], *frames, inner], ignore_index=True), words, top + 2
