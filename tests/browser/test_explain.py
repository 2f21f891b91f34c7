"""“Explain this” and the reading guide in Chromium: closed at first, opened by keys, on narrow screens and on paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.test_report import root  # noqa: F401
from tracegen.charts import theme
from tracegen.report.figures.catalogue import part_of
from tracegen.report.pages.page import OUTLINE, Page

pytestmark = pytest.mark.browser

PAGES = [Page(*one, "").path for one in OUTLINE]
EXPLAINED = """[...document.querySelectorAll("details.tg-explain")].map(element => {
    const at = element.closest("[id^=fig-], [id^=tab-]");
    return [at.id.slice(4), element.open, element.querySelector("summary").textContent,
            [...element.querySelectorAll("dl > div > dd")].map(dd => dd.textContent)];
})"""


@pytest.mark.parametrize("name", PAGES)
def test_explanations_are_closed_and_say_what_is_written(page, root: Path, name: str) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    page.goto((root / name).as_uri())
    found = page.evaluate(EXPLAINED)
    captions = page.locator("figure.tg-figure").count()
    captions -= name == "index.html"  # the heatmap there leads to that of the memory page, which is explained
    explorers = {"operations/index.html": 2, "timeline/index.html": 1, "experts/index.html": 1}
    assert len(found) == captions + explorers.get(name, 0)
    for key, is_open, summary, said in found:
        about = part_of(key)
        assert about is not None, key
        assert (is_open, summary, said[:3]) == (False, "Explain this", [about.shows, about.counts, about.read])


def test_a_key_opens_an_explanation_and_its_lines_are_whole(page, root: Path) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    page.goto((root / "index.html").as_uri() + "#fig-tokens")
    summary = page.locator("#fig-tokens .tg-explain summary")
    lines = page.locator("#fig-tokens .tg-explain pre")
    assert not lines.is_visible()
    summary.focus()
    page.keyboard.press("Enter")
    assert lines.is_visible()
    code = lines.inner_text().splitlines()
    assert code[0] == "import tracegen" and "run = tracegen.load('demo/run-003')" in code
    assert code[-1].strip().endswith("]]")
    link = page.locator("#fig-tokens .tg-explain dd a")
    assert (root / link.get_attribute("href")).is_file()
    page.keyboard.press("Enter")
    assert not lines.is_visible()


def test_explanations_open_without_scripts(chrome, root: Path) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    context = chrome.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto((root / "memory/index.html").as_uri())
    opened.click("#fig-heatmap .tg-explain summary")
    assert opened.locator("#fig-heatmap .tg-explain pre").is_visible()
    context.close()


def test_paper_has_no_explanations_even_when_they_were_open(chrome, root: Path) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    opened = chrome.new_page()
    opened.goto((root / "index.html").as_uri() + "#fig-layers")
    opened.click("#fig-layers .tg-explain summary")
    assert opened.locator("#fig-layers .tg-explain dl").is_visible()
    opened.emulate_media(media="print")
    assert not opened.locator(".tg-explain").first.is_visible()
    assert not opened.locator("#fig-layers .tg-explain dl").is_visible()
    assert opened.locator("#reading-guide dl").first.is_visible()
    opened.close()


@pytest.mark.parametrize("name", PAGES)
def test_opened_explanations_fit_a_narrow_screen(chrome, root: Path, name: str) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    narrow = chrome.new_page(viewport={"width": 360, "height": 800})
    narrow.goto((root / name).as_uri())
    narrow.evaluate("document.querySelectorAll('details').forEach(element => { element.open = true; })")
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 360
    lines = narrow.locator(".tg-explain pre")
    for i in range(lines.count()):
        assert lines.nth(i).evaluate("e => e.scrollWidth <= e.clientWidth || getComputedStyle(e).overflowX === 'auto'")
    narrow.close()


def test_every_page_leads_to_the_guide(page, root: Path) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    for name in PAGES:
        page.goto((root / name).as_uri())
        page.locator(".tg-head a", has_text="How to read these pages").click()
        page.wait_for_function("location.hash === '#reading-guide'")
        assert page.url.startswith((root / "index.html").as_uri())
        assert page.locator("#reading-guide").is_visible()


@pytest.mark.parametrize(("scheme", "side"), [("light", 1), ("dark", 2)])
def test_the_guide_shows_the_colours_of_the_figures(chrome, root: Path, scheme: str, side: int) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    context = chrome.new_context(color_scheme=scheme)
    opened = context.new_page()
    opened.goto((root / "index.html").as_uri())
    opened.add_style_tag(content=".tracegen{color-scheme:light dark}")
    found = opened.evaluate(
        "[...document.querySelectorAll('#reading-guide .tg-dot')]"
        ".map(dot => [dot.dataset.group, getComputedStyle(dot).backgroundColor])"
    )
    ramp = opened.evaluate(
        "[...document.querySelectorAll('.tg-ramp i')].map(step => getComputedStyle(step).backgroundColor)"
    )
    context.close()
    after = theme.INK["after"]
    waiting = {"waiting for the disk": theme.INK["ink"], "waiting inside": theme.INK["inside"]}
    waiting |= {"waiting after": after, "between operations": after}
    named = {**theme.GROUPS, **waiting}
    assert found == [[name, rgb(colours[side])] for name, colours in named.items()]
    assert ramp == [rgb(colour) for colour in (theme.SEQUENTIAL_LIGHT, theme.SEQUENTIAL_DARK)[side - 1]]


def rgb(colour: str) -> str:
    return f"rgb({int(colour[1:3], 16)}, {int(colour[3:5], 16)}, {int(colour[5:], 16)})"
