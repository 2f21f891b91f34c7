"""The strips above a map of the file: which layers have their number."""

import pandas as pd
import pytest

from tracegen.charts.heatmap import Axis, ruler


def numbers(layers: list[int], track: int) -> list[str]:
    """The numbers of layers of equal size, in the order of the file, above a map of so many pixels."""
    bands = pd.DataFrame({"layer": pd.array(layers, "Int64"), "begin": range(len(layers))})
    bands = bands.assign(end=bands["begin"] + 1, component="norm")
    drawn = ruler(bands, bands, Axis(len(layers), (), 1), track).to_dict(validate=False)
    (words,) = [rows for rows in drawn["datasets"].values() if rows and rows[0].get("text", "norm") != "norm"]
    return [row["text"] for row in words]


@pytest.mark.parametrize("track", [363, 700])
def test_every_layer_has_a_number_or_equally_many_have_none_between(track: int) -> None:
    every = 2 if track == 363 else 1
    assert numbers(list(range(24)), track) == [str(n) for n in range(0, 24, every)]


def test_layers_that_the_file_has_in_another_order_are_numbered_in_that_order() -> None:
    assert numbers([0, 1, 10, 11, 2, 3], 600) == ["0", "1", "10", "11", "2", "3"]
