"""How large the reads were that the device was asked for."""

from __future__ import annotations

from tracegen.analysis import requests
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.cells import Head, cells, number, share
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.shared_disk import REQUESTED
from tracegen.report.words import disk_sentences as say


def _content(context: Context) -> Rows:
    """One row for each class of size."""
    table = requests.by_size(context.tables)
    read, n = int(table["read_bytes"].sum()), int(table["n_requests"].sum())
    rows = [
        cells(
            _name(r["most_bytes"]),
            number(q.count(r["n_requests"])),
            share(r["n_requests"], n),
            number(q.decimal(r["read_bytes"] / 2**20, 1)),
            share(r["read_bytes"], read),
            number(q.decimal(r["median_ns"] / 1e3, 0) if q.known(r["median_ns"]) else ""),
        )
        for r in table.to_dict("records")
    ]
    middle = int((table["read_bytes"].cumsum() * 2 >= read).to_numpy().argmax()) if read else 0
    below, above = table.iloc[:middle], table.iloc[middle:]
    title = (
        say.read_sizes_title(
            _size(int(below["most_bytes"].iloc[-1])),
            int(above["read_bytes"].sum()) / read,
            int(above["n_requests"].sum()) / n,
        )
        if middle
        else ""
    )
    return Rows(
        title=title,
        caption="Requests of measured passes by size, with those of other programs: each row has those that are larger "
        "than the row above allows. The median duration is from issue to completion.",
        head=(
            Head("Size"),
            Head("Requests", number=True),
            Head("of all", number=True),
            Head("Read", "MiB", True),
            Head("of all", number=True),
            Head("Median duration", "µs", True),
        ),
        rows=rows,
        data=table,
        empty="" if rows else "No request was issued in a measured pass.",
    )


def _name(most_bytes: object) -> str:
    """`up to 16 KiB`; for the class without an upper end: `over 4 MiB`."""
    if not q.known(most_bytes):
        return f"over {_size(requests.SIZES[-1])}"
    return f"up to {_size(int(str(most_bytes)))}"


def _size(n_bytes: int) -> str:
    return f"{n_bytes >> 20} MiB" if n_bytes >= 1 << 20 else f"{n_bytes >> 10} KiB"


DISK_READ_SIZES = Table(
    key="disk-read-sizes",
    page="disk",
    section="split",
    title="How large are the reads?",
    needs=(*needs.TIMES, needs.REQUESTS),
    when=REQUESTED,
    content=_content,
    explanation=Explanation(
        "How many requests of each size the device was given, and how much was read with them.",
        "Requests that were issued during measured passes, whoever wanted them. The kernel joins neighbouring pages to "
        "one request, and splits what exceeds the largest request of the device.",
        "Many small requests cost a device more than few large ones of the same sum: compare with what was measured on "
        "the device above. Read-ahead makes requests larger where a file is read in order, and small where operations "
        "jump in it.",
        code="""
from tracegen.analysis import requests
data = requests.by_size(run.tables)
""",
    ),
)
