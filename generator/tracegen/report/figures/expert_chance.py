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
)
from tracegen.charts import by_layer
from tracegen.contract import quantities as q
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_experts
from tracegen.report.figures.cells import between
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Rows
from tracegen.report.words import expert_chance_sentences as say
from tracegen.report.words.expert_sentences import LEFT_OUT, NO_PAIR, counted_rows


def _percents(layers: pd.DataFrame) -> pd.DataFrame:
    """What the drawing of layers against chance shows, in percent: layer, value, low, high, even."""
    shown = layers[["layer", "share", "low", "high", "even"]].rename(columns={"share": "value"}).astype("float64")
    return shown.assign(**100 * shown.drop(columns="layer"))


def _over_all(table: pd.DataFrame) -> tuple[col.Row, pd.DataFrame]:
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
    counted = counted_rows(pairs, f"per layer with a token before {'it' if max(pairs, default=0) == 1 else 'them'}")
    return Content(
        title=title,
        caption="Points: share of a token’s experts that the token before it in its sequence chose too, in the same "
        f"layer. Grey: the middle 95 % of {chance.DRAWS} shuffles of the tokens, each with its experts of all layers; "
        "it rises where a layer prefers some experts. Ticks: k/E, a random choice of k of E experts."
        f"{counted}{overall}{shared_experts.first_rows(context, expert_transitions.MOST_ROWS)} {LEFT_OUT}",
        alt=f"By layer, the share of experts chosen again beside that of shuffled tokens. {q.ended(title)}",
        chart=lambda width: by_layer.against_chance(_percents(layers), "% of choices", "k/E", width=width),
        data=table,
        empty=shared_experts.untested(context) or ("" if len(table) else NO_PAIR),
    )


EXPERTS_STICKY = shared_experts.figure(
    key="experts-sticky",
    title="Do tokens choose the experts of the token before more often than chance?",
    content=_experts_sticky,
    code=shared_experts.CHOSEN + "data = expert_transitions.stickiness(chosen, experts.sizes(run.tables, chosen))",
)


TITLE_LENGTH = 16  # the title tells segments of this length, or of the longest below


def _experts_segments(context: Context) -> Rows:
    table = expert_segments.segments(context.chosen, context.expert_sizes)
    shown = table[table["length"] <= TITLE_LENGTH].tail(1).to_dict("records")
    n_rows, n_layers = (int(table[name].iloc[0]) if len(table) else 0 for name in ("n_rows", "n_layers"))
    return Rows(
        title=say.segments_title(shown[0]) if shown else "",
        caption="SRP: the largest F1 of a router that takes one set of experts for all tokens of a segment, scored on "
        "their own choices. Experts taken: by that router, divided by k. SCH: share of the choices that a cache of k, "
        "or 2k, experts in each layer holds if it knows the tokens of the segment in advance. Shuffled: mean of "
        f"{expert_segments.DRAWS} shuffles of the tokens, each with its experts of all layers. "
        f"n = {q.counted(n_rows, 'token row')} in {q.counted(n_layers, 'layer')}. The cache is simulated: not a "
        f"prediction of speed.{shared_experts.first_rows(context, expert_segments.MOST_ROWS)} {LEFT_OUT}",
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
    )


EXPERTS_SEGMENTS = shared_experts.table(
    key="experts-segments",
    title="How long do the same experts serve?",
    content=_experts_segments,
    code=shared_experts.CHOSEN + "data = expert_segments.segments(chosen, experts.sizes(run.tables, chosen))",
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
        f"the first rows chose most often.{overall}{shared_experts.first_rows(context, expert_next.MOST_ROWS)} "
        f"{LEFT_OUT}",
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


SHOWN = 20


def _experts_pairs(context: Context) -> Rows:
    """The unusual pairs of least p."""
    found = expert_pairs.pairs(context.chosen, context.expert_sizes)
    listed = found.strongest[found.strongest["unusual"].to_numpy(bool)].head(SHOWN)
    choice = context.choice
    cut = f" The {q.count(len(listed))} of least p; the CSV has more." if len(listed) < found.n_unusual else ""
    return Rows(
        title=say.pairs_title(found.n_unusual),
        caption="Together: token rows of generate passes that chose both experts. Expected: from how often each is "
        "chosen, where a row chooses exactly k (quasi-independence). Lift: together divided by expected, with an "
        "interval that allows for tokens that resemble their neighbours. p is adjusted by Holm’s method for all "
        f"{q.counted(found.n_tested, 'tested pair')}, those of experts that at least {expert_pairs.LEAST_ROWS} rows "
        f"each chose, spread over the run; listed from p < 0.05 and a lift of {expert_pairs.LEAST_LIFT} on.{cut} "
        f"{LEFT_OUT}",
        data=found.strongest,
        empty=shared_experts.untested(context)
        or say.no_pairs(
            n_rows=choice.n_rows,
            n_chosen=choice.n_chosen,
            n_tested=found.n_tested,
            n_pairs=found.n_pairs,
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
        col.number("p (Holm)", lambda r: q.p_value(r["p_adjusted"])),
    )


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
        title = say.phases_title(r, few=_few(int(r["n_prompt"]), int(r["n_generate"]), block))
        most = expert_phases.MOST_ROWS
        if most in (r["n_prompt"], r["n_generate"]):
            cut = f" At most {q.count(most)} rows of a phase count: the last of the prompt, the first generated."
    n_prompt = len(experts.of_phase(context.tables, "prompt"))
    return Rows(
        title=title,
        caption="Distance: ½ Σ |share in the prompt − share in generation| over the experts of a layer: 0 % for the "
        "same shares, 100 % for no expert in common. Random splits: below this lie 95 % of the distances if the same "
        f"rows are prompt or generation by chance, {chance.DRAWS} permutations of "
        f"{'single rows' if block == 1 else f'blocks of {block} rows in a row'}, each with all layers. Effect: "
        f"distance less the mean of these. p by layer: adjusted by Holm’s method. Over all layers: means.{cut}",
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
        col.number("p", lambda r: q.p_value(r["p_adjusted"])),
    )


EXPERTS_PHASES = shared_experts.table(
    key="experts-phases",
    title="Does the prompt choose other experts than generated tokens?",
    content=_experts_phases,
    code="data = expert_phases.phases(run.tables)",
)
