"""The pages' own script in Chromium, from file://: other passes, addresses, keys, no requests outside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import a_run, scaled_case
from tracegen.charts import theme
from tracegen.pages.render import render_report

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    report = render_report(a_run(), scaled_case(4, 2, moe=True), address="demo/run-003", citable=None)
    for name, content in {**report.files, **report.assets}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for page in report.pages:
        (folder / page.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / page.path).write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{page.title}</title>'
            f'<link rel="stylesheet" href="{page.up}tracegen.css"><script defer src="{page.up}tracegen.js"></script>'
            f'<body><main class="tracegen">{page.body}</main>',
            encoding="utf-8",
        )
    return folder


@pytest.fixture
def page(chrome) -> Iterator[object]:  # type: ignore[no-untyped-def]
    page = chrome.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: request.url.startswith("file:") or problems.append(request.url))
    yield page
    page.close()
    assert not problems


def rows(page) -> list[str]:  # type: ignore[no-untyped-def]
    return page.locator("tbody[data-tg=rows] > tr.tg-op").all_inner_texts()


def test_rows_made_by_the_script_equal_those_in_the_page(page, root: Path) -> None:  # type: ignore[no-untyped-def]
    page.goto((root / "operations/index.html").as_uri())
    page.click("tbody[data-tg=rows] tr[data-node='1'] button")
    static, operands = rows(page), page.locator("tr.tg-open").all_inner_texts()
    page.click("[data-tg=next]")
    page.wait_for_function("document.querySelector('[data-tg=label]').textContent === 'token 1'")
    assert rows(page) != static
    page.click("[data-tg=previous]")
    page.wait_for_function("document.querySelector('[data-tg=label]').textContent === 'prompt → token 0'")
    assert rows(page) == static
    assert page.locator("tr.tg-open").all_inner_texts() == operands


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


@pytest.mark.parametrize("name", ["index.html", "memory/index.html", "operations/index.html", "provenance/index.html"])
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
