"""For everyone: axe on every page, every control by keyboard alone, nothing that moves by itself."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import pages_of_each_kind
from tests.site_project import Project

axe = pytest.importorskip("axe_playwright_python")
pytestmark = pytest.mark.browser

AXE = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Rows of a table are made alike, and so are the shapes of a drawing: the first of them stand for all.
FEWER = """
() => document.querySelectorAll("tbody tr:nth-child(n+8), svg > * > * > :nth-child(n+4)").forEach(e => e.remove())
"""
RUN = """
rules => axe.run(document, {
  runOnly: rules, resultTypes: ["violations"], iframes: false, preload: false,
}).then(found =>
  found.violations.filter(one => ["serious", "critical"].includes(one.impact)).flatMap(one => one.nodes.map(node =>
    one.id + ": " + node.target.join(" ") + " " + node.html.slice(0, 120))))
"""
REPORT = (
    "index.html",
    "file/index.html",
    "operations/index.html",
    "graph/index.html",
    "method/index.html",
    "appendix/index.html",
)
LISTS = ("index.html", "experiments/index.html", "experiments/demo/index.html")


def found_by_axe(page: Any) -> list[str]:
    """What is serious or critical, wide and light, then narrow and dark: colours do not depend on the width."""
    found: list[str] = []
    page.evaluate(AXE)
    page.evaluate(FEWER)
    for width, scheme in ((1280, "light"), (360, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found += [f"{scheme} {width}: {one}" for one in page.evaluate(RUN, RULES)]
    return found


@pytest.fixture
def still(tab: Callable[..., Any]) -> Any:
    """A page in which nothing moves: colours are measured when they have settled."""
    return tab(reduced_motion="reduce")


def test_axe_finds_nothing_serious_on_pages_of_each_kind(still: Any, project: Project) -> None:
    """And in a bundle by itself, which has the same bodies in another frame."""
    pages = [project.site / path for path in pages_of_each_kind(project)]
    problems = {}
    for path in (*pages, project.bundle("demo", 2) / "operations/index.html"):
        still.goto(path.as_uri())
        if found := found_by_axe(still):
            problems[path] = found
    assert not problems


def test_axe_sees_what_it_should(still: Any, tmp_path: Path) -> None:
    """The tests above can fail."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<!doctype html><html><title>x</title><p style="color:#aaa;background:#fff">pale'
        '<img src="data:,"><button></button>'
        '<pre style="height:20px;overflow:auto">a<br>b<br>c<br>d'
    )
    still.goto(bad.as_uri())
    found = "\n".join(found_by_axe(still))
    for rule in ("color-contrast", "image-alt", "button-name", "html-has-lang", "scrollable-region-focusable"):
        assert rule in found


@pytest.fixture(params=["site", "bundle"])
def root(request: pytest.FixtureRequest, project: Project) -> Path:
    """A version in the site, and by itself."""
    return project.bundle("demo", 2) if request.param == "bundle" else project.site / "experiments/demo/v2"


def test_dark_has_another_ground_and_ink(still: Any, root: Path) -> None:
    found = []
    for scheme in ("light", "dark"):
        still.emulate_media(color_scheme=scheme)
        still.goto((root / "index.html").as_uri())  # Material asks for the scheme when a page is loaded
        found.append(still.evaluate("(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))"))
    light, dark = found
    assert light[0] != dark[0] and light[1] != dark[1]


# The keyboard alone

CONTROLS = "a[href], button, select, input, textarea, summary, [tabindex='0'], area[href], [onclick]"
# Marks each control that can be seen, in the order of the page; those that Tab need not reach are left out, as the
# radio buttons are that are not chosen: arrow keys lead to them.
MARK = """
selector => Array.from(document.querySelectorAll(selector)).filter(e =>
  e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0
  && e.getBoundingClientRect().width > 0 && !(e.type === "radio" && !e.checked)
  && !e.closest("[hidden], .md-search__output")).map((e, i) => { e.dataset.stop = i; return i; }).length
"""
# Where the focus is, and whether it is seen: Material rings the label of its hidden input, and opens the search.
AT = """
() => {
  const e = document.activeElement, ringed = e.matches(".md-option") ? e.nextElementSibling : e;
  const box = ringed.getBoundingClientRect(), s = getComputedStyle(ringed);
  return {
    tag: e.tagName, stop: e.dataset.stop === undefined ? null : Number(e.dataset.stop), href: e.getAttribute("href"),
    text: (e.getAttribute("aria-label") || e.textContent.trim() || e.querySelector("img")?.alt || "").slice(0, 60),
    ring: e.matches(".md-search__input") || (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0),
    seen: box.bottom > 0 && box.top < innerHeight && box.width > 0,
  };
}
"""


def walk(page: Any) -> tuple[int, list[dict[str, Any]]]:
    """Tab from the top until the page is left; returns how many stops there are, and where the focus was."""
    marked = page.evaluate(MARK, CONTROLS)
    stops: list[dict[str, Any]] = []
    for _ in range(marked + 40):
        page.keyboard.press("Tab")
        at = page.evaluate(AT)
        if at["tag"] == "BODY":
            break
        stops.append(at)
    return marked, stops


WALKED = (
    *(f"site/experiments/demo/v2/{path}" for path in REPORT),
    "experiments/demo/versions/2/index.html",
    *(f"site/{path}" for path in LISTS),
)


@pytest.mark.parametrize("path", WALKED)
def test_every_control_is_reached_by_tab(tab: Any, project: Project, path: str) -> None:
    marked, stops = walk(tab(project.root / path))
    reached = [stop["stop"] for stop in stops if stop["stop"] is not None]
    assert marked > (5 if path.removeprefix("site/") in LISTS else 10)
    assert set(range(marked)) == set(reached)
    assert reached == sorted(reached), "the order is that of the page"
    rows = [stop for stop in stops if stop["stop"] is None and "operands of node" in stop["text"]]
    assert len(stops) - len(rows) <= marked + 5, "the focus goes round, rows of operations come into sight with it"
    unseen = [stop for stop in stops if not stop["ring"] or not stop["seen"]]
    assert not unseen
    skip = stops[0]
    assert "skip" in skip["text"].lower() and skip["href"].startswith("#")
    assert all(stop["text"] for stop in stops if stop["tag"] in ("A", "BUTTON"))


def test_the_skip_link_leads_to_the_content(tab: Any, root: Path) -> None:
    page = tab(root / "file/index.html")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main, .md-content, .tracegen') !== null")
