"""How evenly the choices of a layer are shared among its experts."""

from collections.abc import Callable
from typing import Any

from tracegen.analysis import expert_balance, routing
from tracegen.charts import by_layer, experts
from tracegen.contract import quantities as q
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_experts
from tracegen.report.figures.cells import applicable, between
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Rows
from tracegen.report.words import expert_sentences as say


def _experts_load(context: Context) -> Content:
    choice, empty = context.choice, shared_experts.no_choice(context)
    ranked, layers = routing.ranked(choice.counts), shared_experts.layers(context)
    title = ""
    if not empty:
        share, even = routing.most_chosen(ranked)
        title = say.load_title(share=share, even=even, layers=layers, chance=context.choice_by_chance)
    return Content(
        title=title,
        caption=say.load_caption(n_layers=len(layers), n_rows=choice.n_rows, sizes_differ=ranked["even"].nunique() > 1),
        alt=f"Share of choices by place of the expert in its layer. {q.ended(title)}",
        chart=lambda width: experts.load(ranked, width=width),
        data=ranked,
        empty=empty,
    )


EXPERTS_LOAD = shared_experts.figure(
    key="experts-load",
    page="experts",
    section="load",
    title="How evenly are the choices shared?",
    content=_experts_load,
    code=shared_experts.COUNTS + "data = routing.ranked(counts)",
)


def _experts_cover(context: Context) -> Content:
    per_layer, empty = context.expert_layers, shared_experts.no_choice(context)
    names = {f"needed_{round(100 * part)}": f"{round(100 * part)} %" for part in reversed(routing.COVERED)}
    rows = per_layer.melt("layer", list(names), "needed", "value")
    rows = rows.assign(series=rows["needed"].map(names))
    title = ""
    if not empty:
        needed, sizes = ([int(n) for n in per_layer[name]] for name in ("needed_80", "n_experts"))
        title = say.cover_title(needed=needed, sizes=sizes, layers=shared_experts.layers(context))
    return Content(
        title=title,
        caption="The fewest experts of a layer that together make up at least 50, 80 and 95 % of its choices, the most "
        f"chosen first.{' Which they are may differ from layer to layer.' if len(per_layer) > 1 else ''} "
        f"{say.generate_rows(context.choice.n_rows)}",
        alt=f"Experts needed per layer for three shares of the choices. {q.ended(title)}",
        chart=lambda width: by_layer.lines(rows, list(names.values()), "experts", width=width),
        data=per_layer,
        empty=empty,
    )


EXPERTS_COVER = shared_experts.figure(
    key="experts-cover",
    title="How many experts make up most of the choices?",
    content=_experts_cover,
    code=shared_experts.COUNTS + "data = routing.layers(counts)",
)


def _used(r: col.Row) -> str:
    """How many experts are used, of how many; over all layers, pairs of layer and expert."""
    if not q.known(r["n_used"]):
        return q.NOT_APPLICABLE
    return q.count(r["n_used"]) + (f" of {q.count(r['n_experts'] * r['n_layers'])}" if q.known(r["n_experts"]) else "")


def _beside_chance(label: str, name: str, said: Callable[[Any], str]) -> list[col.Column]:
    """A measure of evenness, and the range that chance gives."""
    return [
        col.number(label, lambda r: applicable(r[name], said)),
        col.number("by chance", lambda r: between(r[f"{name}_low"], r[f"{name}_high"], said)),
    ]


def _two(value: Any) -> str:
    return q.decimal(value, 2)


def _experts_balance(context: Context) -> Rows:
    """A row for each layer and phase, those over all layers first."""
    table = expert_balance.balance(context.tables)
    ordered = table.assign(at=table["layer"].fillna(-1)).sort_values(["at", "phase"], ignore_index=True)
    overall = table[(table["phase"] == "generate") & table["layer"].isna()].to_dict("records")
    ends = [_known(overall[0][name]) if overall else None for name in ("entropy", "entropy_low", "entropy_high")]
    return Rows(
        title=say.balance_title(*ends),
        caption="Entropy of the experts’ shares of the choices, of log₂ E: 100 % is even. Gini: 0 is even. Largest "
        "load: token rows of the most chosen expert, divided by those of an even choice. By chance: 95 % of "
        f"{expert_balance.DRAWS} simulations of as many rows that each choose k of E experts at random, whichever the "
        "rows before chose. All layers: means, and the sum of used experts. Warm-up is left out.",
        data=table,
        empty=shared_experts.no_choice(context),
    ).of(
        ordered.head(0) if shared_experts.no_choice(context) else ordered,
        col.number("Layer", lambda r: q.count(r["layer"]) if q.known(r["layer"]) else "all"),
        col.text("Phase", lambda r: "prompt" if r["phase"] == "prompt" else "generation"),
        col.count("Token rows", "n_rows"),
        col.number("Experts used", _used),
        *_beside_chance("Entropy", "entropy", q.percent),
        *_beside_chance("Gini", "gini", _two),
        *_beside_chance("Largest load", "largest", _two),
    )


def _known(value: Any) -> float | None:
    return float(value) if q.known(value) else None


EXPERTS_BALANCE = shared_experts.table(
    key="experts-balance",
    title="How evenly are the experts chosen?",
    content=_experts_balance,
    code="data = expert_balance.balance(run.tables)",
)
