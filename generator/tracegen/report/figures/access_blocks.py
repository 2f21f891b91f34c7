"""How much more than the touched bytes whole blocks of them are."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import ledger
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_access
from tracegen.report.figures.cells import Head, cells, number, size
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.words import access_sentences as say


def _content(context: Context) -> Rows:
    """A row for each size of block; medians over the passes that titles tell of."""
    phase = shared_access.phase(context)
    told = shared_access.of_phase(context, phase)["pass_id"]
    data = ledger.blocks(context.disk_accesses, int(context.tables["files"]["size_bytes"].sum()))
    of = data[data["pass_id"].isin(told)]
    medians = of.groupby("block_bytes")[["touched_bytes", "in_blocks_bytes"]].median().reset_index()
    rows = [
        cells(
            q.size(r["block_bytes"]),
            size(r["touched_bytes"]),
            size(r["in_blocks_bytes"]),
            number(q.decimal(r["in_blocks_bytes"] / r["touched_bytes"], 2)),
        )
        for r in medians.to_dict("records")
    ]
    return Rows(
        title=_title(medians.iloc[-1].astype(float), phase) if len(medians) else "",
        caption="Different bytes of the mapped files that a pass touched, and those of the whole blocks in which they "
        f"lie; blocks begin at multiples of their size. Medians over {q.counted(len(told), f'{phase} pass')}."
        f"{shared_access.left_out(context)}",
        head=(
            Head("Block"),
            Head("Touched by a pass", "MiB", True),
            Head("In whole blocks", "MiB", True),
            Head("Times", number=True),
        ),
        rows=rows,
        data=data,
        empty=shared_access.nothing(context) or "No prompt or generate pass touched the mapped file.",
    )


def _title(largest: pd.Series, phase: str) -> str:
    return say.blocks_title(largest["block_bytes"], largest["touched_bytes"], largest["in_blocks_bytes"], phase)


ACCESS_BLOCKS = Table(
    key="access-blocks",
    page="access",
    section="ledger",
    title="How much more than it touches must a token read?",
    needs=needs.BYTES,
    content=_content,
    explanation=Explanation(
        "What a token touches, and how much it is in whole pages and larger blocks: a disk is read in blocks, never in "
        "bytes.",
        f"{shared_access.MEASURED} Different bytes: each counts once for a pass.",
        "Near 1, what is touched lies together. The kernel reads at least pages (4 KiB), read-ahead usually up to 128 "
        "KiB, and huge pages are 2 MiB; how much was read in truth, the page Disk shows where requests were recorded.",
        code=shared_access.ACCESSES.replace("import accesses, order", "import accesses, ledger, order")
        + 'data = ledger.blocks(touched, run.tables["files"]["size_bytes"].sum())',
    ),
)
