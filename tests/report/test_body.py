"""What is put together of a page: the note of what statistics leave out, and the list of contents."""

from tests.builders import only
from tests.report.rendered import CASES, rendered
from tracegen.report.document.body import SIGN, contents
from tracegen.report.words.sentences import OUTSIDE


def test_a_journal_and_a_notebook_quote_a_caption_with_all_of_it() -> None:
    captions = {f.key: f.caption for f in rendered(CASES["dense"]).figures}
    assert OUTSIDE in captions["components"] and SIGN not in captions["components"]


def test_nothing_is_said_of_what_a_run_does_not_have() -> None:
    tables = only(CASES["dense"], ("prompt", "generate"))
    report = rendered(tables)
    assert all("tg-sign" not in page.body and 'id="left-out"' not in page.body for page in report.pages)


def test_a_page_of_few_parts_has_no_list() -> None:
    assert contents('<h2 id="a">A</h2><h2 id="b">B</h2>') == []
    listed = contents('<section id="s" hidden>\n<h2>S <b>x</b></h2></section>' + '<h2 id="a">A &lt;i&gt;</h2>' * 3)
    assert [(e.anchor, e.title, e.figure, e.scripted) for e in listed[:2]] == [
        ("s", "S x", False, True),
        ("a", "A &lt;i&gt;", False, False),
    ]
