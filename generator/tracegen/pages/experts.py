"""The experts page: which experts the tokens chose, how evenly, and how often the same ones again."""

from __future__ import annotations

from typing import Any

from tracegen.analysis import routing
from tracegen.charts import by_layer, expert_load
from tracegen.charts import experts as experts_chart
from tracegen.figures.context import Context
from tracegen.pages import expert_tables as tables
from tracegen.pages.expert_tokens import no_choice, tokens_view
from tracegen.pages.views import FigureView
from tracegen.words import expert_sentences as say
from tracegen.words import quantities as q

PLACES = 6  # places by weight that the figure of weights tells apart; the table has all


def experts(context: Context) -> dict[str, Any]:
    """Everything the template of the experts page prints; writes the chunks."""
    empty = no_choice(context)
    again = routing.reuse(context.chosen, context.choice.counts)
    weights = routing.weights(context.chosen)
    no_weight = say.no_weight(private=context.private)
    return {
        "experts": experts_figure(context),
        "tokens": tokens_view(context),
        "load": load_figure(context),
        "layers": tables.layers_table(context, empty),
        "cover": cover_figure(context),
        "reuse": reuse_figure(context),
        "reuse_table": tables.reuse_table(context, again, empty or say.NO_PAIR),
        "weights": weights_figure(context),
        "weights_table": tables.weights_table(context, weights, empty or no_weight),
    }


def experts_figure(context: Context) -> FigureView:
    """Tokens per layer and expert over the generate passes."""
    made, empty = context.choice, no_choice(context)
    title = "Which experts do the tokens choose?"
    if not empty:
        most = made.counts[made.counts["n_tokens"] == made.counts["n_tokens"].max()]
        title = say.choice_title(
            n_never=int((made.counts["n_tokens"] == 0).sum()),
            n_pairs=len(made.counts),
            layers=_layers(context),
            best=(int(most["layer"].iloc[0]), int(most["expert"].iloc[0])),
            most=int(most["n_tokens"].iloc[0]),
            n_best=len(most),
            n_rows=made.n_rows,
        )
    return context.figure(
        "experts",
        "experts",
        title,
        say.choice_caption(n_rows=made.n_rows, n_experts=made.n_experts, n_chosen=made.n_chosen, even=made.even),
        f"Grid of {q.counted(len(_layers(context)), 'layer')} by experts: tokens that chose each. {q.ended(title)}",
        lambda: experts_chart.chart(made.counts),
        data=made.counts.assign(n_tokens_if_even=made.even),
        empty=empty,
    )


def load_figure(context: Context) -> FigureView:
    """How evenly the choices of a layer are shared among its experts."""
    made, empty = context.choice, no_choice(context)
    ranked = routing.ranked(made.counts)
    title = "How evenly are the choices shared?"
    if not empty:
        share, even = routing.most_chosen(ranked)
        title = say.load_title(share=share, even=even, layers=_layers(context), chance=context.choice_by_chance)
    caption = say.load_caption(
        n_layers=len(_layers(context)), n_rows=made.n_rows, sizes_differ=ranked["even"].nunique() > 1
    )
    return context.figure(
        "experts-load",
        "experts",
        title,
        caption,
        f"Share of choices by place of the expert in its layer. {q.ended(title)}",
        lambda: expert_load.chart(ranked),
        data=ranked,
        empty=empty,
    )


def cover_figure(context: Context) -> FigureView:
    """How few experts of each layer make up most of its choices."""
    per_layer, empty = context.expert_layers, no_choice(context)
    names = {f"needed_{round(100 * part)}": f"{round(100 * part)} %" for part in reversed(routing.COVERED)}
    rows = per_layer.melt("layer", list(names), "needed", "value")
    rows = rows.assign(series=rows["needed"].map(names))
    title = "How many experts make up most of the choices?"
    if not empty:
        needed, sizes = ([int(n) for n in per_layer[name]] for name in ("needed_80", "n_experts"))
        title = say.cover_title(needed=needed, sizes=sizes, layers=_layers(context))
    return context.figure(
        "experts-cover",
        "experts",
        title,
        say.cover_caption(n_layers=len(per_layer), n_rows=context.choice.n_rows),
        f"Experts needed per layer for three shares of the choices. {q.ended(title)}",
        lambda: by_layer.lines(rows, list(names.values()), "experts"),
        data=per_layer,
        empty=empty,
    )


def reuse_figure(context: Context) -> FigureView:
    """How many of a token's experts the token before chose too, per layer."""
    again = routing.reuse(context.chosen, context.choice.counts)
    title = "How often does a token choose the experts of the token before?"
    n_tokens = [int(n) for n in again["n_tokens"]]
    if len(again):
        n_choices = float(again["n_choices"].sum())
        title = say.reuse_title(
            share=float(again["n_again"].sum()) / n_choices,
            even=float((again["even"] * again["n_choices"]).sum()) / n_choices,
            n_tokens=max(n_tokens),
        )
    rows = again.assign(value=again["share"].astype(float) * 100, even=again["even"].astype(float) * 100)
    return context.figure(
        "experts-reuse",
        "experts",
        title,
        say.reuse_caption(n_tokens),
        f"Bars of the share of experts chosen again, per layer. {q.ended(title)}",
        lambda: by_layer.bars(rows, "% of choices", "even choice"),
        data=again,
        empty=no_choice(context) or ("" if len(again) else say.NO_PAIR),
    )


def weights_figure(context: Context) -> FigureView:
    """How strongly the tokens choose, per layer and place in order of weight."""
    weights = routing.weights(context.chosen)
    places = sorted(int(place) for place in weights["place"].unique())
    rows = weights[weights["place"] <= PLACES]
    rows = rows.assign(series=[f"place {place}" for place in rows["place"]], value=rows["mean"])
    title = "How strongly do the tokens choose?"
    if len(weights):
        first = weights[weights["place"] == 1]
        mean = float((first["mean"] * first["n"]).sum()) / float(first["n"].sum())
        title = say.weights_title(mean=mean, places=len(places), layers=sorted(int(n) for n in first["layer"]))
    return context.figure(
        "experts-weights",
        "experts",
        title,
        say.weights_caption(n_rows=[int(n) for n in weights["n"]], places=len(places), shown=min(PLACES, len(places))),
        f"Mean routing weights per layer and place in order of weight. {q.ended(title)}",
        lambda: by_layer.lines(rows, [f"place {place}" for place in places[:PLACES]], "mean weight"),
        data=weights,
        empty=no_choice(context) or ("" if len(weights) else say.no_weight(private=context.private)),
    )


def _layers(context: Context) -> list[int]:
    return [int(layer) for layer in context.expert_layers["layer"]]
