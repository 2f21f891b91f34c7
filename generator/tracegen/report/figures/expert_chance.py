"""What chance would give: experts chosen again, in a row, in the next layer, together, and in the prompt."""

from math import comb

import pandas as pd

from tracegen.analysis import (
    chance,
    expert_next,
    expert_pairs,
    expert_phases,
    expert_rows,
    expert_segments,
    expert_transitions,
    experts,
    routing,
)
from tracegen.charts import by_layer
from tracegen.contract import quantities as q
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_experts
from tracegen.report.figures.cells import between
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Rows
from tracegen.report.words import expert_chance_sentences as say
from tracegen.report.words import expert_sentences


def _sticky_overall(table: pd.DataFrame) -> tuple[str, str]:
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


def _experts_sticky(context: Context) -> Content:
    """By layer: observed, shuffled and even share."""
    table = context.stickiness
    layers = table[table["layer"].notna()]
    title, overall = _sticky_overall(table) if len(table) else ("", "")
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


EXPERTS_STICKY = shared_experts.figure(
    key="experts-sticky",
    title="Do tokens choose the experts of the token before more often than chance?",
    content=_experts_sticky,
    code=shared_experts.CHOSEN + "data = expert_transitions.stickiness(chosen, experts.sizes(run.tables, chosen))",
)


def _experts_again(context: Context) -> Rows:
    """How many of a token's experts the token before had chosen too."""
    again = routing.reuse(context.chosen, context.choice.counts)
    return Rows(
        caption="Tokens: rows of generated tokens with another one before them in their sequence. Chosen before: "
        "choices of an expert that the token before had chosen in the same layer.",
        data=again,
        empty=shared_experts.no_choice(context) or expert_sentences.NO_PAIR,
    ).of(
        again,
        col.count("Layer", "layer"),
        col.count("Tokens", "n_tokens"),
        col.count("Choices", "n_choices"),
        col.count("Chosen before", "n_again"),
        col.share("Share", "share"),
        col.percent("Even choice", "even"),
    )


EXPERTS_AGAIN = shared_experts.table(
    key="experts-again",
    title="How many experts are chosen again, layer by layer?",
    content=_experts_again,
    code=shared_experts.CHOSEN + "data = routing.reuse(chosen, experts.choice(run.tables).counts)",
)


TOLD = 16  # the title tells segments of this length, or of the longest below


def _experts_segments(context: Context) -> Rows:
    """A row for each length of segment."""
    table = expert_segments.segments(context.chosen, context.expert_sizes)
    told = table[table["length"] <= TOLD].tail(1).to_dict("records")
    title = ""
    if told:
        r = told[0]
        title = say.segments_title(
            length=int(r["length"]), srp=float(r["srp"]), low=float(r["srp_low"]), high=float(r["srp_high"])
        )
    n_rows, n_layers = (int(table[name].iloc[0]) if len(table) else 0 for name in ("n_rows", "n_layers"))
    return Rows(
        title=title,
        caption=say.segments_caption(
            n_rows=n_rows, n_layers=n_layers, draws=expert_segments.DRAWS,
            cut=shared_experts.first_rows(context, expert_segments.MOST_ROWS),
        ),
        data=table,
        empty=shared_experts.untested(context)
        or ("" if len(table) else f"No sequence has {expert_segments.LENGTHS[0]} generated tokens in a row."),
    ).of(
        table,
        col.count("Tokens in a row", "length"),
        col.count("Segments", "n_segments"),
        col.share("SRP", "srp"),
        col.percent("shuffled", "srp_shuffled"),
        col.decimal("Experts taken / k", "srp_size", 1),
        col.share("SCH, k cached", "sch_1"),
        col.percent("shuffled", "sch_1_shuffled"),
        col.share("SCH, 2k cached", "sch_2"),
        col.percent("shuffled", "sch_2_shuffled"),
    )  # fmt: skip


EXPERTS_SEGMENTS = shared_experts.table(
    key="experts-segments",
    title="How long do the same experts serve?",
    content=_experts_segments,
    code=shared_experts.CHOSEN + "data = expert_segments.segments(chosen, experts.sizes(run.tables, chosen))",
)


def _next_overall(table: pd.DataFrame) -> tuple[str, str]:
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


def _experts_next(context: Context) -> Content:
    """By layer: what the layer before tells, beside other guesses."""
    table = context.experts_next
    layers = table[table["layer"].notna()]
    title, overall = _next_overall(table) if len(table) else ("", "")
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


EXPERTS_NEXT = shared_experts.figure(
    key="experts-next",
    title="Do the experts of a layer tell those of the next?",
    content=_experts_next,
    code=shared_experts.CHOSEN + "data = expert_next.told(chosen, experts.sizes(run.tables, chosen))",
)


SHOWN = 20


def _experts_pairs(context: Context) -> Rows:
    """The unusual pairs of least p."""
    found = expert_pairs.pairs(context.chosen, context.expert_sizes)
    listed = found.strongest[found.strongest["unusual"].to_numpy(bool)].head(SHOWN)
    choice = context.choice
    return Rows(
        title=say.pairs_title(found.n_unusual),
        caption=say.pairs_caption(
            n_tested=found.n_tested, n_shown=len(listed), n_unusual=found.n_unusual,
            least_rows=expert_pairs.LEAST_ROWS, least_lift=expert_pairs.LEAST_LIFT,
        ),
        data=found.strongest,
        empty=shared_experts.untested(context)
        or say.no_pairs(
            n_rows=choice.n_rows, n_chosen=choice.n_chosen, n_tested=found.n_tested, n_pairs=found.n_pairs,
            least=2 * expert_pairs.N_BLOCKS,
        ),
    ).of(
        listed,
        col.count("Layer", "layer"),
        col.text("Experts", lambda r: f"{r['a']} and {r['b']}"),
        col.count("Token rows", "n_rows"),
        col.number("Chose each", lambda r: f"{q.count(r['n_a'])} and {q.count(r['n_b'])}"),
        col.count("Together", "together"),
        col.decimal("Expected", "expected", 1),
        col.decimal("Lift", "lift", 2),
        col.number("95 % interval", lambda r: between(r["low"], r["high"], lambda value: q.decimal(value, 2))),
        col.number("p (Holm)", lambda r: q.p_value(r["p_held"])),
    )  # fmt: skip


EXPERTS_PAIRS = shared_experts.table(
    key="experts-pairs",
    title="Which experts are chosen together?",
    content=_experts_pairs,
    words={"least_rows": str(2 * expert_pairs.N_BLOCKS)},
    code=shared_experts.CHOSEN + "data = expert_pairs.pairs(chosen, experts.sizes(run.tables, chosen)).strongest",
)


def _few(n_prompt: int, n_generate: int, block: int) -> bool:
    """Whether there are so few ways to deal the blocks that no distance is rarer than chance.LEVEL."""
    prompt, generate = -(-n_prompt // block), -(-n_generate // block)
    return comb(prompt + generate, prompt) * chance.LEVEL <= 1


def _experts_phases(context: Context) -> Rows:
    """A row over all layers, and one for each."""
    table = expert_phases.phases(context.tables)
    records = table.to_dict("records")
    title, block, cut = "", expert_phases.BLOCK, ""
    if records:
        r = records[0]
        block = int(r["block"])
        title = say.phases_title(
            distance=float(r["distance"]), high=float(r["high"]), p=float(r["p"]),
            level=chance.LEVEL, few=_few(int(r["n_prompt"]), int(r["n_generate"]), block),
        )  # fmt: skip
        most = expert_phases.MOST_ROWS
        if most in (r["n_prompt"], r["n_generate"]):
            cut = f" At most {q.count(most)} rows of a phase count: the last of the prompt, the first generated."
    n_prompt = len(experts.of_phase(context.tables, "prompt"))
    return Rows(
        title=title,
        caption=say.phases_caption(block=block, draws=chance.DRAWS, cut=cut),
        data=table,
        empty=shared_experts.no_choice(context) or say.no_phases(n_prompt=n_prompt, n_generate=len(context.chosen)),
    ).of(
        records,
        col.number("Layer", lambda r: q.count(r["layer"]) if q.known(r["layer"]) else f"all {q.count(r['n_layers'])}"),
        col.count("Prompt rows", "n_prompt"),
        col.count("Generated rows", "n_generate"),
        col.share("Distance", "distance"),
        col.number("Shuffled at random", lambda r: f"below {q.percent(r['high'])}"),
        col.number("Effect", lambda r: say.points(r["effect"]), "points"),
        col.number("p", lambda r: q.p_value(r["p_held"])),
    )


EXPERTS_PHASES = shared_experts.table(
    key="experts-phases",
    title="Does the prompt choose other experts than generated tokens?",
    content=_experts_phases,
    code="data = expert_phases.phases(run.tables)",
)
