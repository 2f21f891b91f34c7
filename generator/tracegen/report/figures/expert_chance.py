"""What chance would give: experts that the token before chose too, and those that the layer before tells."""

import pandas as pd

from tracegen.analysis import chance, expert_next, expert_rows, expert_transitions
from tracegen.charts import by_layer
from tracegen.contract import quantities as q
from tracegen.report.figures import shared_experts
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content
from tracegen.report.words import expert_sentences as say


def _percents(layers: pd.DataFrame) -> pd.DataFrame:
    """What the drawing of layers against chance shows, in percent: layer, value, low, high, even."""
    shown = layers[["layer", "share", "low", "high", "even"]].rename(columns={"share": "value"}).astype("float64")
    return shown.assign(**100 * shown.drop(columns="layer"))


def _over_all(table: pd.DataFrame) -> tuple[say.Row, pd.DataFrame]:
    """The row over all layers, empty without any, and those of the layers."""
    known = table["layer"].notna()
    return next(iter(table[~known].to_dict("records")), {}), table[known]


def _experts_sticky(context: Context) -> Content:
    table = context.stickiness
    every, layers = _over_all(table)
    few = bool(every) and every["n_pairs"] <= expert_transitions.FEW_PAIRS
    title = say.sticky_title(every, few=few) if every else ""
    n_sure = int((layers["p_adjusted"] < chance.LEVEL).sum())
    overall = say.sticky_overall(every, n_layers=len(layers), n_sure=n_sure) if every else ""
    pairs = [int(n) for n in layers["n_pairs"]]
    counted = say.counted_rows(pairs, f"per layer with a token before {'it' if max(pairs, default=0) == 1 else 'them'}")
    return Content(
        title=title,
        caption="Points: share of a token’s experts that the token before it in its sequence chose too, in the same "
        f"layer. Grey: the middle 95 % of {chance.DRAWS} shuffles of the tokens, each with its experts of all layers; "
        "it rises where a layer prefers some experts. Ticks: k/E, a random choice of k of E experts."
        f"{counted}{overall}{shared_experts.first_rows(context)} {say.LEFT_OUT}",
        alt=f"By layer, the share of experts chosen again beside that of shuffled tokens. {q.ended(title)}",
        chart=lambda width: by_layer.against_chance(_percents(layers), "% of choices", "k/E", width=width),
        data=table,
        empty=shared_experts.untested(context) or ("" if len(table) else say.NO_PAIR),
    )


EXPERTS_STICKY = shared_experts.figure(
    key="experts-sticky",
    title="Do tokens choose the experts of the token before more often than chance?",
    content=_experts_sticky,
    code=shared_experts.CHOSEN + "data = expert_transitions.stickiness(chosen, experts.sizes(run.tables, chosen))",
)


def _too_few(context: Context) -> str:
    """Why nothing is learned; the choices can be tested."""
    largest = expert_rows.groups(context.chosen, context.expert_sizes)[0]
    return say.no_next(n_rows=len(largest.rows), n_layers=len(largest.layers), least=expert_next.LEAST_ROWS)


def _experts_next(context: Context) -> Content:
    table = context.experts_next
    every, layers = _over_all(table)
    title, overall = (say.next_title(every), say.next_overall(every)) if every else ("", "")
    n_learned, n_rows = (int(every.get(name, 0)) for name in ("n_learned", "n_rows"))
    scored = (
        f"The guess is learned on the first {q.count(n_learned)} token rows and scored on the other {q.count(n_rows)}. "
    )
    return Content(
        title=title,
        caption="Points: share of a token’s experts in the layer that a guess finds which knows its experts in the "
        f"layer before. {scored if every else ''}Grey: the middle 95 % of the shares where each guess is compared with "
        "the choice of another token, all as many tokens later, in a circle. Ticks: always guessing the experts that "
        f"the first rows chose most often.{overall}{shared_experts.first_rows(context)} {say.LEFT_OUT}",
        alt=f"By layer, the share of experts guessed from the layer before, beside chance. {q.ended(title)}",
        chart=lambda width: by_layer.against_chance(
            _percents(layers.assign(even=layers["most"])), "% of choices", "most chosen", width=width
        ),
        data=table,
        empty=shared_experts.untested(context) or ("" if len(table) else _too_few(context)),
    )


EXPERTS_NEXT = shared_experts.figure(
    key="experts-next",
    title="Do the experts of a layer tell those of the next?",
    content=_experts_next,
    code=shared_experts.CHOSEN + "data = expert_next.told(chosen, experts.sizes(run.tables, chosen))",
)
