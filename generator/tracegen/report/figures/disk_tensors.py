"""The tensors whose bytes threads waited for."""

from __future__ import annotations

from tracegen.analysis import disk_waits
from tracegen.charts import theme
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.cells import Cell, Head, cells, number, share
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.shared_disk import FAULTS, RECORDED
from tracegen.report.words import disk_sentences as say

MOST = 15


def _content(context: Context) -> Rows:
    """The tensors whose bytes were missing, longest waiting first."""
    found = disk_waits.by_tensor(context.tables)
    whole = int(found["waited_ns"].sum())
    rows = [
        cells(
            Cell(q.printable(r["name"]), code=True) if q.known(r["name"]) else "between tensors",
            Cell(str(r["component"]), dot=theme.group(r["component"])) if q.known(r["component"]) else "",
            number(q.count(r["layer"]) if q.known(r["layer"]) else ""),
            number(q.count(r["n_faults"])),
            number(q.count(r["n_major"])),
            number(q.count(r["n_pages"])),
            number(q.decimal(r["waited_ns"] / 1e6, 3)),
            share(r["waited_ns"], whole),
            f"{q.printable(r['op'])} ({q.percent(r['op_share'])})" if q.known(r["op"]) else "between operations",
        )
        for r in found.head(MOST).to_dict("records")
    ]
    head = (
        Head("Tensor"),
        Head("Component"),
        Head("Layer", number=True),
        Head("Page faults", number=True),
        Head("of them major", number=True),
        Head("Pages", number=True),
        Head("Waited", "ms", True),
        Head("Share of waiting", number=True),
        Head("Used in"),
    )
    named = found.dropna(subset=["component"])
    title = ""
    if len(named) and whole:
        groups = named.groupby(named["component"].astype(str).map(theme.group))["waited_ns"].sum()
        top = named.iloc[0]
        title = say.tensors_title(
            q.printable(top["name"]),
            float(top["share"]),
            str(groups.idxmax()),
            float(groups.max()) / whole,
            q.printable(top["op"]) if q.known(top["op"]) else "",
            float(top["op_share"]),
        )
    return Rows(
        title=title,
        caption=f"The {len(rows)} of {q.counted(len(found), 'tensor')} with page faults that threads waited for "
        "longest; time is summed over threads and measured passes. Pages: how many different pages of 4 KiB had a "
        "fault; neighbours that the kernel mapped with them are not counted. The group is that of the tensor’s name: a "
        "tied embedding is also the matrix of the output. Used in: the kind of operation with most of the waiting for "
        "the tensor, and its share of that. The CSV has all tensors.",
        head=head,
        rows=rows,
        data=found,
        empty="" if len(found) else "No measured pass had a page fault of the model file.",
    )


DISK_TENSORS = Table(
    key="disk-tensors",
    page="disk",
    section="split",
    title="Which tensors do threads wait for?",
    needs=(*needs.TIMES, needs.PLACES, needs.FAULTS),
    when=RECORDED,
    content=_content,
    explanation=Explanation(
        f"Page faults by the tensor whose bytes were touched. {FAULTS}",
        "Page faults of measured passes, inside operations and between them. Load and warm-up are left out.",
        "Read-ahead reads more than the page that was touched: a tensor may be read because of a fault in its "
        "neighbour.",
        code="""
from tracegen.analysis import disk_waits
data = disk_waits.by_tensor(run.tables)
""",
    ),
)
