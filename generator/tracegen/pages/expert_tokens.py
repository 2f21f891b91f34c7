"""Which experts each token chose in one layer: the most uneven one as a figure and table, every other by script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegen.analysis import held, routing
from tracegen.charts import expert_tokens as chart
from tracegen.figures.context import Context
from tracegen.pages.explorers.packing import script_json
from tracegen.pages.views import Cell, FigureView, Head, TableView, cells, table
from tracegen.words import expert_sentences as say
from tracegen.words import quantities as q

LINES, ROWS = 48, 20  # at most: lines of the figure, rows of the table


@dataclass(frozen=True)
class TokensView:
    """The figure and the table of one layer, and what the script needs for the others."""

    figure: FigureView
    table: TableView
    layers: tuple[int, ...]
    state: dict[str, Any]
    held: str


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
        "data": "../data/experts/",
    }
    return TokensView(tokens_figure(context), _table(context), layers, state, say.HELD)


def no_choice(context: Context) -> str:
    """Why no generated token chose an expert; empty when some did."""
    if len(context.chosen):
        return ""
    passes, routed = context.tables["passes"], context.tables["routing"]["pass_id"].unique()
    return say.no_choice(
        has_routing=len(routed) > 0,
        has_generate=bool((passes["kind"] == "generate").any()),
        kinds=[str(kind) for kind in passes.loc[passes["pass_id"].isin(routed), "kind"].dropna().unique()],
    )


def tokens_figure(context: Context) -> FigureView:
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
    windowed = bool(context.fact("trace", "skipped_passes")) or context.flag("stopped")
    return context.figure(
        "experts-tokens",
        "experts",
        title,
        say.tokens_caption(
            n_tokens=n_tokens,
            several=several,
            n_layers=len(per_layer),
            most_uneven=most_uneven,
            last=say.last_token(held.last_given(context.tables), windowed=windowed),
        ),
        f"Tokens by experts of one layer. {title}",
        lambda: chart.chart(rows, _labels(rows), int(sizes[layer or 0]), several),
        data=chosen,
        empty=no_choice(context),
        numbers={"layer": layer},
    )


def _labels(rows: pd.DataFrame) -> list[str]:
    """What each line is called; no two alike."""
    lines = rows.drop_duplicates("line").sort_values("line")
    ends = lines[["first_token", "last_token", "first_pass", "last_pass"]].itertuples(index=False)
    return [say.line_name((_token(a), _token(b)), (int(c), int(d))) for a, b, c, d in ends]


def _token(value: Any) -> int | None:
    return int(value) if q.known(value) else None


def _table(context: Context) -> TableView:
    """The experts of the first tokens, in order of weight where weights are known."""
    layer, chosen = routing.most_uneven(context.expert_layers), context.chosen
    reason = context.refusal("experts-of-tokens")
    rows = routing.by_strength(chosen[chosen["layer"] == layer])
    tokens = [] if reason else [part for _, part in rows.groupby(["pass_id", "row"])]
    made = []
    for part in tokens[:ROWS]:
        weights = ", ".join("—" if pd.isna(w) else q.decimal(w, 3) for w in part["weight"])
        token, pass_id = _token(part["generated_token"].iloc[0]), int(part["pass_id"].iloc[0])
        made.append(
            cells(
                Cell(q.UNKNOWN if token is None else str(token), number=True),
                Cell(str(pass_id), number=True, href=f"../operations/index.html#pass={pass_id}"),
                ", ".join(str(e) for e in part["expert"]),
                weights,
            )
        )
    return table(
        "experts-of-tokens",
        say.of_tokens_title(layer),
        say.of_tokens_caption(
            n_ordered=sum(bool(part["place"].notna().all()) for part in tokens),
            n_tokens=len(tokens),
            n_shown=len(made),
        ),
        (Head("Token", number=True), Head("Pass", number=True), Head("Experts"), Head("Weights")),
        made,
        reason or no_choice(context),
        context.csv("experts-of-tokens", rows),
        numbers={"layer": layer},
    )


def _write(context: Context, chosen: pd.DataFrame) -> None:
    """A chunk per layer: `tracegenExperts({"layer": 3, "pass": [4, 5, …], "token": [0, 1, …], …});`.

    `token` is what a row holds, null where that is not known; the experts stand in order of weight if
    `by_weight`, else in llama.cpp's.
    """
    for layer, rows in routing.by_strength(chosen).groupby("layer"):
        by_weight = bool(rows["place"].notna().all())
        rows = rows if by_weight else rows.sort_values(["pass_id", "row", "rank"])
        tokens = rows.groupby(["pass_id", "row"]).agg(held=("generated_token", "first"), experts=("expert", list))
        data = {
            "layer": int(str(layer)),
            "pass": [int(p) for p in tokens.index.get_level_values("pass_id")],
            "token": [_token(k) for k in tokens["held"]],
            "by_weight": by_weight,
            "experts": [[int(e) for e in one] for one in tokens["experts"]],
        }
        context.files.add(f"data/experts/{layer}.js", f"tracegenExperts({script_json(data)});\n")
