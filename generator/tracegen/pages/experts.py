"""The figure of the experts: which of them the tokens chose, and how that compares with an even choice."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import experts
from tracegen.charts import experts as experts_chart
from tracegen.pages import quantities as q
from tracegen.pages.context import Context
from tracegen.pages.views import FigureView


def experts_figure(context: Context) -> FigureView | None:
    """Tokens per layer and expert over the generate passes; None for a model without experts."""
    if not experts.has_experts(context.tables):
        return None
    made = experts.choice(context.tables)
    return context.figure(
        "experts",
        "memory",
        _title(made),
        _caption(made),
        f"Grid of {made.counts['layer'].nunique()} layers by experts: tokens that chose each. {_title(made)}.",
        lambda: experts_chart.chart(made.counts),
        data=made.counts.assign(n_tokens_if_even=made.even),
        empty=_empty(context, made.counts),
    )


def _title(made: experts.Choice) -> str:
    if made.counts.empty:
        return "Which experts do the tokens choose?"
    never = int((made.counts["n_tokens"] == 0).sum())
    if never:
        return f"{q.count(never)} of {q.count(len(made.counts))} experts are chosen by no generated token"
    best = made.counts.sort_values(["n_tokens", "layer", "expert"], ascending=[False, True, True]).iloc[0]
    return (
        f"Every expert is chosen; expert {best['expert']} of layer {best['layer']} most often, by "
        f"{q.count(best['n_tokens'])} of {q.count(made.n_rows)} tokens"
    )


def _caption(made: experts.Choice) -> str:
    base = "Each cell: token rows of generate passes that chose the expert in that layer, one row of cells per layer."
    if made.even is not None and made.n_rows:
        base += (
            f" n = {q.count(made.n_rows)} token rows; each chooses {made.n_chosen} of {made.n_experts} experts in a "
            f"layer, so that an even choice would give every cell {q.three(made.even)}."
        )
    elif made.n_rows:
        base += f" n = {q.count(made.n_rows)} token rows; layers differ in experts, so that no one baseline holds."
    return base + " Prompt and warm-up are left out."


def _empty(context: Context, counts: pd.DataFrame) -> str:
    if len(counts):
        return ""
    if context.tables["routing"].empty:
        return "The trace holds no routing: it does not say which experts the tokens chose."
    return "The run has no generate pass: only prompt or warm-up tokens chose experts."
