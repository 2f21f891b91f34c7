"""Against chance: experts that the token before chose too, and experts that the layer before predicts."""

import pandas as pd

from tracegen.analysis import chance, expert_next, expert_rows, expert_transitions
from tracegen.charts import by_layer
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures import shared_experts
from tracegen.report.figures.columns import Row
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content


def _percents(layers: pd.DataFrame) -> pd.DataFrame:
    """What the drawing of layers against chance shows, in percent: layer, value, low, high, even."""
    shown = layers[["layer", "share", "low", "high", "even"]].rename(columns={"share": "value"}).astype("float64")
    return shown.assign(**100 * shown.drop(columns="layer"))


def _over_all(table: pd.DataFrame) -> tuple[Row, pd.DataFrame]:
    """The row over all layers, empty without any, and those of the layers."""
    known = table["layer"].notna()
    return next(iter(table[~known].to_dict("records")), {}), table[known]


def _effect(r: Row, by_chance: str) -> str:
    """The effect over all layers, with the interval of the share where that is known."""
    ends = ""
    if q.known(r["share_low"]) and q.known(r["share_high"]):
        low, high = (_points(r[end] - r[by_chance]) for end in ("share_low", "share_high"))
        ends = f" (95 %: {low} to {high})"
    return f" Effect over all layers: {_points(r['effect'])} percentage points{ends}"


def _points(value: float) -> str:
    """`+3.1`: a difference of shares in percentage points."""
    return f"{100 * value:+.1f}".replace("-", "−")


def _experts_sticky(context: Context) -> Content:
    table = context.stickiness
    every, layers = _over_all(table)
    answer, overall = (_again(every), _sticky_overall(every, layers)) if every else ((), "")
    pairs = [int(n) for n in layers["n_pairs"]]
    return Content(
        answer=answer,
        caption="Points: share of a token’s experts that the token before it in its sequence chose too, in the same "
        f"layer. Grey: the middle 95 % of {chance.DRAWS} shuffles of the tokens, each with its experts of all layers; "
        "it rises where a layer prefers some experts. Ticks: k/E, a random choice of k of E experts."
        f"{shared_experts.n_from_to(pairs, 'tokens per layer that follow another')}{overall}"
        f"{shared_experts.first_tokens(context)} {shared_experts.LEFT_OUT}",
        alt="By layer, the share of experts chosen again beside that of shuffled tokens.",
        chart=lambda width: by_layer.against_chance(_percents(layers), "% of choices", "k/E", width=width),
        data=table,
        empty=shared_experts.untested(context)
        or ("" if len(table) else "No generated token that chose experts follows another one in its sequence."),
    )


def _few(r: Row) -> bool:
    """Whether the tokens are so few that no order of them can have a p below the level."""
    return bool(r["n_pairs"] <= expert_transitions.FEW_PAIRS)


def _again(r: Row) -> tuple[Amount, ...]:
    share = Amount(r["share"], "share", "of a token’s experts were chosen by the token before too")
    tested = (shared_experts.by_chance(r["low"], r["high"], "in shuffled order"), Amount(r["p"], "p"))
    return (share,) if _few(r) else (share, *tested)


def _sticky_overall(r: Row, layers: pd.DataFrame) -> str:
    """The effect over all layers, and how many of them differ by Holm’s method."""
    if _few(r):
        return " There are too few tokens to test."
    n_sure = int((layers["p_adjusted"] < chance.LEVEL).sum())
    holm = f"; {q.count(n_sure)} of {len(layers)} layers differ by Holm’s method" if len(layers) > 1 else ""
    return f"{_effect(r, 'shuffled')}{holm}."


EXPERTS_STICKY = shared_experts.figure(
    key="experts-sticky",
    title="Do generated tokens choose the experts of the token before more often than chance?",
    content=_experts_sticky,
    code=shared_experts.CHOSEN + "data = expert_transitions.stickiness(chosen, experts.sizes(run.tables, chosen))",
)


def _too_few(context: Context) -> str:
    """Why nothing is learned; the choices can be tested."""
    largest = expert_rows.groups(context.chosen, context.expert_sizes)[0]
    if len(largest.layers) < 2:
        return "Not applicable: fewer than two layers have experts that can be tested, so that none has a next one."
    return f"A guess needs at least {expert_next.LEAST_ROWS} tokens to learn from; n = {len(largest.rows)}."


def _experts_next(context: Context) -> Content:
    table = context.experts_next
    every, layers = _over_all(table)
    answer, scored, overall = (_predicted(every), _scored(every), _next_overall(every)) if every else ((), "", "")
    return Content(
        answer=answer,
        caption="Points: share of a token’s experts in the layer that a guess finds which knows its experts in the "
        f"layer before.{scored} Grey: the middle 95 % of the shares where each guess is compared with the choice of "
        "another token, all as many tokens later, in a circle. Ticks: always guessing the experts that the first "
        f"tokens chose most often.{overall}{shared_experts.first_tokens(context)} {shared_experts.LEFT_OUT}",
        alt="By layer, the share of experts guessed from the layer before, beside chance.",
        chart=lambda width: by_layer.against_chance(
            _percents(layers.assign(even=layers["most"])), "% of choices", "most chosen", width=width
        ),
        data=table,
        empty=shared_experts.untested(context) or ("" if len(table) else _too_few(context)),
    )


def _predicted(r: Row) -> tuple[Amount, ...]:
    share = Amount(r["share"], "share", "of a token’s experts are predicted from the layer before")
    return share, shared_experts.by_chance(r["low"], r["high"]), Amount(r["p"], "p")


def _scored(r: Row) -> str:
    learned, others = q.count(r["n_learned"]), q.count(r["n_rows"])
    return f" The guess is learned on the first {learned} tokens and scored on the other {others}."


def _next_overall(r: Row) -> str:
    """The effect over all layers, and what other guesses find."""
    most, before, even = (q.percent(r[name]) for name in ("most", "before", "even"))
    return (
        f"{_effect(r, 'shifted')}. The most chosen experts find {most}, those of the token before {before}, any k of E "
        f"{even}."
    )


EXPERTS_NEXT = shared_experts.figure(
    key="experts-next",
    title="Do the experts of a layer predict those of the next?",
    content=_experts_next,
    code=shared_experts.CHOSEN + "data = expert_next.predicted(chosen, experts.sizes(run.tables, chosen))",
)
