"""The most that each kind of buffer held."""

from __future__ import annotations

from tracegen.analysis import buffers
from tracegen.figures import needs
from tracegen.figures.cells import Head, cells, number, size
from tracegen.figures.context import Context
from tracegen.figures.explanation import Explanation
from tracegen.figures.figure import Rows, Table
from tracegen.words import quantities as q


def _content(context: Context) -> Rows:
    made = buffers.peaks(context.tables)
    rows = [
        cells(str(r["group"]), number(q.count(r["n_buffers"])), size(r["peak_bytes"]))
        for r in (made.to_dict("records"))
    ]
    return Rows(
        caption="Peak of the bytes allocated at one time, per group.",
        head=(Head("Group"), Head("Allocations", number=True), Head("Peak", "MiB", True)),
        rows=rows,
        data=made,
        empty="The trace holds no allocation.",
    )


BUFFER_PEAKS = Table(
    key="buffer-peaks",
    page="memory",
    section="kinds",
    title="What is the most each kind of buffer held?",
    needs=(needs.EVIDENCE, needs.BALANCE, needs.WHOLE),
    content=_content,
    explanation=Explanation(
        "The most bytes that the buffers of a group held at one time, and how often one was allocated.",
        "All allocations and frees of the run, load and warm-up included.",
        "Peaks of different groups need not be at the same time: their sum may be more than the run ever held.",
        code="from tracegen.analysis import buffers\ndata = buffers.peaks(run.tables)",
    ),
)
