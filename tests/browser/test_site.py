"""The whole site in Chromium: from a folder and a server, light and dark, wide and narrow, with and without scripts."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Visit, pages_of_each_kind, visit_all
from tests.site_project import HOSTILE, PRIVATE_ANSWER, PRIVATE_PROMPT, Project
from tests.web import served
from tracegen.contract.text import printable

pytestmark = pytest.mark.browser


def words(page: Any, selector: str = "body") -> str:
    return " ".join(page.locator(selector).first.inner_text().split())


def flat(text: str) -> str:
    """Text as a page shows it: unfit characters replaced, runs of white space folded."""
    return " ".join(printable(text).split())


# Every page


def faulty(visits: dict[str, Visit], width: int) -> dict[str, Visit]:
    """The visits in which something went wrong, was wider than this, or jumped."""
    return {
        path: visit
        for path, visit in visits.items()
        if visit.problems or visit.tripped or not visit.title or visit.width > width or visit.shift > 0.01
    }


def test_every_page_opens_from_its_folder_on_a_narrow_screen(window: Any, project: Project) -> None:
    narrow = window(viewport={"width": 360, "height": 800}, color_scheme="dark")
    visits = visit_all(narrow, f"{project.site.as_uri()}/", project.pages())
    assert faulty(visits, 360) == {}
    assert len(visits) == len(project.pages()) >= 40


def test_a_page_of_each_kind_opens_from_a_server_below_a_sub_path(window: Any, project: Project, web: str) -> None:
    visits = visit_all(window(viewport={"width": 1280, "height": 800}), web, pages_of_each_kind(project))
    assert faulty(visits, 1280) == {}


@pytest.mark.parametrize("pause_at", [b'<section id="help"', b'<section id="key-figures"'])
@pytest.mark.parametrize("width", [360, 1280])
def test_an_answer_that_arrives_slowly_does_not_jump(
    window: Any, project: Project, pause_at: bytes, width: int
) -> None:
    """What would help stands beside the answer on a wide screen, and follows the picture in the page."""
    path = "experiments/demo/run-002/index.html"
    assert pause_at in (project.site / path).read_bytes()
    with served(project.site, pause_at) as slow:
        visits = visit_all(window(viewport={"width": width, "height": 800}), slow, [path])
    assert faulty(visits, width) == {}


@pytest.mark.parametrize(
    ("page", "pause_at"),
    [
        ("appendix", b'<details class="tg-fold"'),
        ("appendix", b'<div class="tg-page'),
        ("appendix", b'<div class="tg-selection'),
        ("operations", b'<div class="tg-page'),
    ],
)
@pytest.mark.parametrize("width", [360, 1280])
def test_a_head_stands_where_it_is_before_what_follows_has_arrived(
    window: Any, project: Project, page: str, pause_at: bytes, width: int
) -> None:
    path = f"experiments/demo/v1/{page}/index.html"
    assert pause_at in (project.site / path).read_bytes()
    with served(project.site, pause_at) as slow:
        visits = visit_all(window(viewport={"width": width, "height": 800}), slow, [path])
    assert faulty(visits, width) == {}


def test_the_watch_sees_what_it_should(window: Any, tmp_path: Path) -> None:
    """The tests above can fail: a page with every fault they look for."""
    (tmp_path / "bad.html").write_text(
        "<!doctype html><title>x</title><script>alert(1); console.error('oh')</script><img src=missing.png>"
        "<link rel=stylesheet href=https://192.0.2.1/x.css><script>nothing()</script><p style='width:900px'>wide"
        "<p style='height:200px;background:red'>jumps<script>requestAnimationFrame(() => requestAnimationFrame(() =>"
        "document.body.prepend(Object.assign(document.createElement('div'), { style: 'height: 300px' }))))</script>"
    )
    narrow = window(viewport={"width": 360, "height": 800}, offline=True)
    (visit,) = visit_all(narrow, f"{tmp_path.as_uri()}/", ["bad.html"]).values()
    text = "\n".join(visit.problems)
    for sign in ("console error: oh", "error: nothing is not defined", "missing.png", "left the site: https://192"):
        assert sign in text
    assert visit.tripped and visit.width > 360 and visit.shift > 0.01


# Hostile text


def test_hostile_text_is_shown_as_it_is(tab: Any, web: str) -> None:
    page = tab(f"{web}experiments/hostile/v1/method/index.html")
    page.locator("#more-text > summary").click()
    assert flat(HOSTILE) in words(page, "[aria-label='Prompt and generated text']")
    page = tab(f"{web}experiments/hostile/v1/index.html")
    assert flat(HOSTILE).replace(" ", "·") in words(page, ".tg-text-words")
    assert flat(f"Why {HOSTILE}?") in words(page)
    page = tab(f"{web}experiments/hostile/v1/operations/index.html#pass=3&node=1")
    page.wait_for_selector("tr.tg-chosen")
    assert flat(HOSTILE) in words(page, "tr.tg-chosen") + words(page, "tr.tg-open")
    page = tab(f"{web}experiments/hostile/v1/method/index.html")
    for fold in page.locator("details.tg-more > summary").all():
        fold.click()
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


def test_an_address_leads_to_one_operation_and_keys_to_that_of_other_passes(tab: Any, web: str) -> None:
    junk = "unknown=1&__proto__=2&constructor=x&<script>=3&=&&q"
    page = tab(f"{web}experiments/demo/v2/operations/index.html#pass=3&node=6&{junk}")
    page.wait_for_selector("tr.tg-chosen")
    assert page.locator("tr.tg-chosen").get_attribute("id") == "pass=3&node=6"
    assert "token 1" in words(page, "[data-tg=label]")
    assert page.locator("tr.tg-chosen").is_visible() and page.locator("tr.tg-open td").first.is_visible()
    static = json.loads(page.locator("#tg-operations").text_content())
    expected = next(p for p in static["passes"] if p["id"] == 3)
    assert words(page, "[data-tg=about]") == " ".join(expected["about"].split())
    first = page.locator("tr.tg-chosen").inner_text()
    page.keyboard.press("n")
    page.wait_for_selector("[id='pass=4&node=6'].tg-chosen")
    assert page.locator("tr.tg-chosen").inner_text() != first and "#pass=4&node=6" in page.url
    page.keyboard.press("p")
    page.keyboard.press("p")
    page.wait_for_selector("[id='pass=2&node=6'].tg-chosen")
    page.reload()
    page.wait_for_selector("[id='pass=2&node=6'].tg-chosen")


PLACES = (
    ("file/", "fig-cache-rates"),
    ("timeline/", "tab-waiting-kinds"),
    ("method/", "check-tracing_cost"),
    ("appendix/", "tab-biggest-tensors"),
)


def test_a_short_address_leads_to_the_version(tab: Any, project: Project) -> None:
    cited = (project.bundle("demo", 2) / "citation.bib").read_text().partition("SHA-256 of the content: ")[2]
    page = tab()
    page.goto((project.site / "x" / cited[:12] / "index.html").as_uri(), wait_until="commit")
    page.wait_for_url("**/experiments/demo/v2/index.html")
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize("width", [360, 1280])
def test_what_a_link_leads_to_is_not_under_the_header(tab: Any, web: str, width: int) -> None:
    tops = """(name) => [document.getElementById(name).getBoundingClientRect().top,
        document.querySelector(".md-header").getBoundingClientRect().bottom]"""
    for path, name in PLACES:
        page = tab(f"{web}experiments/demo/v2/{path}index.html#{name}", viewport={"width": width, "height": 800})
        top, header = page.evaluate(tops, name)
        end = page.evaluate("document.documentElement.scrollHeight - innerHeight - scrollY < 2")
        assert header <= top and (top < header + 100 or end)  # what stands last on a page cannot come higher


# Without scripts

ROWS = {
    "overview": 5,
    "file": 10,
    "timeline": 5,
    "operations": 40,
    "graph": 0,
    "method": 15,
    "appendix": 60,
}


@pytest.mark.parametrize("key", ROWS)
def test_without_scripts_every_figure_and_table_is_there(tab: Any, project: Project, key: str) -> None:
    document = json.loads((project.bundle("demo", 2) / "version.json").read_text())
    path = next(page["path"] for page in document["pages"] if page["key"] == key)
    page = tab(project.site / "experiments/demo/v2" / path, java_script_enabled=False)
    figures = [figure["key"] for figure in document["figures"] if figure["page"] == key]
    for fold in page.locator("details.tg-unfold > summary, details.tg-more > summary").all():
        fold.click()
    flat_text = words(page, "main")
    assert [f["title"] for f in document["figures"] if f["page"] == key and flat(f["title"]) not in flat_text] == []
    assert not page.locator("[data-tg=controls]").is_visible() and page.locator("canvas:visible").count() == 0
    for figure in figures:
        box = page.locator(f"#fig-{figure.removeprefix('fig-')} svg:visible").first.bounding_box()
        assert box and box["width"] > 100 and box["height"] > 20, figure
    assert figures or key == "method"
    assert page.locator(".tracegen table tbody tr").count() >= ROWS[key]
    if key == "operations":
        assert page.locator("tr.tg-op").first.is_visible()
        assert page.locator("tr.tg-detail:visible").count() == page.locator("tr.tg-detail").count() > 0
        assert "operations" in words(page, "#tab-operations").lower()


# A bundle by itself

QUESTIONS = {"demo": "What does one token read?", "hostile": f"Why {HOSTILE}?"}


@pytest.mark.parametrize("name", ["demo", "hostile"])
def test_a_bundle_opens_by_itself(tab: Any, project: Project, tmp_path: Path, name: str) -> None:
    alone = shutil.copytree(project.bundle(name), tmp_path / "moved away")
    page = tab(alone / "index.html")
    titles = page.locator("nav.tracegen-nav a").all_inner_texts()
    document = json.loads((project.bundle(name) / "version.json").read_text())
    assert titles == [page["title"] for page in document["pages"]]
    assert [title for title in titles if title != "Experts"] == [
        "Answer",
        "File and memory",
        "Timeline",
        "Operations",
        "Graph",
        "Method",
        "Appendix",
    ]
    assert ("Experts" in titles) == (name == "hostile")  # the only one whose model says so
    for title in [*titles[1:], titles[0]]:
        page.locator("nav.tracegen-nav a", has_text=title).click()
        page.wait_for_load_state("load")
        h1 = page.locator(".tracegen h1").first.inner_text()
        assert h1 == title if title != titles[0] else flat(QUESTIONS[name]) == flat(h1)
        assert page.locator("nav.tracegen-nav a[aria-current]").inner_text() == title
        assert f"{name}@v1" in words(page, "footer")
    page.goto((alone / "operations/index.html").as_uri() + "#pass=3&node=1")
    page.wait_for_selector("tr.tg-chosen")
    assert not page.evaluate("window.tripped")


# Banners


@pytest.mark.parametrize(
    ("path", "text", "target"),
    [
        ("demo/v1/file/index.html", "Superseded. demo@v2 is newer", "demo/v2/index.html"),
        ("demo/run-002/operations/index.html", "Draft, not citable.", None),
        ("broken/v1/method/index.html", "Not usable. A check of this run failed", "broken/v1/index.html"),
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
        assert target != "demo/v2/index.html" or page.locator(".tracegen-banner").count() == 0, (
            "this is the current one"
        )


def test_a_private_run_says_so_and_shows_no_text(tab: Any, web: str) -> None:
    for path in ("index.html", "method/index.html"):
        text = words(tab(f"{web}experiments/private/v1/{path}"))
        assert "private" in text and PRIVATE_PROMPT not in text and PRIVATE_ANSWER.strip() not in text


# Journal


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
    page.wait_for_url("**/demo/v2/appendix/index.html#fig-heatmap")
    assert page.locator("#fig-heatmap").is_visible()
