"""What the runtime’s buffers hold, and held at most."""

from tracegen.analysis import buffers
from tracegen.charts import buffers as buffers_chart
from tracegen.contract import quantities as q
from tracegen.report.figures import columns as col
from tracegen.report.figures import needs
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Figure, Rows, Table


def _buffers(context: Context) -> Content:
    """What the runtime's buffers held over the life of the process."""
    level = buffers.occupancy(context.tables)
    passes = context.tables["passes"]
    ends = passes["end_ns"].dropna()
    begin = min([*(level["time_ns"].head(1)), *(passes["begin_ns"].head(1))], default=0)
    end = int(ends.max()) - begin if len(ends) else 0
    data = level.assign(time_ns=level["time_ns"] - begin)
    return Content(
        caption="Bytes allocated and not yet freed, by what the buffer holds; n = "
        f"{q.counted(len(buffers.allocations(context.tables)), 'event')} (allocations "
        "and frees of more than 0 bytes). llama.cpp wraps the mapped model file in a buffer too; it takes no memory of "
        "its own and is left out.",
        alt=f"Stacked area of allocated bytes over time; peak {q.size(buffers.total_peak(context.tables))}.",
        chart=lambda width: buffers_chart.chart(data, end, width=width),
        data=data,
        empty="" if len(level) else "The trace holds no allocation.",
    )


BUFFERS = Figure(
    key="buffers",
    page="file",
    section="buffers",
    title="How much do the runtime's buffers hold?",
    needs=(needs.EVIDENCE, needs.BALANCE, needs.ALL_BUFFERS, needs.WHOLE),
    content=_buffers,
    code="""
from tracegen.analysis import buffers
level = buffers.occupancy(run.tables)
begin = min([*level["time_ns"].head(1), *run.passes["begin_ns"].head(1)])
data = level.assign(time_ns=level["time_ns"] - begin)
""",
)


def _buffer_peaks(context: Context) -> Rows:
    peaks = buffers.peaks(context.tables)
    return Rows(
        caption="Peak of the bytes allocated at one time, per group.",
        data=peaks,
        empty="The trace holds no allocation.",
    ).of(
        peaks,
        col.text("Group", lambda r: str(r["group"])),
        col.count("Allocations", "n_buffers"),
        col.size("Peak", "peak_bytes"),
    )


BUFFER_PEAKS = Table(
    key="buffer-peaks",
    page="appendix",
    section="file",
    title="How much did each kind of buffer hold at most?",
    needs=(needs.EVIDENCE, needs.BALANCE, needs.ALL_BUFFERS, needs.WHOLE),
    content=_buffer_peaks,
    code="from tracegen.analysis import buffers\ndata = buffers.peaks(run.tables)",
)
