"""The experts of the first tokens, with their weights."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import routing
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.cells import Cell, Head, cells
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import expert_sentences as say

BY_STRENGTH = """
from tracegen.analysis import experts, routing
chosen = experts.generated(run.tables)
data = routing.by_strength(chosen[chosen["layer"] == $layer])
"""
SHOWN = 20  # rows at most; the CSV has all


def _content(context: Context) -> Rows:
    """The experts of the first tokens, in order of weight where weights are known."""
    layer, chosen = routing.most_uneven(context.expert_layers), context.chosen
    rows = routing.by_strength(chosen[chosen["layer"] == layer])
    tokens = [part for _, part in rows.groupby(["pass_id", "row"])]
    cells_of, given = [], shared_experts.given(context)
    for part in tokens[:SHOWN]:
        weights = ", ".join("—" if pd.isna(w) else q.decimal(w, 3) for w in part["weight"])
        token, pass_id = shared_experts.token(part["generated_token"].iloc[0]), int(part["pass_id"].iloc[0])
        cells_of.append(
            cells(
                Cell(q.UNKNOWN if token is None else str(token), number=True),
                Cell(str(given.get(pass_id, q.UNKNOWN)), number=True),
                Cell(str(pass_id), number=True, href=f"../operations/index.html#pass={pass_id}"),
                ", ".join(str(e) for e in part["expert"]),
                weights,
            )
        )
    return Rows(
        title=say.of_tokens_title(layer),
        caption=say.of_tokens_caption(
            n_ordered=sum(bool(part["place"].notna().all()) for part in tokens),
            n_tokens=len(tokens),
            n_shown=len(cells_of),
            last=shared_experts.last_token(context),
        ),
        head=(
            Head("Takes in token", number=True),
            Head("Gives token", number=True),
            Head("Pass", number=True),
            Head("Experts"),
            Head("Weights"),
        ),
        rows=cells_of,
        data=rows,
        empty=shared_experts.no_choice(context),
        numbers={"layer": layer},
    )


EXPERTS_OF_TOKENS = Table(
    key="experts-of-tokens",
    page="experts",
    section="tables",
    title="Which experts did each token choose, with which weights?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "The experts that each token chose in that layer, with the weights that the router gave them.",
        f"{shared_experts.GENERATED} {shared_experts.HOLDS}",
        "The expert with the largest weight comes first; the weights have the same order. “—” is a weight that was not "
        "recorded: then the experts have the order in which llama.cpp chose them, which may depend on a bias.",
        code=BY_STRENGTH,
    ),
)
