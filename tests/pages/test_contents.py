"""The list of contents: every section and figure of a page once, in order, each where its link leads."""

import re
from html import unescape

import pytest

from tests.builders import a_moe_run
from tests.pages.rendered import CASES, rendered, words
from tracegen.report.pages.body import contents


@pytest.mark.parametrize("name", ["dense", "experts", "only a load", "nothing"])
def test_each_entry_leads_to_its_title(name: str) -> None:
    run = a_moe_run() if name == "experts" else None
    for page in rendered(CASES[name], run).pages:
        lists = re.findall(r"<ol>\s*<li class=\"tg-of.*?</ol>", page.body, re.DOTALL)
        figures = re.findall(r'<figure id="([^"]+)"[^>]*>\s*<p class="tg-title">', page.body)
        headings = len(re.findall(r"<h2", page.body.partition('<div class="tg-glossary">')[0]))
        if not lists:
            assert len(figures) + headings < 8, page.key
            continue
        entries = re.findall(r'<a href="#([^"]+)">(.*?)</a>', lists[0], re.DOTALL)
        assert [anchor for anchor, _ in entries if anchor in figures] == figures, page.key
        for anchor, title in entries:
            assert page.body.count(f'id="{anchor}"') == 1
            after = unescape(words(page.body[page.body.index(f'id="{anchor}"') :].partition(">")[2])).strip()
            assert after.startswith(" ".join(unescape(title).split())[:30]), (title, after[:90])
        assert len(set(lists)) == 1, "the folded list and the one beside the page are the same"


def test_a_page_of_few_parts_has_no_list() -> None:
    assert contents('<h2 id="a">A</h2><h2 id="b">B</h2>') == []
    listed = contents('<section id="s" hidden>\n<h2>S <b>x</b></h2></section>' + '<h2 id="a">A &lt;i&gt;</h2>' * 3)
    assert [(e.anchor, e.title, e.figure, e.scripted) for e in listed[:2]] == [
        ("s", "S x", False, True), ("a", "A &lt;i&gt;", False, False),
    ]  # fmt: skip
