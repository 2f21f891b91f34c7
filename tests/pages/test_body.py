"""What statistics leave out is said once on a page, and each caption that relies on it has the sign of that note."""

import re

import pytest

from tests.builders import a_moe_run, only
from tests.pages.rendered import CASES, rendered, words
from tracegen.report.figures.context import OUTSIDE
from tracegen.report.pages.body import SIGN


@pytest.mark.parametrize("name", ["dense", "experts", "hard case", "only a load"])
def test_what_is_left_out_is_said_once_on_each_page_that_relies_on_it(name: str) -> None:
    said = 0
    for page in rendered(CASES[name], a_moe_run() if name == "experts" else None).pages:
        shown = words(page.body)
        assert OUTSIDE not in page.body
        notes = re.findall(r'id="left-out">(.*?)</p>', page.body)
        signs = page.body.count('class="tg-sign"')
        assert len(notes) == shown.count("Statistics leave out") <= 1
        assert bool(notes) == bool(signs)
        said += signs
    assert said >= 3


def test_a_journal_and_a_notebook_quote_a_caption_with_all_of_it() -> None:
    captions = {f.key: f.caption for f in rendered(CASES["dense"]).figures}
    assert OUTSIDE in captions["components"] and SIGN not in captions["components"]


def test_nothing_is_said_of_what_a_run_does_not_have() -> None:
    tables = only(CASES["dense"], ("prompt", "generate"))
    report = rendered(tables)
    assert all("tg-sign" not in page.body and 'id="left-out"' not in page.body for page in report.pages)
