"""What the device was asked to read during each pass, and whether it was used."""

from __future__ import annotations

from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.cells import Cell, Head, cells, number
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.shared_disk import PHASES, REQUESTED, told_phase
from tracegen.report.words import disk_sentences as say

MOST = 40
USE = ["page_bytes_read", "now_bytes", "later_bytes", "never_bytes", "again_bytes"]


def _content(context: Context) -> Rows:
    """One row for each measured pass: what was read, and what became of it."""
    table = context.disk_requests

    def mib(value: object) -> Cell:
        return number(q.decimal(float(value) / 2**20, 1) if q.known(value) else "")  # type: ignore[arg-type]

    rows = [
        cells(
            context.labels[r["pass_id"]],
            number(q.count(r["n_requests"])),
            mib(r["model_bytes"]),
            mib(r["ahead_bytes"]),
            mib(r["now_bytes"]),
            mib(r["later_bytes"]),
            mib(r["never_bytes"]),
            mib(r["again_bytes"]),
            mib(r["read_bytes"] - r["model_bytes"]),
        )
        for r in table.head(MOST).to_dict("records")
    ]
    head = (
        Head("Pass"),
        Head("Requests", number=True),
        Head("Read of the model", "MiB", True),
        Head("of it read-ahead", "MiB", True),
        Head("used in the pass", "MiB", True),
        Head("used later", "MiB", True),
        Head("never used", "MiB", True),
        Head("read again", "MiB", True),
        Head("Read of other files", "MiB", True),
    )
    kind = table["pass_id"].map(context.kinds)
    sums = {phase: table.loc[(kind == phase).to_numpy(bool), USE].astype(float).sum() for phase in PHASES}
    phase = told_phase({phase: float(rows["page_bytes_read"]) for phase, rows in sums.items()})
    return Rows(
        title=say.requests_title(dict(sums[phase]), phase),
        caption=f"The first {len(rows)} of {q.counted(len(table), 'measured pass')}. A request belongs to the pass in "
        "which it was issued. Its pages were used in that pass, or first in a later one, or by no operation until the "
        "run ended. Pages are read again when they were dropped from memory. The CSV has all passes.",
        head=head,
        rows=rows,
        data=table,
        empty="" if len(table) else "No measured pass has an end.",
        numbers={"page_bytes": context.fact("host", "page_bytes") or 4096},
    )


DISK_REQUESTS = Table(
    key="disk-requests",
    page="disk",
    section="split",
    title="What was read, and was it used?",
    needs=(*needs.TIMES, needs.PLACES, needs.REQUESTS),
    when=REQUESTED,
    content=_content,
    explanation=Explanation(
        "Each read that the kernel handed to the device that holds the model (block_rq_issue, block_rq_complete), "
        "mapped to the model file through the places that the file system gives it (FIEMAP).",
        "Reads that were issued during measured passes. Reads of other files on the same device stand in the last "
        "column; those of other devices are left out.",
        "Whether bytes are used is known in whole pages, from the tensors, rows and experts that operations touched. "
        "Read-ahead reads pages that nobody has asked for yet. Bytes that are never used cost bandwidth; bytes "
        "that were read before cost the memory that they no longer had.",
        code="""
from tracegen.analysis import requests
data = requests.by_pass(run.tables).merge(
    requests.use_by_pass(run.tables, page_bytes=$page_bytes), on="pass_id", how="left"
)
""",
    ),
)
