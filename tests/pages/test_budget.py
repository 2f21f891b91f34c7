"""Pages are short: so many words of prose stand outside tables, drawings, lists of numbers, folded parts and code."""

from html.parser import HTMLParser

import pytest

from tests.builders import a_moe_run, a_run
from tests.pages.rendered import CASES, rendered
from tests.pages.test_pasted import disk_case

MOST = 350
OF_THE_FIRST = 450  # which has the answer, findings, verdict and the text of the run
APART = {"table", "svg", "dl", "details", "code", "pre", "script", "style", "textarea", "select", "button", "noscript"}


class Prose(HTMLParser):
    """The words of a page outside of what stands `APART`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.inside = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside += tag in APART

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag in APART

    def handle_data(self, data: str) -> None:
        self.words += [] if self.inside else data.split()


@pytest.mark.parametrize("name", [*CASES, "everything recorded"])
def test_no_page_but_the_appendix_has_many_words(name: str) -> None:
    if name == "everything recorded":
        run, tables = disk_case()
        report = rendered(tables, run)
    else:
        report = rendered(CASES[name], a_moe_run() if name in ("experts", "hard case") else a_run())
    said = {page.key: len(Prose(page.body).words) for page in report.pages}
    assert 50 < said["overview"] <= OF_THE_FIRST
    assert not {key: n for key, n in said.items() if n > MOST and key not in ("overview", "appendix")}
