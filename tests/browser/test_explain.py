"""“Explain this” and the reading guide in Chromium: closed at first, opened by keys, on narrow screens and on paper."""

from pathlib import Path
from typing import Any

import pytest

from tracegen.charts import theme
from tracegen.report.document.page import OUTLINE, Page
from tracegen.report.figures.catalogue import part_of

pytestmark = pytest.mark.browser

PAGES = [Page(*one, "").path for one in OUTLINE]
EXPLAINED = """[...document.querySelectorAll("details.tg-explain:not(#explorer *)")].map(element => {
    const at = element.closest("[id^=fig-], [id^=tab-]");
    return [at.id.slice(4), element.open, element.querySelector("summary").textContent,
            [...element.querySelectorAll("dl > div")]
              .filter(one => one.firstElementChild.textContent !== "In this run")
              .map(one => one.lastElementChild.textContent)];
})"""


@pytest.mark.parametrize("name", PAGES)
def test_explanations_are_closed_say_what_is_written_and_fit_a_narrow_screen(
    tab: Any, moe_report: Path, name: str
) -> None:
    page = tab(moe_report / name, viewport={"width": 360, "height": 800})
    found = page.evaluate(EXPLAINED)
    captions = page.locator("figure.tg-figure").count()
    explorers = {"operations/index.html": 2, "timeline/index.html": 1, "experts/index.html": 1}
    assert len(found) == captions + explorers.get(name, 0)
    for key, is_open, summary, said in found:
        about = part_of(key)
        assert about is not None, key
        assert (is_open, summary, said[:3]) == (False, "Explain this", [about.shows, about.counts, about.read])
    page.evaluate("document.querySelectorAll('details').forEach(element => { element.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    fits = "e => e.scrollWidth <= e.clientWidth || getComputedStyle(e).overflowX === 'auto'"
    assert page.locator(".tg-explain pre").evaluate_all(f"all => all.every({fits})")


def test_each_fold_below_a_figure_is_reached_and_opened_by_keys(page: Any, moe_report: Path) -> None:
    page.goto((moe_report / "file/index.html").as_uri())
    folds = page.locator("figure.tg-figure:has(svg):visible > figcaption > details > summary")
    assert {"Explain this", "Download", "Table"} == set(folds.all_inner_texts())
    for number, fold in enumerate(folds.all()):
        assert fold.bounding_box()["height"] >= 24
        fold.focus()
        page.keyboard.press("Enter")
        assert fold.evaluate("e => e.parentElement.open"), number
        inside = fold.locator("xpath=..").locator("a, pre, table").first
        assert inside.is_visible(), number
        page.keyboard.press("Enter")
        assert not inside.is_visible(), number


def test_paper_has_no_explanations_even_when_they_were_open(page: Any, moe_report: Path) -> None:
    page.goto((moe_report / "appendix/index.html").as_uri() + "#fig-layers")
    page.click("#fig-layers .tg-explain summary")
    assert page.locator("#fig-layers .tg-explain dl").is_visible()
    page.emulate_media(media="print")
    assert not page.locator(".tg-explain").first.is_visible()
    assert not page.locator("#fig-layers .tg-explain dl").is_visible()


def test_the_guide_is_on_paper_where_its_reader_opened_it(page: Any, moe_report: Path) -> None:
    page.goto((moe_report / "method/index.html").as_uri())
    page.emulate_media(media="print")
    assert not page.locator("#reading-guide dl").first.is_visible()
    page.emulate_media(media="screen")
    page.click("#guide-words > summary")
    page.emulate_media(media="print")
    assert page.locator("#reading-guide dl").first.is_visible()


@pytest.mark.parametrize(("scheme", "side"), [("light", 1), ("dark", 2)])
def test_guide_and_figures_have_the_colours_of_the_scheme(tab: Any, moe_report: Path, scheme: str, side: int) -> None:
    page = tab(moe_report / "method/index.html", color_scheme=scheme)
    page.add_style_tag(content=".tracegen{color-scheme:light dark}")
    found = page.evaluate(
        "[...document.querySelectorAll('#reading-guide .tg-dot')]"
        ".map(dot => [dot.dataset.group, getComputedStyle(dot).backgroundColor])"
    )
    ramp = page.evaluate(
        "[...document.querySelectorAll('.tg-ramp i')].map(step => getComputedStyle(step).backgroundColor)"
    )
    after = theme.INK["after"]
    waiting = {"waiting for the disk": theme.INK["disk"], "waiting inside": theme.INK["inside"]}
    waiting |= {"barrier wait": after, "between operations": theme.INK["outside"]}
    named = {**theme.GROUPS, **waiting}
    assert found == [[name, rgb(colours[side])] for name, colours in named.items()]
    assert ramp == [rgb(colour) for colour in (theme.SEQUENTIAL_LIGHT, theme.SEQUENTIAL_DARK)[side - 1]]
    page.goto((moe_report / "operations/index.html").as_uri())
    page.add_style_tag(content=".tracegen{color-scheme:light dark}")
    bar = """getComputedStyle(document.querySelector('#fig-components path[fill*="--tg-experts"]')).fill"""
    assert page.evaluate(bar) == rgb(theme.GROUPS["experts"][side])


def rgb(colour: str) -> str:
    return f"rgb({int(colour[1:3], 16)}, {int(colour[3:5], 16)}, {int(colour[5:], 16)})"
