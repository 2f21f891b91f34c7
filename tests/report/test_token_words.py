"""The words of a run: what each token is, which pass took it in, and which gave it."""

import re

import pytest

from tests.builders import a_moe_run, scaled_case, with_facts
from tests.builders.runs import facts_of, with_groups
from tests.report.rendered import body, rendered
from tracegen.report.figures.context import Context
from tracegen.report.pages.token_words import Word, words

TABLES = scaled_case(4, 2, moe=True)
GENERATED = {0: (11, " there"), 1: (42, " was"), 2: (7, " a"), 3: (5, " very"), 4: (3, " small"), 5: (9, " model.")}


def test_generated_tokens_are_given_by_one_pass_and_taken_in_by_the_next() -> None:
    listed = [word for word in words(Context(a_moe_run(), TABLES)) if word.generated is not None]
    assert {word.generated: (word.token, word.text) for word in listed} == GENERATED
    passes = TABLES["passes"].dropna(subset=["produced_token"]).set_index("produced_token")["pass_id"].to_dict()
    for word in listed:
        assert word.given == passes.get(word.generated)
        assert word.taken == (passes.get(word.generated + 1) if word.generated + 1 in passes else None)


def test_the_prompt_comes_first_and_has_ids_and_positions_of_the_token_table() -> None:
    prompt = [word for word in words(Context(a_moe_run(), TABLES)) if word.generated is None]
    kinds = TABLES["passes"].set_index("pass_id")["kind"]
    rows = TABLES["tokens"]
    rows = rows[rows["pass_id"].map(kinds) == "prompt"].sort_values(["pass_id", "row"])
    assert [word.token for word in prompt] == rows["token_id"].tolist()
    assert [word.position for word in prompt] == rows["position"].tolist()
    assert words(Context(a_moe_run(), TABLES))[: len(prompt)] == prompt


@pytest.mark.parametrize(
    ("text", "seen"), [(" the", "·the"), ("\n", "↵"), ("a\tb", "a⇥b"), ("\r\n", "␍↵"), ("<b>", "<b>"), (None, "⟨7⟩")]
)
def test_white_space_can_be_seen(text: str | None, seen: str) -> None:
    assert Word(text, 7, 0).visible == seen


def test_control_characters_do_not_reach_a_page() -> None:
    assert not re.search(r"[\x00-\x1f\x7f\u202e]", Word("a\x00\x1b[31m\u202eb", 1, 0).visible)


def test_words_on_the_overview_lead_to_their_passes() -> None:
    html = body(rendered(TABLES, a_moe_run()), "overview")
    links = re.findall(
        r'class="tg-word[^"]*" href="operations/index\.html#pass=(\d+)" title="([^"]+)">([^<]*)</a>', html
    )
    given = TABLES["passes"].dropna(subset=["produced_token"]).set_index("produced_token")["pass_id"]
    by_text = {text: int(pass_id) for pass_id, _, text in links}
    assert by_text["·was"] == given[1] and by_text["·a"] == given[2]
    assert "Once upon a time</span>" in html  # the text of its tokens is not known: the prompt as it was given


def test_words_of_the_prompt_lead_to_the_pass_that_took_them_in() -> None:
    run = a_moe_run()
    ids = {str(int(token)): f" w{int(token)}" for token in TABLES["tokens"]["token_id"].dropna()}
    run = with_facts(run, text=dict(pieces=ids | run.facts.text.pieces))
    html = body(rendered(TABLES, run), "overview")
    first = re.search(r'href="operations/index\.html#pass=(\d+)" title="prompt, position 0, [^"]*">([^<]*)</a>', html)
    prompt = TABLES["passes"].loc[TABLES["passes"]["kind"] == "prompt", "pass_id"].tolist()
    assert first and int(first[1]) == prompt[0] and first[2].startswith("·w")
    assert "Once upon a time</span>" not in html


def test_a_private_run_shows_no_word() -> None:
    run = a_moe_run()
    private = with_facts(run, text=dict(private=True))
    assert words(Context(private, TABLES)) == []
    report = rendered(TABLES, private)
    assert not any("·there" in page.body or ">there" in page.body for page in report.pages)


def test_without_pieces_the_text_stands_as_before() -> None:
    run = a_moe_run()
    old = with_groups(run, text={k: v for k, v in facts_of(run)["text"].items() if k != "pieces"})
    html = body(rendered(TABLES, old), "overview")
    assert '<pre class="tg-text"' in html and "Once upon a time" in html and "tg-text-words" not in html


def test_a_restored_text_says_that_it_is_restored_and_what_is_missing() -> None:
    """Where a part is missing the text stands as it was restored: the tokens in a row may be of several texts."""
    run = a_moe_run()
    for more, expected in (
        ({"restored": True, "missing": None}, "Restored from the recorded token ids."),
        ({"restored": True, "missing": "the last <token>"}, "recorded token ids. Missing: the last &lt;token&gt;.</p>"),
        ({"prompt": None, "generated": None, "missing": "3 sequences"}, "text were not recorded: 3 sequences.</p>"),
        ({}, ""),
    ):
        of = with_facts(run, text=more)
        report = rendered(TABLES, of)
        for page in ("overview", "method"):
            assert expected in body(report, page)
            assert ("Restored from" in body(report, page)) is (more.get("restored") is True)
        assert ("tg-text-words" in body(report, "overview")) is not bool(more.get("missing"))


@pytest.mark.parametrize("pieces", [None, [], "x", {"x": " a", "7": 5, "11": None}])
def test_strange_pieces_do_no_harm(pieces: object) -> None:
    strange = with_facts(a_moe_run(), text=dict(pieces=pieces))
    assert [word.visible for word in words(Context(strange, TABLES))][-1] == "⟨9⟩"
