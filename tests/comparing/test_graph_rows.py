import pandas as pd

from tracegen.charts.compared_graph import CHANGES, chart
from tracegen.comparing import graph_rows as of
from tracegen.comparing.graph_rows import graph_rows

OPS = ("norm", "attn", "ffn")


def a_difference(layers: int, changes: dict[tuple[int | None, str], str]) -> pd.DataFrame:
    """embd, then three operations a layer, then two at the end; `changes`: (layer, name) -> change."""
    nodes: list[tuple[int | None, str]] = [(None, "embd")]
    nodes += [(layer, op) for layer in range(layers) for op in OPS]
    nodes += [(None, "norm"), (None, "head")]
    rows = [(n, op, layer, changes.get((layer, op), "same")) for n, (layer, op) in enumerate(nodes)]
    table = pd.DataFrame(rows, columns=["node", "op", "layer", "change"])
    return table.assign(name=table["op"], component="FFN", what="", layer=table["layer"].astype("Int32"))


def rows_of(table: pd.DataFrame) -> dict[str, str]:
    """Row -> the first letters of its changes, in the order of places."""
    return {str(row): "".join(change[0] for change in part["change"]) for row, part in table.groupby("row", sort=False)}


def test_layers_that_change_alike_share_a_row() -> None:
    table, left_out = graph_rows(a_difference(6, {(2, "attn"): "changed", (3, "attn"): "changed", (5, "ffn"): "gone"}))
    assert left_out == 0 and rows_of(table) == {
        "before the layers": "s", "layers 0 to 1": "sss", "layers 2 to 3": "scs", "layer 4": "sss", "layer 5": "ssg",
        "after the layers": "ss",
    }  # fmt: skip
    assert table.loc[table["row"] == "layer 5", "place"].tolist() == [1, 2, 3]


def test_too_many_rows_are_counted() -> None:
    changes = {(layer, "attn"): "changed" for layer in range(0, 100, 2)}
    table, left_out = graph_rows(a_difference(100, changes))
    assert table["row"].nunique() == of.MOST and left_out == 102 - of.MOST


def test_a_graph_without_layers_has_one_row() -> None:
    table, _ = graph_rows(a_difference(0, {}).assign(layer=pd.array([None] * 3, dtype="Int32")))
    assert rows_of(table) == {"after the layers": "sss"} or rows_of(table) == {"before the layers": "sss"}


def test_the_drawing_tells_changes_by_sign_too() -> None:
    table, _ = graph_rows(a_difference(3, {(1, "attn"): "new", (2, "attn"): "gone"}))
    for width in (360, 690, 1190):
        document = chart(table, width=width).to_dict()
        data = next(iter(document["datasets"].values()))
        assert {row["sign"] for row in data} == {"", "+", "−"}
    assert len({sign for _, sign in CHANGES.values()}) == len(CHANGES)
