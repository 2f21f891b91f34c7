"""The page of a matrix over prompts in Chromium: the table of fields, its links and widths, and without scripts."""

from typing import Any

import pytest

from tests.analysis.prompted import made, planted
from tests.browser.test_comparison import IDENTITY
from tests.comparing.test_fields import RANDOM, cells
from tracegen.comparing.matrix_page import render_matrix
from tracegen.publishing.bundle import write_bundle

pytestmark = pytest.mark.browser

FIELD = {f"f0/{n}" for n in range(4)}


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("matrix")
    sides = cells(planted(made(1, (4, 4)), FIELD, layer=1, expert=3, share=0.8), model=RANDOM)
    write_bundle(folder, render_matrix("m", sides), IDENTITY)
    return (folder / "index.html").as_uri()


def test_nothing_is_wider_than_the_window(page: Any, page_of: str) -> None:
    page.goto(page_of)
    for width in (1280, 690, 360):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        lines = page.locator("#tab-specialists tbody tr").evaluate_all("of => of.map(row => row.offsetHeight)")
        assert lines and max(lines) < 60, "a row of two lines"


@pytest.mark.parametrize("scripts", [True, False])
def test_the_finding_leads_to_the_table(tab: Any, page_of: str, scripts: bool) -> None:
    page = tab(page_of, java_script_enabled=scripts)
    assert page.get_by_role("note").inner_text().startswith("Random weights.")
    page.get_by_role("link", name="Experts of fields").click()
    assert page.url.endswith("#tab-specialists")
    rows = page.locator("#tab-specialists tbody tr")
    assert rows.first.locator("th").inner_text() == "layer\u00a01, expert\u00a03"
    assert rows.first.locator("td").last.inner_text() == "yes"
    assert rows.first.locator("td").nth(1).get_attribute("title") == "n = 4 prompts, 60 tokens"
    href = page.locator("#tab-specialists").get_by_role("link", name="data (CSV)").get_attribute("href")
    assert href == "data/specialists.csv"
