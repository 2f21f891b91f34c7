"""How tokens choose experts: whether there is a hot set, whether neighbours choose alike, how evenly all are chosen."""

from collections.abc import Iterator

from tracegen.analysis import chance
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.expert_chance import EXPERTS_NEXT, EXPERTS_STICKY
from tracegen.report.figures.expert_choices import never_chosen
from tracegen.report.figures.expert_shares import EXPERTS_LOAD, most_chosen
from tracegen.report.figures.hot import HOT_EXPERTS
from tracegen.report.figures.shared_experts import no_choice
from tracegen.report.findings.finding import Finding

HOT = {
    "yes": "Hot set of {} experts in each layer",
    "no": "No hot set: the {} experts in each layer that earlier tokens chose most",
    "open": "Hot set neither shown nor excluded: the {} experts in each layer that earlier tokens chose most",
}


def findings(context: Context) -> Iterator[Finding]:
    """Of generated tokens; nothing where they have no choice."""
    if not context.run.has_experts or no_choice(context) or context.refusal(needs.CHOICES):
        return
    population = q.counted(context.summary.n_generate_passes, "token")
    yield from _load(context, population)
    yield from _hot(context)
    yield from _alike(context, population)


def _load(context: Context, population: str) -> Iterator[Finding]:
    counts = context.choice.counts
    (most, *beside), never = most_chosen(context), never_chosen(counts)
    yield Finding(
        kind="experts",
        measure="The most chosen expert of a layer",
        amount=Amount(most.value, "share", "of the choices"),
        beside=(*beside, never),
        scope="generation",
        population=population,
        effect=max(most.value, never.value / len(counts)),
        part=EXPERTS_LOAD,
    )


def _hot(context: Context) -> Iterator[Finding]:
    if (hot := context.hot_set) is None:
        return
    served, share = hot.static.served, hot.n_held / hot.n_experts
    ends = f"95 % interval {q.percent(hot.static.low)} to {q.percent(hot.static.high)}"
    yield Finding(
        kind="experts",
        measure=HOT[hot.static.reaches].format(f"{hot.n_held} of {hot.n_experts}"),
        amount=Amount(served, "share", "of later choices"),
        beside=(
            Amount(share, "share", "by chance"),
            Amount(hot.static.gain, "share", f"of the way from chance to all, {ends}"),
        ),
        scope="generation",
        population=f"the last {q.counted(hot.n_scored, 'token')}, learned from the {q.count(hot.n_learned)} before",
        effect=served if hot.static.reaches == "yes" else 0.0,
        part=HOT_EXPERTS,
    )


def _alike(context: Context, population: str) -> Iterator[Finding]:
    """What the token before and the layer before predict of a choice, where that is more than chance."""
    sticky, after = context.stickiness, context.experts_next
    if len(sticky) and (p := float(sticky["p"].iloc[0])) < chance.LEVEL:
        again, shuffled = (float(sticky[name].iloc[0]) for name in ("share", "shuffled"))
        yield Finding(
            kind="experts",
            measure="Experts that the token before chose too",
            amount=Amount(again, "share"),
            beside=(Amount(shuffled, "share", "in shuffled order"), Amount(p, "p")),
            scope="generation",
            population=population,
            effect=again - shuffled,
            part=EXPERTS_STICKY,
        )
    if len(after):
        share, most, before, effect, p = (
            float(after[name].iloc[0]) for name in ("share", "most", "before", "effect", "p")
        )
        if p < chance.LEVEL and effect > 0 and share > max(most, before):
            yield Finding(
                kind="experts",
                measure="Experts predicted from the layer before",
                amount=Amount(share, "share"),
                beside=(Amount(most, "share", "by the most chosen"), Amount(p, "p")),
                scope="generation",
                population=population,
                effect=share - most,
                part=EXPERTS_NEXT,
            )
