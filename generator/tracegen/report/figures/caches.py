"""What a cache of the mapped file would serve, what passes in a row need, and when something is used again."""

from typing import NamedTuple

import pandas as pd

from tracegen.analysis import caches, granules, kernel_cache, reuse
from tracegen.charts import lines
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.contract.text import without_controls
from tracegen.report.document.amount import Amount
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_access
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Rows, no_rows

NO_SPEED = "A simulation of what was touched, not a prediction of speed."
POLICIES = {
    "Belady": "keeps what will be used soonest, and nothing else: it knows the future, and no cache does better",
    "static": "holds what the whole run uses most, and never changes: it knows the run",
    "LRU": "evicts what was least recently used",
}
RATE = (
    "Hit rate: the share of uses that find their granule in the cache, of all uses that are not the first of their "
    "granule; the first one misses in every cache."
)
KERNEL = "The point is what the kernel served of generated tokens; a kernel is not LRU. "
NO_REPEAT = "Nothing was touched twice, so that no cache could serve anything."
ITEMS = (
    shared_access.ACCESSES
    + """uses = granules.granule_uses(touched, $granule_bytes)
rates = caches.hit_rates(uses["granule"].to_numpy())
"""
)


def nothing(context: Context) -> str:
    """Why there is no hit rate; empty if there is one."""
    if context.disk_accesses["pass_id"].nunique() == 1:
        return "One pass was measured: what it uses again is no more than what neighbours in the file share."
    return shared_access.nothing(context) or ("" if len(context.repeat_distances) else NO_REPEAT)


def needed(context: Context, policy: str, target: float) -> float | None:
    """The size of cache in bytes that a policy needs for a hit rate; None without any repeated use."""
    table = context.hit_rates.needed
    found = table.loc[(table["policy"] == policy) & (table["target"] == target), "size_granules"]
    return None if found.empty else float(found.iloc[0]) * context.granule_bytes


TARGET = 0.9  # the hit rate of the answer


class Enough(NamedTuple):
    """The bytes for a hit rate of `TARGET`, with LRU and at best.

    `below`: the hit rate of LRU with any less, if it has a cliff there; else None.
    """

    lru: float
    best: float
    below: float | None


def enough(context: Context) -> Enough | None:
    """How much memory is enough; None without any repeated use."""
    distances = context.repeat_distances
    size, best = caches.lru_granules(distances, TARGET), needed(context, "Belady", TARGET)
    if size is None or best is None:
        return None
    below = caches.lru_rate(distances, size - 1) if size in caches.lru_cliffs(distances) else None
    return Enough(size * context.granule_bytes, best, below)


MARKS = (0.5, 0.8, 0.9, 0.99)  # hit rates of LRU that the curve names


def points(context: Context) -> pd.DataFrame:
    """The points of the curves, by size: policy, size_bytes, hit_rate.

    There are more of LRU, which is known at each size: for each percent, and at both sides of a cliff.
    """
    found, distances = context.hit_rates.rates, context.repeat_distances
    percents = [(caches.lru_granules(distances, at / 100), at / 100) for at in range(1, 101)]
    edges = [size for cliff in caches.lru_cliffs(distances) for size in (cliff - 1, cliff)]
    known = percents + [(size, caches.lru_rate(distances, size)) for size in edges]
    more = pd.DataFrame([("LRU", *of) for of in known], columns=list(found))
    every: pd.DataFrame = pd.concat(
        [found, more[(more["size_granules"] >= found["size_granules"].min()).to_numpy(bool)]]
    )
    every = every.assign(size_bytes=every["size_granules"] * context.granule_bytes)
    return every.sort_values(["size_bytes", "hit_rate"])[["policy", "size_bytes", "hit_rate"]]


def kernel(context: Context) -> pd.DataFrame:
    """What the kernel served of generated tokens, with how much of the file in memory: a row, or none."""
    if context.refusal((needs.REQUESTS,)):
        return pd.DataFrame(columns=kernel_cache.COLUMNS)
    return kernel_cache.served(
        context.tables, context.granule_uses, context.granule_bytes, page_bytes(context), used=context.used
    )


def page_bytes(context: Context) -> int:
    """The size of a page of memory on the machine of the run."""
    return context.facts.host.page_bytes or 4096


def rates_answer(found: Enough | None, point: tuple[float, float] | None) -> tuple[Amount, ...]:
    """What memory is enough, and what the kernel served if known (`point`: bytes in memory, hit rate)."""
    if found is None:
        return ()
    target, amounts = f"for a hit rate of {q.percent(TARGET)}", []
    if point:
        size, rate = point
        words = f"or more: hit rate of the kernel for generated tokens, with {q.size(size)} of the file in memory"
        amounts.append(Amount(rate, "share", words))
    amounts.append(Amount(found.lru, "bytes", f"{target} with LRU"))
    if found.below is not None:
        amounts.append(Amount(found.below, "share", "hit rate of LRU at most with any less"))
    if not point:
        amounts.append(Amount(found.best, "bytes", f"{target} at best (Belady)"))
    return tuple(amounts)


def _cache_rates(context: Context) -> Content:
    rates, granule, distances = context.hit_rates, context.granule_bytes, context.repeat_distances
    rows = rates.rates.assign(size_bytes=rates.rates["size_granules"] * granule)[["policy", "size_bytes", "hit_rate"]]
    marks = [(share, size * granule) for share in MARKS if (size := caches.lru_granules(distances, share))]
    cycle = token_cycle(context)
    n_passes = context.disk_accesses["pass_id"].nunique()
    measured = kernel(context)
    point = (float(measured["size_bytes"].iloc[0]), float(measured["hit_rate"].iloc[0])) if len(measured) else None
    dashed = "" if cycle is None else f" Dashed: the {q.size(cycle)} that a generated token touches (median)."
    return Content(
        answer=rates_answer(enough(context), point),
        caption=f"{RATE} {KERNEL if point else ''}n = {q.counted(rates.n_uses, 'use')} of "
        f"{q.counted(rates.n_granules, 'granule')} of {q.size(granule)} in {q.counted(n_passes, 'measured pass')}; an "
        f"operation uses a granule once.{grouped(rates.group)}{dashed} {NO_SPEED}",
        alt=f"Lines of hit rate by size of cache for {q.counted(rows['policy'].nunique(), 'policy', 'policies')}.",
        chart=lambda width: lines.hit_rates(points(context), cycle, marks, point, width=width),
        data=pd.concat([rows, measured], ignore_index=True) if point else rows,
        empty=nothing(context),
        numbers={"granule_bytes": granule, "page_bytes": page_bytes(context)},
    )


def token_cycle(context: Context) -> float | None:
    """The bytes of different granules that a generate pass touches, median; None without a generate pass."""
    touched = granules.per_pass(context.granule_uses)
    of = touched[touched.index.isin(context.kinds.index[context.kinds == "generate"])]
    return float(of.median()) * context.granule_bytes if len(of) else None


def grouped(group: int) -> str:
    """That the bound need not be reached, because room was looked for between groups of uses only."""
    if group == 1:
        return ""
    return (
        f" For Belady, room is looked for after every {q.count(group)} uses only: no cache serves more than this line "
        "says, and the best one may serve less."
    )


CACHE_RATES = shared_access.cache_figure(
    key="cache-rates",
    page="file",
    title="Which share of the accesses to the mapped file would a cache serve?",
    content=_cache_rates,
    words={"rate": RATE, "policies": "; ".join(f"{name} {what}" for name, what in POLICIES.items())},
    code=ITEMS
    + """data = rates.rates.assign(size_bytes=rates.rates["size_granules"] * $granule_bytes)
data = data[["policy", "size_bytes", "hit_rate"]]
data = kernel_cache.beside(data, run.tables, uses, $granule_bytes, $page_bytes)""",
)


def _cache_sizes(context: Context) -> Rows:
    """A row for each policy, a column for each hit rate."""
    rates = context.hit_rates
    table = rates.needed
    data = table.assign(size_bytes=table["size_granules"] * context.granule_bytes)
    policies, heads = caches.POLICIES if len(table) else (), {t: q.percent(t) for t in caches.TARGETS}
    return Rows(
        caption="The smallest cache that reaches each hit rate; for Belady to "
        f"{q.percent(caches.CLOSE)}. All that was touched of the mapped file is "
        f"{q.size(rates.n_granules * context.granule_bytes)}, in granules of {q.size(context.granule_bytes)}."
        f"{grouped(rates.group)} {NO_SPEED}",
        data=data[["policy", "target", "size_bytes"]],
        empty=nothing(context),
        numbers={"granule_bytes": context.granule_bytes},
    ).of(
        [
            *({"policy": name, **{heads[t]: needed(context, name, t) for t in heads}} for name in policies),
            *(
                {
                    "policy": "kernel",
                    "did": f"measured: served at least {q.percent(rate)} of what generated tokens use, with "
                    f"{q.size(size)} of the file in memory",
                    **dict.fromkeys(heads.values()),
                }
                for _, size, rate in kernel(context).itertuples(index=False)
            ),
        ],
        col.text("Policy", lambda r: r["policy"]),
        col.text("What it does", lambda r: r.get("did") or POLICIES[r["policy"]]),
        *(col.size(head, head) for head in heads.values()),
    )


CACHE_SIZES = shared_access.cache_table(
    key="cache-sizes",
    title="How large a cache do hit rates of 50, 90, 95 and 99 % take?",
    content=_cache_sizes,
    words={"rate": RATE},
    code=ITEMS
    + """data = rates.needed.assign(size_bytes=rates.needed["size_granules"] * $granule_bytes)
data = data[["policy", "target", "size_bytes"]]""",
)


MIDDLE = 16  # passes in a row that the answer has, beside one and all


def _working_set(context: Context) -> Content:
    found = context.windows
    kind, n, granule = found.kind, len(found.pass_ids), context.granule_bytes
    together = [(length, found.of(length)) for length in dict.fromkeys((1, MIDDLE, n))]
    return Content(
        answer=tuple(
            Amount(size, "bytes", f"touched by a {kind} pass" if length == 1 else f"by {q.count(length)} in a row")
            for length, size in together
            if size is not None
        ),
        caption=f"Different granules of {q.size(granule)} of the mapped file, each once. Touched together: mean over "
        f"all windows of that many {kind} passes in a row; band: the smallest and the largest window. New: the part of "
        "a pass’s granules that none of so many passes before it touched. "
        f"n = {q.counted(n, f'{kind} pass', f'{kind} passes')}.{shared_access.left_out(context)}",
        alt=f"Two lines over the number of passes in a row, from 1 to {q.count(n)}.",
        chart=lambda width: lines.working_sets(found.table, f"{kind} passes", width=width),
        data=found.table,
        empty=shared_access.nothing(context)
        or ("" if n > 1 else "It takes at least two passes to say what passes in a row need together."),
        numbers={"passes": list(found.pass_ids), "granule_bytes": granule},
    )


WORKING_SET = shared_access.cache_figure(
    key="working-set",
    title="How much of the mapped file do tokens in a row need together?",
    content=_working_set,
    code=shared_access.ACCESSES
    + "data = working_set.windows(granules.granule_uses(touched, $granule_bytes), $passes, $granule_bytes).table",
)


FILE = "data/reuse-by-tensor.csv"
KINDS = {
    "expert": "expert of a tensor",
    "tensor": "tensor without experts",
    "whole tensor": "tensor, whole",
    "2097152 bytes": "granule of 2 MiB",
    "4096 bytes": "granule of 4 KiB",
}


def _reuse(context: Context) -> Rows:
    empty = shared_access.nothing(context)
    if empty:
        return no_rows(empty)
    of = reuse.by_kind(context.disk_accesses, context.pieces)
    data = reuse.table(of)
    sampled = [
        f" Of the {KINDS[r['kind']].replace('granule', 'granules')} {q.percent(r['sampled'])} were counted and scaled "
        f"up; a quarter of them alone would say up to {q.percent(r['error'])} more or less."
        for r in data.to_dict("records")
        if r["sampled"] < 1
    ]
    return Rows(
        answer=_passes_between(data.iloc[0]),
        caption="Passes between: the second use less the first. Memory for LRU: the cache that serves so many of the "
        "repeated uses when it holds of each tensor and expert all that the run touched of it."
        f"{''.join(sampled)} {FILE} has each tensor and expert. "
        f"n = {q.counted(context.disk_accesses['pass_id'].nunique(), 'measured pass')}."
        f"{shared_access.left_out(context)}",
        data=data,
        empty=NO_REPEAT,
        files={FILE: without_controls(_by_tensor(context, of).to_csv(index=False, lineterminator="\n"))},
    ).of(
        data if data["n_again"].sum() else data.head(0),
        col.text("Item", lambda r: KINDS[str(r["kind"])]),
        col.count("Used", "n_items"),
        col.count("Repeated uses", "n_again"),
        col.number("Passes between, median", lambda r: q.count(r["passes_50"]) if r["n_again"] else q.UNKNOWN),
        col.number("90 % within", lambda r: q.count(r["passes_90"]) if r["n_again"] else q.UNKNOWN),
        *(col.size(f"LRU for {part} %", f"lru_bytes_{part}") for part in (50, 90, 99)),
    )


def _passes_between(first: pd.Series) -> tuple[Amount, ...]:
    """Within how many passes half and 90 % of the repeated uses come; `first`: the row of experts, or of tensors."""
    half, most = first["passes_50"], first["passes_90"]
    if pd.isna(half) or pd.isna(most):
        return ()
    between = f"{q.noun(half, 'pass')} between uses of an item ({KINDS[first['kind']]}), median"
    return Amount(int(half), "", between), Amount(int(most), "", "or fewer for 90 % of the repeated uses")


def _by_tensor(context: Context, of: dict[str, reuse.Reuse]) -> pd.DataFrame:
    """The reuse of each tensor and expert of a tensor; `of` is the result of `reuse.by_kind`."""
    cut = context.pieces
    items = pd.concat([reuse.by_item(of[kind]) for kind in ("expert", "tensor") if kind in of])
    name = cut["tensor"].map(context.tables["tensors"].set_index("tensor")["name"])
    named = pd.DataFrame({"name": name, "expert": cut["expert"], "size_bytes": cut["end"] - cut["begin"]})
    return named.join(items, how="inner").sort_index(kind="stable")


REUSE = shared_access.cache_table(
    key="reuse",
    title="After how many passes is something in the mapped file used again?",
    content=_reuse,
    code=shared_access.ACCESSES + "data = reuse.table(reuse.by_kind(touched, pieces.pieces(run.tables)))",
)
