"""The sentences of tests against chance on the experts page and the overview: values in, text out.

`r` is what a test found over all layers, by the names of its columns.
"""

from collections.abc import Mapping
from typing import Any

from tracegen.analysis.chance import LEVEL
from tracegen.contract import quantities as q

Row = Mapping[Any, Any]
UNTESTED = (
    "Not applicable: in no layer do token rows choose one number of experts that is less than all of them, so that "
    "there is no chance to test against."
)


def balance_title(entropy: float | None, low: float | None, high: float | None) -> str:
    """How even the choices of generated tokens are over all layers, and what random choice by as many rows gives."""
    if entropy is None:
        return "How evenly are the experts chosen?"
    said = f"The choices have {q.percent(entropy)} of the largest possible entropy"
    if low is None or high is None:
        return said
    ends = f"{q.percent(low)} to {q.percent(high)}"
    if low <= entropy <= high:
        return f"{said}, as random choice by as many rows has: {ends}"
    than = "less than" if entropy < low else "more than"
    return f"{said}, {than} random choice by as many rows: {ends}"


TOO_FEW = "Too few tokens to tell"


def sticky_title(r: Row, *, few: bool) -> str:
    """Whether tokens choose the experts of the token before, more or less than in shuffled order; over all layers.

    `few`: so few tokens that no order of them can have a p below LEVEL.
    """
    if few:
        return f"{TOO_FEW} whether they choose the experts of the token before more often than chance"
    differ = "no difference shown from" if r["p"] >= LEVEL else "more than" if r["effect"] > 0 else "fewer than"
    return (
        f"A token chooses {q.percent(r['share'])} of its experts as the token before did, {differ} shuffled tokens: "
        f"{_ends(r)}"
    )


def _ends(r: Row, of: str = "") -> str:
    """The ends of what chance gives."""
    return f"{q.percent(r[f'{of}low'])} to {q.percent(r[f'{of}high'])}"


def _effect(r: Row, by_chance: str) -> str:
    """The effect over all layers with the interval of the share, where that is known, and p."""
    ends = ""
    if q.known(r["share_low"]) and q.known(r["share_high"]):
        low, high = (points(r[end] - r[by_chance]) for end in ("share_low", "share_high"))
        ends = f" (95 %: {low} to {high})"
    return f" Effect over all layers: {points(r['effect'])} percentage points{ends}, {q.p_words(r['p'])}"


def sticky_overall(r: Row, *, n_layers: int, n_sure: int) -> str:
    """The numbers over all layers, and how many of them differ by Holm’s method."""
    layers = f"; of {q.counted(n_layers, 'layer')}, {q.count(n_sure)} differ by Holm’s method" if n_layers > 1 else ""
    return f"{_effect(r, 'shuffled')}{layers}."


def points(value: float) -> str:
    """`+3.1`: a difference of shares in percentage points."""
    return f"{100 * value:+.1f}".replace("-", "−")


def pairs_title(n_unusual: int) -> str:
    """How many pairs of experts are chosen together more often than chance."""
    if not n_unusual:
        return "Which experts are chosen together?"
    are = "pair of experts of a layer is" if n_unusual == 1 else "pairs of experts of a layer are"
    return f"{q.count(n_unusual)} {are} chosen together more often than their own use explains"


def no_pairs(*, n_rows: int, n_chosen: int | None, n_tested: int, n_pairs: int, least: int) -> str:
    """Why no pair is listed."""
    if n_chosen == 1:
        return "Not applicable: a token chooses one expert of a layer, so that none are chosen together."
    if not n_pairs:
        are = "is" if n_rows == 1 else "are"
        return f"{q.counted(n_rows, 'token row')} {are} too few to test pairs: it takes {least}."
    if not n_tested:
        return "No two experts of a layer were each chosen often enough to test whether they are chosen together."
    return f"No pair exceeds chance clearly, of {q.counted(n_tested, 'tested pair')}."


def phases_title(r: Row, *, few: bool) -> str:
    """Whether prompt and generated tokens choose other experts; over all layers. `few`: no p can be below LEVEL."""
    if few:
        return f"{TOO_FEW} whether prompt and generation choose other experts"
    which = "other" if r["p"] < LEVEL else "no clearly different"
    return (
        f"Prompt and generated tokens choose {which} experts: their distance is {q.percent(r['distance'])}, in 95 % of "
        f"random splits of the rows it is below {q.percent(r['high'])}"
    )


def no_phases(*, n_prompt: int, n_generate: int) -> str:
    """Why prompt and generation are not compared."""
    if not n_prompt:
        return "The trace holds no routing of a prompt pass, so that there is nothing to compare with."
    return UNTESTED if n_generate else "The trace holds no routing of a generate pass."


def next_title(r: Row) -> str:
    """Whether the experts of a layer tell those of the next; over all layers."""
    differ = "no more" if r["p"] >= LEVEL else "more" if r["effect"] > 0 else "fewer"
    return f"The layer before predicts {q.percent(r['share'])} of a token’s experts, {differ} than chance: {_ends(r)}"


def next_overall(r: Row) -> str:
    """The numbers over all layers, and what other guesses find."""
    most, before, even = (q.percent(r[name]) for name in ("most", "before", "even"))
    return (
        f"{_effect(r, 'shifted')}. The most chosen experts find {most}, those of the token before {before}, any k of E "
        f"{even}."
    )


def no_next(*, n_rows: int, n_layers: int, least: int) -> str:
    """Why no guess from the layer before is learned."""
    if n_layers < 2:
        return "Not applicable: fewer than two layers have experts that can be tested, so that none has a next one."
    return (
        f"{q.counted(n_rows, 'token row')} {'is' if n_rows == 1 else 'are'} too few to learn a guess: it takes {least}."
    )


def segments_title(r: Row) -> str:
    """How well one set of experts serves so many tokens in a row, beside shuffled tokens."""
    than = "more than" if r["srp"] > r["srp_high"] else "less than" if r["srp"] < r["srp_low"] else "within"
    return (
        f"A fixed set of experts fits the choices of {int(r['length'])} tokens in a row with an F1 of "
        f"{q.percent(r['srp'])} (SRP), {than} those of shuffled tokens: {_ends(r, 'srp_')}"
    )
