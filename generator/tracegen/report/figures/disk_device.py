"""What the storage device did during each pass."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import device
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.cells import Head, cells, number
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table, When

MOST = 40
COUNTED = When(
    "a run that recorded page faults, where the kernel counts the device's requests",
    lambda context: context.run.has_faults and not context.tables["device"].empty,
)


def _content(context: Context) -> Rows:
    """One row for each pass: how long it was, and what the device read meanwhile."""
    page = context.fact("host", "page_bytes") or 4096
    table = device.by_pass(context.tables, page)
    size = int(context.tables["files"]["size_bytes"].sum())
    waited = context.disk_split.set_index("pass_id")["disk_ns"]
    digits = _digits(table.head(MOST)["duration_ns"])
    rows = [
        cells(
            context.labels[r["pass_id"]],
            number(q.decimal(r["duration_ns"] / 1e6, digits)),
            number(q.decimal(waited.get(r["pass_id"], 0) / 1e6, digits)),
            number(q.percent(r["busy_share"])),
            number(q.count(r["n_reads"])),
            number(q.decimal(r["read_bytes"] / 2**20, 1)),
            number(q.decimal(r["bytes_per_read"] / 2**10, 0) if q.known(r["bytes_per_read"]) else ""),
            number(q.decimal(r["bytes_per_second"] / 2**20, 0) if q.known(r["bytes_per_second"]) else ""),
            number(q.percent(min(r["cached_bytes"] / size, 1)) if q.known(r["cached_bytes"]) and size else ""),
            number(q.percent(r["evicted_bytes"] / size) if q.known(r["evicted_bytes"]) and size else ""),
        )
        for r in table.head(MOST).to_dict("records")
    ]
    head = (
        Head("Pass"),
        Head("Duration", "ms", True),
        Head("Waiting for the disk", "ms", True),
        Head("Device busy", number=True),
        Head("Reads", number=True),
        Head("Read", "MiB", True),
        Head("Mean read", "KiB", True),
        Head("Rate", "MiB/s", True),
        Head("File in memory", number=True),
        Head("Dropped", number=True),
    )
    return Rows(
        title=_title(table, context),
        caption=f"The first {len(rows)} of {q.counted(len(table), 'measured pass')}. Reads, bytes and busy time are "
        "the kernel’s counters of the whole device, with what other programs asked of it. Waiting is the mean over "
        "threads. The last two columns are shares of the model files after the pass, where residency was recorded: "
        "what was in the page cache, and what had been there and was dropped. The CSV has all passes.",
        head=head,
        rows=rows,
        data=table,
        empty="" if len(table) else "The device was not counted over any measured pass.",
        numbers={"page_bytes": page},
    )


def _digits(duration_ns: pd.Series) -> int:
    """Decimals of milliseconds that show three digits of the shortest pass; at least one."""
    shortest = float(duration_ns.min()) / 1e6 if len(duration_ns) else 1.0
    return 1 if shortest >= 10 else 2 if shortest >= 1 else 3


def _title(table: pd.DataFrame, context: Context) -> str:
    """How busy the device was in generate passes; empty without any."""
    generate = table[(table["pass_id"].map(context.kinds) == "generate").to_numpy(bool)]
    if generate.empty or not generate["counted_ns"].sum():
        return ""
    counted = generate["counted_ns"].astype(float)
    busy = float((generate["busy_share"].astype(float) * counted).sum() / counted.sum())
    return f"The device was busy for {q.percent(busy)} of the time of generate passes"


DISK_DEVICE = Table(
    key="disk-device",
    page="disk",
    section="split",
    title="What did the device do meanwhile?",
    needs=(*needs.TIMES, needs.FAULTS),
    when=COUNTED,
    content=_content,
    explanation=Explanation(
        "What the kernel counted for the device that holds the model files, from just before each pass to just after "
        "it (/sys/block), and how much of the files was in memory then (cachestat).",
        "Measured passes that ended. Busy means that at least one request was under way. The kernel counts that in "
        "ticks of 1 to 10 ms, so the share is rough for short passes.",
        "A device that is idle while threads compute could be reading what they need next. A device that is busy all "
        "the time is the limit; `tracegen device` measures what it can do.",
        code="""
from tracegen.analysis import device
data = device.by_pass(run.tables, page_bytes=$page_bytes)
""",
    ),
)
