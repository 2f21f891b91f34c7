"""What the site puts around a published page: the banner of a withdrawn version, the way to it, other versions."""

from __future__ import annotations

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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
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
    assert page.locator(".tg-verdict").inner_text().startswith("Verdict: complete")
    assert page.locator(".tg-verdict .tg-mark").is_hidden()
    assert page.locator(".tg-verdict").evaluate(PALE) < 24
    current = tab(f"{web}experiments/demo/v2/graph/index.html", color_scheme=scheme)
    assert current.locator(".tg-verdict .tg-mark").evaluate(PALE) > 48, "where nothing is withdrawn the mark is green"
    banner.locator("a").click()
    page.wait_for_url(f"{web}experiments/demo/v2/index.html")


def test_the_switch_leads_to_the_same_page_of_every_version_without_scripts(chrome: Any, project: Project) -> None:
    context = chrome.new_context(java_script_enabled=False)
    page = context.new_page()
    for at in ("v1", "v2", "v3", "run-002"):
        page.goto((project.site / f"experiments/demo/{at}/memory/index.html").as_uri())
        page.click(".tracegen-switch summary")
        rows = [" ".join(row.split()) for row in page.locator(".tracegen-switch li").all_inner_texts()]
        assert [row.split()[:2] for row in rows] == [
            ["v3", "withdrawn"], ["v2", "current"], ["v1", "superseded"], ["run-002", "draft"],
        ]  # fmt: skip
        assert page.locator(".tracegen-switch [aria-current]").inner_text() == at
        for name in ("v3", "v2", "v1", "run-002"):
            page.goto((project.site / f"experiments/demo/{at}/memory/index.html").as_uri())
            page.click(".tracegen-switch summary")
            page.click(f".tracegen-switch li >> text='{name}'")
            assert page.url.endswith(f"/experiments/demo/{name}/memory/index.html")
    context.close()


@pytest.mark.parametrize("path", ["demo/v2/index.html", "demo/run-002/operations/index.html", "hostile/v1/index.html"])
def test_the_way_to_a_page(tab: Any, web: str, path: str) -> None:
    name = path.split("/")[0]
    for words, target in (("Experiments", "experiments/index.html"), (name, f"experiments/{name}/index.html")):
        page = tab(f"{web}experiments/{path}")
        page.click(f".tracegen-crumbs li > a:text-is('{words}')")
        page.wait_for_url(f"{web}{target}")
    page = tab(f"{web}experiments/{path}")
    page.click(".tracegen-ways > a:text-is('Journal')")
    page.wait_for_url(f"{web}index.html")


def test_the_navigation_names_experiments_once(tab: Any, web: str) -> None:
    page = tab(f"{web}index.html")
    links = page.locator(".md-nav--primary a[href*='experiments/']")
    assert [" ".join((text or "").split()) for text in links.all_text_contents()] == ["Experiments"]
    assert page.locator(".md-nav--primary .md-nav__item--section, .md-nav--primary .md-nav__item--nested").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_of_the_journal_have_the_ground_of_the_page(chrome: Any, web: str, scheme: str) -> None:
    page = chrome.new_page(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    for path in ("notes/entry.html",):
        page.goto(web + path, wait_until="networkidle")
        shown = [img for img in page.locator("figure.tracegen-quote img").all() if img.is_visible()]
        assert shown, path
        for img in shown:
            img.scroll_into_view_if_needed()
            page.wait_for_function("e => e.complete && e.naturalWidth > 0", arg=img.element_handle())
            darkness = img.evaluate(
                """e => { const c = document.createElement("canvas"), pen = c.getContext("2d");
                c.width = e.naturalWidth; c.height = e.naturalHeight; pen.drawImage(e, 0, 0);
                return pen.getImageData(2, 2, 1, 1).data[0]; }"""
            )
            assert (darkness < 60) == (scheme == "dark"), (path, img.get_attribute("alt"))
    page.close()


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


@pytest.mark.parametrize(("scheme", "colours"), [("light", theme.SEQUENTIAL_LIGHT), ("dark", theme.SEQUENTIAL_DARK)])
@pytest.mark.parametrize("path", ["index.html", "experiments/index.html"])
def test_small_heatmaps_have_the_colours_of_the_ground(
    chrome: Any, web: str, path: str, scheme: str, colours: tuple[str, ...]
) -> None:
    page = chrome.new_page(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    page.goto(web + path, wait_until="networkidle")
    pictures = page.locator(".tracegen-card img, .tracegen-index img").all()
    assert len(pictures) >= 3
    for picture in pictures:
        picture.scroll_into_view_if_needed()
        page.wait_for_function("e => e.complete && e.naturalWidth > 0", arg=picture.element_handle())
        found = set(picture.evaluate(OPAQUE))
        assert found and found <= set(colours)
        box = picture.bounding_box()
        assert abs(box["width"] / box["height"] - 160 / 64) < 0.05  # neither rows nor columns are cut off
    page.close()
