"""The named values that figures publish beside the key figures of a run."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, median

from tests.recompute.plain import access, experts, reuse, times
from tests.recompute.plain.rows import Row, Rows, duration
from tests.recompute.plain.touched import Access

Values = dict[str, float]


def of_passes(rows: Rows) -> dict[str, float | None]:
    """Times of loading and of what precedes the first token, and what passes read; None where a pass does not say."""
    load, first = (
        [row for row in rows["passes"] if row["kind"] in kinds] for kinds in (["load"], ["load", "warmup", "prompt"])
    )
    one, prompt, generate = len(load) == 1, rows.of_kind("prompt"), rows.of_kind("generate")
    return {
        "n_prompt_passes": len(prompt),
        "n_generate_passes": len(generate),
        "load_ns": duration(load[0]) if one else None,
        "ttft_ns": sum(map(duration, first)) if one and prompt else None,
        "disk_read_bytes_load": load[0]["read_bytes"] if one else None,
        "disk_read_bytes": _sum(rows.measured, "read_bytes"),
        "disk_read_bytes_prompt": _sum(prompt, "read_bytes"),
        "disk_read_bytes_generate": _sum(generate, "read_bytes"),
        "major_page_faults": _sum(rows.measured, "major_faults"),
    }


def _sum(passes: Sequence[Row], column: str) -> int | None:
    values = [row[column] for row in passes]
    return None if not values or None in values else sum(values)


def of_components(rows: Rows) -> Values:
    """The time per token of each component, and of what lies in no operation, for each phase, ns."""
    return {
        f"component_ns_per_token_{row['phase']}_{row['component'].replace(' ', '_')}": row["ns_per_token"]
        for row in times.by(rows, "component")
    }


def of_layers(rows: Rows) -> Values:
    """The time per token of each layer, of what lies in none, and the mean of the layers of the phase shown, ns."""
    named = {}
    for phase in ("prompt", "generate"):
        sums: dict[str, float] = defaultdict(float)
        for row in times.by_layer(rows, phase) if rows.of_kind(phase) else ():
            sums["in_no_layer" if row["layer"] is None else str(row["layer"])] += row["ns_per_token"]
        named |= {f"layer_ns_per_token_{phase}_{layer}": ns for layer, ns in sums.items()}
        if layers := [ns for layer, ns in sums.items() if layer != "in_no_layer"]:
            mean = {f"layer_ns_per_token_{phase}_mean": fmean(layers)}
    return named | mean


def of_tokens(rows: Rows) -> Values:
    """The median time of a generated token, and the time that 95 % of them stay below, ns.

    The 95th percentile lies between two neighbours in order, at 95 % of the way from the first to the last.
    """
    ordered = sorted(row["duration_ns"] for row in times.tokens(rows) if row["produced_token"] is not None)
    whole, part = divmod(95 * (len(ordered) - 1), 100)
    above = ordered[min(whole + 1, len(ordered) - 1)]
    return {
        "token_ns_median": median(ordered),
        "token_ns_p95": ordered[whole] + (above - ordered[whole]) * part / 100,
    }


def of_experts(rows: Rows) -> Values:
    """The expert that each layer chose most often, and its share of the layer's choices."""
    if not rows["routing"]:
        return {}
    first = [row for row in experts.ranked(rows) if row["place"] == 1]
    named = {f"most_chosen_expert_generate_{row['layer']}": row["expert"] for row in first}
    return named | {f"most_chosen_share_generate_{row['layer']}": row["share"] for row in first}


def of_caches(rows: Rows, measured: Sequence[Access]) -> Values:
    """The memory for each hit rate with LRU and with a static set, and the working sets of passes in a row, bytes."""
    size = access.granule_bytes(rows)
    items = access.uses(rows, measured, size)
    if not items:
        return {}
    distances, static = access.lru_distances(items), access.static_hits(items)
    hits = {"lru": lambda n: sum(d < n for d in distances), "static": lambda n: static[n]}
    named = {
        f"cache_bytes_{round(100 * target)}_{policy}": size
        * next(n for n in range(len(static)) if of(n) >= target * len(distances))
        for policy, of in hits.items()
        for target in access.TARGETS
        if distances
    }
    pass_ids = [row["pass_id"] for row in access.shown_passes(access.order(rows, measured))]
    if len(pass_ids) < 2:
        return named
    sizes = {row["n_passes"]: row["bytes"] for row in reuse.working_set(rows, measured, pass_ids)}
    return (
        named
        | {f"working_set_bytes_{n}": sizes[n] for n in (1, 16) if n in sizes and n < len(pass_ids)}
        | {"working_set_bytes_all": sizes[len(pass_ids)]}
    )
