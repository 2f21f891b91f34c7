"""Whether tokens choose the experts of the token before, against shuffled tokens."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import chance, expert_transitions
from tracegen.charts import by_layer
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import expert_chance_sentences as say
from tracegen.report.words import expert_sentences

QUESTION = "Do tokens choose the experts of the token before more often than chance?"


def _overall(table: pd.DataFrame) -> tuple[str, str]:
    """The title, and the sentence with the numbers over all layers."""
    r = table[table["layer"].isna()].iloc[0]
    low, high = (float(r[name]) if q.known(r[name]) else None for name in ("share_low", "share_high"))
    layers = table[table["layer"].notna()]
    share, effect, p = float(r["share"]), float(r["effect"]), float(r["p"])
    title = say.sticky_title(
        share=share, low=float(r["low"]), high=float(r["high"]), effect=effect, p=p, level=chance.LEVEL,
        few=int(r["n_pairs"]) <= expert_transitions.FEW_PAIRS,
    )  # fmt: skip
    return title, say.sticky_overall(
        effect=effect, low=low, high=high, shuffled=float(r["shuffled"]), p=p, n_layers=len(layers),
        n_held=int((layers["p_held"] < chance.LEVEL).sum()),
    )  # fmt: skip


def _content(context: Context) -> Content:
    """By layer: observed, shuffled and even share."""
    table = context.stickiness
    layers = table[table["layer"].notna()]
    title, overall = _overall(table) if len(table) else (QUESTION, "")
    cut = shared_experts.first_rows(context, expert_transitions.MOST_ROWS)
    percents = layers.assign(value=layers["share"])[["layer", "value", "low", "high", "even"]].astype("float64")
    percents[["value", "low", "high", "even"]] *= 100
    return Content(
        title=title,
        caption=say.sticky_caption(
            n_pairs=[int(n) for n in layers["n_pairs"]], draws=chance.DRAWS, overall=overall, cut=cut
        ),
        alt=f"By layer, the share of experts chosen again beside that of shuffled tokens. {q.ended(title)}",
        chart=lambda width: by_layer.against_chance(percents, "% of choices", "k/E", width=width),
        data=table,
        empty=shared_experts.untested(context) or ("" if len(table) else expert_sentences.NO_PAIR),
    )


EXPERTS_STICKY = Figure(
    key="experts-sticky",
    page="experts",
    section="shares",
    title=QUESTION,
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "The share of a token’s experts that the token before it chose too, beside what the same tokens give in "
        "shuffled order.",
        f"{shared_experts.GENERATED} The first token of a sequence has none before it. Layers in which rows choose all "
        f"experts, or different numbers of them, are left out.",
        "k/E is the share if all experts were equally likely. A router that prefers some experts repeats them in any "
        "order, so the grey band is the baseline: only a point outside it says that tokens in a row resemble each "
        "other. The effect is the distance from the mean of the band in percentage points; p is two-sided, by layer "
        "adjusted by Holm’s method. p asks whether the order of these tokens matters; the interval, how much the share "
        "differs between parts of the run. A small p with an interval around 0 is an effect of some part only. "
        "The share is also the hit rate of a cache that holds the experts of one token. The CSV has all numbers; its "
        "first row is over all layers.",
        code=shared_experts.CHOSEN.replace("experts, routing", "expert_transitions, experts")
        + "data = expert_transitions.stickiness(chosen, experts.sizes(run.tables, chosen))",
    ),
)
