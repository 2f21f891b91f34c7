"""The index of many experiments in Chromium: filter, sort, search, and the state in the address."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_access import found_by_axe
from tests.many_experiments import MODELS, many
from tests.shared import shared_folder
from tests.site_project import Project
from tracegen.cli.commands.build import build_site

pytestmark = pytest.mark.browser

N = 200
MOST_BYTES = 600 * N
SHOWN = """() => Array.from(document.querySelectorAll(".tracegen-index li")).filter(li => li.checkVisibility())
    .map(li => li.textContent.replace(/\\s+/g, " "))"""
FASTEST = re.compile(r"([\d.e+]+) tokens/s, 1 run")


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
    assert crowd.stat().st_size < MOST_BYTES and len(list((crowd.parent / "_").glob("*.png"))) == N
    page = opened()
    page.wait_for_function("Array.from(document.querySelectorAll('.tracegen-index img')).some(i => i.complete)")
    loaded = "Array.from(document.querySelectorAll('.tracegen-index img')).filter(i => i.naturalWidth).length"
    assert 0 < page.evaluate(loaded) < N / 4
    assert page.locator(".tracegen-index img").first.evaluate("i => [i.naturalWidth, i.naturalHeight]") == [160, 128]
    assert names(page.evaluate(SHOWN)) == names(plain_texts)


FILTERS = (  # name of a list, what is chosen, and what the text of each experiment that is left says
    *(("model", model, model) for model in MODELS),
    ("architecture", "qwen3moe", "qwen3moe, Q4_K"),
    ("tag", "disk", "disk"),
    ("verdict", "complete with warnings", "complete with warnings"),
)
RECORDED: dict[str, Callable[[int], object]] = {
    "page faults": lambda n: n % 7 and n % 2,
    "experts": lambda n: n % 7 and n % 4 in (0, 1),
}


def test_a_filter_leaves_those_that_say_so(opened: Any, plain_texts: list[str]) -> None:
    page = opened()
    for key, value, said in FILTERS:
        of = (text.partition("tags: ")[2].strip().split(", ") if key == "tag" else text for text in plain_texts)
        expected = [text for text, words in zip(plain_texts, of, strict=True) if said in words]
        assert 10 < len(expected) < N
        page.select_option(f"[name={key}]", value)
        assert names(page.evaluate(SHOWN)) == names(expected)
        assert page.locator("output").inner_text() == f"{len(expected)} of {N} experiments"
        assert page.locator(f"[name={key}] option:checked").inner_text() == f"{value} ({len(expected)})"
        page.select_option(f"[name={key}]", "")
    for value, recorded in RECORDED.items():
        page.select_option("[name=recorded]", value)
        left = sorted(n for n in names(plain_texts) if recorded(int(n[-3:])))
        assert sorted(names(page.evaluate(SHOWN))) == left, value


def test_filters_and_search_hold_together(opened: Any, plain_texts: list[str]) -> None:
    page = opened()
    page.select_option("[name=model]", "gpt-oss 20B")
    page.fill("[name=q]", "WARM  untouched")
    expected = [t for t in plain_texts if "gpt-oss 20B" in t and "warm" in t and "untouched" in t]
    assert names(page.evaluate(SHOWN)) == names(expected) and 3 < len(expected) < 60
    page.fill("[name=q]", "no such thing")
    assert page.evaluate(SHOWN) == []
    assert page.locator("output").inner_text() == f"None of {N} experiments matches."
    page.get_by_role("button", name="Show all").click()
    assert len(page.evaluate(SHOWN)) == N and "#" not in page.url
    assert page.evaluate("document.activeElement.name") == "q"
    assert not page.get_by_role("button", name="Show all").is_visible()


def test_sorts(opened: Any, plain_texts: list[str]) -> None:
    page = opened()
    for sort, sign in (("fastest", -1), ("slowest", 1)):
        page.select_option("[name=sort]", sort)
        rates = [FASTEST.search(text) for text in page.evaluate(SHOWN)]
        known = [float(rate[1]) * sign for rate in rates if rate]
        assert known == sorted(known) and len(known) > 0.8 * N
        assert not any(rates[len(known) :]) and all(rates[: len(known)])
    page.select_option("[name=sort]", "name")
    assert names(page.evaluate(SHOWN)) == sorted(names(plain_texts))
    page.select_option("[name=sort]", "largest")
    sizes = [text.find(" 16.1 GiB") > 0 for text in page.evaluate(SHOWN)]
    assert sizes[0] and sizes == sorted(sizes, reverse=True)
    page.select_option("[name=sort]", "least")
    shares = [re.search(r"([\d.]+) % of the file touched", text) for text in page.evaluate(SHOWN)]
    found = [float(share[1]) for share in shares if share]
    assert found == sorted(found) and all(shares[: len(found)])
    page.select_option("[name=sort]", "oldest")
    dates = [re.search(r"2026-\d\d-\d\d", text)[0] for text in page.evaluate(SHOWN)]  # type: ignore[index]
    assert dates == sorted(dates)
    page.select_option("[name=sort]", "")
    assert names(page.evaluate(SHOWN)) == names(plain_texts)


def test_the_state_is_in_the_address_and_back_undoes_it(opened: Any, crowd: Path) -> None:
    page = opened()
    page.select_option("[name=tag]", "moe")
    page.locator("[name=q]").press_sequentially("cold a")
    page.select_option("[name=sort]", "most")
    assert page.url.partition("#")[2] == "tag=moe&sort=most&q=cold+a"
    shown = page.evaluate(SHOWN)
    address = page.url.partition("#")[2]
    for expected in ("tag=moe&q=cold+a", "tag=moe", ""):  # the letters of a search are one step
        page.go_back()
        assert page.url.partition("#")[2] == expected
    assert len(page.evaluate(SHOWN)) == N and page.locator("[name=tag]").input_value() == ""
    page.go_forward()
    assert page.locator("[name=tag]").input_value() == "moe"
    page = opened(f"#{address}")
    assert page.evaluate(SHOWN) == shown
    values = {key: page.locator(f"[name={key}]").input_value() for key in ("tag", "q", "sort", "model")}
    assert values == {"tag": "moe", "q": "cold a", "sort": "most", "model": ""}


def test_an_address_that_leads_nowhere_is_harmless(opened: Any) -> None:
    junk = ("#tag=", "#tag=nothing", "#sort=up", "#model", "#q=%E0%A4%A", "#constructor=x&tag[]=moe")
    for state in junk:
        page = opened(state)
        assert len(page.evaluate(SHOWN)) == N, state
        assert page.locator("output").inner_text() == f"{N} experiments", state


def test_a_link_to_a_place_of_the_page_keeps_the_filter(opened: Any) -> None:
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


def test_axe_finds_nothing_serious_while_it_is_filtered(tab: Any, crowd: Path) -> None:
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
    assert page.locator("#trend").is_visible() and page.locator(".tracegen-trend tbody tr").count() == 3
