"""The tables of the experts page: each layer's load, its experts chosen again, its routing weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tracegen.figures.context import Context
from tracegen.pages.views import Cell, Head, TableView, cells, table
from tracegen.words import quantities as q


def layers_table(context: Context, empty: str) -> TableView:
    """How uneven the choice is in each layer, and how few experts cover most of it."""
    made = context.expert_layers
    reason = context.refusal("experts-layers")
    rows = [
        cells(
            _num(r["layer"]),
            _num(r["n_experts"]),
            _num(r["n_choices"]),
            _num(r["most_chosen"]),
            _share(r["most_share"]),
            _num(r["n_never"]),
            Cell(q.decimal(r["unevenness"], 2), number=True),
            *(_num(r[name]) for name in ("needed_50", "needed_80", "needed_95")),
        )
        for r in ([] if reason else made.to_dict("records"))
    ]
    head = ("Layer", "Experts", "Choices", "Most chosen", "Its share", "Never chosen", "Unevenness", "For 50 %")
    return table(
        "experts-layers",
        "How uneven is the choice in each layer?",
        "Choices: token rows of generate passes times the experts each chooses. Unevenness: standard deviation of the "
        "experts’ counts over their mean; 0 is even. For 50, 80, 95 %: the fewest experts that make up this part of "
        "the choices. Prompt and warm-up are left out.",
        [Head(name, number=True) for name in (*head, "For 80 %", "For 95 %")],
        rows,
        reason or empty,
        context.csv("experts-layers", made),
    )


def reuse_table(context: Context, made: pd.DataFrame, empty: str) -> TableView:
    """How many of a token's experts the token before had chosen too."""
    reason = context.refusal("experts-again")
    rows = [
        cells(
            _num(r["layer"]),
            _num(r["n_tokens"]),
            _num(r["n_choices"]),
            _num(r["n_again"]),
            _share(r["share"]),
            Cell(q.percent(r["even"]), number=True),
        )
        for r in ([] if reason else made.to_dict("records"))
    ]
    head = ("Layer", "Tokens", "Choices", "Chosen before", "Share", "Even choice")
    return table(
        "experts-again",
        "How many experts are chosen again, layer by layer?",
        "Tokens: generated token rows with one before them in their sequence. Chosen before: choices of an expert that "
        "the token before had chosen in the same layer.",
        [Head(name, number=True) for name in head],
        rows,
        reason or empty,
        context.csv("experts-again", made),
    )


def weights_table(context: Context, made: pd.DataFrame, empty: str) -> TableView:
    """Mean routing weight by layer and place in order of weight."""
    reason = context.refusal("experts-strength")
    places = sorted(int(place) for place in made["place"].unique())
    means = {(int(r["layer"]), int(r["place"])): r for r in made.to_dict("records")}
    rows = [
        cells(_num(layer), *(_mean(means, layer, place) for place in places))
        for layer in ([] if reason else sorted(int(n) for n in made["layer"].unique()))
    ]
    return table(
        "experts-strength",
        "How strongly are the experts chosen, layer by layer?",
        "Mean weight of a token row’s strongest expert (place 1), its second, and so on, over the generate passes; "
        "lowest and highest are shown on hover and in the CSV.",
        [Head("Layer", number=True), *(Head(f"Place {place}", number=True) for place in places)],
        rows,
        reason or empty,
        context.csv("experts-strength", made),
    )


def _mean(means: Mapping[tuple[int, int], Mapping[Any, Any]], layer: int, place: int) -> Cell:
    r = means.get((layer, place))
    if r is None:
        return Cell(q.UNKNOWN, number=True)
    exact = f"{q.decimal(r['lowest'], 4)} to {q.decimal(r['highest'], 4)}, n = {q.count(r['n'])}"
    return Cell(q.decimal(r["mean"], 3), number=True, exact=exact)


def _num(value: Any) -> Cell:
    return Cell(q.count(value), number=True)


def _share(value: Any) -> Cell:
    return Cell(q.percent(value), number=True, bar=float(value))
