"""Search in the browser: experiments, versions, tensors, entries of the journal, over http and from a folder."""

from typing import Any

import pytest

from tests.site_project import Project

pytestmark = pytest.mark.browser
TENSORS = "experiments/demo/v2/appendix/index.html#tab-biggest-tensors"
FOUND = """address => [...document.querySelectorAll(".md-search-result__item a")]
  .some(link => address.split("#").every(part => link.href.includes(part)))"""


def search(page: Any, words: str) -> None:
    page.locator("[data-md-component=search-query]").fill("")
    page.locator("[data-md-component=search-query]").focus()
    page.keyboard.type(words)


@pytest.mark.parametrize("way", ["file", "http"])
def test_search_finds(tab: Any, web: str, project: Project, way: str) -> None:
    page = tab(f"{web}index.html" if way == "http" else project.site / "index.html")
    for words, address in (
        ("waiting", "experiments/waiting/index.html"),
        ("demo@v2", "experiments/demo/v2/"),
        ("blk.1.attn_q.weight", TENSORS),
        ("entry", "notes/entry.html"),
        ("ffn_gate_exps", TENSORS),
        ("page fault", "demo/v2/file/"),
        ("disk", "demo/v2/file/"),
        ("KV cache", "demo/v2/file/"),
        ("attention", "demo/v2/operations/"),
        ("barriers", "demo/v2/timeline/"),
        ("warnings", "demo/v2/method/"),
        ("BibTeX", "demo/v2/method/"),
        ("cite", "demo/v2/method/"),
        ("heatmap", "demo/v2/appendix/"),
    ):
        search(page, words)
        page.wait_for_function(FOUND, arg=address)


def test_search_shows_hostile_names_as_text(tab: Any, web: str) -> None:
    page = tab(f"{web}index.html")
    search(page, "hostile tensors")
    page.wait_for_function(FOUND, arg="experiments/hostile/")
    page.wait_for_timeout(300)
    assert page.locator(".md-search-result :is(img, script)").count() == 0
    assert not page.evaluate("window.tripped")
