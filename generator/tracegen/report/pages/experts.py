"""The experts page: the experts that each token chose, one file per layer for the script that draws a layer."""

from typing import Any

import pandas as pd

from tracegen.analysis import routing
from tracegen.contract import needs
from tracegen.report.document.assets import Assets
from tracegen.report.document.packing import script_json, whole
from tracegen.report.figures.context import Context
from tracegen.report.figures.shared_experts import NAMED_BY, given, last_token

MOST = 600  # px: of all rows of the grid, as in experts.js


def experts(context: Context, assets: Assets) -> dict[str, Any]:
    """The values of the template of the experts page; writes a chunk for each layer."""
    chosen, per_layer = context.chosen, context.expert_layers
    layers = [] if context.refusal(needs.CHOICES) else [int(n) for n in per_layer["layer"]]
    sizes = dict(zip(per_layer["layer"], per_layer["n_experts"], strict=True))
    rows = _write(context, assets, chosen[chosen["layer"].isin(layers)])
    shown = routing.most_uneven(per_layer)
    return {
        "layers": layers,
        "height": _height(rows.get(str(shown), 1)),
        "held": f"{NAMED_BY} {last_token(context)}".strip(),
        "state": {
            "layer": shown,
            "layers": layers,
            "experts": {str(n): int(sizes[n]) for n in layers},
            "rows": rows,
            "data": "../data/experts/",
        },
    }


def _height(n_rows: int) -> int:
    """The height in px that the script gives the grid of so many rows, so that nothing moves when it draws."""
    lines = -(-n_rows // -(-n_rows // MOST))
    return 8 + lines * max(1, min(16, MOST // lines)) + 34


def _write(context: Context, assets: Assets, chosen: pd.DataFrame) -> dict[str, int]:
    """A chunk per layer: `tracegenExperts({"layer": 3, "pass": [4, 5, …], "token": [0, 1, …], …});`; its rows by layer.

    `token` is the token that a row holds, `gives` the one that its pass gives, null where it is not known. If
    `by_weight`, the experts are in order of weight, else in llama.cpp's order.
    """
    gives, n_rows = given(context), {}
    for layer, rows in routing.by_strength(chosen).groupby("layer"):
        by_weight = bool(rows["place"].notna().all())
        rows = rows if by_weight else rows.sort_values(["pass_id", "row", "rank"])
        tokens = rows.groupby(["pass_id", "row"]).agg(generated=("generated_token", "first"), experts=("expert", list))
        data = {
            "layer": int(str(layer)),
            "pass": [int(p) for p in tokens.index.get_level_values("pass_id")],
            "token": [whole(k) for k in tokens["generated"]],
            "gives": [gives.get(int(p)) for p in tokens.index.get_level_values("pass_id")],
            "by_weight": by_weight,
            "experts": [[int(e) for e in numbers] for numbers in tokens["experts"]],
        }
        assets.script(f"data/experts/{layer}.js", "tracegenExperts", script_json(data))
        n_rows[str(layer)] = len(tokens)
    return n_rows
