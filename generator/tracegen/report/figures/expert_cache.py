"""llama.cpp's cache of experts on a device: how often it would hit, by its size."""

from tracegen.analysis import expert_cache
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import share
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_experts
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows

RULE = (
    "The rule is llama.cpp’s: layers whose experts have equal types and shapes share slots, and what was used longest "
    f"ago makes room. Ubatches of more than {expert_cache.MOST_TOKENS} tokens go past it, so that a long prompt fills "
    "nothing."
)


def _content(context: Context) -> Rows:
    empty = shared_experts.no_choice(context)
    data = expert_cache.table(context.tables)
    known = not empty and bool(data["hit_rate"].notna().any())
    half = data[(data["held_share"] >= 0.5).to_numpy(bool)].head(1).to_dict("records") if known else []
    return Rows(
        answer=tuple(
            amount
            for r in half
            for amount in (
                Amount(int(r["memory_bytes"]), "bytes", f"hold {q.percent(r['held_share'])} of the experts"),
                Amount(float(r["hit_rate"]), "share", "of the experts that a token chooses would lie there"),
                Amount(float(r["uploaded_bytes"]), "bytes", "a token would be copied to the device"),
            )
        ),
        caption=f"{RULE} n = {q.counted(context.choice.n_rows, 'generated token')}, "
        f"{q.counted(context.choice.counts['layer'].nunique(), 'layer')} whose choice is known.",
        data=data,
        empty=empty or ("" if known else "No expert of a layer is known by its tensors."),
    ).of(
        data if known else [],
        col.number("--moe-cache-mib", lambda r: q.count(r["memory_bytes"] >> 20)),
        col.count("Slots", "n_slots"),
        col.number("Share of experts", lambda r: share(r["held_share"], 1)),
        col.number("Hit rate", lambda r: share(r["hit_rate"], 1)),
        col.size("Copied a token", "uploaded_bytes"),
    )


EXPERT_CACHE = shared_experts.table(
    key="expert-cache",
    title="How often would a cache of experts on a device hit?",
    content=_content,
    words={"rule": RULE},
    made_by="tracegen.analysis.expert_cache.table",
)
