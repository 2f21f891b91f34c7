"""The page of a matrix in Chromium: its links and widths, and without scripts."""

from typing import Any

import pytest

from tests.browser.test_comparison import IDENTITY
from tests.comparing.test_page import CELLS
from tracegen.comparing.matrix_page import render_matrix
from tracegen.publishing.bundle import write_bundle

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("matrix")
    write_bundle(folder, render_matrix("m", CELLS), IDENTITY)
    return (folder / "index.html").as_uri()


def test_nothing_is_wider_than_the_window(page: Any, page_of: str) -> None:
    page.goto(page_of)
    for width in (1280, 690, 360):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scripts", [True, False])
def test_an_effect_leads_to_its_page(tab: Any, page_of: str, scripts: bool) -> None:
    page = tab(page_of, java_script_enabled=scripts)
    assert page.get_by_role("note").inner_text().startswith("Random weights.")
    href = page.locator("#tab-effects").get_by_role("link", name="data (CSV)").get_attribute("href")
    assert href == "data/effects.csv"
    page.locator("#answer").get_by_role("link", name="threads, 2 → 10").click()
    assert page.url.endswith("effect-1/index.html")
