"""Which experts each token chose in one layer: the most uneven one as a figure and table, every other by script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegen.analysis import routing
from tracegen.charts import expert_tokens as chart
from tracegen.pages import quantities as q
from tracegen.pages.context import Context
from tracegen.pages.packing import script_json
from tracegen.pages.views import FigureView, Head, TableView, cells, table

LINES, ROWS = 48, 20  # at most: lines of the figure, rows of the table


@dataclass(frozen=True)
class TokensView:
    """The figure and the table of one layer, and what the script needs for the others."""

    figure: FigureView
    table: TableView
    layers: tuple[int, ...]
    state: dict[str, Any]


def tokens_view(context: Context) -> TokensView:
    """Tokens by experts in the layer whose choice is most uneven; writes a chunk for each layer."""
    chosen, per_layer = context.chosen, context.expert_layers
    refused = context.refusal("experts-tokens")
    layers = () if refused else tuple(int(n) for n in per_layer["layer"])
    sizes = dict(zip(per_layer["layer"], per_layer["n_experts"], strict=True))
    _write(context, chosen[chosen["layer"].isin(layers)])
    state = {
        "layer": routing.most_uneven(per_layer),
        "layers": list(layers),
        "experts": {str(n): int(sizes[n]) for n in layers},
        "labels": {str(p): context.labels[int(p)] for p in chosen["pass_id"].unique()} if layers else {},
        "data": "../data/experts/",
    }
    return TokensView(tokens_figure(context), _table(context), layers, state)


def no_choice(context: Context) -> str:
    """Why no generated token chose an expert; empty when some did."""
    if len(context.chosen):
        return ""
    if context.tables["routing"].empty:
        return "The trace holds no routing: it does not say which experts the tokens chose."
    return "The run has no generate pass: only prompt or warm-up tokens chose experts."


def tokens_figure(context: Context) -> FigureView:
    """Tokens by experts in the layer whose choice is most uneven."""
    per_layer = context.expert_layers
    layer = routing.most_uneven(per_layer)
    sizes = per_layer.set_index("layer")["n_experts"]
    rows, several = routing.grid(context.chosen, -1 if layer is None else layer, LINES)
    labels = _labels(context, rows, several)
    joined = (
        f" {several} tokens stand in a line; the stronger a cell, the more of them chose it, in steps of an eighth."
        if several > 1
        else " One line per token."
    )
    title = "Which experts does each token choose?"
    which = "The layer is the one whose choice is most uneven: the greatest standard deviation of its experts’ counts "
    which += "over their mean."
    if layer is not None:
        alone = bool((per_layer["unevenness"] >= float(per_layer["unevenness"].max()) - 1e-9).sum() == 1)
        title = f"Which experts does each token choose in layer {layer}{', the most uneven' if alone else ''}?"
        which = which if alone else "No layer’s choice is more uneven than that of this one, the first of several."
    return context.figure(
        "experts-tokens",
        "experts",
        title,
        f"Each mark: an expert that a generated token chose in the layer.{joined} {which} "
        f"n = {q.counted(context.choice.n_rows, 'token row')}; prompt and warm-up are left out.",
        f"Tokens by experts of one layer. {title}",
        lambda: chart.chart(rows, labels, int(sizes[layer or 0]), several),
        data=context.chosen[context.chosen["layer"] == layer],
        empty=no_choice(context),
        numbers={"layer": layer},
    )


def _labels(context: Context, rows: pd.DataFrame, several: int) -> list[str]:
    lines = rows.drop_duplicates("line").sort_values("line")
    first = [context.labels[int(p)] for p in lines["first_pass"]]
    if several == 1:
        return first
    last = [context.labels[int(p)].removeprefix("token ") for p in lines["last_pass"]]
    return [a if a.endswith(f" {b}") else f"{a}–{b}" for a, b in zip(first, last, strict=True)]


def _table(context: Context) -> TableView:
    """The experts of the first tokens, in order of strength."""
    layer, chosen = routing.most_uneven(context.expert_layers), context.chosen
    reason = context.refusal("experts-of-tokens")
    rows = chosen[chosen["layer"] == layer]
    tokens = [] if reason else [part for _, part in rows.groupby(["pass_id", "row"])]
    made = []
    for part in tokens[:ROWS]:
        weights = ", ".join("—" if pd.isna(w) else q.decimal(w, 3) for w in part["weight"])
        label = context.labels[int(part["pass_id"].iloc[0])]
        made.append(cells(label, ", ".join(str(e) for e in part["expert"]), weights))
    cut = f" The first {ROWS} of {q.count(len(tokens))}; the CSV has all." if len(tokens) > ROWS else ""
    return table(
        "experts-of-tokens",
        "Which experts are they?" if layer is None else f"Which experts are they in layer {layer}?",
        f"The experts that each generated token chose, the strongest first, and their routing weights.{cut}",
        (Head("Token"), Head("Experts"), Head("Weights")),
        made,
        reason or no_choice(context),
        context.csv("experts-of-tokens", rows),
        numbers={"layer": layer},
    )


def _write(context: Context, chosen: pd.DataFrame) -> None:
    """A chunk per layer: `tracegenExperts({"layer": 3, "pass": [4, 5, …], "experts": [[0, 7], …]});`."""
    for layer, rows in chosen.groupby("layer"):
        tokens = rows.groupby(["pass_id", "row"])["expert"].agg(list)
        data = {
            "layer": int(str(layer)),
            "pass": [int(p) for p in tokens.index.get_level_values("pass_id")],
            "experts": [[int(e) for e in one] for one in tokens],
        }
        context.files.add(f"data/experts/{layer}.js", f"tracegenExperts({script_json(data)});\n")
