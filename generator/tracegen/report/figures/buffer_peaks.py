"""The most that each kind of buffer held."""

from __future__ import annotations

from tracegen.analysis import buffers
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.cells import Head, cells, number, size
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table


def _content(context: Context) -> Rows:
    peaks = buffers.peaks(context.tables)
    rows = [
        cells(str(r["group"]), number(q.count(r["n_buffers"])), size(r["peak_bytes"])) for r in peaks.to_dict("records")
    ]
    return Rows(
        caption="Peak of the bytes allocated at one time, per group.",
        head=(Head("Group"), Head("Allocations", number=True), Head("Peak", "MiB", True)),
        rows=rows,
        data=peaks,
        empty="The trace holds no allocation.",
    )


BUFFER_PEAKS = Table(
    key="buffer-peaks",
    page="memory",
    section="kinds",
    title="How much did each kind of buffer hold at most?",
    needs=(needs.EVIDENCE, needs.BALANCE, needs.ALL_BUFFERS, needs.WHOLE),
    content=_content,
    explanation=Explanation(
        "The largest number of bytes that the buffers of a group held at one time, and the number of allocations.",
        "All allocations and frees of the run, load and warm-up included.",
        "The groups may peak at different times, so the sum of their peaks may be more than the run ever held.",
        code="from tracegen.analysis import buffers\ndata = buffers.peaks(run.tables)",
    ),
)
