"""The slider of memory below the curve of hit rates: what a size of cache serves, reads and takes, by policy."""

from typing import Any

import pandas as pd

from tracegen.analysis import caches
from tracegen.contract import quantities as q
from tracegen.report.figures.caches import CACHE_RATES, lru_rates, nothing, token_cycle
from tracegen.report.pages.collector import Collector


def memory_slide(context: Collector) -> dict[str, Any] | None:
    """What its script needs; None where no hit rate or no generated token is known.

    `curves`: by policy, sizes in bytes (ascending) and the hit rate from each on. `token_bytes`: what a token touches;
    `computing_ns`: a token without waiting for the disk, None where that is not known; `rate`: bytes per second of the
    device, `measured`: whether they were measured.
    """
    if context.refusal(CACHE_RATES.needs) or nothing(context) or not (touched := token_cycle(context)):
        return None
    found, time = context.hit_rates, context.read_time
    exact = lru_rates(context).drop_duplicates("size_granules", keep="last")
    simulated = pd.concat([found.rates, found.between]).sort_values("size_granules")
    rates = pd.concat([simulated[simulated["policy"] != "LRU"], exact])
    curves = {}
    for policy in caches.POLICIES:
        part = rates[rates["policy"] == policy]
        sizes = (part["size_granules"] * context.granule_bytes).astype("int64")
        curves[policy] = [sizes.tolist(), [round(float(rate), 4) for rate in part["hit_rate"]]]
    return {
        "curves": curves,
        "most": found.n_granules * context.granule_bytes,
        "token_bytes": round(touched),
        "computing_ns": _computing(context),
        "rate": time.bytes_per_second,
        "measured": time.r_squared is not None,
        "device": f"{q.size(time.bytes_per_second)}/s",
    }


def _computing(context: Collector) -> int | None:
    """The time of the median generate pass without waiting for the disk, ns; None where that is not known."""
    split = context.of_kind(context.disk_split, "generate")
    if len(split):
        return round(float((split["duration_ns"] - split["disk_ns"] - split["behind_ns"]).median()))
    passes = context.of_kind(context.measured, "generate").dropna(subset=["duration_ns"])
    nothing_read = len(passes) and bool((passes["read_bytes"].fillna(1) == 0).all())
    return round(float(passes["duration_ns"].median())) if nothing_read else None
