"""What the site puts around a published page: the banner of a withdrawn version, the way to it, other versions."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.site_project import Project
from tracegen.charts import theme

pytestmark = pytest.mark.browser

PALE = """
element => {
  const [r, g, b] = getComputedStyle(element).color.match(/[\\d.]+/g).map(Number);
  return Math.max(r, g, b) - Math.min(r, g, b);
}
"""


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_a_withdrawn_version_says_so_first_and_strongest(tab: Any, web: str, scheme: str, width: int) -> None:
    page = tab(f"{web}experiments/demo/v3/graph/index.html", color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    banner = page.locator(".tracegen-withdrawal")
    assert page.evaluate("document.querySelector('.tracegen').innerText.trim()").startswith("✕ Withdrawn.")
    sentences = [" ".join(text.split()) for text in banner.locator("p").all_inner_texts()]
    assert sentences == ["✕ Withdrawn.", "Measured on battery <script>alert(1)</script>.", "Use demo@v2 instead."]
    tops = [box["y"] for box in (p.bounding_box() for p in banner.locator("p").all())]
    assert tops == sorted(set(tops)), "each sentence has a line of its own"
    assert banner.bounding_box()["y"] < page.locator("h1").bounding_box()["y"]
    assert banner.bounding_box()["width"] >= 0.98 * page.locator(".tracegen-header").bounding_box()["width"]
    assert page.locator(".tg-verdict").inner_text().startswith("complete")
    assert page.locator(".tg-verdict .tg-mark").is_hidden()
    assert page.locator(".tg-verdict").evaluate(PALE) < 24
    current = tab(f"{web}experiments/demo/v2/graph/index.html", color_scheme=scheme)
    assert current.locator(".tg-verdict .tg-mark").evaluate(PALE) > 48, "where nothing is withdrawn the mark is green"
    banner.locator("a").click()
    page.wait_for_url(f"{web}experiments/demo/v2/index.html")


def test_the_switch_leads_to_the_same_page_of_every_version_without_scripts(tab: Any, project: Project) -> None:
    page = tab(project.site / "experiments/demo/run-002/file/index.html", java_script_enabled=False)
    for at, following in (("run-002", "v1"), ("v1", "v2"), ("v2", "v3"), ("v3", "run-002")):
        page.click(".tracegen-switch summary")
        rows = [" ".join(row.split()) for row in page.locator(".tracegen-switch li").all_inner_texts()]
        assert [row.split()[:2] for row in rows] == [
            ["v3", "withdrawn"],
            ["v2", "current"],
            ["v1", "superseded"],
            ["run-002", "draft"],
        ]
        assert page.locator(".tracegen-switch [aria-current]").inner_text() == at
        page.click(f".tracegen-switch li >> text='{following}'")
        assert page.url.endswith(f"/experiments/demo/{following}/file/index.html")


def test_the_way_to_a_page(tab: Any, web: str) -> None:
    page = tab(f"{web}index.html")
    for place, words, target in (
        (".tracegen-crumbs li", "Experiments", "experiments/index.html"),
        (".tracegen-crumbs li", "demo", "experiments/demo/index.html"),
        (".tracegen-ways", "Journal", "index.html"),
    ):
        page.goto(f"{web}experiments/demo/run-002/operations/index.html")
        page.click(f"{place} > a:text-is('{words}')")
        page.wait_for_url(f"{web}{target}")


def test_the_navigation_names_experiments_once(tab: Any, web: str) -> None:
    page = tab(f"{web}index.html")
    links = page.locator(".md-nav--primary a[href*='experiments/']")
    assert [" ".join((text or "").split()) for text in links.all_text_contents()] == ["Experiments"]
    assert page.locator(".md-nav--primary .md-nav__item--section, .md-nav--primary .md-nav__item--nested").count() == 1


def shown_whole(page: Any, pictures: Any) -> Iterator[Any]:
    """Pictures that can be seen, each once it is loaded: most are only when they come into sight."""
    seen = [picture for picture in pictures.all() if picture.is_visible()]
    assert len(seen) >= 2
    for picture in seen:
        picture.scroll_into_view_if_needed()
        page.wait_for_function("e => e.complete && e.naturalWidth > 0", arg=picture.element_handle())
        yield picture


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_of_the_journal_have_the_ground_of_the_page(tab: Any, web: str, scheme: str) -> None:
    page = tab(f"{web}notes/entry.html", color_scheme=scheme)
    for picture in shown_whole(page, page.locator("figure.tracegen-quote img")):
        darkness = picture.evaluate(
            """e => { const c = document.createElement("canvas"), pen = c.getContext("2d");
            c.width = e.naturalWidth; c.height = e.naturalHeight; pen.drawImage(e, 0, 0);
            return pen.getImageData(2, 2, 1, 1).data[0]; }"""
        )
        assert (darkness < 60) == (scheme == "dark"), picture.get_attribute("alt")


# Every colour of the half of a picture that the page shows, but for what is transparent.
OPAQUE = """
e => {
  const c = document.createElement("canvas"), pen = c.getContext("2d"), half = e.naturalHeight / 2;
  c.width = e.naturalWidth; c.height = half;
  pen.drawImage(e, 0, getComputedStyle(e).objectPosition === "50% 100%" ? -half : 0);
  const data = pen.getImageData(0, 0, c.width, half).data, found = new Set();
  for (let i = 0; i < data.length; i += 4) if (data[i + 3])
    found.add("#" + [0, 1, 2].map(k => data[i + k].toString(16).padStart(2, "0")).join(""));
  return Array.from(found);
}
"""


THEMED = (*theme.GROUPS.values(), *theme.INK.values())


@pytest.mark.parametrize(
    ("scheme", "colours"), [("light", {light for _, light, _ in THEMED}), ("dark", {dark for *_, dark in THEMED})]
)
@pytest.mark.parametrize("path", ["index.html", "experiments/index.html"])
def test_small_pictures_have_the_colours_of_the_ground(
    tab: Any, web: str, path: str, scheme: str, colours: set[str]
) -> None:
    page = tab(web + path, color_scheme=scheme)
    for picture in shown_whole(page, page.locator(".tracegen-card img, .tracegen-index img")):
        found = set(picture.evaluate(OPAQUE))
        assert len(found) >= 2 and found <= colours
        box = picture.bounding_box()
        assert abs(box["width"] / box["height"] - 160 / 64) < 0.05  # neither rows nor columns are cut off
