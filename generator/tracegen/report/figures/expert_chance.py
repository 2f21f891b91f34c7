"""What chance would give: experts chosen again, in a row, in the next layer, together, and in the prompt."""

from __future__ import annotations

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
    shows="The share of a token’s experts that the token before it chose too, beside what the same tokens give in "
    "shuffled order.",
    counts=f"{shared_experts.GENERATED} The first token of a sequence has none before it. Layers in which rows choose "
    "all experts, or different numbers of them, are left out.",
    read="k/E is the share if all experts were equally likely. A router that prefers some experts repeats them in any "
    "order, so the grey band is the baseline: only a point outside it says that tokens in a row resemble each other. "
    "The effect is the distance from the mean of the band in percentage points; p is two-sided, by layer adjusted by "
    "Holm’s method. p asks whether the order of these tokens matters; the interval, how much the share differs between "
    "parts of the run. A small p with an interval around 0 is an effect of some part only. The share is also the hit "
    "rate of a cache that holds the experts of one token. The CSV has all numbers; its first row is over all layers.",
    code=shared_experts.CHOSEN.replace("experts, routing", "expert_transitions, experts")
    + "data = expert_transitions.stickiness(chosen, experts.sizes(run.tables, chosen))",
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
    shows="Per layer: tokens, their choices, and how many of these the token before had chosen too.",
    counts=f"{shared_experts.GENERATED} The first token of a sequence has none before it and is not counted.",
    read="Compare the share with the even choice beside it: the difference shows how much the model prefers the same "
    "experts again.",
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
    shows="The two measures of Liang and others (arXiv 2505.16056) of how alike the choices of tokens in a row are: "
    "segment routing best performance (SRP) and segment cache best hit rate (SCH, as in versions 3 and 4 of the "
    "paper).",
    counts=f"{shared_experts.GENERATED} Segments of the paper’s lengths overlap. Layers with the commonest numbers of "
    "experts and of choices. Each layer has its cache; SCH is the mean over layers. An expert that comes into free "
    "room counts as a hit, as in the paper.",
    read="SRP of 100 %: all tokens of a segment choose the same experts. SCH: the share of choices that a cache serves "
    "which knows the tokens to come, and drops the expert that they choose least often, as the paper has it. It is no "
    "bound of what reading ahead can reach: a cache that drops what is chosen again last can serve more. Both grow "
    "with k/E and with how unequally experts are used, whatever the order: what the order adds is the distance from "
    "“shuffled”. The paper’s models were measured on given texts, this run on what it generated.",
    code=shared_experts.CHOSEN.replace("experts, routing", "expert_segments, experts")
    + "data = expert_segments.segments(chosen, experts.sizes(run.tables, chosen))",
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
    shows="The share of a token’s experts that a guess finds from its experts in the layer before: what a program "
    "could read ahead while that layer computes.",
    counts=f"{shared_experts.GENERATED} For each expert of the layer before, the first 80 % of the rows say how often "
    "each expert of the layer followed; a row is guessed to choose the k experts of the largest mean over its own. The "
    "other 20 % score the guess. Layers in which rows choose all experts, or different numbers of them, are left out.",
    read="A point above the grey band: the layer before tells something. A point above the tick: it tells more than "
    "how often each expert is chosen, which keeping the most chosen ones in memory would serve as well. The band keeps "
    "the order of the tokens, so that tokens that resemble their neighbours do not look like an effect; p is that of "
    "all layers together, for single layers the rows are too few. The guess is a simple one: another, such as a "
    "trained one that knows the token’s vector, may find more.",
    code=shared_experts.CHOSEN.replace("experts, routing", "expert_next, experts")
    + "data = expert_next.told(chosen, experts.sizes(run.tables, chosen))",
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
    shows="Pairs of experts of a layer that the same tokens choose more often than chance.",
    counts=f"{shared_experts.GENERATED} Each token row counts once for each pair that it chose. Layers with fewer than "
    f"{2 * expert_pairs.N_BLOCKS} rows are left out.",
    read="A lift of 2: chosen together twice as often as expected from how often each is chosen. The test is careful: "
    "where tokens choose at random it lists a pair in at most one of 20 runs. The CSV lists all pairs whose p is below "
    "0.05 before it is held: for one that is not in the table, a lift means nothing.",
    code=shared_experts.CHOSEN.replace("experts, routing", "expert_pairs, experts")
    + "data = expert_pairs.pairs(chosen, experts.sizes(run.tables, chosen)).strongest",
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
        col.number("Dealt at random", lambda r: f"below {q.percent(r['high'])}"),
        col.number("Effect", lambda r: say.points(r["effect"]), "points"),
        col.number("p", lambda r: q.p_value(r["p_held"])),
    )


EXPERTS_PHASES = shared_experts.table(
    key="experts-phases",
    title="Does the prompt choose other experts than generated tokens?",
    content=_experts_phases,
    shows="How far apart the experts’ shares of the choices lie in the prompt and in generation.",
    counts="Token rows of passes of the prompt, and of generate passes; warm-up is left out. Layers in which rows "
    "choose all experts, or different numbers of them, are left out, and so is one that a phase lacks.",
    read="With few rows the distance is large by chance alone: compare it with “dealt at random”. A distance above "
    "that range says that what the prompt chose is no good guess of what generated tokens will choose. Rows in blocks "
    "that are dealt together resemble each other; a text with longer parts than a block may still differ for no other "
    "reason than its parts.",
    code="from tracegen.analysis import expert_phases\ndata = expert_phases.phases(run.tables)",
)
