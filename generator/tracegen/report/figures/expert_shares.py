"""How evenly the choices of a layer are shared among its experts."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from tracegen.analysis import expert_balance, routing
from tracegen.charts import by_layer, experts
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import applicable, between
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_experts
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Rows


def _experts_load(context: Context) -> Content:
    ranked, n_layers = routing.ranked(context.choice.counts), len(shared_experts.layers(context))
    marks = "tick: its share"
    if n_layers > 1:
        of = " (of those that have so many experts)" if ranked["even"].nunique() > 1 else ""
        marks = f"bar: from the lowest to the highest of {n_layers} layers{of}, tick: their median"
    return Content(
        answer=most_chosen(context),
        caption=f"Experts of each layer sorted by how often they were chosen; {marks}, dashed: every expert chosen "
        f"equally often. {shared_experts.generated(context)}",
        alt="Share of choices by place of the expert in its layer.",
        chart=lambda width: experts.load(ranked, width=width),
        data=ranked,
        empty=shared_experts.no_choice(context),
    )


def most_chosen(context: Context) -> tuple[Amount, ...]:
    """The share of a layer's choices that its most chosen expert gets, beside an even and a random choice."""
    counts = context.choice.counts
    if counts.empty:
        return ()
    (share, even), random = routing.most_chosen(routing.ranked(counts)), context.choice_by_chance
    over = " (median over layers)" if counts["layer"].nunique() > 1 else ""
    amounts = (
        (share, f"of a layer’s choices go to its most chosen expert{over}"),
        (even, "if chosen evenly"),
        (random, "if as many tokens choose at random"),
    )
    return tuple(Amount(value, "share", words) for value, words in amounts if value is not None)


EXPERTS_LOAD = shared_experts.figure(
    key="experts-load",
    page="experts",
    section="load",
    title="How evenly do generated tokens choose among the experts of a layer?",
    content=_experts_load,
    code=shared_experts.COUNTS + "data = routing.ranked(counts)",
)


def _experts_cover(context: Context) -> Content:
    per_layer = context.expert_layers
    names = {f"needed_{round(100 * part)}": f"{round(100 * part)} %" for part in reversed(routing.COVERED)}
    rows = per_layer.melt("layer", list(names), "needed", "value")
    rows = rows.assign(series=rows["needed"].map(names))
    return Content(
        answer=_enough(per_layer["needed_80"], per_layer["n_experts"]),
        caption="The fewest experts of a layer that together make up at least 50, 80 and 95 % of its choices, the most "
        f"chosen first.{' Which they are may differ from layer to layer.' if len(per_layer) > 1 else ''} "
        f"{shared_experts.generated(context)}",
        alt="Experts needed per layer for three shares of the choices.",
        chart=lambda width: by_layer.lines(rows, list(names.values()), "experts", width=width),
        data=per_layer,
        empty=shared_experts.no_choice(context),
    )


def _enough(needed: pd.Series, sizes: pd.Series) -> tuple[Amount, ...]:
    """The fewest experts that make up 80 % of the choices; `needed` and `sizes`: of all experts, by layer.

    The lower median comes first: at least half of the layers need no more.
    """
    if needed.empty:
        return ()
    of = f"of {q.counted(sizes.iloc[0], 'expert')}" if sizes.nunique() == 1 else "of a layer’s experts"
    half, most = int(needed.quantile(0.5, interpolation="lower")), int(needed.max())
    enough = f"{of} for 80 % of the choices"
    if half == most:
        return (Amount(most, "", f"{enough} in every layer" if len(needed) > 1 else enough),)
    return Amount(half, "", f"{enough} in at least half of the layers"), Amount(most, "", "in every layer")


EXPERTS_COVER = shared_experts.figure(
    key="experts-cover",
    title="How many experts make up most of the choices of generated tokens?",
    content=_experts_cover,
    code=shared_experts.COUNTS + "data = routing.layers(counts)",
)


def _used(r: col.Row) -> str:
    """How many experts are used, of how many; over all layers, pairs of layer and expert."""
    if not q.known(r["n_used"]):
        return q.NOT_APPLICABLE
    return q.count(r["n_used"]) + (f" of {q.count(r['n_experts'] * r['n_layers'])}" if q.known(r["n_experts"]) else "")


def _beside_chance(label: str, name: str, text: Callable[[Any], str]) -> list[col.Column]:
    """A measure of evenness, and the range that chance gives."""
    return [
        col.number(label, lambda r: applicable(r[name], text)),
        col.number("by chance", lambda r: between(r[f"{name}_low"], r[f"{name}_high"], text)),
    ]


def _two(value: Any) -> str:
    return q.decimal(value, 2)


def _experts_balance(context: Context) -> Rows:
    """A row for each layer and phase, those over all layers first."""
    table = expert_balance.balance(context.tables)
    ordered = table.assign(at=table["layer"].fillna(-1)).sort_values(["at", "phase"], ignore_index=True)
    return Rows(
        answer=_entropy(table[(table["phase"] == "generate") & table["layer"].isna()]),
        caption="Entropy of the experts’ shares of the choices, of log₂ E: 100 % is even. Gini: 0 is even. Largest "
        "load: tokens of the most chosen expert, divided by those of an even choice. By chance: 95 % of "
        f"{expert_balance.DRAWS} simulations of as many tokens that each choose k of E experts at random, whichever "
        "the tokens before chose. All layers: means, and the sum of used experts. Warm-up is left out.",
        data=table,
        empty=shared_experts.no_choice(context),
    ).of(
        ordered.head(0) if shared_experts.no_choice(context) else ordered,
        col.number("Layer", lambda r: q.count(r["layer"]) if q.known(r["layer"]) else "all"),
        col.text("Phase", lambda r: "prompt" if r["phase"] == "prompt" else "generation"),
        col.count("Tokens", "n_rows"),
        col.number("Experts used", _used),
        *_beside_chance("Entropy", "entropy", q.percent),
        *_beside_chance("Gini", "gini", _two),
        *_beside_chance("Largest load", "largest", _two),
    )


def _entropy(overall: pd.DataFrame) -> tuple[Amount, ...]:
    """The entropy of generated tokens and that of random choices; `overall`: the row over all layers, if any."""
    r = next(iter(overall.to_dict("records")), {})
    if not q.known(r.get("entropy")):
        return ()
    entropy = Amount(r["entropy"], "share", "of the largest possible entropy in generation")
    simulated = q.known(r["entropy_low"]) and q.known(r["entropy_high"])
    return (entropy, shared_experts.by_chance(r["entropy_low"], r["entropy_high"])) if simulated else (entropy,)


EXPERTS_BALANCE = shared_experts.table(
    key="experts-balance",
    title="How evenly are the experts chosen?",
    content=_experts_balance,
    code="data = expert_balance.balance(run.tables)",
)
