"""The experts whose bytes threads waited for."""

from __future__ import annotations

from tracegen.analysis import expert_waits
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.cells import Head, cells, number, share
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table, When
from tracegen.report.figures.shared_disk import FAULTS
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import disk_sentences as say

MOST = 15
RECORDED = When(
    "a run of a model with experts that recorded page faults",
    lambda context: context.run.has_faults and WITH_EXPERTS.holds(context),
)


def _content(context: Context) -> Rows:
    """The experts whose bytes were missing, longest waiting first."""
    table = expert_waits.by_expert(context.tables)
    rows = [
        cells(
            number(q.count(r["layer"])),
            number(q.count(r["expert"])),
            number(q.count(r["n_passes"])),
            number(q.count(r["n_faults"])),
            number(q.count(r["n_major"])),
            number(q.decimal(r["waited_ns"] / 1e6, 3)),
            share(r["waited_ns"], int(table["waited_ns"].sum())),
        )
        for r in table.head(MOST).to_dict("records")
    ]
    waited = int(table["waited_ns"].sum())
    half = int((table["waited_ns"].cumsum() < waited / 2).sum()) + 1 if waited else 0
    return Rows(
        title=say.experts_title(float(table["share"].sum()), half, len(table)),
        caption=f"The {len(rows)} of {q.counted(len(table), 'expert')} whose bytes threads waited for longest; "
        "each with all its tensors in its layer; time is summed over threads and measured passes. Passes: "
        "in how many an expert was waited for. The CSV has all of them.",
        head=(
            Head("Layer", number=True),
            Head("Expert", number=True),
            Head("Passes", number=True),
            Head("Page faults", number=True),
            Head("of them major", number=True),
            Head("Waited", "ms", True),
            Head("Share of waiting for experts", number=True),
        ),
        rows=rows,
        data=table,
        empty="" if len(table) else "No measured pass had a page fault on bytes of an expert.",
    )


DISK_EXPERTS = Table(
    key="disk-experts",
    page="disk",
    section="split",
    title="Which experts do threads wait for?",
    needs=(*needs.TIMES, needs.PLACES, needs.FAULTS),
    when=RECORDED,
    content=_content,
    explanation=Explanation(
        f"Page faults by the expert whose bytes were touched. {FAULTS}",
        "Page faults of measured passes on tensors of stacked experts. Load and warm-up are left out.",
        "An expert that is waited for in several passes was dropped from memory in between, or its bytes were read in "
        "parts. Many experts with a little waiting each mean that tokens keep choosing others.",
        code="""
from tracegen.analysis import expert_waits
data = expert_waits.by_expert(run.tables)
""",
    ),
)
