"""Which share of its uses a cache would serve, by size and policy."""

from __future__ import annotations

from tracegen.charts import cache_rates
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_caches
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.words import cache_sentences as say

TARGET = 0.9  # the hit rate that the title tells of


def _content(context: Context) -> Content:
    """The hit rates of all policies."""
    empty = shared_caches.nothing(context)
    rates, granule = context.hit_rates, context.granule_bytes
    table = rates.rates
    rows = table.assign(size_bytes=table["size_granules"] * granule)[["policy", "size_bytes", "hit_rate"]]
    cycle = context.token_cycle
    lru, best = (shared_caches.needed(context, policy, TARGET) for policy in ("LRU", "Belady"))
    title = say.rates_title(lru, best, TARGET)
    steep = shared_caches.lru_cliff(context, lru)
    if steep is not None and lru is not None and best is not None:
        title = say.cliff_title(*steep, best, TARGET)
    n_passes = context.disk_accesses["pass_id"].nunique()
    return Content(
        title=title,
        caption=f"{say.RATE} {say.population(rates.n_uses, rates.n_granules, granule, n_passes)}"
        f"{say.grouped(rates.group)}{say.sampled(rates.sampled, rates.errors)}"
        f"{say.cycle(cycle)} {say.NO_SPEED}",
        alt=f"Lines of hit rate by size of cache for {q.counted(rows['policy'].nunique(), 'policy', 'policies')}. "
        f"{q.ended(title)}",
        chart=lambda width: cache_rates.chart(rows, cycle, width=width),
        data=rows,
        empty=empty,
        numbers={"granule_bytes": granule},
    )


CACHE_RATES = Figure(
    key="cache-rates",
    page="caches",
    section="caches",
    title="Which share of the accesses would a cache serve?",
    needs=(*needs.FILE_USE,),
    content=_content,
    explanation=Explanation(
        "The hit rate of caches from a small part of what was touched to all of it. "
        + "; ".join(f"{name} {what}" for name, what in say.POLICIES.items())
        + ".",
        f"{shared_caches.COUNTS} {say.RATE}",
        "Where a line rises steeply, a little more memory serves many more uses. A model of which each token reads all "
        "the same bytes has a step: LRU serves next to nothing until all of them fit, and a static set serves as much "
        "as its size. The gap up to Belady is what a better choice of what to keep could gain. The kernel’s page cache "
        "is none of these: it reads ahead, and keeps two lists of pages by how recently they were used.",
        code=shared_caches.ITEMS
        + """data = rates.rates.assign(size_bytes=rates.rates["size_granules"] * $granule_bytes)
data = data[["policy", "size_bytes", "hit_rate"]]""",
    ),
)
