"""Below every drawn figure its data stands as a table: the first rows of the CSV."""

import io
import re
from html import unescape

import pandas as pd
import pytest

from tests.builders import a_moe_run, scaled_case
from tests.report.rendered import rendered
from tracegen.report.document.figure_data import MOST, figure_data
from tracegen.report.document.page import Report

TABLE = r'<details class="tg-data">(.*?)</details>'


@pytest.fixture(scope="module")
def report() -> Report:
    return rendered(scaled_case(3, 2, moe=True), a_moe_run())


def test_every_figure_has_the_first_rows_of_its_csv(report: Report) -> None:
    assert len(report.figures) > 10
    for figure in report.figures:
        page = next(page for page in report.pages if page.key == figure.page)
        body = page.body.partition(f'<figure id="fig-{figure.key}"')[2].partition("</figure>")[0]
        if "-block-" in figure.key:  # the drawings of a graph share its data, which stands below the first
            assert "tg-data" not in body and "data/graph-0.csv" in body
            continue
        data = pd.read_csv(io.BytesIO(report.files[f"data/{figure.key}.csv"]))
        found = re.search(TABLE, body, re.DOTALL)
        assert found, figure.key
        assert re.findall(r"<th scope=\"col\"[^>]*>([^<]*)</th>", found[1]) == list(data.columns)
        rows = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in found[1].split("<tr>")[2:]]
        assert len(rows) == min(len(data), MOST)
        assert ("CSV</a> has all" in found[1]) == (len(data) > MOST)
        for texts, (_, row) in zip(rows, data.iterrows(), strict=False):
            for text, value in zip(texts, row, strict=True):
                if pd.isna(value):
                    assert text == "—"
                elif isinstance(value, int | float) and not isinstance(value, bool):
                    assert float(text.replace("\u202f", "")) == pytest.approx(float(value), rel=1e-5)
                else:
                    assert unescape(text) == str(value)


def test_numbers_and_words_of_a_table() -> None:
    table = figure_data(pd.DataFrame({"name": ["a", None], "n": [12345, 2], "share": [0.123456789, float("nan")]}))
    assert table.rows == [
        (("a", False), ("12\u202f345", True), ("0.123457", True)),
        (("—", False), ("2", True), ("—", True)),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8_260_220.4, "8 260 220"),
        (1.09997e9 + 0.5, "1 099 970 000"),
        (0.548396123, "0.548396"),
        (13.0771, "13.0771"),
        (-2.5, "-2.5"),
        (1.5e-7, "0.00000015"),
        (123456.789, "123 457"),
    ],
)
def test_numbers_are_never_powers_of_ten(value: float, text: str) -> None:
    ((_, _, (cell,)),) = figure_data(pd.DataFrame({"n": [value]})).columns
    assert cell.replace("\u202f", " ") == text
