"""Vega-Lite documents hold their rows as CSV where that is shorter and says the same."""

import json
from typing import Any

import pytest
import vl_convert

from tests.charts.expanded import expanded
from tracegen.charts import spec


def document(rows: list[Any]) -> dict[str, Any]:
    encoding = {"x": {"field": "time", "type": "quantitative"}, "y": {"field": "name", "type": "nominal"}}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.4.1.json",
        "datasets": {"d": rows},
        "hconcat": [{"mark": "point", "encoding": encoding, "data": {"name": "d"}} for _ in range(2)],
    }


NAMES = ['say "a,b"', "", "true", "7", "two\nlines", "µ"]
FIT = [
    {"time": n / 7, "name": NAMES[n % 6], "whole": n, "held": n % 2 == 0, "few": None if n % 5 else n}
    for n in range(-9, 90)
]


def test_rows_as_csv_are_shorter_and_draw_the_same() -> None:
    before = document(FIT)
    lean = spec.lean(json.dumps(before))
    assert isinstance(json.loads(lean)["datasets"]["d"], str)
    assert len(lean) < 0.6 * len(json.dumps(before))
    assert expanded(lean) == before
    assert vl_convert.vegalite_to_svg(json.loads(lean)) == vl_convert.vegalite_to_svg(before)


@pytest.mark.parametrize(
    "odd",
    [{"time": 1, "name": None}, {"time": "1", "name": ""}, {"name": "", "time": 1}, {"time": [1], "name": ""}, 3],
    ids=["both nothing and empty", "two kinds", "another order", "a list", "no row"],
)
def test_rows_that_csv_cannot_tell_apart_stay(odd: object) -> None:
    rows = [{"time": n, "name": ""} for n in range(90)]
    assert isinstance(json.loads(spec.lean(json.dumps(document(rows))))["datasets"]["d"], str)
    before = json.dumps(document([*rows, odd]))
    assert json.loads(spec.lean(before)) == json.loads(before)
