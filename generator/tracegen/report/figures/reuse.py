"""After how many passes, and how many other bytes, something is used again."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import reuse
from tracegen.analysis.reuse import Reuse
from tracegen.contract import quantities as q
from tracegen.contract.text import without_controls
from tracegen.report.figures import needs, shared_access
from tracegen.report.figures.cells import Head, cells, number, size
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.words import cache_sentences as say

FILE = "data/reuse-by-tensor.csv"


def _content(context: Context) -> Rows:
    """A row for each kind of item."""
    empty = shared_access.nothing(context)
    if empty:
        return Rows(caption="", head=(), rows=[], empty=empty)
    of = reuse.by_kind(context.disk_accesses, context.pieces)
    data = reuse.table(of)
    rows = [
        cells(
            say.ITEMS[str(r["kind"])],
            number(q.count(r["n_items"])),
            number(q.count(r["n_again"])),
            *(number(q.count(r[f"passes_{name}"]) if r["n_again"] else q.UNKNOWN) for name in ("50", "90")),
            *(size(r[f"lru_bytes_{name}"]) for name in ("50", "90", "99")),
        )
        for r in data.to_dict("records")
    ]
    told = of.get("expert", of["tensor"])
    sampled = [say.sampled_granules(kind, r.sampled, r.error) for kind, r in of.items() if r.sampled < 1]
    return Rows(
        title=say.reuse_title("expert" in of, told.passes(0.5), told.passes(0.9)),
        caption="Passes between: the second use less the first. Memory for LRU: the cache that serves so many of the "
        "repeated uses when it holds of each tensor and expert all that the run touched of it, and drops what was not "
        "used for longest."
        f"{''.join(sampled)} {FILE} has each tensor and expert. "
        f"n = {q.counted(context.disk_accesses['pass_id'].nunique(), 'pass')}.{shared_access.left_out(context)}",
        head=(
            Head("Item"),
            Head("Used", number=True),
            Head("Repeated uses", number=True),
            Head("Passes between, median", number=True),
            Head("90 % within", number=True),
            *(Head(f"LRU for {share}", "MiB", True) for share in ("50 %", "90 %", "99 %")),
        ),
        rows=rows if data["n_again"].sum() else [],
        data=data,
        empty=say.NO_REPEAT,
        files={FILE: without_controls(_by_tensor(context, of).to_csv(index=False, lineterminator="\n"))},
    )


def _by_tensor(context: Context, of: dict[str, Reuse]) -> pd.DataFrame:
    """The reuse of each tensor and expert of a tensor."""
    cut = context.pieces
    items = pd.concat([reuse.by_item(of[kind]) for kind in ("expert", "tensor") if kind in of])
    name = cut["tensor"].map(context.tables["tensors"].set_index("tensor")["name"])
    named = pd.DataFrame({"name": name, "expert": cut["expert"], "size_bytes": cut["end"] - cut["begin"]})
    return named.join(items, how="inner").sort_index(kind="stable")


REUSE = Table(
    key="reuse",
    page="caches",
    section="caches",
    title="After how long is something used again?",
    needs=needs.FILE_USE,
    content=_content,
    explanation=Explanation(
        "For tensors, experts and granules of the mapped file: how many passes, and how many other bytes, lie between "
        "two uses.",
        f"{shared_access.MEASURED} An operation uses an item once, whichever bytes of it it touched; of an "
        "embedding of which rows are looked up, those rows are its size. A tensor of "
        "stacked experts is one item as a whole, or one for each expert.",
        "If tokens chose k of E experts evenly, an expert would be used again after E/k passes on average, more than "
        "half of the times sooner. Compare the memory for LRU with what the machine has: a loop over more bytes than "
        "fit serves nothing. Whole tensors of experts need more than their experts singly, because they carry experts "
        "along that nobody asked for.",
        code=shared_access.ACCESSES.replace("accesses, order", "accesses, order, pieces, reuse")
        + "data = reuse.table(reuse.by_kind(touched, pieces.pieces(run.tables)))",
    ),
)
