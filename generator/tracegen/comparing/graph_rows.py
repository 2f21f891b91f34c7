"""A graph difference in rows: a row for each layer, layers that do and change the same in one row."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pandas as pd

COLUMNS = ["row", "place", "op", "name", "component", "change", "what"]
MOST = 40  # rows


def graph_rows(nodes: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """The operations of a graph difference in rows and places, and how many rows beyond MOST are left out.

    `nodes`: the result of `analysis.graph_difference`, in order of execution. A row holds the operations of one layer,
    or those between two layers; rows that follow each other with the same operations and changes are joined, and named
    by their first and last layer; the names are those of the first. Columns: COLUMNS.
    """
    layers = (None if pd.isna(layer) else int(layer) for layer in nodes["layer"])
    rows_of = groupby(zip(layers, nodes.to_dict("records"), strict=True), key=lambda pair: pair[0])
    blocks = [(layer, [node for _, node in of]) for layer, of in rows_of]
    joined: list[tuple[list[int | None], list[Any]]] = []
    for layer, of in blocks:
        if joined and layer is not None and joined[-1][0][0] is not None and _what(joined[-1][1]) == _what(of):
            joined[-1][0].append(layer)
        else:
            joined.append(([layer], of))
    named = list(_names([layers for layers, _ in joined]))
    rows = [
        (name, place, str(node["op"]), node["name"], node["component"], node["change"], node["what"])
        for name, (_, of) in list(zip(named, joined, strict=True))[:MOST]
        for place, node in enumerate(of, 1)
    ]
    return pd.DataFrame(rows, columns=COLUMNS), max(0, len(joined) - MOST)


def _names(rows: list[list[int | None]]) -> Iterator[str]:
    """`layer 3`, `layers 4 to 23`; what belongs to no layer by where it stands."""
    last = max((i for i, layers in enumerate(rows) if layers[0] is not None), default=-1)
    seen = 0
    for i, layers in enumerate(rows):
        if layers[0] is None:
            seen += 1
            yield (
                "before the layers" if i == 0 and last >= 0 else "after the layers" if i > last else f"between, {seen}"
            )
        else:
            yield f"layer {layers[0]}" if len(layers) == 1 else f"layers {layers[0]} to {layers[-1]}"


def _what(of: list[Any]) -> list[tuple[object, object]]:
    return [(node["op"], node["change"]) for node in of]
