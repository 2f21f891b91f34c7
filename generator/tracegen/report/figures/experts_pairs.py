"""Which experts are chosen together more often than their use explains."""

from __future__ import annotations

from tracegen.analysis import expert_pairs
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.cells import Head, between, cells, number
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import expert_chance_sentences as say

SHOWN = 20


def _content(context: Context) -> Rows:
    """The unusual pairs of least p."""
    found = expert_pairs.pairs(context.chosen, context.expert_sizes)
    listed = found.strongest[found.strongest["unusual"].to_numpy(bool)].head(SHOWN)
    choice = context.choice
    rows = [
        cells(
            number(q.count(r["layer"])),
            f"{r['a']} and {r['b']}",
            number(q.count(r["n_rows"])),
            number(f"{q.count(r['n_a'])} and {q.count(r['n_b'])}"),
            number(q.count(r["together"])),
            number(q.decimal(r["expected"], 1)),
            number(q.decimal(r["lift"], 2)),
            between(r["low"], r["high"], lambda value: q.decimal(value, 2)),
            number(q.p_value(r["p_held"])),
        )
        for r in listed.to_dict("records")
    ]
    return Rows(
        title=say.pairs_title(found.n_unusual),
        caption=say.pairs_caption(
            n_tested=found.n_tested, n_shown=len(rows), n_unusual=found.n_unusual,
            least_rows=expert_pairs.LEAST_ROWS, least_lift=expert_pairs.LEAST_LIFT,
        ),
        head=(
            Head("Layer", number=True),
            Head("Experts"),
            Head("Token rows", number=True),
            Head("Chose each", number=True),
            Head("Together", number=True),
            Head("Expected", number=True),
            Head("Lift", number=True),
            Head("95 % interval", number=True),
            Head("p (Holm)", number=True),
        ),
        rows=rows,
        data=found.strongest,
        empty=shared_experts.untested(context)
        or say.no_pairs(
            n_rows=choice.n_rows, n_chosen=choice.n_chosen, n_tested=found.n_tested, n_pairs=found.n_pairs,
            least=2 * expert_pairs.N_BLOCKS,
        ),
    )  # fmt: skip


EXPERTS_PAIRS = Table(
    key="experts-pairs",
    page="experts",
    section="tests",
    title="Which experts are chosen together?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "Pairs of experts of a layer that the same tokens choose more often than chance.",
        f"{shared_experts.GENERATED} Each token row counts once for each pair that it chose. Layers with fewer than "
        f"{2 * expert_pairs.N_BLOCKS} rows are left out.",
        "A lift of 2: chosen together twice as often as expected from how often each is chosen. The test is careful: "
        "where tokens choose at random it lists a pair in at most one of 20 runs. The CSV lists all pairs whose p is "
        "below 0.05 before it is held: for one that is not in the table, a lift means nothing.",
        code=shared_experts.CHOSEN.replace("experts, routing", "expert_pairs, experts")
        + "data = expert_pairs.pairs(chosen, experts.sizes(run.tables, chosen)).strongest",
    ),
)
