"""Captions in two parts: at most so many words below a figure, and nothing of it is lost."""

from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_moe_run
from tests.report.rendered import CASES, rendered, words
from tracegen.report.figures.explanation import MOST, shortened
from tracegen.report.words.sentences import OUTSIDE

SENTENCE = st.builds(
    lambda words, end: " ".join(["A", *words]) + end,
    st.lists(st.sampled_from(["byte", "12.5", "e.g.", "of", "“x”"]), min_size=1, max_size=30),
    st.sampled_from([".", "!", "?"]),
)


def keeps_to_it(caption: str) -> None:
    said, rest = shortened(caption)
    assert f"{said} {rest}".split() == caption.split()
    if len(said.split()) > MOST:
        assert shortened(said) == (said, ""), "it is one sentence"


@given(st.lists(SENTENCE, max_size=8).map(" ".join))
def test_what_is_said_is_short_and_nothing_is_lost(caption: str) -> None:
    keeps_to_it(caption)


def test_all_of_a_caption_stands_on_its_page() -> None:
    report = rendered(CASES["experts"], a_moe_run())
    pages = {page.key: unescape(words(page.body)) for page in report.pages}
    for figure in report.figures:
        for part in "\n".join(shortened(figure.caption)).replace(OUTSIDE, "\n").split("\n"):
            assert " ".join(part.split()) in pages[figure.page], figure.key


def test_captions_of_a_report_are_cut_where_sentences_end() -> None:
    for figure in rendered(CASES["experts"], a_moe_run()).figures:
        keeps_to_it(figure.caption)
        assert shortened(figure.caption)[0].endswith((".", "?", "!", ")", "†")), figure.key
    assert shortened("n = 5. It is so.") == ("n = 5. It is so.", "")
    long = "A word" + " more" * 50 + "."
    assert shortened(f"{long} And so on.") == (long, "And so on.")
    assert shortened("") == ("", "")
