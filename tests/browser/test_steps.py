"""The steps between versions in Chromium: only what became better or worse, the state in the address, no scripts."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_access import found_by_axe
from tests.trend_site import shared_steps_site

pytestmark = pytest.mark.browser

EVERY = ["v7", "v6", "v5", "v4", "v3", "v2"]
CHOICES = {"": EVERY, "either": ["v6", "v4", "v3"], "worse": ["v4", "v3"], "better": ["v6", "v4"]}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_steps_site(tmp_path_factory) / "site" / "experiments" / "steps" / "index.html"


@pytest.fixture
def opened(page: Any, address: Path) -> Callable[[str], Any]:
    def open_(state: str = "") -> Any:
        page.goto("about:blank")
        page.goto(address.as_uri() + state)
        return page

    return open_


def steps(page: Any) -> list[str]:
    items = page.locator(".tracegen-steps li:visible strong")
    return list(items.all_inner_texts())


@pytest.mark.parametrize("choice", list(CHOICES))
def test_a_choice_leaves_the_steps_that_say_so(opened: Any, choice: str) -> None:
    page = opened("" if choice else "#steps=worse")
    page.select_option("[name=steps]", choice)
    assert steps(page) == CHOICES[choice]
    assert page.locator("[name=steps] option:checked").inner_text().endswith(f"({len(CHOICES[choice])})")
    assert page.locator("output").inner_text() == f"{len(CHOICES[choice])} of 6 steps"
    assert page.url.partition("#")[2] == (f"steps={choice}" if choice else "")
    for text in page.locator(".tracegen-steps li:visible").all_inner_texts():
        assert choice not in ("worse", "better") or f"{choice.capitalize()}:" in text


def test_the_state_is_in_the_address_and_back_undoes_it(opened: Any) -> None:
    page = opened()
    page.select_option("[name=steps]", "worse")
    page.select_option("[name=steps]", "better")
    page.go_back()
    assert steps(page) == CHOICES["worse"] and page.locator("[name=steps]").input_value() == "worse"
    page.go_back()
    assert steps(page) == EVERY and "#" not in page.url
    page = opened("#steps=better")
    assert steps(page) == CHOICES["better"] and page.locator("[name=steps]").input_value() == "better"
    assert page.evaluate("scrollY") > 0  # the steps are what the link leads to
    page.locator(".tracegen-skip").focus()
    page.keyboard.press("Enter")
    assert steps(page) == CHOICES["better"]


def test_an_address_that_leads_nowhere_shows_all(opened: Any) -> None:
    for state in ("#steps=", "#steps=constructor", "#trend", "#steps=%E0%A4%A"):
        assert steps(opened(state)) == EVERY, state


def test_an_empty_result_says_so(page: Any, address: Path, tmp_path: Path) -> None:
    """The same page of an experiment in which nothing became better or worse, with more steps than are unfolded."""
    html = re.sub(r'data-step="[a-z ]+"', 'data-step=""', address.read_text(encoding="utf-8"))
    before, item, after = html.rpartition('<li data-step=""')
    after = after.replace("</ul>", "</ul></details>", 1)
    html = f"{before}</ul><details><summary>1 earlier step</summary><ul>{item}{after}"
    copied = tmp_path / "index.html"
    copied.write_text(html.replace("../../", f"{address.parents[2].as_uri()}/"), encoding="utf-8")
    page.goto(f"{copied.as_uri()}#steps=worse")
    assert steps(page) == []
    assert page.locator("output").inner_text() == "None of 6 steps is known to be so."
    assert not page.locator(".tracegen-steps details").is_visible()
    page.select_option("[name=steps]", "")
    assert steps(page) == EVERY[:-1] and page.locator("summary", has_text="1 earlier").is_visible()


def test_without_scripts_all_steps_are_there_and_no_control(tab: Any, address: Path) -> None:
    page = tab(f"{address.as_uri()}#steps=worse", java_script_enabled=False)
    assert steps(page) == EVERY
    assert not page.locator(".tracegen-steps-shown").is_visible()


def test_it_reads_and_axe_finds_nothing(tab: Any, address: Path) -> None:
    page = tab(f"{address.as_uri()}#steps=worse", reduced_motion="reduce")
    for width, scheme in ((1280, "light"), (360, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        bars = page.locator(".tracegen-bars").first
        colours = bars.evaluate("e => [getComputedStyle(e).stroke, getComputedStyle(e.parentElement).stroke]")
        assert colours[0] != colours[1] and len(bars.get_attribute("d").split("M")) == 8
    assert found_by_axe(page) == []
