"""What the figures of caches share: the granules that a cache would hold, and why there is nothing to show."""

from __future__ import annotations

from tracegen.contract import quantities as q
from tracegen.report.figures import shared_access
from tracegen.report.figures.context import Context
from tracegen.report.words import cache_sentences as say

COUNTS = (
    "A cache of granules of one size, empty before the first measured pass, that sees what operations touch of the "
    "mapped file. Load, warm-up, and weights that were copied into memory are left out."
)
ITEMS = """
from tracegen.analysis import accesses, caches, granules, order
used = accesses.ranges(run.tables)
touched = order.disk_accesses(run.tables, used)
uses = granules.granule_uses(touched, $granule_bytes)
rates = caches.hit_rates(uses["granule"].to_numpy())
"""


def nothing(context: Context) -> str:
    """Why there is no hit rate; empty if there is one."""
    if context.disk_accesses["pass_id"].nunique() == 1:  # what is used again is what neighbours share
        return shared_access.nothing(context) or say.ALONE
    return shared_access.nothing(context) or ("" if context.hit_rates.n_again > 0 else say.NO_REPEAT)


def needed(context: Context, policy: str, target: float) -> float | None:
    """The size of cache in bytes that a policy needs for a hit rate; None without any repeated use."""
    table = context.hit_rates.needed
    found = table.loc[(table["policy"] == policy) & (table["target"] == target), "size_granules"]
    return None if found.empty else float(found.iloc[0]) * context.granule_bytes


def lru_cliff(context: Context, size: float | None) -> tuple[float, float, float] | None:
    """The hit rate of LRU below a size in bytes, the size, and the rate with it; None if no cliff ends at this size."""
    rows = context.hit_rates.cliffs
    for r in rows[rows["policy"] == "LRU"].itertuples():
        if float(str(r.size_granules)) * context.granule_bytes == size:
            return float(str(r.below_rate)), size, float(str(r.hit_rate))
    return None


def cliffs(context: Context) -> str:
    """A sentence for each step in which a policy passes several of the named hit rates; empty without any.

    Of steps whose sizes read the same the first is told: two sentences would say two hit rates of one size.
    """
    rows, granule = context.hit_rates.cliffs, context.granule_bytes
    told: dict[tuple[str, str], str] = {}
    for r in rows.to_dict("records"):
        below, size = r["below_granules"] * granule, r["size_granules"] * granule
        sentence = say.cliff(r["policy"], below, r["below_rate"], size, r["hit_rate"])
        told.setdefault((r["policy"], q.size(size)), sentence)
    return "".join(told.values())
