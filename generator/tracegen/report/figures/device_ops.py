"""What a device computes, operation by operation, and how fast it reads weights for that."""

from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import Head, share
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table, When
from tracegen.report.words.sentences import OUTSIDE

MOST = 12
OWN = (
    "Time: as the device, or the server, recorded it itself: when an operation began, and when all until it had ended. "
    "Where several run at once, an operation’s time is what it added to the end before it, so that all together "
    "are the time in which the device was busy."
)
RATE = "Rate: the bytes of model files that operations touched, over that time."
RECORDED = When(
    "a run that recorded the operations of a device (--device-times ops, or --server)",
    lambda context: len(context.tables["device_ops"]) > 0,
)


def _content(context: Context) -> Rows:
    table = context.of_devices
    whole = float(table["took_ns"].sum())
    shown = table.head(MOST).to_dict("records")
    tokens = context.tokens.get(context.phase, 0)
    several = table["device"].nunique() > 1
    lost = context.facts.trace.device_ops_lost
    missing = f" {q.counted(lost, 'operation')} of the run could not be timed." if lost else ""
    longest = shown[0] if shown else {}
    return Rows(
        answer=(
            Amount(longest["took_ns"] / whole, "share", f"of the device’s time is {q.printable(longest['operation'])}"),
            *_rate(longest),
        )
        if whole
        else (),
        caption=f"The first {len(shown)} of {q.counted(len(table), 'row')}, of {context.phase} passes. {OWN} {RATE}"
        f"{missing} {OUTSIDE}",
        data=table,
        numbers={"phase": context.phase},
        empty="" if whole else f"No operation of a device was recorded in {context.phase} passes.",
    ).of(
        shown,
        *((col.name("Device", "device"),) if several else ()),
        col.name("Operation", "operation"),
        col.text("Weight", lambda r: q.printable(r["dtype"]) if q.known(r["dtype"]) else "none"),
        col.Column(Head("Share", "of the device’s time", True), lambda r: share(r["took_ns"], whole)),
        col.number("A token", lambda r: q.decimal(r["took_ns"] / tokens / 1e6, 2) if tokens else "", "ms"),
        col.number("An operation", lambda r: q.decimal(r["took_ns"] / r["n_ops"] / 1e3), "µs"),
        col.number("Rate", lambda r: "".join(q.decimal(a.value / 2**30, 2) for a in _rate(r)), "GiB/s"),
        col.count("n", "n_ops"),
    )


def _rate(row: col.Row) -> tuple[Amount, ...]:
    """How fast an operation reads weights; none where it reads none, or which is not known."""
    if not q.known(row["weight_bytes"]) or not row["weight_bytes"] or not row["took_ns"]:
        return ()
    return (Amount(1e9 * row["weight_bytes"] / row["took_ns"], "bytes/s", "of weights"),)


DEVICE_OPS = Table(
    key="device-ops",
    page="operations",
    section="time",
    title="What does the device compute, and how fast does it read weights?",
    needs=(*needs.OF_DEVICES, *needs.BYTES),
    when=RECORDED,
    content=_content,
    words={"own": OWN, "rate": RATE},
    code="ops = operations.op_rows(run.tables)\n"
    'data = device_ops.by_kind(run.tables, ops, accesses.ranges(run.tables), "$phase")',
)
