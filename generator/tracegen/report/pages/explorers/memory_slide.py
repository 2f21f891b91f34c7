"""The slider of memory below the curve of hit rates: what a size of cache serves, reads and takes, by policy."""

from typing import Any

from tracegen.analysis import caches, requests
from tracegen.contract import quantities as q
from tracegen.report.figures.caches import CACHE_RATES, nothing, points
from tracegen.report.figures.context import Context
from tracegen.report.figures.disk_reads import DISK_SIZES


def memory_slide(context: Context) -> dict[str, Any] | None:
    """What its script needs; None where no hit rate or no generated token is known.

    `curves`: by policy, sizes in bytes (ascending) and the hit rate at each; LRU has it up to the next size. They go
    from `least` to `most`. `token_bytes`: what a token uses not for the first time, mean; `computing_ns`: a token
    without waiting for the disk, None where that is not known; `rate`: bytes per second of the device, `known`: whether
    they were measured or seen.
    """
    if context.refusal(CACHE_RATES.needs) or nothing(context) or not (again := _used_again(context)):
        return None
    known, seen = points(context).drop_duplicates(["policy", "size_bytes"], keep="last"), _rates(context)
    rate, curves = max(seen, default=context.read_time.bytes_per_second), {}
    for policy in caches.POLICIES:
        part = known[known["policy"] == policy]
        curves[policy] = [part["size_bytes"].tolist(), [round(float(of), 4) for of in part["hit_rate"]]]
    return {
        "curves": curves,
        "least": int(known["size_bytes"].min()),
        "most": context.hit_rates.n_granules * context.granule_bytes,
        "token_bytes": round(again),
        "computing_ns": _computing(context),
        "rate": rate,
        "known": bool(seen),
        "device": f"{q.size(rate)}/s",
        "granule": q.size(context.granule_bytes),
    }


def _used_again(context: Context) -> float:
    """The bytes that a generate pass uses and an earlier operation used before it, mean; 0 without a generate pass."""
    uses = context.granule_uses
    again = uses[uses["granule"].duplicated().to_numpy(bool)]
    generate = context.of_kind(context.measured, "generate")["pass_id"]
    n = int(again["pass_id"].isin(generate).sum())
    return n * context.granule_bytes / len(generate) if len(generate) else 0.0


def _rates(context: Context) -> list[float]:
    """Bytes per second that the device is known to reach: in measurements before the run, and in its prompt and tokens.

    Not in single passes: the bytes of a request that ends in the next pass count in the first, its time in both.
    """
    measured = [m.bytes_per_second for m in (context.facts.device.measurements if context.facts.device else ())]
    if context.refusal(DISK_SIZES.needs):
        return measured
    return [*measured, *requests.by_kind(context.tables)["bytes_per_second"].dropna().astype(float)]


def _computing(context: Context) -> int | None:
    """The time of the median generate pass without page faults of the model, ns; None where that is not known."""
    split = context.of_kind(context.disk_split, "generate")
    if len(split):
        return round(float((split["duration_ns"] - split[["disk_ns", "behind_ns", "paging_ns"]].sum(axis=1)).median()))
    passes = context.of_kind(context.measured, "generate").dropna(subset=["duration_ns"])
    nothing_read = len(passes) and bool((passes["read_bytes"].fillna(1) == 0).all())
    return round(float(passes["duration_ns"].median())) if nothing_read else None
