"""Which tensors to keep in memory: those that tokens wait for longest, for their size."""

import pandas as pd

from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows
from tracegen.report.figures.shared_disk import fault_table

MOST_KINDS = 12
HALF = 0.5
MIB = 1 << 20
OF = {"generate": "of waiting for a generated token", "prompt": "of waiting in the prompt"}


def _content(context: Context) -> Rows:
    found = context.pin_list
    kinds = _by_kind(found)
    first = f"The first {MOST_KINDS} of {q.counted(len(kinds), 'kind')}. " if len(kinds) > MOST_KINDS else ""
    ahead = context.facts.conditions.read_ahead_bytes
    of = f", {q.size(ahead)}" if ahead else ""
    return Rows(
        answer=_answer(context, kinds),
        caption=f"{first}Waiting of a pass, in the mean over passes and threads: page faults of the tensors, and "
        f"waiting behind them. * stands for the number of a layer. Small: smaller than the read-ahead{of}. The last "
        "columns count all rows so far: what to pin first, and what it saves at most. The CSV has each tensor and its "
        "place in the file. "
        f"n = {q.counted(len(context.phase_passes), 'pass', 'passes')} of {context.phase}.",
        data=found,
        empty="" if len(kinds) else "No measured pass waited for a tensor of the model file.",
    ).of(
        kinds.head(MOST_KINDS),
        col.name("Tensors", "kind"),
        col.count("Number", "n_tensors"),
        col.size("Size", "size_bytes"),
        col.decimal("Waiting", "waiting_ns", 3, "ms", 1e6),
        col.decimal("for a MiB", "rate", 3, "ms", 1e6 / MIB),
        col.size("Size so far", "n_bytes"),
        col.decimal("Waiting so far", "saved_ns", 3, "ms", 1e6),
    )


def _by_kind(found: pd.DataFrame) -> pd.DataFrame:
    """The rows of a list by kind, in its order."""
    rows = found.groupby("kind", sort=False).agg(
        n_tensors=("tensor", "size"),
        size_bytes=("size_bytes", "sum"),
        waiting_ns=("waiting_ns", "sum"),
        n_bytes=("n_bytes", "max"),
        saved_ns=("saved_ns", "max"),
    )
    return rows.assign(rate=rows["waiting_ns"] / rows["size_bytes"].clip(lower=1)).reset_index()


def _answer(context: Context, kinds: pd.DataFrame) -> tuple[Amount, ...]:
    """The kind that is waited for longest, and the least memory that holds half of the waiting."""
    if kinds.empty:
        return ()
    longest = kinds.sort_values("waiting_ns", kind="stable").iloc[-1]
    half = kinds[(kinds["saved_ns"] >= HALF * kinds["saved_ns"].max()).to_numpy(bool)].iloc[0]
    return (
        Amount(
            float(longest["waiting_ns"]),
            "ns",
            f"{OF[context.phase]} is for {q.printable(longest['kind'])}, {q.size(int(longest['size_bytes']))}",
        ),
        Amount(float(half["saved_ns"]), "ns", f"for the first {q.size(int(half['n_bytes']))} of this list"),
    )


PIN_LIST = fault_table(
    key="pin-list",
    page="file",
    section="waiting",
    title="Which tensors to keep in memory?",
    content=_content,
    code="data = analyses.Analyses(run.measured, run.tables).pin_list",
)
