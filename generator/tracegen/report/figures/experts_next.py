"""Whether the experts of a layer tell those of the next one."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import chance, expert_next, expert_rows
from tracegen.charts import by_layer
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import expert_chance_sentences as say

QUESTION = "Do the experts of a layer tell those of the next?"


def _overall(table: pd.DataFrame) -> tuple[str, str]:
    """The title, and the sentence with the numbers over all layers."""
    r = {name: float(value) for name, value in table.iloc[0].drop(["layer", "after"]).items()}
    title = say.next_title(
        share=r["share"], low=r["low"], high=r["high"], effect=r["effect"], p=r["p"], level=chance.LEVEL
    )
    return title, say.next_overall(
        effect=r["effect"], low=r["share_low"], high=r["share_high"], shifted=r["shifted"], p=r["p"], most=r["most"],
        before=r["before"], even=r["even"],
    )  # fmt: skip


def _too_few(context: Context) -> str:
    """Why nothing is learned; the choices can be tested."""
    largest = expert_rows.groups(context.chosen, context.expert_sizes)[0]
    return say.no_next(n_rows=len(largest.rows), n_layers=len(largest.layers), least=expert_next.LEAST_ROWS)


def _content(context: Context) -> Content:
    """By layer: what the layer before tells, beside other guesses."""
    table = context.experts_next
    layers = table[table["layer"].notna()]
    title, overall = _overall(table) if len(table) else (QUESTION, "")
    n_learned, n_rows = (int(table[name].iloc[0]) if len(table) else 0 for name in ("n_learned", "n_rows"))
    cut = shared_experts.first_rows(context, expert_next.MOST_ROWS)
    percents = layers.assign(value=layers["share"], even=layers["most"])
    percents = percents[["layer", "value", "low", "high", "even"]].astype("float64")
    percents[["value", "low", "high", "even"]] *= 100
    return Content(
        title=title,
        caption=say.next_caption(n_learned=n_learned, n_rows=n_rows, overall=overall, cut=cut),
        alt=f"By layer, the share of experts guessed from the layer before, beside chance. {q.ended(title)}",
        chart=lambda width: by_layer.against_chance(percents, "% of choices", "most chosen", width=width),
        data=table,
        empty=shared_experts.untested(context) or ("" if len(table) else _too_few(context)),
    )


EXPERTS_NEXT = Figure(
    key="experts-next",
    page="experts",
    section="shares",
    title=QUESTION,
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "The share of a token’s experts that a guess finds from its experts in the layer before: what a program could "
        "read ahead while that layer computes.",
        f"{shared_experts.GENERATED} For each expert of the layer before, the first 80 % of the rows say how often "
        "each expert of the layer followed; a row is guessed to choose the k experts of the largest mean over its own. "
        "The other 20 % score the guess. Layers in which rows choose all experts, or different numbers of them, are "
        "left out.",
        "A point above the grey band: the layer before tells something. A point above the tick: it tells more than how "
        "often each expert is chosen, which keeping the most chosen ones in memory would serve as well. The band keeps "
        "the order of the tokens, so that tokens that resemble their neighbours do not look like an effect; p is that "
        "of all layers together, for single layers the rows are too few. The guess is a simple one: another, such as a "
        "trained one that knows the token’s vector, may find more.",
        code=shared_experts.CHOSEN.replace("experts, routing", "expert_next, experts")
        + "data = expert_next.told(chosen, experts.sizes(run.tables, chosen))",
    ),
)
