"""The index of many experiments in Chromium: search, a tag, and the state in the address."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import drawn
from tests.browser.test_access import found_by_axe
from tests.many_experiments import TAGS, many
from tests.shared import shared_folder
from tests.site_project import Project
from tracegen.cli.commands.build import build_site

pytestmark = pytest.mark.browser

N = 200
MOST_BYTES = 600 * N
SHOWN = """() => Array.from(document.querySelectorAll(".tracegen-index li")).filter(li => li.checkVisibility())
    .map(li => li.textContent.replace(/\\s+/g, " "))"""


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of a site of N experiments."""

    def make(folder: Path) -> None:
        build_site(many(folder, N), strict=True)

    return shared_folder(tmp_path_factory, "many-experiments", make) / "site" / "experiments" / "index.html"


@pytest.fixture(scope="module")
def plain_texts(window: Any, crowd: Path) -> list[str]:
    """The text of every experiment in the order of the page, read without scripts: what the script is compared with."""
    page = window(java_script_enabled=False).new_page()
    page.goto(crowd.as_uri())
    assert not page.locator(".tracegen-filters").is_visible()
    items = page.locator(".tracegen-index li")
    texts = [re.sub(r"[ \n]+", " ", text) for text in items.all_text_contents()]
    assert items.first.is_visible() and items.nth(N - 1).is_visible()
    page.close()
    assert len(texts) == N
    return texts


@pytest.fixture
def opened(page: Any, crowd: Path) -> Callable[[str], Any]:
    def open_(state: str = "") -> Any:
        page.goto("about:blank")
        page.goto(crowd.as_uri() + state)
        return page

    return open_


def names(texts: list[str]) -> list[str]:
    return [re.search(r"\b(?:cold|warm|disk|experts)-\d{3}", text)[0] for text in texts]  # type: ignore[index]


def test_the_page_is_small_and_pictures_come_when_they_are_seen(opened: Any, crowd: Path, plain_texts: Any) -> None:
    assert crowd.stat().st_size < MOST_BYTES
    page = opened()
    page.wait_for_function("Array.from(document.querySelectorAll('.tracegen-index img')).some(i => i.complete)")
    loaded = "Array.from(document.querySelectorAll('.tracegen-index img')).filter(i => i.naturalWidth).length"
    assert 0 < page.evaluate(loaded) < N / 4
    assert page.locator(".tracegen-index img").first.evaluate("i => [i.naturalWidth, i.naturalHeight]") == [320, 256]
    assert names(page.evaluate(SHOWN)) == names(plain_texts)


@pytest.mark.parametrize("width", [360, 1280])
def test_scrolling_leaves_the_page_as_high_as_it_was(tab: Any, project: Project, width: int) -> None:
    page = tab(project.site / "experiments/index.html", viewport={"width": width, "height": 400})
    high = "document.documentElement.scrollHeight"
    before = page.evaluate(high)
    for y in range(0, before, 300):
        page.evaluate(f"window.scrollTo(0, {y})")
        drawn(page)
        assert page.evaluate(high) == before


def test_a_tag_leaves_the_experiments_that_have_it(opened: Any, plain_texts: list[str]) -> None:
    page = opened()
    tags = [text.partition("tags: ")[2].strip().split(", ") for text in plain_texts]
    for tag in TAGS:
        expected = [text for text, of in zip(plain_texts, tags, strict=True) if tag in of]
        assert 10 < len(expected) < N
        page.select_option("[name=tag]", tag)
        assert names(page.evaluate(SHOWN)) == names(expected)
        assert page.locator("output").inner_text() == f"{len(expected)} of {N} experiments"
        assert page.locator("[name=tag] option:checked").inner_text() == f"{tag} ({len(expected)})"


def test_tag_and_search_hold_together(opened: Any, plain_texts: list[str]) -> None:
    page = opened()
    page.select_option("[name=tag]", "moe")
    page.fill("[name=q]", "WARM  untouched")
    expected = [t for t in plain_texts if "moe" in t.partition("tags: ")[2] and "warm" in t and "untouched" in t]
    assert names(page.evaluate(SHOWN)) == names(expected) and 3 < len(expected) < 60
    page.fill("[name=q]", "no such thing")
    assert page.evaluate(SHOWN) == []
    assert page.locator("output").inner_text() == f"None of {N} experiments matches."
    page.get_by_role("button", name="Show all").click()
    assert len(page.evaluate(SHOWN)) == N and "#" not in page.url
    assert page.evaluate("document.activeElement.name") == "q"
    assert not page.get_by_role("button", name="Show all").is_visible()


def test_the_state_is_in_the_address_and_back_undoes_it(opened: Any) -> None:
    page = opened()
    page.select_option("[name=tag]", "moe")
    page.locator("[name=q]").press_sequentially("cold a")
    page.select_option("[name=tag]", "disk")
    address = page.url.partition("#")[2]
    assert address == "q=cold+a&tag=disk"
    shown = page.evaluate(SHOWN)
    for expected in ("q=cold+a&tag=moe", "tag=moe", ""):  # the letters of a search are one step
        page.go_back()
        assert page.url.partition("#")[2] == expected
    assert len(page.evaluate(SHOWN)) == N and page.locator("[name=tag]").input_value() == ""
    page.go_forward()
    assert page.locator("[name=tag]").input_value() == "moe"
    page = opened(f"#{address}")
    assert page.evaluate(SHOWN) == shown
    assert [page.locator(f"[name={key}]").input_value() for key in ("tag", "q")] == ["disk", "cold a"]


def test_an_address_that_leads_nowhere_is_harmless(opened: Any) -> None:
    for state in (
        "#tag=",
        "#tag=nothing",
        "#sort=fastest",
        "#model",
        "#q=",
        "#constructor=x&tag[]=moe",
        "#tag=%E0%A4%A",
    ):
        page = opened(state)
        assert len(page.evaluate(SHOWN)) == N, state
        assert page.locator("output").inner_text() == f"{N} experiments", state
        assert page.locator("[name=tag] option:checked").inner_text() == "all"


def test_a_link_to_a_place_of_the_page_keeps_the_tag(opened: Any) -> None:
    page = opened("#tag=moe")
    before = page.evaluate(SHOWN)
    page.locator(".tracegen-skip").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/*#tracegen-content")
    assert page.evaluate(SHOWN) == before


def test_it_reads_on_a_narrow_screen(opened: Any) -> None:
    page = opened()
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    outside = page.evaluate("""() => Array.from(document.querySelectorAll(".tracegen-index li *, .tracegen-filters *"))
      .slice(0, 400).filter(e => e.checkVisibility() && e.getBoundingClientRect().right > 361).map(e => e.outerHTML)""")
    assert outside == []
    box = page.locator(".tracegen-index li").first.bounding_box()
    assert box["height"] < 400
    size = page.locator(".tracegen-index p").nth(2).evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert size >= 14


def test_axe_finds_nothing_serious_while_some_are_shown(tab: Any, crowd: Path) -> None:
    page = tab(f"{crowd.as_uri()}#tag=moe&q=cold+1", reduced_motion="reduce")
    assert 0 < len(page.evaluate(SHOWN)) < N / 5
    assert found_by_axe(page) == []


def test_a_picture_on_paper_is_that_of_light_ground(tab: Any, web: str) -> None:
    page = tab(f"{web}experiments/index.html", color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    picture = page.locator(".tracegen-index img").first
    assert picture.evaluate("e => getComputedStyle(e).objectPosition") == "50% 0%"


def test_the_index_of_the_project(tab: Any, web: str, project: Project) -> None:
    page = tab(f"{web}experiments/index.html")
    document = json.loads((project.bundle("demo", 2) / "version.json").read_text())
    item = page.locator(".tracegen-index li", has=page.locator("h3", has_text="demo"))
    text = " ".join(item.inner_text().split())
    for key in ("tokens_per_second_generate", "touched_share"):
        assert " ".join(document["values"][key]["text"].split()) in text
    assert "demo@v2" in text and "3 versions, 1 draft" in text
    item.get_by_role("link", name="demo", exact=True).click()
    page.wait_for_url(f"{web}experiments/demo/index.html")
    assert page.locator("#measures").is_visible()
    assert page.locator("[aria-label='Key measures, table'] tbody tr").count() == 2
