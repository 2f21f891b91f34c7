"""How much memory it takes for a hit rate, by policy."""

from __future__ import annotations

from tracegen.analysis import caches
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_caches
from tracegen.report.figures.cells import Head, cells, size
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table, Values
from tracegen.report.words import cache_sentences as say


def _content(context: Context) -> Rows:
    """A row for each policy, a column for each hit rate."""
    rates = context.hit_rates
    table = rates.needed
    data = table.assign(size_bytes=table["size_granules"] * context.granule_bytes)
    rows = [
        cells(policy, say.POLICIES[policy], *(size(shared_caches.needed(context, policy, t)) for t in caches.TARGETS))
        for policy in caches.POLICIES
        if len(table)
    ]
    return Rows(
        caption="The smallest cache that reaches each hit rate; for LFU, FIFO and Belady to "
        f"{q.percent(caches.CLOSE)}. All that was touched of the mapped file is "
        f"{q.size(rates.n_granules * context.granule_bytes)}, in granules of {q.size(context.granule_bytes)}."
        f"{shared_caches.cliffs(context)}{say.grouped(rates.group)}{say.sampled(rates.sampled, rates.errors)} "
        f"{say.NO_SPEED}",
        head=(Head("Policy"), Head("What it does"), *(Head(q.percent(t), "MiB", True) for t in caches.TARGETS)),
        rows=rows,
        data=data[["policy", "target", "size_bytes"]],
        empty=shared_caches.nothing(context),
        numbers={"granule_bytes": context.granule_bytes},
        values=_values(context) if len(table) else {},
    )


def _values(context: Context) -> Values:
    """`cache_bytes_TARGET_POLICY`: the memory for a hit rate in percent; of the policies that a text compares."""
    found = {
        f"cache_bytes_{round(100 * target)}_{policy.lower()}": shared_caches.needed(context, policy, target)
        for policy in ("LRU", "static", "Belady")
        for target in caches.TARGETS
    }
    return {name: (int(n), "bytes", q.size(n)) for name, n in found.items() if n is not None}


CACHE_SIZES = Table(
    key="cache-sizes",
    page="caches",
    section="caches",
    title="How much memory does it take for 50, 90, 95 and 99 % hits?",
    needs=needs.FILE_USE,
    content=_content,
    explanation=Explanation(
        "For each way to choose what a cache keeps, the memory that it takes for a hit rate.",
        f"{shared_caches.COUNTS} {say.RATE}",
        "Add what the program needs beside the file (buffers, KV cache) and what the system needs. LRU and static are "
        "exact to the granule.",
        code=shared_caches.ITEMS
        + """data = rates.needed.assign(size_bytes=rates.needed["size_granules"] * $granule_bytes)
data = data[["policy", "target", "size_bytes"]]""",
    ),
)
