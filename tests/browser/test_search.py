"""Search in the browser: experiments, versions, tensors, entries of the journal, over http and from a folder."""

from __future__ import annotations

from typing import Any

import pytest

from tests.site_project import Project

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("words", "address"),
    [
        ("waiting", "experiments/waiting/index.html"),
        ("demo@v2", "experiments/demo/v2/"),
        ("blk.1.attn_q.weight", "experiments/demo/v2/memory/index.html#tab-biggest-tensors"),
        ("ffn_gate_exps", "experiments/demo/v2/memory/index.html#tab-biggest-tensors"),
        ("entry", "notes/entry.html"),
    ],
)
@pytest.mark.parametrize("way", ["file", "http"])
def test_search_finds(tab: Any, web: str, project: Project, way: str, words: str, address: str) -> None:
    page = tab(f"{web}index.html" if way == "http" else project.site / "index.html")
    page.locator("[data-md-component=search-query]").focus()
    page.keyboard.type(words)
    page.wait_for_selector(".md-search-result__item a")
    page.wait_for_timeout(300)
    found = page.locator(".md-search-result__item a").evaluate_all("links => links.map(link => link.href)")
    assert [one for one in found if address.partition("#")[0] in one], found
    if "#" in address:
        assert [one for one in found if address.partition("#")[2] in one], found


def test_search_shows_hostile_names_as_text(tab: Any, web: str) -> None:
    page = tab(f"{web}index.html")
    page.locator("[data-md-component=search-query]").focus()
    page.keyboard.type("hostile tensors")
    page.wait_for_selector(".md-search-result__item a")
    page.wait_for_timeout(300)
    assert page.locator(".md-search-result :is(img, script)").count() == 0
    assert not page.evaluate("window.tripped")
