"""On paper: every page as a PDF, whole: its titles, its verdict, every row of its tables."""

import io
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tests.site_project import Project

pypdf = pytest.importorskip("pypdf")
pytestmark = pytest.mark.browser

REPORT = (
    "index.html",
    "file/index.html",
    "timeline/index.html",
    "operations/index.html",
    "graph/index.html",
    "method/index.html",
    "appendix/index.html",
)
# What flows out of its own box lies over what comes after it.
OVERFLOWING = """
() => Array.from(document.querySelectorAll(".tg-scroll, .tg-drawing, figure, section, p, dl")).filter(e =>
    e.checkVisibility() && e.scrollHeight > e.clientHeight + 2 && getComputedStyle(e).display !== "inline")
  .map(e => [e.className || e.tagName, e.clientHeight, e.scrollHeight].join(" "))
"""
# What must stand on paper: titles, captions, the verdict, and the first 40 rows of each table without their operands.
WANTED = """
() => {
  const text = e => { const c = e.cloneNode(true);
    c.querySelectorAll("svg, .tg-links, .headerlink, .tg-explain, .tg-data").forEach(x => x.remove());
    return c.textContent; };
  const root = document.querySelector(".tracegen, article");
  return Array.from(root.querySelectorAll("h1, h2, h3, .tg-title, .tg-verdict, .tg-notice, .tg-ran, .tg-reason, pre,"
    + "dt, dd:not(:has(strong)), dd > *, tbody > tr:not(.tg-detail):nth-child(-n+40) > *, .tg-findings li, figcaption"))
    .filter(e => !e.closest(".tg-detail, nav, .tg-explorer, .tg-slide, .tg-threads, [data-tg=panel],"
      + "details:not([open])"))
    .map(text).filter(t => t.trim());
}
"""
EDGE = """
() => { const far = Array.from(document.querySelectorAll("table, svg, pre, p, figure")).filter(e => e.checkVisibility())
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1); return far.map(e => e.outerHTML.slice(0, 90)); }
"""
A4_WIDE_PX = 688  # 210 mm less the margins, at 96 px to the inch


def letters(text: str) -> str:
    """Only letters and digits: a PDF keeps neither spaces nor the breaks of lines, and joins `fi` to one sign."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text))


def printed(page: Any) -> str:
    page.emulate_media(media="print")
    pdf = page.pdf(format="A4", prefer_css_page_size=True)
    return letters("".join(sheet.extract_text() for sheet in pypdf.PdfReader(io.BytesIO(pdf)).pages))


PAPERS = [
    *(f"site/experiments/demo/v2/{path}" for path in REPORT),
    *("site/experiments/broken/v1/file/index.html", "experiments/demo/versions/2/operations/index.html"),
    *("site/experiments/demo/index.html", "site/experiments/index.html", "site/notes/entry.html"),
]


@pytest.mark.parametrize("path", PAPERS)
def test_paper_holds_the_whole_page(tab: Any, project: Project, path: str) -> None:
    page = tab(project.root / path)
    wanted = page.evaluate(WANTED)
    text = printed(page)
    assert len(wanted) >= (1 if "notes" in path else 4)  # where a check forbids the table, little more than the reason
    assert [piece for piece in wanted if letters(piece) not in text] == []


@pytest.mark.parametrize("path", REPORT)
def test_nothing_is_cut_at_the_edge_of_the_paper_or_lies_over_something_else(
    tab: Any, project: Project, path: str
) -> None:
    page = tab(project.bundle("demo", 2) / path)
    page.set_viewport_size({"width": A4_WIDE_PX, "height": 1000})
    page.emulate_media(media="print")
    assert page.evaluate(EDGE) == []
    hidden = page.evaluate(
        "Array.from(document.querySelectorAll('.tg-scroll, .tg-drawing, .tg-text, .tg-words'),"
        " e => getComputedStyle(e).overflowX)"
    )
    assert set(hidden) == {"visible"}
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(OVERFLOWING) == []


def test_what_is_cut_is_missed(tab: Any, project: Project) -> None:
    """The tests above can fail: a table in a low frame is not whole on paper."""
    page = tab(project.bundle("demo", 2) / "operations/index.html")
    wanted = page.evaluate(WANTED)
    page.add_style_tag(content=".tracegen .tg-tall { max-height: 200px !important; overflow: hidden !important; }")
    text = printed(page)
    assert [piece for piece in wanted if letters(piece) not in text]


def test_the_sums_of_tensors_stand_below_their_rows(tab: Any, moe_report: Path) -> None:
    page = tab(moe_report / "operations/index.html", viewport={"width": A4_WIDE_PX, "height": 200})
    page.wait_for_selector("[data-tg=tensors] tfoot tr")
    page.emulate_media(media="print")
    ends = """table => ["thead", "tbody", "tfoot"].map(part => table.querySelector(part + " tr > *"))
        .map(cell => cell.getBoundingClientRect().top)"""
    tops = page.eval_on_selector("[data-tg=tensors] table", ends)
    assert tops == sorted(tops) and len(set(tops)) == 3


def test_a_table_of_an_entry_has_all_its_columns_on_paper(tab: Any, project: Project) -> None:
    """The theme wraps such tables, in a script, and gives each column room that paper lacks."""
    page = tab(project.root / "site/notes/entry.html", viewport={"width": A4_WIDE_PX, "height": 1000})
    row = "".join(f"<td>{k}.0 MiB</td>" for k in range(6))
    head = f"<thead><tr><th></th>{row.replace('td>', 'th>')}</tr></thead>"
    table = f"<table>{head}<tr><th>a longer name</th>{row}</tr></table>"
    wrapped = f"<div class=md-typeset__scrollwrap><div class=md-typeset__table>{table}</div></div>"
    page.evaluate("html => document.querySelector('article').insertAdjacentHTML('beforeend', html)", wrapped)
    page.emulate_media(media="print")
    assert page.evaluate(EDGE) == []
