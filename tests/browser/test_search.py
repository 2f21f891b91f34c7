"""Search in the browser: which page comes first, from a folder; and over http, with names that want to be code."""

import re
from typing import Any

import pytest
from playwright.sync_api import TimeoutError

from tests.site_project import Project

pytestmark = pytest.mark.browser
REPORT = r"experiments/\w+/(v\d|run-\d+)/"
# What is typed, and the address that must come first.
FIRST = {
    "waiting": r"experiments/waiting/index",
    "demo@v2": r"experiments/demo/v2/",
    "entry": r"notes/entry",
    "trace holds": r"reference/index",
    "withdrawn": r"experiments/demo/index",
    "blk.1.attn_q.weight": REPORT + r"appendix/index.html.*#tab-biggest-tensors",
    "ffn_gate_exps": REPORT + r"appendix/index.html.*#tab-biggest-tensors",
    "tensor names": REPORT + "appendix/",
    "read-ahead": REPORT + "appendix/",
    "page fault": REPORT + "file/",
    "KV cache": REPORT + "file/",
    "disk": REPORT + "file/",
    "attention": REPORT + "(operations|graph)/",
    "operation": REPORT + "operations/",
    "barriers": REPORT + "timeline/",
    "hot set": REPORT + "experts/",
    "cite": REPORT + "method/",
    "reproduce": REPORT + "method/",
    "verdict": REPORT + r"index",
    "tokens per second": REPORT + r"index",
}
HREF = """pattern => {
  const links = document.querySelectorAll(".md-search-result__item:first-child a");
  return [...links].some((link) => new RegExp(pattern).test(link.href));
}"""


def search(page: Any, words: str) -> None:
    page.locator("[data-md-component=search-query]").fill("")
    page.wait_for_function("!document.querySelector('.md-search-result__item')")
    page.locator("[data-md-component=search-query]").focus()
    page.keyboard.type(words)


def test_what_is_searched_comes_first(tab: Any, project: Project) -> None:
    page = tab(project.site / "index.html")
    others = {}
    for words, pattern in FIRST.items():
        search(page, words)
        try:
            page.wait_for_function(HREF, arg=pattern, timeout=4000)
        except TimeoutError:
            links = page.locator(".md-search-result__item")
            others[words] = [
                re.sub(".*experiments", "", link)
                for link in links.locator("a").evaluate_all("all => all.map(link => link.href)")[:3]
            ]
    assert not others


def test_search_shows_hostile_names_as_text(tab: Any, web: str) -> None:
    page = tab(f"{web}index.html")
    search(page, "hostile tensors")
    page.wait_for_function(HREF, arg="experiments/hostile/")
    page.wait_for_timeout(300)
    assert page.locator(".md-search-result :is(img, script)").count() == 0
    assert not page.evaluate("window.tripped")
