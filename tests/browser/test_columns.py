"""The layout from 1,280 px on, and below: what stands beside what, what is folded, and one scale of headings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.site_project import Project

pytestmark = pytest.mark.browser

OVERVIEW = "experiments/demo/v2/index.html"
METHOD = "experiments/demo/v2/method/index.html"
FACE = """
name => Array.from(document.querySelectorAll(name)).filter(e => e.checkVisibility()).map(e => {
  const s = getComputedStyle(e);
  return [s.fontFamily, s.fontSize, s.lineHeight, s.fontWeight].join(" ");
})
"""


def box(page: Any, selector: str) -> dict[str, float]:
    found: dict[str, float] = page.locator(selector).first.bounding_box()
    return found


@pytest.fixture
def wide(tab: Any) -> Any:
    return tab(viewport={"width": 1280, "height": 900})


@pytest.fixture
def to(wide: Any, project: Project) -> Callable[[str], None]:
    """`to(path)` opens a page of a version in the wide window."""
    return lambda path: wide.goto(f"{(project.site / 'experiments/demo/v2').as_uri()}/{path}")


def test_the_first_page_answers_before_it_shows_and_shows_on_the_first_screen(wide: Any, to: Any) -> None:
    to("index.html")
    order = ("h1", ".tg-answer", "#fig-file-tokens svg:visible", "#key-figures", "#findings", "#ran")
    tops = [box(wide, name)["y"] for name in order]
    assert tops == sorted(set(tops))
    picture, figures = box(wide, "#fig-file-tokens"), box(wide, "#key-figures")
    assert (picture["x"], picture["width"]) == (figures["x"], figures["width"])
    assert box(wide, "#fig-file-tokens svg:visible")["y"] < 500 and figures["y"] < 900
    assert wide.locator(".tg-contents, .tg-fold").count() == 0, "it is short"
    one, other = box(wide, "#findings"), box(wide, "#trust")
    assert abs(one["y"] - other["y"]) <= 24 and one["x"] + one["width"] <= other["x"]
    wide.set_viewport_size({"width": 800, "height": 900})
    assert box(wide, "#findings")["x"] == box(wide, "#trust")["x"]


def test_a_wide_table_has_its_caption_below_and_is_not_cut(wide: Any, to: Any) -> None:
    """Beside a caption of 240 px the largest tensors had lost their last column."""
    to("appendix/index.html#tab-biggest-tensors")
    table, caption = wide.locator("#tab-biggest-tensors .tg-scroll"), wide.locator("#tab-biggest-tensors figcaption")
    assert table.evaluate("e => e.scrollWidth <= e.clientWidth")
    over, under = table.bounding_box(), caption.bounding_box()
    assert under["y"] >= over["y"] + over["height"] or under["x"] >= over["x"] + over["width"]


def test_a_caption_stands_beside_its_figure_and_below_it_where_it_is_unfolded(wide: Any, to: Any) -> None:
    to("operations/index.html")
    figure, caption = box(wide, "#fig-components .tg-layouts"), wide.locator("#fig-components figcaption")
    beside = caption.bounding_box()
    assert beside["x"] >= figure["x"] + figure["width"]
    assert figure["y"] <= beside["y"] < figure["y"] + figure["height"]
    caption.locator(".tg-explain summary").click()
    below = caption.bounding_box()
    assert below["y"] >= box(wide, "#fig-components .tg-layouts")["y"] + figure["height"]
    assert below["width"] > beside["width"]


def test_the_caption_of_a_wide_figure_stands_in_two_columns_below_it(wide: Any, to: Any) -> None:
    to("index.html")
    caption = wide.locator("#fig-file-tokens figcaption")
    lines = "e => { const r = document.createRange(); r.selectNodeContents(e);"
    lines += " return Array.from(r.getClientRects(), b => b.left); }"
    lefts = caption.evaluate(lines)
    middle = box(wide, "#fig-file-tokens")["x"] + box(wide, "#fig-file-tokens")["width"] / 2
    assert min(lefts) < middle < max(lefts)
    caption.locator(".tg-explain summary").click()
    assert caption.evaluate("e => getComputedStyle(e).columnCount") == "auto"


def test_the_contents_stand_at_the_right_and_stay_in_view(wide: Any, to: Any) -> None:
    to("method/index.html")
    contents, main = box(wide, ".tg-contents"), box(wide, ".tg-main")
    assert main["x"] + main["width"] <= contents["x"] and contents["x"] + contents["width"] <= 1280
    assert wide.locator(".tg-fold").is_hidden()
    last = wide.locator(".tg-contents a").last
    target = last.get_attribute("href")
    last.click()
    wide.wait_for_function("target => location.hash === target", arg=target)
    assert target.startswith("#") and 0 <= box(wide, target)["y"] < 900
    assert -40 <= box(wide, ".tg-contents")["y"] < 200, "at the end of a short page it ends with the page"


def test_below_that_they_are_folded_above(tab: Any, project: Project) -> None:
    page = tab(viewport={"width": 1024, "height": 800}, java_script_enabled=False)
    for path in ("demo/v2/method/", "demo/v2/appendix/", "hostile/v1/appendix/"):
        page.goto((project.site / f"experiments/{path}index.html").as_uri())
        assert page.locator(".tg-contents").is_hidden()
        folded = page.locator(".tg-fold")
        assert not folded.locator("ol").is_visible()
        assert folded.bounding_box()["y"] < box(page, "h2, figure")["y"]
        folded.locator("summary").click()
        assert folded.locator("li").first.is_visible()


@pytest.mark.parametrize("path", [METHOD, "experiments/hostile/v1/appendix/index.html"])
def test_every_entry_leads_to_what_it_names_also_where_it_is_folded(wide: Any, project: Project, path: str) -> None:
    wide.goto((project.site / path).as_uri())
    anchors = [a.get_attribute("href") for a in wide.locator(".tg-contents a").all()]
    assert len(anchors) >= 6
    for anchor in anchors:
        wide.goto((project.site / path).as_uri() + anchor)
        assert wide.locator(anchor).is_visible(), anchor
        assert -2 <= box(wide, anchor)["y"] < 900, anchor


def test_what_is_folded_is_on_paper(wide: Any, to: Any) -> None:
    to("appendix/index.html")
    assert not wide.locator("#fig-layers .tg-title").is_visible()
    wide.emulate_media(media="print")
    assert box(wide, "#fig-layers .tg-title")["height"] > 10


def test_folded_facts_of_the_method_are_not_on_paper_but_checks_are(wide: Any, to: Any) -> None:
    to("method/index.html")
    wide.emulate_media(media="print")
    assert box(wide, "#tab-checks")["height"] > 100
    assert not wide.locator("#settings dl").is_visible() and not wide.locator("#more-settings").is_visible()
    wide.emulate_media(media="screen")
    wide.click("#more-settings summary")
    wide.emulate_media(media="print")
    assert wide.locator("#settings dl").is_visible(), "what its reader opened is"


def test_one_face_and_one_scale_of_headings(wide: Any, project: Project) -> None:
    faces: dict[tuple[int, str], set[str]] = {}
    for path in (OVERVIEW, METHOD, "experiments/index.html", "reference/index.html", "index.html", "notes/entry.html"):
        wide.goto((project.site / path).as_uri())
        for width in (360, 1280):
            wide.set_viewport_size({"width": width, "height": 900})
            for heading in ("h1", "h2", "h3"):
                found = wide.evaluate(FACE, f":is(.tracegen, article.md-typeset) {heading}")
                faces.setdefault((width, heading), set()).update(found)
    assert len(faces) == 6 and {at: of for at, of in faces.items() if len(of) != 1} == {}


def test_the_list_lies_over_the_page_and_closes_when_it_was_used(wide: Any, to: Any) -> None:
    to("operations/index.html")
    before = box(wide, "#fig-components")
    wide.locator(".tg-fold summary").click()
    assert box(wide, "#fig-components") == before
    wide.keyboard.press("Escape")
    assert not wide.locator(".tg-fold ol").is_visible()
    wide.locator(".tg-fold summary").click()
    wide.locator(".tg-fold li a").last.click()
    assert not wide.locator(".tg-fold ol").is_visible()


@pytest.mark.parametrize("path", ["operations/index.html", "file/index.html", "index.html"])
def test_no_sentence_of_a_caption_breaks_across_columns(tab: Any, moe_report: Path, path: str) -> None:
    page = tab(moe_report / path, viewport={"width": 1400, "height": 1000})
    parts = ".tracegen :is(figcaption > .tg-said, .tg-caption > span:not([data-tg], .tg-links))"
    fragments = "parts => parts.filter(part => part.checkVisibility()).map(part => part.getClientRects().length)"
    found = page.eval_on_selector_all(parts, fragments)
    assert found and set(found) == {1}
    loose = """captions => captions.filter(caption => getComputedStyle(caption).columnCount > 1)
        .flatMap(caption => Array.from(caption.childNodes)).filter(node => node.nodeType === 3 && node.data.trim())
        .map(node => node.data)"""
    assert page.eval_on_selector_all(".tracegen .tg-caption", loose) == [], "nothing keeps these together"
