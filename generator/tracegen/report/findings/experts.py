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

WHOLLY = 0.9  # of the choices: a hot set that serves so many is one without a “partly”


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
    n_layers = counts["layer"].nunique()
    compared = " and ".join(amount.text for amount in beside)
    unused = f" {never.text.replace('never', 'were never')}." if never.value else ""
    of = "In the median layer" if n_layers > 1 else "In the layer"
    yield Finding(
        kind="experts",
        text=f"{of}, {most.number} of the choices go to the most chosen expert ({compared}).{unused}",
        amounts=(most, *beside, *((never,) if never.value else ())),
        scope="generation",
        population=population,
        effect=max(most.value, never.value / len(counts)),
        part=EXPERTS_LOAD,
    )


def _hot(context: Context) -> Iterator[Finding]:
    if (hot := context.hot_set) is None:
        return
    served, chance_ = Amount(hot.static.served, "share"), Amount(hot.n_held / hot.n_experts, "share")
    reaches = hot.static.reaches
    first = {
        "yes": "There is a hot set" if served.value >= WHOLLY else "In part there is a hot set",
        "no": "There is no hot set",
        "open": "Whether there is a hot set is open",
    }[reaches]
    which = f"the {hot.n_held} of {hot.n_experts} experts that earlier tokens chose most in each layer"
    yield Finding(
        kind="experts",
        text=f"{first}: {which} serve {served.text} of later choices ({chance_.text} by chance).",
        amounts=(served, chance_, Amount(hot.static.gain, "share", "of the way from chance to all")),
        scope="generation",
        population=f"the last {q.counted(hot.n_scored, 'token')}, learned from the {q.count(hot.n_learned)} before",
        effect=served.value if reaches == "yes" else 0.0,
        part=HOT_EXPERTS,
    )


def _alike(context: Context, population: str) -> Iterator[Finding]:
    """What the token before and the layer before predict of a choice, where that is more than chance."""
    sticky, after = context.stickiness, context.experts_next
    if len(sticky) and (p := float(sticky["p"].iloc[0])) < chance.LEVEL:
        again, shuffled = (Amount(float(sticky[name].iloc[0]), "share") for name in ("share", "shuffled"))
        yield Finding(
            kind="experts",
            text=f"Of the experts that a token chooses, the token before chose {again.text} too ({shuffled.text} in "
            "shuffled order).",
            amounts=(again, shuffled, Amount(p, "p")),
            scope="generation",
            population=population,
            effect=again.value - shuffled.value,
            part=EXPERTS_STICKY,
        )
    if len(after):
        share, most, before, effect, p = (
            float(after[name].iloc[0]) for name in ("share", "most", "before", "effect", "p")
        )
        if p < chance.LEVEL and effect > 0 and share > max(most, before):
            predicted, by_most = Amount(share, "share"), Amount(most, "share")
            yield Finding(
                kind="experts",
                text=f"The experts of the layer before predict {predicted.text} of the choices; naming the most chosen "
                f"ones predicts {by_most.text}.",
                amounts=(predicted, by_most, Amount(p, "p")),
                scope="generation",
                population=population,
                effect=share - most,
                part=EXPERTS_NEXT,
            )
