"""How many reads the accesses of a pass make up when neighbours are joined."""

from __future__ import annotations

from tracegen.analysis import order
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_access
from tracegen.report.figures.cells import Head, cells, number, share, size
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.words import access_sentences as say


def _content(context: Context) -> Rows:
    """A row for each tolerance."""
    phase = shared_access.phase(context)
    told = shared_access.of_phase(context, phase)
    if told.empty:
        empty = shared_access.nothing(context) or "No prompt or generate pass touched the mapped file."
        return Rows(caption="", head=(), rows=[], empty=empty)
    table = order.reads(told)
    median = {int(t): float(n) for t, n in zip(table["tolerance_bytes"], table["reads"], strict=True)}
    rows = [
        cells(
            "nothing" if r["tolerance_bytes"] == 0 else q.size(r["tolerance_bytes"]),
            number(q.decimal(r["reads"])),
            share(r["sequential_share"], 1),
            size(r["mean_bytes"]),
        )
        for r in table.to_dict("records")
    ]
    return Rows(
        title=say.reads_title(float(told["n_accesses"].median()), median, phase),
        caption=f"Accesses that follow each other with at most so many bytes between are joined into one read. "
        "Sequential: the share of steps that are joined. Reads: the median of a pass; size: the mean, without the "
        f"bytes between. "
        f"n = {q.counted(len(told), f'{phase} pass')}.{shared_access.left_out(context)}",
        head=(
            Head("At most between"),
            Head("Reads of a pass", number=True),
            Head("Sequential steps", number=True),
            Head("Mean size of a read", "MiB", True),
        ),
        rows=rows,
        data=table,
        numbers={"phase": phase},
    )


ACCESS_READS = Table(
    key="access-reads",
    page="access",
    section="order",
    title="How many reads would the accesses of a token make up?",
    needs=needs.BYTES,
    content=_content,
    explanation=Explanation(
        "Into how few reads the accesses of a pass could be joined without changing their order.",
        f"{shared_access.MEASURED} A tolerance of T bytes joins an access that begins at the end of the one before, or "
        "at most T bytes behind it.",
        "Few large reads are fast on any disk, many small ones are not. This is what a program could ask for that "
        "knows the order; the kernel, which does not, reads pages and guesses ahead.",
        code=shared_access.ACCESSES
        + """passes = order.by_pass(run.tables, touched)
data = order.reads(passes[(passes["kind"] == "$phase") & (passes["n_accesses"] > 0)])""",
    ),
)
