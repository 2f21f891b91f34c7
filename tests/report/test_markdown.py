"""Text that is pasted where strangers read it: whatever a model is called, it stays text."""

import re

import markdown
import pytest

from tests.site_project import HOSTILE
from tracegen.report.document import markdown as md

NAMES = [
    "blk.0.ffn_gate_exps.weight",
    "a|b",
    "`x`",
    "``",
    "`",
    "*bold*",
    "_em_",
    "__x__",
    "~~gone~~",
    "[a](http://b.example)",
    "![i](x.png)",
    "<script>alert(1)</script>",
    "<!-- -->",
    "&lt;b&gt;",
    "&#64;ada",
    "$x$",
    "\\",
    "a\\|b",
    "# title",
    "- item",
    "> quote",
    "@ada",
    "(@ada/team)",
    "x@y.example",
    "see #12",
    "ggml-org/llama.cpp#12",
    "GH-12",
    "gh-12",
    "https://evil.example/x",
    "www.evil.example",
    "line\nbreak | two",
    "\u202e@ada #1",
    "\x1b[31m",
    HOSTILE,
]
ALLOWED = {"p", "code", "table", "thead", "tbody", "tr", "th", "td"}


def html(text: str) -> str:
    return markdown.markdown(text, extensions=["tables"])


def linked(text: str) -> list[str]:
    """What GitHub would link in the text of a page: mentions, references to issues, addresses."""
    plain = re.sub(r"<[^>]*>", "", re.sub(r"<code>.*?</code>", "", text, flags=re.DOTALL))
    return re.findall(r"@\w|#\d|\bGH-\d|\w://|\bwww\.", plain, re.IGNORECASE)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_neither_markup_nor_a_link(name: str) -> None:
    for text in (f"The model {md.prose(name)} ran.", f"The model {md.code(name)} ran."):
        page = html(text)
        tags = set(re.findall(r"</?([a-z0-9]+)", page))
        assert tags <= ALLOWED and not linked(page), page
        assert "\n" not in text and "\x1b" not in text and "\u202e" not in text


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stays_in_its_cell(name: str) -> None:
    rows = [(md.code(name), md.prose(name), "1"), ("`a`", "b", "2")]
    page = html(md.table((("name", False), ("said", False), ("n", True)), rows))
    assert len(re.findall(r"<t[hd](?: [^>]*)?>", page)) == 9
    cells = re.findall(r"<td(?: [^>]*)?>(.*?)</td>", page, re.DOTALL)
    assert cells[2:] == ["1", "<code>a</code>", "b", "2"] and not linked(page)
    assert set(re.findall(r"</?([a-z0-9]+)", page)) <= ALLOWED


@pytest.mark.parametrize(
    "text",
    [
        "blk.0.ffn_gate_exps",
        "12\u202f345 MiB",
        "2.1 % (limit: ≤ 1 %)",
        "< 0.1 %",
        "Q4_K_M",
        "AMD EPYC (64-core)",
        "a + b",
    ],
)
def test_plain_words_are_left_as_they_are(text: str) -> None:
    assert md.prose(text) == text and md.code(text) == f"`{text}`"


def test_long_names_lose_their_middle() -> None:
    assert md.code("a" * 40 + "b" * 40, 10) == "`aaaaaa…bbb`"
    assert len(md.prose("word " * 1000)) == 400
    assert md.code("") == md.code(" \n") == "–"


def test_a_table_is_aligned_for_reading_as_text() -> None:
    text = md.table((("op", False), ("share", True)), [("`MUL_MAT`", "9 %"), ("`ADD`", "100 %")])
    assert text.splitlines() == [
        "| op        | share |",
        "| --------- | ----: |",
        "| `MUL_MAT` |   9 % |",
        "| `ADD`     | 100 % |",
    ]
