"""What the program has allocated: by size, and by the calls that asked."""

from functools import partial

import pandas as pd

from tracegen.analysis import allocations
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import Cell
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table, When

MOST = 12
RECORDED = When(
    "a run that counted allocations (--allocations)", lambda context: len(context.tables["allocations"]) > 0
)
_table = partial(Table, section="file", needs=(needs.EVIDENCE, needs.FOOTPRINT), when=RECORDED)
LIVE = (
    "Blocks of malloc and its kin that were not freed at the last sample of memory, ggml’s own buffers among them, and "
    "how much more that is than at the first while the program computed. What is allocated need not be resident."
)


def _sizes(context: Context) -> Rows:
    table = allocations.by_size(context.tables)
    most = table.sort_values("live_bytes", ascending=False, kind="stable").iloc[0] if len(table) else None
    return Rows(
        answer=()
        if most is None
        else (
            Amount(int(table["live_bytes"].sum()), "bytes", "allocated"),
            Amount(int(most["live_bytes"]), "bytes", f"of it in blocks of {_range(int(most['size_class']))}"),
        ),
        caption=LIVE,
        data=table,
    ).of(
        table[(table[["live_bytes", "grown_bytes"]] != 0).any(axis=1).to_numpy(bool)],
        col.text("Blocks of", lambda r: _range(int(r["size_class"]))),
        col.count("Blocks", "n_live"),
        col.size("Bytes", "live_bytes"),
        col.size("Grown by", "grown_bytes"),
    )


def _range(size_class: int) -> str:
    return f"{q.size(1 << size_class)} to {q.size(2 << size_class)}"


def _calls(context: Context) -> Rows:
    table = allocations.by_calls(context.tables)
    lost = context.facts.trace.allocations_lost
    missing = f" {q.counted(lost, 'block')} could not be kept apart." if lost else ""
    first = table.iloc[0] if len(table) else None
    return Rows(
        answer=()
        if first is None
        else (
            Amount(int(first["live_bytes"]), "bytes", f"by {q.printable(allocations.asked(first['calls']).function)}"),
        ),
        caption=f"{LIVE} Blocks of 64 KiB and more, by the function that asked, without the C++ library and what only "
        f"hands memory on; the CSV has all calls.{missing}",
        data=table,
        empty="" if len(table) else "No block of 64 KiB or more was live.",
    ).of(
        table.head(MOST),
        col.text("Function", lambda r: _name(_function(r))),
        col.text("Called by", lambda r: _name(allocations.asked(r["calls"]).called_by)),
        col.count("Blocks", "n_live"),
        col.count("Ever", "n_all"),
        col.size("Bytes", "live_bytes"),
        col.size("Grown by", "grown_bytes"),
    )


def _function(row: col.Row | pd.Series) -> str:
    return allocations.asked(str(row["calls"])).function


def _name(name: str) -> Cell | str:
    return Cell(q.printable(name), code=True) if name else ""


ALLOCATIONS = _table(
    key="allocations",
    title="What has the program allocated?",
    content=_sizes,
    code="data = allocations.by_size(run.tables)",
)
ALLOCATION_CALLS = _table(
    key="allocation-calls",
    title="Which calls allocated most?",
    content=_calls,
    code="data = allocations.by_calls(run.tables)",
)
