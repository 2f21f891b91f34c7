"""What the storage device did and was asked to read, beside what it can do."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import pandas as pd

from tracegen.analysis import device, requests
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table, When
from tracegen.report.figures.shared_disk import PHASES, phase_shown, request_table

MOST = 40  # rows; the CSV has all
COUNTED = When(
    "a run that recorded page faults, where the kernel counts the device's requests",
    lambda context: context.run.has_faults and not context.tables["device"].empty,
)


def _disk_device(context: Context) -> Rows:
    """One row for each pass: how long it was, and what the device read meanwhile."""
    page = context.facts.host.page_bytes or 4096
    table = device.by_pass(context.tables, page)
    size = int(context.tables["files"]["size_bytes"].sum())
    waited = context.disk_split.set_index("pass_id")[["disk_ns", "behind_ns"]].sum(axis=1)
    digits = _digits(table.head(MOST)["duration_ns"])
    looked = bool(table["cached_bytes"].notna().any())
    last = (
        "The last two columns are shares of the model files after the pass: what was in the page cache, and what had "
        "been there and was dropped. "
    )
    caption = (
        f"The first {min(len(table), MOST)} of {q.counted(len(table), 'measured pass')}. Reads, bytes "
        "and busy time are the kernel’s counters of the whole device, with what other programs asked of it. Waiting is "
        f"the mean over threads. {last if looked else ''}The CSV has all passes."
    )
    return Rows(
        answer=_busy(table, context),
        caption=caption if len(table) else "",
        data=table,
        empty="" if len(table) else "The device was not counted over any measured pass.",
        numbers={"page_bytes": page},
    ).of(
        table.head(MOST),
        col.text("Pass", lambda r: context.labels[r["pass_id"]]),
        col.decimal("Duration", "duration_ns", digits, "ms", 1e6),
        col.number("Waiting for the disk", lambda r: q.decimal(waited.get(r["pass_id"], 0) / 1e6, digits), "ms"),
        col.percent("Device busy", "busy_share"),
        col.count("Reads", "n_reads"),
        col.decimal("Read", "read_bytes", 1, "MiB", 2**20),
        col.decimal("Mean read", "bytes_per_read", 0, "KiB", 2**10),
        col.decimal("Rate", "bytes_per_second", 0, "MiB/s", 2**20),
        *(_in_memory(size) if looked else ()),
    )


def _in_memory(size: int) -> tuple[col.Column, ...]:
    """The columns of a run that recorded residency; `size` of the model files, bytes."""

    def share(name: str) -> Callable[[col.Row], str]:
        return lambda r: q.percent(min(r[name] / size, 1)) if q.known(r[name]) and size else ""

    return col.number("File in memory", share("cached_bytes")), col.number("Dropped", share("evicted_bytes"))


def _digits(duration_ns: pd.Series) -> int:
    """Decimals of milliseconds that show three digits of the shortest pass; at least one."""
    shortest = float(duration_ns.min()) / 1e6 if len(duration_ns) else 1.0
    return 1 if shortest >= 10 else 2 if shortest >= 1 else 3


def _busy(table: pd.DataFrame, context: Context) -> tuple[Amount, ...]:
    """How busy the device was in generate passes; nothing without any."""
    generate = context.of_kind(table, "generate")
    counted = generate["counted_ns"].astype(float)
    if not counted.sum():
        return ()
    busy = float((generate["busy_share"].astype(float) * counted).sum() / counted.sum())
    return (Amount(busy, "share", "device utilization in generate passes"),)


DISK_DEVICE = Table(
    key="disk-device",
    section="disk",
    title="How busy was the device during each pass?",
    needs=(*needs.TIMES, needs.FAULTS),
    when=COUNTED,
    content=_disk_device,
    code="data = device.by_pass(run.tables, page_bytes=$page_bytes)",
)


USE = ["page_bytes_read", "now_bytes", "later_bytes", "never_bytes", "again_bytes"]
READ = {
    "model_bytes": "Read of the model",
    "ahead_bytes": "of it read-ahead",
    "now_bytes": "used in the pass",
    "later_bytes": "used later",
    "never_bytes": "never used",
    "again_bytes": "read again",
    "other_bytes": "Read of other files",
}


def _disk_requests(context: Context) -> Rows:
    """One row for each measured pass: what was read, and what became of it."""
    table = context.disk_requests
    sums = {phase: context.of_kind(table, phase)[USE].astype(float).sum() for phase in PHASES}
    phase = phase_shown({phase: float(rows["page_bytes_read"]) for phase, rows in sums.items()})
    return Rows(
        answer=_became(dict(sums[phase]), phase),
        caption=f"The first {min(len(table), MOST)} of {q.counted(len(table), 'measured pass')}. A request "
        "belongs to the pass in which it was issued. Its pages were used in that pass, or first in a later one, or by "
        "no operation until the run ended. Pages are read again when they were dropped from memory. The CSV has all "
        "passes.",
        data=table,
        empty="" if len(table) else "No measured pass has an end.",
        numbers={"page_bytes": context.facts.host.page_bytes or 4096},
    ).of(
        table.assign(other_bytes=table["read_bytes"] - table["model_bytes"]).head(MOST),
        col.text("Pass", lambda r: context.labels[r["pass_id"]]),
        col.count("Requests", "n_requests"),
        *(col.decimal(label, name, 1, "MiB", 2**20) for name, label in READ.items()),
    )


def _became(sums: Mapping[Hashable, float], phase: str) -> tuple[Amount, ...]:
    """What became of what the passes of a phase read; `sums`: bytes of whole pages over these passes."""
    read = sums["page_bytes_read"]
    if not read:
        return ()
    words = {
        "now_bytes": f"of the bytes read by {PHASES[phase]} were used in the same pass",
        "never_bytes": "never used",
        "again_bytes": "read again",
    }
    shares = {name: Amount(float(sums[name]) / read, "share", text) for name, text in words.items()}
    return tuple(share for name, share in shares.items() if share.value or name != "again_bytes")


DISK_REQUESTS = request_table(
    key="disk-requests",
    title="What was read, and was it used?",
    needs=(*needs.TIMES, needs.PLACES, needs.REQUESTS),
    content=_disk_requests,
    code="""
data = requests.by_pass(run.tables).merge(
    requests.use_by_pass(run.tables, page_bytes=$page_bytes), on="pass_id", how="left"
)
""",
)


def _disk_sizes(context: Context) -> Rows:
    """Rows of the run's phases, and rows of what was measured on the device before."""
    table, measured = requests.by_kind(context.tables), _measured(context)
    phases = table.to_dict("records")
    refused = context.facts.device and context.facts.device.refused
    ceiling = max((r["bytes_per_second"] for r in measured), default=0.0)
    phase = phase_shown({str(row["kind"]): float(row["read_bytes"]) for row in phases})
    rates = {str(row["kind"]): float(row["bytes_per_second"]) for row in phases if q.known(row["bytes_per_second"])}
    rate = rates.get(phase, 0.0)
    reached = Amount(rate, "bytes/s", f"while {PHASES[phase]} kept the device busy")
    beside = (Amount(rate / ceiling, "share", "of the fastest measurement"),) if ceiling else ()
    if measured:
        note = (
            "The lower rows were measured just before the run, on the model file, past the page cache. "
            "The CSV has the upper rows."
        )
    elif refused:
        note = f"What the device can do was not measured: {q.printable(refused)}."
    else:
        note = "What the device can do was not measured."
    return Rows(
        answer=(reached, *beside) if rate else (),
        caption="The upper rows are the requests of this run, with those of other programs; rate and queue depth are "
        f"means over the time in which at least one request was under way. {note}",
        data=table,
        empty="No request was issued in a measured pass.",
    ).of(
        [*(row | {"what": f"{row['kind']} passes"} for row in phases), *measured],
        col.text("What", lambda r: r["what"]),
        col.count("Requests", "n_requests"),
        col.decimal("Mean size", "mean_bytes", 0, "KiB", 2**10),
        col.decimal("Queue depth", "mean_depth", 1),
        col.decimal("Rate", "bytes_per_second", 0, "MiB/s", 2**20),
        col.decimal("Median duration", "median_ns", 0, "µs", 1e3),
    )


def _measured(context: Context) -> list[dict[Hashable, Any]]:
    """What was measured of the device before the run."""
    return [
        {
            "what": f"device: {m.pattern}",
            "n_requests": m.reads,
            "mean_bytes": m.block_bytes,
            "mean_depth": m.queue_depth,
            "bytes_per_second": m.bytes_per_second,
            "median_ns": m.latency_median_ns,
        }
        for m in (context.facts.device.measurements if context.facts.device else ())
    ]


DISK_SIZES = request_table(
    key="disk-sizes",
    title="How close does the device come to its measured maximum?",
    content=_disk_sizes,
    code="data = requests.by_kind(run.tables)",
)


def _disk_read_sizes(context: Context) -> Rows:
    table = requests.by_size(context.tables)
    read, n = int(table["read_bytes"].sum()), int(table["n_requests"].sum())
    middle = int((table["read_bytes"].cumsum() * 2 >= read).to_numpy().argmax()) if read else 0
    answer: tuple[Amount, ...] = ()
    if middle:
        limit, above = int(table["most_bytes"].iloc[middle - 1]), table.iloc[middle:]
        answer = (
            Amount(int(above["n_requests"].sum()) / n, "share", f"of the requests exceed {_size(limit)}"),
            Amount(int(above["read_bytes"].sum()) / read, "share", "of the bytes come with these"),
        )
    return Rows(
        answer=answer,
        caption="Requests of measured passes by size, with those of other programs: each row has those that are larger "
        "than the row above allows. The median duration is from issue to completion.",
        data=table,
        empty="No request was issued in a measured pass.",
    ).of(
        table,
        col.text("Size", lambda r: _name(r["most_bytes"])),
        col.count("Requests", "n_requests"),
        col.share("of all", "n_requests", n),
        col.decimal("Read", "read_bytes", 1, "MiB", 2**20),
        col.share("of all", "read_bytes", read),
        col.decimal("Median duration", "median_ns", 0, "µs", 1e3),
    )


def _name(most_bytes: object) -> str:
    """`up to 16 KiB`; for the class without an upper end: `over 4 MiB`."""
    if not q.known(most_bytes):
        return f"over {_size(requests.SIZES[-1])}"
    return f"up to {_size(int(str(most_bytes)))}"


def _size(n_bytes: int) -> str:
    return f"{n_bytes >> 20} MiB" if n_bytes >= 1 << 20 else f"{n_bytes >> 10} KiB"


DISK_READ_SIZES = request_table(
    key="disk-read-sizes",
    title="How large are the reads?",
    content=_disk_read_sizes,
    code="data = requests.by_size(run.tables)",
)
