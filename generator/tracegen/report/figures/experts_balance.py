"""How even the choices are, beside what random choice by as few rows would give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracegen.analysis import expert_balance
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.cells import Cell, Head, applicable, between, cells, number
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import expert_chance_sentences as say

HEAD = (
    Head("Layer", number=True),
    Head("Phase"),
    Head("Token rows", number=True),
    Head("Experts used", number=True),
    Head("Entropy", number=True),
    Head("by chance", number=True),
    Head("Gini", number=True),
    Head("by chance", number=True),
    Head("Largest load", number=True),
    Head("by chance", number=True),
)


def _row(r: Mapping[Any, Any]) -> tuple[Cell, ...]:
    """A row of the table from a row of the data."""

    def two(value: Any) -> str:
        return q.decimal(value, 2)

    sizes = r["n_experts"] * r["n_layers"] if q.known(r["n_experts"]) else None
    used = q.count(r["n_used"]) + (f" of {q.count(sizes)}" if sizes else "") if q.known(r["n_used"]) else None
    return cells(
        number(q.count(r["layer"]) if q.known(r["layer"]) else "all"),
        "prompt" if r["phase"] == "prompt" else "generation",
        number(q.count(r["n_rows"])),
        number(used or q.NOT_APPLICABLE),
        applicable(r["entropy"], q.percent),
        between(r["entropy_low"], r["entropy_high"], q.percent),
        applicable(r["gini"], two),
        between(r["gini_low"], r["gini_high"], two),
        applicable(r["largest"], two),
        between(r["largest_low"], r["largest_high"], two),
    )


def _content(context: Context) -> Rows:
    """A row for each layer and phase, those over all layers first."""
    table = expert_balance.balance(context.tables)
    ordered = table.assign(at=table["layer"].fillna(-1)).sort_values(["at", "phase"], ignore_index=True)
    told = table[(table["phase"] == "generate") & table["layer"].isna()].to_dict("records")
    ends = [_known(told[0][name]) if told else None for name in ("entropy", "entropy_low", "entropy_high")]
    return Rows(
        title=say.balance_title(*ends),
        caption="Entropy of the experts’ shares of the choices, of log₂ E: 100 % is even. Gini: 0 is even. Largest "
        "load: token rows of the most chosen expert, divided by those of an even choice. By chance: 95 % of "
        f"{expert_balance.DRAWS} simulations of as many rows that each choose k of E experts at random, whichever the "
        "rows before chose. All layers: means, and the sum of used experts. Warm-up is left out.",
        head=HEAD,
        rows=[_row(r) for r in ordered.to_dict("records")] if not shared_experts.no_choice(context) else [],
        data=table,
        empty=shared_experts.no_choice(context),
    )


def _known(value: Any) -> float | None:
    return float(value) if q.known(value) else None


EXPERTS_BALANCE = Table(
    key="experts-balance",
    page="experts",
    section="tables",
    title="How evenly are the experts chosen?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "How evenly the choices of a layer fall on its experts, in generation and in the prompt, beside what random "
        "choice would give.",
        "Token rows of generate passes, and of passes of the prompt; warm-up is left out. With k experts per row and n "
        "rows, an even choice gives each expert n k / E. The last layer of a prompt has fewer rows: llama.cpp computes "
        "it only where an output is asked for.",
        "A few rows look uneven even where all experts are alike: only what lies outside “by chance” says something of "
        "the router. Tokens in a row resemble each other, so that stickiness alone can lead outside too. Not "
        "applicable: a layer in which every row chooses all experts.",
        code="from tracegen.analysis import expert_balance\ndata = expert_balance.balance(run.tables)",
    ),
)
