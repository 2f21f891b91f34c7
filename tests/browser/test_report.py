"""The pages' own script in Chromium, from file://: other passes, addresses, keys, no requests outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import a_moe_run, scaled_case, with_faults
from tests.report_files import written_report
from tracegen.charts import theme
from tracegen.report.pages.page import OUTLINE, Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = a_moe_run()
    run = a_moe_run(trace={**run.facts["trace"], "faults_recorded": True})
    return written_report(tmp_path_factory.mktemp("report"), with_faults(scaled_case(4, 2, moe=True)), run)


def rows(page) -> list[str]:  # type: ignore[no-untyped-def]
    return page.locator("tbody[data-tg=rows] > tr.tg-op").all_inner_texts()


def test_rows_made_by_the_script_equal_those_in_the_page(chrome, page, root: Path) -> None:  # type: ignore[no-untyped-def]
    context = chrome.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto((root / "operations/index.html").as_uri())
    static = plain.locator("tr.tg-op").all_inner_texts()
    operands = plain.locator("tr.tg-detail").all_inner_texts()
    context.close()
    page.goto((root / "operations/index.html").as_uri())
    assert everything(page) == (static, operands)
    page.click("[data-tg=next]")
    page.wait_for_function("document.querySelector('[data-tg=label]').textContent.startsWith('token 1 (')")
    assert everything(page)[0] != static
    page.click("[data-tg=previous]")
    page.wait_for_function("document.querySelector('[data-tg=label]').textContent.startsWith('prompt → token 0 (')")
    assert everything(page) == (static, operands)


def everything(page) -> tuple[list[str], list[str]]:  # type: ignore[no-untyped-def]
    """All rows and all operands of the table: on paper every row is there."""
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    for button in page.locator("tbody[data-tg=rows] tr.tg-op button").all():
        if button.get_attribute("aria-expanded") == "false":
            button.evaluate("button => button.click()")
    found = rows(page), page.locator("tr.tg-detail").all_inner_texts()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    return found


def test_an_address_leads_to_one_operation(page, root: Path) -> None:  # type: ignore[no-untyped-def]
    page.goto((root / "operations/index.html").as_uri() + "#pass=4&node=6")
    chosen = page.wait_for_selector("tr.tg-chosen")
    assert chosen.get_attribute("id") == "pass=4&node=6"
    assert page.locator("tr.tg-open").count() == 1
    page.keyboard.press("n")
    page.wait_for_selector("tr.tg-chosen[id='pass=5&node=6']")
    assert page.url.endswith("#pass=5&node=6")


def test_an_unknown_address_says_so(page, root: Path) -> None:  # type: ignore[no-untyped-def]
    page.goto((root / "operations/index.html").as_uri() + "#pass=99&node=1")
    assert "no pass 99" in page.locator("[data-tg=status]").inner_text()


def test_a_node_of_another_graph_is_found_in_the_drawing(page, root: Path) -> None:  # type: ignore[no-untyped-def]
    page.goto((root / "graph/index.html").as_uri() + "#g1-n7")
    assert page.locator(".tg-graph .tg-chosen").count() == 1


def test_colours_follow_the_scheme(chrome, root: Path) -> None:  # type: ignore[no-untyped-def]
    found = []
    for scheme in ("light", "dark"):
        context = chrome.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto((root / "index.html").as_uri())
        page.add_style_tag(content=".tracegen{color-scheme:light dark}")
        found.append(
            page.evaluate("getComputedStyle(document.querySelector('#fig-components path[fill*=\"--tg-ffn\"],"
                          " #fig-components path[fill*=\"--tg-experts\"]')).fill")
        )  # fmt: skip
        context.close()
    expected = [theme.GROUPS["experts"][i] for i in (1, 2)]
    assert found == [f"rgb({int(c[1:3], 16)}, {int(c[3:5], 16)}, {int(c[5:], 16)})" for c in expected]


@pytest.mark.parametrize("name", [Page(*one, "").path for one in OUTLINE])
def test_a_narrow_screen_does_not_scroll_sideways(chrome, root: Path, name: str) -> None:  # type: ignore[no-untyped-def]
    page = chrome.new_page(viewport={"width": 360, "height": 800})
    page.goto((root / name).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()


def test_without_scripts_the_first_token_is_complete(chrome, root: Path) -> None:  # type: ignore[no-untyped-def]
    context = chrome.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((root / "operations/index.html").as_uri())
    assert page.locator("tr.tg-detail").first.is_visible()
    assert not page.locator("[data-tg=controls]").is_visible()
    context.close()
