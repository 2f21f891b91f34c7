"""The experts page: which experts the tokens chose, how evenly, and how often the same ones again."""

from __future__ import annotations

from typing import Any

from tracegen.analysis import experts as analysis
from tracegen.analysis import routing
from tracegen.charts import by_layer, expert_load
from tracegen.charts import experts as experts_chart
from tracegen.pages import expert_tables as tables
from tracegen.pages import quantities as q
from tracegen.pages.context import Context
from tracegen.pages.expert_tokens import no_choice, tokens_view
from tracegen.pages.views import FigureView

RANKS = 6  # ranks that the figure of weights tells apart; the table has all


def experts(context: Context) -> dict[str, Any]:
    """Everything the template of the experts page prints; writes the chunks."""
    empty = no_choice(context)
    again = routing.reuse(context.chosen, context.choice.counts)
    weights = routing.weights(context.chosen)
    return {
        "experts": experts_figure(context),
        "tokens": tokens_view(context),
        "load": load_figure(context),
        "layers": tables.layers_table(context, empty),
        "cover": cover_figure(context),
        "reuse": reuse_figure(context),
        "reuse_table": tables.reuse_table(context, again, empty or NO_PAIR),
        "weights": weights_figure(context),
        "weights_table": tables.weights_table(context, weights, empty or NO_WEIGHT),
    }


NO_PAIR = "No token has one before it: a sequence of one generated token chooses nothing again."
NO_WEIGHT = "The trace holds no routing weight: it does not say how strongly the tokens chose."


def experts_figure(context: Context) -> FigureView:
    """Tokens per layer and expert over the generate passes."""
    made = context.choice
    return context.figure(
        "experts",
        "experts",
        _title(made),
        _caption(made),
        f"Grid of {made.counts['layer'].nunique()} layers by experts: tokens that chose each. {_title(made)}.",
        lambda: experts_chart.chart(made.counts),
        data=made.counts.assign(n_tokens_if_even=made.even),
        empty=no_choice(context),
    )


def load_figure(context: Context) -> FigureView:
    """How evenly the choices of a layer are shared among its experts."""
    made, empty = context.choice, no_choice(context)
    ranked = routing.ranked(made.counts)
    n = int(made.counts["layer"].nunique())
    title = "How evenly are the choices shared?"
    if not empty:
        first = ranked[ranked["place"] == 1]["share"]
        title = (
            f"The most chosen expert of a layer gets {q.percent(float(first.median()))} of its choices; "
            f"an even choice would give it {q.percent(float(ranked['even'].median()))}"
        )
    return context.figure(
        "experts-load",
        "experts",
        title,
        f"Experts of each layer sorted by how often they were chosen; bar: from the lowest to the highest of "
        f"{q.counted(n, 'layer')}, tick: the median layer, dashed: every expert chosen equally often. {_n(made)}",
        f"Share of choices by place of the expert in its layer. {title}.",
        lambda: expert_load.chart(ranked),
        data=ranked,
        empty=empty,
    )


def cover_figure(context: Context) -> FigureView:
    """How few experts of each layer make up most of its choices."""
    made, per_layer, empty = context.choice, context.expert_layers, no_choice(context)
    names = {f"needed_{round(100 * part)}": f"{round(100 * part)} %" for part in reversed(routing.COVERED)}
    rows = per_layer.melt("layer", list(names), "needed", "value")
    rows = rows.assign(series=rows["needed"].map(names))
    title = "How many experts make up most of the choices?"
    if not empty:
        half, size = int(per_layer["needed_80"].median()), int(per_layer["n_experts"].median())
        title = f"In the median layer, {q.counted(half, 'expert')} of {size} make up 80 % of the choices"
    return context.figure(
        "experts-cover",
        "experts",
        title,
        "The fewest experts of a layer that together make up 50, 80 and 95 % of its choices, the most chosen first. "
        f"Which they are differs from layer to layer. {_n(made)}",
        f"Experts needed per layer for three shares of the choices. {title}.",
        lambda: by_layer.lines(rows, list(names.values()), "experts"),
        data=per_layer,
        empty=empty,
    )


def reuse_figure(context: Context) -> FigureView:
    """How many of a token's experts the token before chose too, per layer."""
    again = routing.reuse(context.chosen, context.choice.counts)
    title = "How often does a token choose the experts of the token before?"
    if len(again):
        share = float(again["n_again"].sum()) / float(again["n_choices"].sum())
        even = float((again["even"] * again["n_choices"]).sum()) / float(again["n_choices"].sum())
        title = (
            f"{q.percent(share)} of a token’s experts were chosen by the token before too; "
            f"an even choice would give {q.percent(even)}"
        )
    n = int(again["n_tokens"].max()) if len(again) else 0
    rows = again.assign(value=again["share"].astype(float) * 100, even=again["even"].astype(float) * 100)
    return context.figure(
        "experts-reuse",
        "experts",
        title,
        "Share of the experts of a generated token that the generated token before it, of the same sequence, chose in "
        "the same layer: what a cache that holds one token’s experts would hit. Tick: if all experts were equally "
        f"likely. n = {q.counted(n, 'token row')} per layer with one before them; the first of a sequence has none.",
        f"Bars of the share of experts chosen again, per layer. {title}.",
        lambda: by_layer.bars(rows, "% of choices", "even choice"),
        data=again,
        empty=no_choice(context) or ("" if len(again) else NO_PAIR),
    )


def weights_figure(context: Context) -> FigureView:
    """How strongly the tokens choose, per layer and order of choice."""
    weights = routing.weights(context.chosen)
    rows = weights[weights["rank"] < RANKS]
    order = [f"choice {rank + 1}" for rank in sorted(rows["rank"].unique())]
    rows = rows.assign(series=[f"choice {rank + 1}" for rank in rows["rank"]], value=rows["mean"])
    title = "How strongly do the tokens choose?"
    if len(weights):
        first = weights[weights["rank"] == 0]
        mean = float((first["mean"] * first["n"]).sum()) / max(float(first["n"].sum()), 1)
        title = f"The strongest expert of a token gets a weight of {q.three(mean)} on average"
    cut = (
        f" The {RANKS} strongest of {weights['rank'].nunique()}; the table has all."
        if len(order) < weights["rank"].nunique()
        else ""
    )
    n = int(weights["n"].max()) if len(weights) else 0
    return context.figure(
        "experts-weights",
        "experts",
        title,
        "Mean weight that the router gave the chosen experts, by their order of strength, per layer, as llama.cpp "
        f"multiplies the experts’ outputs with it. n = {q.counted(n, 'token row')} per layer and choice.{cut} Prompt "
        "and warm-up are left out.",
        f"Mean routing weights per layer and order of choice. {title}.",
        lambda: by_layer.lines(rows, order, "mean weight"),
        data=weights,
        empty=no_choice(context) or ("" if len(weights) else NO_WEIGHT),
    )


def _n(made: analysis.Choice) -> str:
    return f"n = {q.counted(made.n_rows, 'token row')} of generate passes; prompt and warm-up are left out."


def _title(made: analysis.Choice) -> str:
    if made.counts.empty:
        return "Which experts do the tokens choose?"
    never = int((made.counts["n_tokens"] == 0).sum())
    if never:
        return f"{q.count(never)} of {q.count(len(made.counts))} experts are chosen by no generated token"
    best = made.counts.sort_values(["n_tokens", "layer", "expert"], ascending=[False, True, True]).iloc[0]
    return (
        f"Every expert is chosen; expert {best['expert']} of layer {best['layer']} most often, by "
        f"{q.count(best['n_tokens'])} of {q.count(made.n_rows)} tokens"
    )


def _caption(made: analysis.Choice) -> str:
    base = "Each cell: token rows of generate passes that chose the expert in that layer, one row of cells per layer."
    if made.even is not None and made.n_rows:
        base += (
            f" n = {q.count(made.n_rows)} token rows; each chooses {made.n_chosen} of {made.n_experts} experts in a "
            f"layer, so that an even choice would give every cell {q.three(made.even)}."
        )
    elif made.n_rows:
        base += f" n = {q.count(made.n_rows)} token rows; layers differ in experts, so that no one baseline holds."
    return base + " Prompt and warm-up are left out."
