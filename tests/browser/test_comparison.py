"""The page of a comparison in Chromium: what became worse, copied as Markdown, its widths, and without scripts."""

from typing import Any

import pytest

from tests.browser.conftest import copied
from tests.builders import scaled_case
from tests.comparing.made import measures_of
from tracegen.comparing.comparison import compare
from tracegen.comparing.markdown import markdown_of
from tracegen.comparing.page import render_comparison
from tracegen.publishing.bundle import write_bundle
from tracegen.publishing.side import Side

pytestmark = pytest.mark.browser

TABLES = scaled_case(3, 2, moe=True)
IDENTITY = {
    "citation": "",
    "draft": "a → b",
    "experiment": "",
    "created": "",
    "message": "",
    "runs": [],
    "verdict": "complete",
    "question": "a → b",
}


def side(name: str, factor: float) -> Side:
    """Nine runs of the same tables whose times are `factor` longer, each a little apart."""
    return measures_of(name, TABLES, [factor * (1 + i / 1000) for i in range(9)])


COMPARISON = compare(side("a", 1.0), side("b", 1.5))


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("comparison")
    write_bundle(folder, render_comparison(COMPARISON), IDENTITY)
    return (folder / "index.html").as_uri()


def rows(page: Any) -> list[str]:
    found: list[str] = page.locator("#tab-timed tbody tr:visible th").all_inner_texts()
    return found


def test_only_what_became_worse_or_better(page: Any, page_of: str) -> None:
    page.goto(page_of)
    assert rows(page) == [], "the long tables are folded"
    page.locator("#more-timed > summary").click()
    every = rows(page)
    worse = sum(row.state == "different" and row.better is False for row in COMPARISON.rows)
    assert worse > 5 and len(every) > 5
    page.select_option("[data-tg=only]", "worse")
    assert page.url.endswith("#only=worse")
    shown = page.locator("#tab-timed tbody tr:visible td:last-child").all_inner_texts()
    assert shown and all(text == "worse" for text in shown)
    assert f"{len(shown)} of {len(every)} timed measures" in page.locator("[data-tg=told]").inner_text()
    page.select_option("[data-tg=only]", "better")
    assert rows(page) == [] and "0 of" in page.locator("[data-tg=told]").inner_text()
    page.goto(page_of + "#only=worse")
    page.reload()
    assert len(rows(page)) == len(shown), "the table of what was chosen is open"
    page.goto(page_of + "#only=<b>")
    page.reload()
    page.locator("#more-timed > summary").click()
    assert rows(page) == every


def test_the_answer_and_a_picture_are_on_the_first_screen(page: Any, page_of: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(page_of)
    for what in (".tg-answer", "#fig-picture svg:visible"):
        assert page.locator(what).first.bounding_box()["y"] < 600, what
    assert page.evaluate("document.documentElement.scrollHeight") < 3.5 * 800
    page.goto(page_of + "#tab-counted")
    page.reload()
    assert page.locator("#tab-counted").is_visible(), "an address opens what is folded"


def test_it_is_copied_as_markdown(page: Any, page_of: str) -> None:
    page.goto(page_of)
    text = copied(page, page.get_by_role("button", name="copy as Markdown"))
    assert text.strip() == markdown_of(COMPARISON).strip()


def test_nothing_is_wider_than_the_window(page: Any, page_of: str) -> None:
    page.goto(page_of)
    for width in (1280, 690, 360):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_scripts_everything_is_there(tab: Any, page_of: str) -> None:
    page = tab(page_of, java_script_enabled=False)
    assert not page.locator("[data-tg=comparison]").is_visible()
    assert page.locator("#tab-timed tbody tr").count() > 5 and page.locator("svg").count() >= 3
