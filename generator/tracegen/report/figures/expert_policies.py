"""Which experts to keep: what rules would hold of the experts that tokens choose, at equal memory."""

from collections.abc import Sequence

import pandas as pd

from tracegen.analysis import expert_cache, expert_policies
from tracegen.analysis.expert_next import LEARNED, LEAST_ROWS
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import share
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_experts
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows

NAMES = {
    "recent": "Chosen last, by layer",
    "everywhere": "Chosen last, of all layers",
    "fixed": "Most chosen, fixed",
    "ahead": "Chosen last, and read ahead",
    "best": "Best without read-ahead",
}
ANSWERED = {
    "recent": "of the experts chosen last in their layer",
    "everywhere": "of those chosen last in any layer",
    "fixed": "of a fixed set",
    "ahead": "with read-ahead from the layer before",
}
PLAIN = ("recent", "everywhere", "fixed")  # read nothing ahead
FEW = (
    f"Fewer than {LEAST_ROWS} generated tokens chose experts, or layers have different numbers of them: nothing is "
    "compared."
)


def _content(context: Context) -> Rows:
    empty = shared_experts.no_choice(context)
    data = expert_policies.policies(context.chosen, context.expert_sizes)
    groups = expert_cache.groups(context.tables)
    each = sum(group.expert_bytes * len(group.layers) for group in groups) or None  # one expert of each layer
    memory = pd.array([each and each * int(n) for n in data["n_held"]], dtype="Int64")
    data = data.assign(memory_bytes=memory, **_missed(context, data, groups))
    n_experts = max(context.expert_sizes.values(), default=0)
    return Rows(
        answer=_answer(data.to_dict("records")) if not empty else (),
        caption="Of the experts that tokens choose, the share that is in memory already. "
        f"{q.percent(LEARNED)} of the tokens teach and fill, the others are scored. Read ahead in vain: for each "
        "expert that is chosen, so many that are not. Left to read: of a token, by the rule that holds most and reads "
        "nothing ahead, one tensor after another. "
        f"{shared_experts.generated(context)}{shared_experts.first_tokens(context)}",
        data=data,
        empty=empty or ("" if len(data) else FEW),
    ).of(
        data,
        col.number("Kept in a layer", lambda r: f"{q.count(r['n_held'])} of {q.count(n_experts)}"),
        col.number("Memory", lambda r: q.size(r["memory_bytes"]) if q.known(r["memory_bytes"]) else ""),
        *(_rule(rule, name) for rule, name in NAMES.items()),
        col.decimal("Read ahead in vain", "ahead_unused", 2),
        col.number("Left to read for a token", _left),
    )


def _missed(context: Context, data: pd.DataFrame, groups: Sequence[expert_cache.Group]) -> dict[str, pd.Series]:
    """What a token still reads by the best of the rules that read nothing ahead: missed_bytes and missed_ns, float64.

    The time is that of the device of the model file, where it was measured.
    """
    each = sum(group.expert_bytes * len(group.layers) for group in groups)  # one expert of each layer
    reads = sum(len(group.bank_bytes) * len(group.layers) for group in groups)
    n_chosen = data["n_held"].min()
    missed = (1 - data[[*PLAIN]].max(axis=1)) * n_chosen
    takes = context.read_time if context.read_time.n_measured and each else None
    return {
        "missed_bytes": missed * each if each else missed * float("nan"),
        "missed_ns": missed * takes.ns(reads, each) if takes else missed * float("nan"),
    }


def _left(row: col.Row) -> str:
    """`12.3 MiB, 15.1 ms`; without a time where the device was not measured."""
    if not q.known(row["missed_bytes"]):
        return ""
    took = f", {q.duration(row['missed_ns'])}" if q.known(row["missed_ns"]) else ""
    return f"{q.size(row['missed_bytes'])}{took}"


def _rule(rule: str, name: str) -> col.Column:
    return col.number(name, lambda r: share(r[rule], 1))


def _answer(rows: Sequence[col.Row]) -> tuple[Amount, ...]:
    """What the best of the rules holds where twice the experts of a token are kept, and the best without read-ahead."""
    if not rows:
        return ()
    row = rows[min(1, len(rows) - 1)]
    first = max(ANSWERED, key=lambda rule: float(row[rule]))
    return (
        Amount(float(row[first]), "share", f"{ANSWERED[first]}, with {row['n_held']} kept in each layer"),
        Amount(float(row["best"]), "share", "at best without read-ahead"),
    )


EXPERT_POLICIES = shared_experts.table(
    key="expert-policies",
    title="Which experts should be kept in memory?",
    content=_content,
    made_by="tracegen.analysis.expert_policies.policies",
)
