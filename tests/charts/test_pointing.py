"""What lies over a figure for the pointer: the same chart, each of whose marks tells its row of data."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import a_moe_run, scaled_case
from tests.charts.expanded import expanded
from tests.recompute.published import handed_over
from tracegen.charts import pointing
from tracegen.report.document.page import Report
from tracegen.report.pages.render import render_report


@pytest.fixture(scope="module")
def report() -> Report:
    return render_report(a_moe_run(), scaled_case(3, 2, moe=True), citable=None)


def documents(report: Report) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, content in report.files.items():
        if name.endswith(".vl.json"):
            yield name.removeprefix("figures/").removesuffix(".vl.json"), expanded(content)


def a_chart(mark: str, n: int) -> dict[str, Any]:
    encoding = {
        "x": {"field": "token", "type": "quantitative", "title": "token"},
        "y": {"field": "time", "type": "quantitative", "title": "ms"},
    }
    rows = [{"token": i, "time": i / 3, "colour": "#000"} for i in range(n)]
    return {"mark": mark, "encoding": encoding, "data": {"name": "d"}, "datasets": {"d": rows}}


def test_every_drawn_figure_has_a_script_that_hands_its_marks_over(report: Report) -> None:
    keys = [key for key, _ in documents(report)]
    assert len(keys) > 10
    for key in keys:
        text = report.files[f"figures/{key}.js"].decode()
        name, book = handed_over(text)
        wanted = {"layouts", "values"} | ({"rows"} if key == "file-tokens" else set())
        assert name == key and set(book) == wanted and "tracegenFigure" in text
        assert "<" not in text and "https:" not in json.dumps(book)


def test_a_field_is_called_what_its_axis_is_called() -> None:
    part = pointing.with_tooltips(a_chart("bar", 2))
    assert part["encoding"]["tooltip"] == [
        {"field": "time", "title": "ms", "type": "quantitative", "format": ",.4~r"},
        {"field": "token", "title": "token"},
    ]


def test_both_ends_of_a_stretch_are_shown_and_a_chart_keeps_what_it_says(report: Report) -> None:
    document = pointing.with_tooltips(dict(documents(report))["heatmap"])
    fields = [part["encoding"].get("tooltip", []) for part, _ in pointing._parts(document, document)]
    tooltips = [{field["field"]: field["title"] for field in of} for of in fields]
    assert next(of for of in tooltips if "true_end" in of)["true_end"].endswith(", to")
    cells = next(of for of in tooltips if "used" in of)
    assert list(cells) == ["label", "tensor", "layer", "dtype", "used", "memory", "stretch"]
    assert cells["label"] == "pass" and cells["used"] == "bytes used"


def test_a_legend_tells_nothing(report: Report) -> None:
    document = dict(documents(report))["heatmap"]
    legend = next(view for view in document["vconcat"] if view.get("name") == pointing.LEGEND)
    assert "tooltip" in json.dumps(pointing.with_tooltips(document)) and "tooltip" not in json.dumps(
        pointing.with_tooltips(legend)
    )


def test_a_line_is_pointed_at_place_by_place() -> None:
    marks = pointing.targets(a_chart("line", 500))["marks"]
    (bars,) = [mark for mark in marks if mark["type"] == "rule"]
    assert bars["encode"]["update"]["strokeWidth"] == {"value": 2} and "tooltip" in bars["encode"]["update"]
    assert [mark["type"] for mark in marks] == ["line", "rule"] and "tooltip" not in json.dumps(marks[0])


def test_a_document_is_left_as_it_was(report: Report) -> None:
    for _, document in documents(report):
        before = json.dumps(document)
        pointing.targets(document)
        assert json.dumps(document) == before


@pytest.mark.parametrize(("n", "pointable"), [(pointing.MOST, True), (pointing.MOST + 1, False)])
def test_too_many_marks_are_not_pointed_at(n: int, pointable: bool) -> None:
    assert pointing.is_pointable(a_chart("bar", n)) is pointable


def test_the_row_of_a_pass_holds_all_its_marks_and_no_other() -> None:
    def mark(pass_id: float | None, left: float, top: float) -> dict[str, object]:
        return dict(pass_id=pass_id, left=left, top=top, right=left + 10, bottom=top + 20)

    datasets = {"a": [mark(3, 5, 30), mark(2, 0, 0), mark(None, 0, 900)], "b": [mark(3.0, 100, 32), {"pass_id": 7}]}
    assert pointing.pass_rows(datasets) == [[2, 0, 0, 10, 20], [3, 5, 30, 110, 52]]
