"""The whole site in Chromium: from a folder and a server, light and dark, wide and narrow, with and without scripts."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Visit, visit_all
from tests.site_project import HOSTILE, PRIVATE_ANSWER, PRIVATE_PROMPT, Project
from tracegen.contract.text import printable

pytestmark = pytest.mark.browser

# Colours of every run of text in the page's content, as they are on the screen, and how far they are apart.
CONTRAST = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = "#000"; canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const ground = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
    const canvasColour = getComputedStyle(document.documentElement).colorScheme.includes("dark")
      && matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
    return layers.reverse().reduce((below, top) => over(top, below), canvasColour);
  };
  const light = ([r, g, b]) => {
    const f = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
  };
  const found = [];
  const walker = document.createTreeWalker(document.querySelector("ROOT"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim()) continue;
    if (element.closest("svg, script, style, noscript, button:disabled, .headerlink")) continue;
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    const below = ground(element), ink = over(rgba(getComputedStyle(element).color), below);
    const [a, b] = [light(below), light(ink)].sort((x, y) => y - x);
    found.push({ ratio: (a + 0.05) / (b + 0.05), ground: below.join(), ink: ink.join(),
      where: element.tagName + "." + element.className, text: walker.currentNode.data.trim().slice(0, 40) });
  }
  return found;
}
"""


def words(page: Any, selector: str = "body") -> str:
    return " ".join(page.locator(selector).first.inner_text().split())


def flat(text: str) -> str:
    """Text as a page shows it: unfit characters replaced, runs of white space folded."""
    return " ".join(printable(text).split())


# Every page, in both ways


@pytest.mark.parametrize("way", ["over_file", "over_http"])
def test_every_page_opens_without_a_problem(way: str, request: pytest.FixtureRequest, project: Project) -> None:
    visits: dict[str, Visit] = request.getfixturevalue(way)
    assert {path: visit.problems for path, visit in visits.items() if visit.problems} == {}
    assert not [path for path, visit in visits.items() if visit.tripped]
    assert len(visits) == len(project.pages()) >= 40
    assert all(visit.title for visit in visits.values())


def test_no_page_scrolls_sideways_on_a_narrow_screen(over_file: dict[str, Visit]) -> None:
    assert {path: visit.width for path, visit in over_file.items() if visit.width > 360} == {}


def test_the_watch_sees_what_it_should(chrome: Any, tmp_path: Path) -> None:
    """The tests above can fail: a page with every fault they look for."""
    (tmp_path / "bad.html").write_text(
        "<!doctype html><title>x</title><script>alert(1); console.error('oh')</script><img src=missing.png>"
        "<link rel=stylesheet href=https://192.0.2.1/x.css><script>nothing()</script><p style='width:900px'>wide"
    )
    options = {"viewport": {"width": 360, "height": 800}, "offline": True}
    (visit,) = visit_all(chrome, f"{tmp_path.as_uri()}/", ["bad.html"], **options).values()
    text = "\n".join(visit.problems)
    for sign in ("console error: oh", "error: nothing is not defined", "missing.png", "left the site: https://192"):
        assert sign in text
    assert visit.tripped and visit.width > 360


# Hostile text


def test_hostile_text_is_shown_as_it_is(tab: Any, web: str) -> None:
    page = tab(f"{web}experiments/hostile/v1/provenance/index.html")
    assert flat(HOSTILE) in words(page, "[aria-label='Prompt and generated text']")
    page = tab(f"{web}experiments/hostile/v1/index.html")
    assert flat(HOSTILE).replace(" ", "·") in words(page, ".tg-text-words")
    assert flat(f"Why {HOSTILE}?") in words(page)
    page = tab(f"{web}experiments/hostile/v1/operations/index.html#pass=3&node=1")
    page.wait_for_selector("tr.tg-chosen")
    assert flat(HOSTILE) in words(page, "tr.tg-chosen") + words(page, "tr.tg-open")
    page = tab(f"{web}experiments/hostile/v1/provenance/index.html")
    page.locator("details:not(.tg-explain, .tg-fold):visible").first.click()
    for section in ("#settings", "#model", "#llama-cpp", "#stages", "#metadata"):
        assert flat(HOSTILE)[:40] in words(page, section), section


def test_hostile_text_in_lists_journal_and_banners(tab: Any, web: str) -> None:
    page = tab(f"{web}experiments/hostile/index.html")
    assert flat(f"Why {HOSTILE}?") in words(page) and "why <script>alert(1)</script>" in words(page, "table")
    assert flat(f"Why {HOSTILE}?") in words(tab(f"{web}experiments/index.html"))
    assert "Is <b>anything</b> read?" in words(tab(f"{web}experiments/waiting/index.html"))
    assert "Measured on battery <script>alert(1)</script>" in words(tab(f"{web}experiments/demo/v3/index.html"))
    assert "{{7*7}}" in words(page) and "49" not in words(page, "h1")


def test_no_hostile_text_steers_the_page(project: Project) -> None:
    """No control character and no mark that turns the direction of writing is in any page or script of ours."""
    unfit = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")
    for path in sorted((project.site / "experiments").rglob("*")):
        if path.suffix in (".html", ".js", ".svg"):
            found = unfit.search(path.read_text(encoding="utf-8"))
            assert not found, f"{path.relative_to(project.site)}: {found!r}"


# Operations


@pytest.mark.parametrize("way", ["file", "http"])
def test_an_address_leads_to_one_operation(tab: Any, project: Project, web: str, way: str) -> None:
    path = "experiments/demo/v2/operations/index.html"
    start = f"{web}{path}" if way == "http" else (project.site / path).as_uri()
    page = tab(f"{start}#pass=3&node=6&unknown=1&__proto__=2&constructor=x&<script>=3&=&&q")
    page.wait_for_selector("tr.tg-chosen")
    assert page.locator("tr.tg-chosen").get_attribute("id") == "pass=3&node=6"
    assert "token 1" in words(page, "[data-tg=label]")
    assert page.locator("tr.tg-chosen").is_visible() and page.locator("tr.tg-open td").first.is_visible()
    static = json.loads(page.locator("#tg-operations").text_content())
    expected = next(p for p in static["passes"] if p["id"] == 3)
    assert words(page, "[data-tg=about]") == " ".join(expected["about"].split())


def test_passes_are_walked_by_keyboard(tab: Any, web: str) -> None:
    page = tab(f"{web}experiments/demo/v2/operations/index.html#pass=3&node=6")
    page.wait_for_selector("[id='pass=3&node=6'].tg-chosen")
    first = page.locator("tr.tg-chosen").inner_text()
    page.keyboard.press("n")
    page.wait_for_selector("[id='pass=4&node=6'].tg-chosen")
    assert page.locator("tr.tg-chosen").inner_text() != first and page.url.endswith("#pass=4&node=6")
    page.keyboard.press("p")
    page.keyboard.press("p")
    page.wait_for_selector("[id='pass=2&node=6'].tg-chosen")
    page.reload()
    page.wait_for_selector("[id='pass=2&node=6'].tg-chosen")


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize(
    ("path", "name"),
    [("memory/", "fig-heatmap"), ("timeline/", "tab-waiting-kinds"), ("", "check-tracing_cost")],
)
def test_what_a_link_leads_to_is_not_under_the_header(tab: Any, web: str, width: int, path: str, name: str) -> None:
    page = tab(f"{web}index.html")
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{web}experiments/demo/v2/{path}index.html#{name}", wait_until="load")
    tops = """(name) => [document.getElementById(name).getBoundingClientRect().top,
        document.querySelector(".md-header").getBoundingClientRect().bottom]"""
    top, header = page.evaluate(tops, name)
    end = page.evaluate("document.documentElement.scrollHeight - innerHeight - scrollY < 2")
    assert header <= top and (top < header + 100 or end)  # what stands last on a page cannot come higher


@pytest.mark.parametrize("address", ["pass=99", "pass=3&node=99999", "pass=", "pass=-1&node=1", "%E0%A4%A", "pass=1e3"])
def test_an_address_that_leads_nowhere_is_harmless(tab: Any, web: str, address: str) -> None:
    page = tab(f"{web}experiments/demo/v2/operations/index.html#{address}")
    assert page.locator("tbody[data-tg=rows] > tr.tg-op").count() > 10
    assert page.locator("tr.tg-chosen").count() == 0


def test_the_pass_of_another_page_is_one_click_away(tab: Any, web: str) -> None:
    page = tab(f"{web}experiments/demo/v2/index.html")
    page.evaluate("document.querySelectorAll('details.tg-unfold').forEach(part => { part.open = true; })")
    page.locator("#tab-top-operations tbody a").first.click()
    page.wait_for_selector("tr.tg-chosen")
    page = tab(f"{web}experiments/demo/v2/graph/index.html")
    page.locator("svg .tg-op a").first.dispatch_event("click")
    link = page.locator("[data-tg=facts] a[href*='operations/index.html#pass=']").first
    expected = link.get_attribute("href").partition("#")[2]
    link.click()
    page.wait_for_selector("tr.tg-chosen")
    assert page.locator("tr.tg-chosen").get_attribute("id") == expected


# Colours

LOOKED_AT = (
    ("experiments/demo/index.html", ".tracegen"),
    ("experiments/demo/v3/index.html", ".tracegen"),
    ("experiments/broken/v1/memory/index.html", ".tracegen"),
    ("experiments/demo/v2/operations/index.html", ".tracegen"),
    ("experiments/demo/v2/provenance/index.html", ".tracegen"),
    ("notes/entry.html", "article"),
)
SWITCHING_MS = 300  # the theme's own change of colour is not at once


@pytest.mark.parametrize(("path", "root"), LOOKED_AT)
def test_text_can_be_read_in_light_and_dark(tab: Any, web: str, path: str, root: str) -> None:
    colours = {}
    page = tab(f"{web}{path}")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(SWITCHING_MS)
        found = page.evaluate(CONTRAST.replace("ROOT", root))
        assert len(found) > 3
        pale = {(f["where"], round(f["ratio"], 2), f["text"]) for f in found if f["ratio"] < 4.5}
        assert not pale, (scheme, pale)
        colours[scheme] = (found[0]["ground"], found[0]["ink"])
    assert colours["light"][0] != colours["dark"][0] and colours["light"][1] != colours["dark"][1]


def test_text_of_a_bundle_can_be_read_in_light_and_dark(tab: Any, project: Project) -> None:
    grounds = set()
    for scheme in ("light", "dark"):
        found = tab(project.bundle("demo", 2) / "index.html", color_scheme=scheme).evaluate(
            CONTRAST.replace("ROOT", "body")
        )
        assert not [f for f in found if f["ratio"] < 4.5]
        grounds.add(found[0]["ground"])
    assert len(grounds) == 2


# Without scripts


@pytest.fixture(scope="module")
def plain(chrome: Any) -> Iterator[Any]:
    context = chrome.new_context(java_script_enabled=False)
    yield context
    context.close()


ROWS = {
    "overview": 15, "memory": 10, "access": 3, "caches": 3, "operations": 40, "graph": 0, "timeline": 20,
    "provenance": 15,
}  # fmt: skip


@pytest.mark.parametrize("key", ROWS)
def test_without_scripts_every_figure_and_table_is_there(tab: Any, plain: Any, project: Project, key: str) -> None:
    document = json.loads((project.bundle("demo", 2) / "version.json").read_text())
    path = next(page["path"] for page in document["pages"] if page["key"] == key)
    page = tab(project.site / "experiments/demo/v2" / path, plain)
    figures = [figure["key"] for figure in document["figures"] if figure["page"] == key]
    for fold in page.locator("details.tg-unfold > summary").all():
        fold.click()
    for figure in figures:
        box = page.locator(f"#fig-{figure.removeprefix('fig-')} svg:visible").first.bounding_box()
        assert box and box["width"] > 100 and box["height"] > 20, figure
    assert figures or key in ("operations", "provenance")
    assert page.locator(".tracegen table tbody tr").count() >= ROWS[key]
    if key == "operations":
        assert page.locator("tr.tg-op").first.is_visible() and page.locator("tr.tg-detail").first.is_visible()
        assert "operations" in words(page, "#tab-operations").lower()


# A bundle by itself


@pytest.mark.parametrize("name", ["demo", "hostile", "private"])
def test_a_bundle_opens_by_itself(tab: Any, project: Project, tmp_path: Path, name: str) -> None:
    alone = shutil.copytree(project.bundle(name), tmp_path / "moved away")
    page = tab(alone / "index.html")
    titles = page.locator("nav.tracegen-nav a").all_inner_texts()
    document = json.loads((project.bundle(name) / "version.json").read_text())
    assert titles == [page["title"] for page in document["pages"]]
    assert [title for title in titles if title != "Experts"] == [
        "Overview", "Memory", "Access", "Caches", "Operations", "Graph", "Timeline", "Provenance"
    ]  # fmt: skip
    assert ("Experts" in titles) == (name == "hostile")  # the only one whose model says so
    for title in [*titles[1:], titles[0]]:
        page.locator("nav.tracegen-nav a", has_text=title).click()
        page.wait_for_load_state("load")
        assert page.locator(".tracegen h1").first.inner_text() == title
        assert page.locator("nav.tracegen-nav a[aria-current]").inner_text() == title
        assert f"{name}@v1" in words(page, "footer")
    page.goto((alone / "operations/index.html").as_uri() + "#pass=3&node=1")
    page.wait_for_selector("tr.tg-chosen")
    assert not page.evaluate("window.tripped")


def test_a_bundle_shows_what_the_site_shows(tab: Any, project: Project, web: str) -> None:
    for path in ("index.html", "graph/index.html"):
        shown = []
        for address in (project.bundle("demo", 2) / path, f"{web}experiments/demo/v2/{path}"):
            page = tab(address)
            shown.append(page.locator("h1, h2, p, td, th, figcaption, dt, dd, svg text").all_text_contents())
            shown[-1] = [" ".join(text.split()) for text in shown[-1] if text.strip()]
        inside = [text for text in shown[0] if text in set(shown[1])]
        assert len(inside) >= 0.97 * len(shown[0]) and len(inside) > 20, path


# Banners


@pytest.mark.parametrize(
    ("path", "text", "target"),
    [
        ("demo/v1/index.html", "Superseded. demo@v2 is newer", "demo/v2/index.html"),
        ("demo/v1/memory/index.html", "Superseded. demo@v2 is newer", "demo/v2/index.html"),
        ("demo/run-002/operations/index.html", "Draft, not citable.", None),
        ("broken/v1/provenance/index.html", "Not usable. A check of this run failed", "broken/v1/index.html"),
    ],
)
def test_banners(tab: Any, web: str, path: str, text: str, target: str | None) -> None:
    page = tab(f"{web}experiments/{path}")
    banner = page.locator(".tracegen-banner").first
    assert text in " ".join(banner.inner_text().split())
    assert banner.is_visible()
    if target:
        banner.locator("a").click()
        page.wait_for_url(f"{web}experiments/{target}")


def test_the_current_version_has_no_banner_and_a_bad_run_no_figures(tab: Any, web: str) -> None:
    assert tab(f"{web}experiments/demo/v2/index.html").locator(".tracegen-banner").count() == 0
    page = tab(f"{web}experiments/broken/v1/memory/index.html")
    assert page.locator("#fig-heatmap svg").count() == 0
    assert "All files carry one run id” failed (2; limit 1)" in words(page, "#fig-heatmap")


def test_a_private_run_says_so_and_shows_no_text(tab: Any, web: str) -> None:
    for path in ("index.html", "provenance/index.html"):
        text = words(tab(f"{web}experiments/private/v1/{path}"))
        assert "private" in text and PRIVATE_PROMPT not in text and PRIVATE_ANSWER.strip() not in text


# Journal, lists, search


def test_the_journal_quotes_figures_and_values(tab: Any, web: str, project: Project) -> None:
    values = json.loads((project.bundle("demo", 2) / "version.json").read_text())["values"]
    page = tab(f"{web}notes/entry.html")
    expected = " ".join(values["bytes_touched_per_token"]["text"].split())
    assert words(page, "a.tracegen-value") == expected
    assert "demo@v3 (withdrawn)" in words(page, "article")
    pictures = page.locator("figure.tracegen-quote img:visible")  # each stands there for light and for dark ground
    assert pictures.count() == 3
    for picture in pictures.all():
        picture.scroll_into_view_if_needed()
        page.wait_for_function("image => image.complete", arg=picture.element_handle())
        assert picture.evaluate("image => image.naturalWidth") > 100
        assert len(picture.get_attribute("alt")) > 10
    page.locator("figure.tracegen-quote > a").first.click()
    page.wait_for_url("**/demo/v2/memory/index.html#fig-heatmap")
    assert page.locator("#fig-heatmap").is_visible()


@pytest.mark.parametrize("way", ["file", "http"])
def test_search_finds_an_experiment(tab: Any, web: str, project: Project, way: str) -> None:
    page = tab(f"{web}index.html" if way == "http" else project.site / "index.html")
    page.locator("[data-md-component=search-query]").focus()
    page.keyboard.type("waiting")
    page.wait_for_selector(".md-search-result__item a")
    address = page.locator(".md-search-result__item a").first.get_attribute("href")
    assert "experiments/waiting/index.html" in address


def test_an_experiment_without_runs_says_what_to_do(tab: Any, web: str) -> None:
    text = words(tab(f"{web}experiments/waiting/index.html"), ".tracegen")
    assert "tracegen run waiting" in text
