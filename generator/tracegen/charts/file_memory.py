"""Below the map of the file: the share of tokens that touch each place, and the memory that serves repeated uses."""

from collections.abc import Iterable

import pandas as pd

from tracegen.charts import theme
from tracegen.charts.file_plan import Plan, joined, text
from tracegen.contract import quantities as q

STRIP, RULER = 26.0, 34.0  # px of height
NAME = 52.0  # px between marks that have names of their own
LEAST_STRIP = 0.05  # a strip of equal shares shows nothing: it is drawn where they differ by more


def below(at: Plan, often: pd.DataFrame, memory: pd.DataFrame, top: float) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """Rectangles, texts, and where they end; below `top`.

    `often`: cell and share, 0 to 1, of the tokens that touch it. `memory`: share (of repeated uses) and size_bytes.
    """
    rects, texts = [], []
    left, right = float(at.parts["left"].min()), float(at.parts["right"].max())
    if len(often) and often["share"].max() - often["share"].min() > LEAST_STRIP:
        base = top + STRIP
        steps = often.assign(row=0, share=(often["share"] * 20).round() / 20)
        bars = joined(at, steps[["row", "cell"]], steps["share"].astype(object))
        share = bars["colour"].astype(float)
        bars = bars.assign(colour=theme.INK["bar"][1], top=base - (STRIP - 6) * share, bottom=base)
        bars["what"] = [f"touched by {q.percent(of)} of the tokens" for of in share]
        rects += [bars, _line(left, right, base)]
        name = "tokens" if at.is_narrow else "share of tokens"
        texts.append(text([name], left - 7, base - STRIP / 2 + 3, "right", "muted"))
        top = base + 2
    if len(memory):
        line = top + RULER / 2 + 2
        scale = (right - left) / float(at.parts["end"].max())
        place = (left + memory["size_bytes"] * scale).clip(left + 1, right - 1)
        ticks = pd.DataFrame({"left": place - 1, "right": place + 1, "top": line - 5, "bottom": line + 6})
        what = [f"{q.percent(of)} of repeated uses with {q.size(size)}" for of, size in memory.to_numpy()]
        rects += [_line(left, right, line), ticks.assign(colour=theme.INK["ink"][1], what=what)]
        marks = _marks(memory, place)
        name = "LRU" if at.is_narrow else "repeated uses, LRU"
        texts.append(text([name], left - 7, line, "right", "muted"))
        for side, height in (("share", line - 12), ("size", line + 14)):
            texts.append(_apart(marks[side], marks["place"], height, left, right))
        top = line + RULER / 2 + 4
    names = ["label", "what", "colour", "left", "right", "top", "bottom"]
    drawn = pd.concat(rects, ignore_index=True) if rects else pd.DataFrame(columns=names)
    return drawn.assign(label="")[names], pd.concat([text([], [], []), *texts], ignore_index=True), top


def _line(left: float, right: float, top: float) -> pd.DataFrame:
    row = {"left": left, "right": right, "top": top, "bottom": top + 1, "colour": theme.INK["muted"][1], "what": ""}
    return pd.DataFrame([row])


def _marks(memory: pd.DataFrame, place: pd.Series) -> pd.DataFrame:
    """The names of marks, of neighbours together: share (`50, 80, 90 %`), size (`92.1 MiB`), place (px)."""
    rows = memory.assign(place=place).sort_values("size_bytes", kind="stable")
    apart = (rows["place"].diff() > NAME).cumsum()
    named = []
    for _, some in rows.groupby(apart):
        shares = _listed(f"{100 * of:.0f} %" for of in some["share"])
        sizes = _listed(q.size(float(of)) for of in some["size_bytes"])
        named.append((shares, sizes, float(some["place"].mean())))
    return pd.DataFrame(named, columns=["share", "size", "place"])


def _listed(texts: Iterable[str]) -> str:
    """`1.91, 2.96, 4.12 MiB`: each once, and the unit where another one follows."""
    each = list(dict.fromkeys(texts))
    units = [text.rpartition(" ")[2] for text in each]
    followed = zip(each, units, [*units[1:], ""], strict=True)
    return ", ".join(text.removesuffix(f" {unit}") if unit == after else text for text, unit, after in followed)


def _apart(words: pd.Series, place: pd.Series, top: float, left: float, right: float) -> pd.DataFrame:
    """The words centred at their places, moved to the side where two would meet."""
    begins: list[float] = []
    free = left - 4
    for word, middle in zip(words, place, strict=True):
        wide = theme.GLYPH * len(word) * 0.92
        begins.append(max(min(middle - wide / 2, right - wide), free))
        free = begins[-1] + wide + 6
    return text(words, pd.Series(begins, dtype=float), top)
