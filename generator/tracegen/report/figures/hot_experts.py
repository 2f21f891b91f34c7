"""Is there a hot set of experts: learned on the first tokens, scored on the later ones."""

from __future__ import annotations

from tracegen.analysis import hot_set
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.cells import Cell, Head, cells, number, share
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import cache_sentences as say

_WHAT = {
    "static": "the experts that the first tokens chose most",
    "recent": "the experts that were chosen last",
}


def _content(context: Context) -> Rows:
    """A row for the static set and one for the experts chosen last."""
    hot = context.hot_set
    empty = shared_experts.no_choice(context) or ("" if hot else _unknown(context))
    if hot is None:
        return Rows(caption=hot_set_counts(None), head=_HEAD, rows=[], empty=empty)
    rows = [
        cells(
            _WHAT[name],
            number(f"{q.count(hot.n_held)} of {q.count(hot.n_experts)}"),
            share(hot.n_held, hot.n_experts),
            share(gain.served, 1),
            number(say.signed_gain(gain.gain)),
            Cell(f"{say.signed_gain(gain.low)} to {say.signed_gain(gain.high)}", number=True),
        )
        for name, gain in (("static", hot.static), ("recent", hot.recent))
    ]
    profile = hot.kept.sort_values(["n_learned", "layer", "expert"], ascending=[False, True, True])
    text = profile.rename(columns={"n_learned": "count"}).to_csv(index=False, lineterminator="\n")
    return Rows(
        title=say.hot_title(hot.static, hot.recent, hot.n_held, hot.n_experts),
        caption=hot_set_counts(hot),
        head=_HEAD,
        rows=rows,
        data=hot_set.table(hot),
        empty=empty,
        files={"data/pin-profile.csv": text},
        values={
            "hot_experts_held_share": _percent(hot.n_held / hot.n_experts),
            "hot_experts_served": _percent(hot.static.served),
            "hot_experts_gain": (hot.static.gain, "1", say.signed_gain(hot.static.gain)),
            "recent_experts_served": _percent(hot.recent.served),
        },
    )


def _percent(share: float) -> tuple[float, str, str]:
    return share, "1", q.percent(share)


_HEAD = (
    Head("Held in each layer"),
    Head("Experts", number=True),
    Head("Share", number=True),
    Head("Choices served", number=True),
    Head("Gain", number=True),
    Head("95 % interval", number=True),
)


def hot_set_counts(hot: hot_set.HotSet | None) -> str:
    """What the rows count."""
    if hot is None:
        return "The experts that some tokens chose most, and how many choices of later tokens they serve."
    return (
        f"Learned on the first {q.counted(hot.n_learned, 'generated token')}, scored on the {q.count(hot.n_scored)} "
        "after them. Gain: 0 is what as many experts serve by chance, 1 is every choice; the interval rests on "
        f"{hot_set.N_PARTS} parts of the scored tokens in a row. One static set was tested, not every set of its size. "
        "data/pin-profile.csv lists its experts, the most chosen first."
    )


def _unknown(context: Context) -> str:
    n = context.choice.n_rows
    if n < hot_set.LEAST_TOKENS:
        return say.too_few(n, hot_set.LEAST_TOKENS)
    return "Layers or tokens differ in their number of experts, so that there is no common size of a set."


HOT_EXPERTS = Table(
    key="hot-experts",
    page="caches",
    section="hot",
    title="Is there a hot set of experts?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "What a set of experts that never changes serves of tokens that it was not learned on, and what a cache of the "
        "same size serves that keeps the experts chosen last.",
        f"{shared_experts.GENERATED} {shared_experts.HOLDS} Both hold twice as many experts as a token chooses, at "
        "most half of a layer.",
        f"The limit is a gain of {hot_set.MARGIN}: less is taken as not worth a cache. A gain reaches it where its "
        "whole interval does, and does not where its whole interval lies below; where the interval lies on both sides, "
        "neither is shown nor excluded. It is called a hot set if the first row reaches it. A gain below the limit can "
        "be more than chance, and choices uneven. Of other sets than the one learned, and of other texts, this says "
        "nothing.",
        code=shared_experts.CHOSEN.replace("experts, routing", "experts, hot_set")
        + """n_experts = experts.choice(run.tables).n_experts
data = hot_set.table(hot_set.hot_set(chosen, n_experts))""",
    ),
)
