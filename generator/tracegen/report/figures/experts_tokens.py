"""Which experts each token chose in one layer."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import routing
from tracegen.charts import expert_tokens as expert_tokens_chart
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import expert_sentences as say

OF_LAYER = """
from tracegen.analysis import experts
chosen = experts.generated(run.tables)
data = chosen[chosen["layer"] == $layer]
"""
LINES = 48  # at most; with more tokens, neighbouring tokens share a line


def _labels(context: Context, rows: pd.DataFrame) -> list[str]:
    """The name of each line; all are different."""
    given = shared_experts.given(context)
    lines = rows.drop_duplicates("line").sort_values("line")
    ends = lines[["first_token", "last_token", "first_pass", "last_pass"]].itertuples(index=False)
    held = [((shared_experts.token(a), shared_experts.token(b)), (int(c), int(d))) for a, b, c, d in ends]
    return [say.line_name(tokens, passes, given.get(passes[0])) for tokens, passes in held]


def _content(context: Context) -> Content:
    """Tokens by experts in the layer whose choice is most uneven."""
    per_layer = context.expert_layers
    layer = routing.most_uneven(per_layer)
    sizes = per_layer.set_index("layer")["n_experts"]
    chosen = context.chosen[context.chosen["layer"] == layer]
    rows, several = routing.grid(chosen, -1 if layer is None else layer, LINES)
    n_tokens = len(chosen[["pass_id", "row"]].drop_duplicates())
    tied = int((per_layer["unevenness"] >= float(per_layer["unevenness"].max()) - 1e-9).sum())
    most_uneven = len(per_layer) > 1 and tied == 1
    title = say.tokens_title(layer=layer, n_tokens=n_tokens, most_uneven=most_uneven)
    return Content(
        title=title,
        caption=say.tokens_caption(
            n_tokens=n_tokens,
            several=several,
            n_layers=len(per_layer),
            most_uneven=most_uneven,
            last=shared_experts.last_token(context),
        ),
        alt=f"Tokens by experts of one layer. {title}",
        chart=lambda width: expert_tokens_chart.chart(
            rows, _labels(context, rows), int(sizes[layer or 0]), several, width=width
        ),
        data=chosen,
        empty=shared_experts.no_choice(context),
        numbers={"layer": layer},
    )


EXPERTS_TOKENS = Figure(
    key="experts-tokens",
    page="experts",
    section="drawn",
    title="Which experts does each token choose?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "The experts that each generated token chose in the layer whose choice is most uneven.",
        f"{shared_experts.GENERATED} {shared_experts.HOLDS} If there are many tokens, equally many neighbours "
        f"share a line; the data has each token.",
        "Tokens run from top to bottom, experts from left to right. A dark column is an expert that most tokens "
        "choose; marks that stay in place from line to line are experts that a cache would still hold.",
        code=OF_LAYER,
    ),
)
