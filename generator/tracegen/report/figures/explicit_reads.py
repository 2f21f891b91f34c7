"""Which reads of the model file the program made itself."""

from tracegen.analysis import explicit_reads, first_use
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table, When

AHEAD = (
    " Pages that were only asked for are in time if an operation touched them after that without a page fault that "
    "waited."
)
OUTCOMES = {"In time": "in_time_bytes", "Too late": "late_bytes", "Never used": "unused_bytes"}
READ = When(
    "a run whose program read a model file itself, or whose reads are not hooked",
    lambda context: len(context.tables["reads"]) > 0 or "reads" in context.facts.trace.lost,
)


def _content(context: Context) -> Rows:
    table = explicit_reads.by_call(context.tables, context.used)
    size = int(context.tables["files"]["size_bytes"].sum())
    read = table[~table["call"].isin(explicit_reads.ASKED_ONLY).to_numpy(bool)]
    got, distinct = int(read["got_bytes"].sum()), int(read["file_bytes"].sum())
    asked = table[table["call"].isin(explicit_reads.ASKED_ONLY).to_numpy(bool)]
    again = (Amount(got - distinct, "bytes", "of them more than once"),) if got > distinct else ()
    return Rows(
        answer=(
            Amount(got, "bytes", f"were read in {q.counted(int(read['n_calls'].sum()), 'call')}"),
            *again,
        ),
        caption=f"Calls of the program on the model file, which has {q.size(size)}. Direct reads begin and end at "
        "whole blocks of the file and leave nothing in the page cache; others may find it there. Time is that in which "
        f"at least one of the calls ran.{AHEAD if len(asked) else ''}",
        data=table,
    ).of(
        table,
        col.text("During", lambda r: q.printable(r["kind"]) if isinstance(r["kind"], str) else "none, or several"),
        col.text("Call", lambda r: f"{r['call']}, direct" if r["direct"] else str(r["call"])),
        col.count("Calls", "n_calls"),
        col.size("Read", "got_bytes"),
        col.size("Bytes of the file", "file_bytes"),
        col.decimal("Time", "took_ns", 2, "ms", 1e6),
        col.number("Rate", _rate, "per second"),
        *(_outcome(label, name) for label, name in OUTCOMES.items() if len(asked)),
    )


def _rate(row: col.Row) -> str:
    """How fast a call read; empty where it did not."""
    return q.size(1e9 * row["got_bytes"] / row["took_ns"]) if row["took_ns"] and row["got_bytes"] else ""


def _outcome(label: str, name: str) -> col.Column:
    """What became of what was only asked for; empty for other calls."""
    return col.number(label, lambda r: q.size(r[name]) if r["call"] in explicit_reads.ASKED_ONLY else "")


EXPLICIT_READS = Table(
    key="explicit-reads",
    section="disk",
    title="What did the program read itself?",
    needs=(needs.EVIDENCE, needs.KINDS, needs.WHOLE, needs.READS),
    when=READ,
    content=_content,
    code="data = explicit_reads.by_call(run.tables)",
)


MOST = 12


def _first_uses(context: Context) -> Rows:
    table = first_use.by_operation(context.tables, context.used)
    used = table[table["op"].notna().to_numpy(bool)]
    whole = int(table["got_bytes"].sum())
    return Rows(
        answer=(
            Amount(int(used["got_bytes"].sum()) / whole, "share", "of the bytes read were used by an operation then"),
        )
        if whole
        else (),
        caption="Reads of tensors, by the first operation on that tensor that began when the read had ended, and how "
        f"long after it, the median. The first {min(MOST, len(table))} of {q.counted(len(table), 'row')}.",
        data=table,
        empty="" if len(table) else "No read brought bytes of a tensor.",
    ).of(
        table.head(MOST),
        col.text("Read during", lambda r: q.printable(r["kind"]) if isinstance(r["kind"], str) else "none, or several"),
        col.text("Call", lambda r: q.printable(r["call"])),
        col.text("Used first in", lambda r: q.printable(r["phase"]) if isinstance(r["phase"], str) else "never"),
        col.name("Operation", "op"),
        col.text("Component", lambda r: q.printable(r["component"]) if isinstance(r["component"], str) else ""),
        col.count("Reads", "n_reads"),
        col.size("Read", "got_bytes"),
        col.number("After", lambda r: q.duration(float(r["after_ns"])) if q.known(r["after_ns"]) else ""),
    )


FIRST_USES = Table(
    key="first-uses",
    section="disk",
    title="Which operations used first what was read?",
    needs=(*EXPLICIT_READS.needs, needs.NODES, needs.PLACES, needs.CLOCK),
    when=When(
        "a run whose program read tensors itself",
        lambda context: bool(context.tables["reads"]["tensor"].notna().any()),
    ),
    content=_first_uses,
    code="data = first_use.by_operation(run.tables, accesses.ranges(run.tables))",
)
