"""What drafting tokens for a larger batch gains, and what it takes."""

from tracegen.analysis import speculation
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table, When

VERIFIED = When(
    "a run that verified drafted tokens", lambda context: speculation.accepted_share(context.rounds) is not None
)


def _content(context: Context) -> Rows:
    table = context.rounds
    known = table.dropna(subset=["n_gained"])
    token_ns, accepted = speculation.token_ns(table), speculation.accepted_share(table)
    assert token_ns is not None and accepted is not None
    left = len(table) - len(known)
    unknown = f" Of {q.counted(left, 'more batch', 'more batches')} the gain is not known." if left else ""
    return Rows(
        answer=(
            Amount(token_ns, "ns", "a token"),
            Amount(accepted, "share", "of the drafted tokens accepted"),
        ),
        caption="Verifying and drafting: means. A token: the time from one batch to the next, which has both and "
        "what the program does between them, by the tokens gained. "
        f"n = {q.counted(len(known), 'batch', 'batches')}.{unknown}",
        data=table,
    ).of(
        speculation.by_size(table),
        col.count("Tokens of a batch", "n_tokens"),
        col.count("Batches", "n_batches"),
        col.decimal("Gained", "gained", 2),
        col.decimal("Verifying", "verify_ns", 2, "ms", 1e6),
        col.decimal("Drafting", "draft_ns", 2, "ms", 1e6),
        col.decimal("A token", "token_ns", 2, "ms", 1e6),
        *((col.decimal("Experts of a layer", "experts", 1),) if known["experts"].notna().any() else ()),
    )


SPECULATION = Table(
    key="speculation",
    section="time",
    title="What do drafted tokens gain?",
    needs=(*needs.TIMES, needs.ROWS),
    when=VERIFIED,
    content=_content,
    code="data = speculation.rounds(run.tables)",
)
