"""Which tensors to keep in memory, whole."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import kept_tensors
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_access
from tracegen.report.figures.cells import Head, cells, number, share, size
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.words import cache_sentences as say

FILE = "data/keep-tensors.txt"


def _content(context: Context) -> Rows:
    """A row for each size of memory."""
    empty = shared_access.nothing(context)
    if empty:
        return Rows(caption="", head=(), rows=[], empty=empty)
    table = kept_tensors.kept(context.tables["tensors"], context.disk_accesses)
    data = kept_tensors.chosen(table)
    rows = [
        cells(
            q.percent(r["memory_share"]),
            size(r["memory_bytes"]),
            number(q.count(r["n_tensors"])),
            size(r["kept_bytes"]),
            share(r["served_share"], 1),
        )
        for r in data.to_dict("records")
    ]
    uneven = kept_tensors.gini(table)
    half = data[data["memory_share"] == 0.5].iloc[0]
    return Rows(
        title=say.keep_title(float(half["served_share"]), float(half["kept_bytes"])),
        caption=f"Tensors whole, those with the most touched bytes per byte first. A byte counts as often as it was "
        f"touched; Gini coefficient of touches over bytes: {q.decimal(uneven, 2)} (0: each byte as often). "
        f"{FILE} has, for each row, the regular expression that finds just these tensors, for llama.cpp’s -ot. "
        f"n = {q.counted(context.disk_accesses['pass_id'].nunique(), 'pass')}.{shared_access.left_out(context)}",
        head=(
            Head("Memory"),
            Head("of the tensors’ bytes", "MiB", True),
            Head("Tensors", number=True),
            Head("Their size", "MiB", True),
            Head("Touched bytes served", number=True),
        ),
        rows=rows,
        data=data,
        files={FILE: _patterns(table, data)},
    )


def _patterns(table: pd.DataFrame, data: pd.DataFrame) -> str:
    """For each size of memory a line that says what it holds, and the regular expression."""
    lines = []
    for row in data.to_dict("records"):
        names = [q.printable(str(name)) for name in table["name"].head(int(row["n_tensors"]))]
        held = f"{q.counted(len(names), 'tensor')}, {q.size(row['kept_bytes'])}"
        lines += [f"# {held}: {q.percent(row['served_share'])} of the touched bytes", kept_tensors.pattern(names)]
    return "\n".join(lines) + "\n"


KEEP_TENSORS = Table(
    key="keep-tensors",
    page="caches",
    section="hot",
    title="What would keeping whole tensors in memory serve?",
    needs=needs.FILE_USE,
    content=_content,
    explanation=Explanation(
        "Which share of the touched bytes lies in the tensors that fit into some memory, if only whole tensors can be "
        "kept there.",
        f"{shared_access.MEASURED} A tensor that the run never touched is not kept. It knows the run, as a static "
        "set does.",
        "Tensors that each token reads whole (attention, output) come first; those of experts follow. "
        "llama.cpp’s option `-ot 'REGEX=BUFFER'` places the tensors that a regular expression finds in a buffer of "
        "another type, such as a GPU’s.",
        code=shared_access.ACCESSES.replace("accesses, order", "accesses, kept_tensors, order")
        + 'data = kept_tensors.chosen(kept_tensors.kept(run.tables["tensors"], touched))',
    ),
)
