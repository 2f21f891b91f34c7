"""What opens the overview: the findings that the question asks for, each with a figure that stands where it leads."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.builders import a_moe_run, a_run
from tests.pages.rendered import CASES, body, rendered, words
from tracegen.contract.model import Check
from tracegen.report.figures.disk import DISK
from tracegen.report.figures.expert_shares import EXPERTS_LOAD
from tracegen.report.figures.heatmap import HEATMAP
from tracegen.report.figures.times import COMPONENTS
from tracegen.report.pages.ranking import Finding, asked, ranked
from tracegen.report.words import sentences

FOUND = (
    Finding("Bytes, a half.", HEATMAP, "bytes", 0.5),
    Finding("Time, most.", COMPONENTS, "time", 0.9),
    Finding("Experts, few.", EXPERTS_LOAD, "experts", 0.1),
    Finding("No disk.", DISK, "the disk", 0.0),
)


@pytest.mark.parametrize(
    ("question", "subjects"),
    [
        ("Which experts of a small mixture-of-experts model does each token read?", ("experts", "bytes")),
        ("Where does a token of a mixture of experts wait for the disk?", ("waiting", "the disk")),
        ("How much of a small Mixture-of-Experts model does one token read?", ("bytes",)),
        ("Do repacked matrices keep tokens from waiting for the disk?", ("bytes", "waiting", "the disk")),
        ("How long does a token take?", ("time",)),
        (
            "Is there a hot set of experts, and how much memory is enough?",
            ("experts", "the size of memory", "bytes"),
        ),
        ("Is it wise?", ()),
        ("", ()),
        ("Bytesized fitness", ()),
    ],
)
def test_what_a_question_asks(question: str, subjects: tuple[str, ...]) -> None:
    assert asked(question) == subjects


def test_the_question_decides_first_and_then_the_share() -> None:
    order = [f.subject for f in ranked(FOUND, "Which experts of the disk?").first]
    assert order == ["experts", "the disk", "time"]
    whole = ranked(FOUND, "Is it wise?")
    assert [f.share for f in (*whole.first, *whole.others)] == [0.9, 0.5, 0.1, 0.0]
    assert whole.rule == "The findings that state the largest shares come first."
    assert (len(whole.first), len(whole.others)) == (3, 1)
    assert ranked((), "Which experts?") == ranked((), "") and ranked((), "").rule == ""


def test_subjects_of_a_question_take_turns() -> None:
    found = (
        *FOUND,
        Finding("Bytes, all.", HEATMAP, "bytes", 1.0),
        Finding("Experts, half.", EXPERTS_LOAD, "experts", 0.6),
    )
    whole = ranked(found, "Which experts read which bytes?")
    assert [f.text for f in (*whole.first, *whole.others)] == [
        "Experts, half.", "Bytes, all.", "Experts, few.", "Bytes, a half.", "Time, most.", "No disk."
    ]  # fmt: skip
    assert whole.rule.startswith("First the findings about experts and bytes, which the question names, in turn; then")


def test_a_question_that_nothing_answers_is_said_to_be_unanswered() -> None:
    rule = ranked(FOUND[:2], "Which experts?").rule
    assert rule.startswith("No finding about experts was counted.") and "first the" not in rule.lower()
    assert ranked(FOUND[:2], "Which bytes of which experts?").rule.endswith("No finding about experts was counted.")


@pytest.mark.parametrize(("name", "question"), [*((name, "") for name in CASES), ("experts", "Which experts?")])
def test_each_finding_leads_to_its_figure(name: str, question: str) -> None:
    run = a_moe_run() if name == "experts" else a_run()
    if question:
        run = replace(run, facts={**run.facts, "settings": {**run.facts["settings"], "question": question}})
    report = rendered(CASES[name], run)
    overview = body(report, "overview")
    items = re.findall(r"<li>(.*?)</li>", "".join(re.findall(r'<[ou]l class="tg-(?:answers|findings)">(.*?)</[ou]l>',
                                                             overview, re.DOTALL)), re.DOTALL)  # fmt: skip
    assert all(words(item).strip() for item in items)
    for item in items:
        (href,) = re.findall(r'<a class="tg-figure-of" href="([^"]*)"', item)
        page, _, anchor = href.partition("#")
        key = page.split("/")[0] or "overview"
        assert f'id="{anchor}"' in body(report, key), href
    if name in ("dense", "experts", "hard case"):
        assert len(items) >= 3
    if name in ("nothing", "only a load"):
        assert "touches" not in words("".join(items)) and "threads work" not in words("".join(items))


def test_the_overview_opens_with_answers_then_the_heatmap_then_key_figures() -> None:
    run = a_moe_run()
    run = replace(run, facts={**run.facts, "settings": {**run.facts["settings"], "question": "Which experts?"}})
    overview = body(rendered(CASES["experts"], run), "overview")
    marks = ('class="tg-asked"', 'class="tg-answers"', 'id="fig-heatmap"', 'id="key-figures"', 'id="time"')
    assert all(overview.count(mark) == 1 for mark in marks)
    places = [overview.index(mark) for mark in marks]
    assert all(a < b for a, b in pairwise(places))


def test_the_heatmap_of_the_overview_is_that_of_the_memory_page() -> None:
    report = rendered(CASES["experts"], a_moe_run(), drawn=("heatmap",))
    drawings = [
        re.search(r'<figure id="fig-heatmap".*?(<svg.*?</svg>)', body(report, key), re.DOTALL)
        for key in ("overview", "memory")
    ]
    assert drawings[0] and drawings[1] and drawings[0][1] == drawings[1][1]
    assert [f.page for f in report.figures if f.key == "heatmap"] == ["memory"], "a journal quotes it once"


@pytest.mark.parametrize(
    ("n", "line"),
    [
        (0, "complete"),
        (1, "complete with warnings: check 0 12 % (limit: 5 %)"),
        (2, "complete with warnings: check 0 12 % (limit: 5 %); check 1 12 % (limit: 5 %)"),
        (4, "complete with warnings: check 0 12 % (limit: 5 %); check 1 12 % (limit: 5 %); 2 more"),
    ],
)
def test_the_verdict_names_its_warnings(n: int, line: str) -> None:
    checks = tuple(Check(f"check_{i}", "A check", "warning", "12 %", "5 %") for i in range(n))
    run = a_run(checks=(Check("other", "Passed", "passed", "1", "1"), *checks))
    assert sentences.verdict_line(run.verdict, run.checks) == line
    for page in rendered(CASES["dense"], run).pages if n == 4 else ():
        assert f"Verdict: {line}" in words(page.body).replace("\u202f", " "), page.key


def test_the_verdict_of_a_run_that_is_not_usable_names_what_failed_and_not_what_warned() -> None:
    run = a_run(
        checks=(
            Check("interference", "x", "warning", "9 %", "5 %"),
            Check("one_run_id", "y", "failed", "2", "x" * 500),
        )
    )
    line = sentences.verdict_line(run.verdict, run.checks)
    assert line.startswith("not usable: one run id 2 (limit: xxx") and line.endswith("x…") and len(line) < 140


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (1, "The generated token touched 4.00 KiB of weights, as much as 25.0 % of the file."),
        (2, "A generated token touches, at the median, 4.00 KiB of weights, as much as 25.0 % of the file."),
    ],
)
def test_what_a_token_touches_is_held_against_the_file(n: int, said: str) -> None:
    assert sentences.weights_of_token(4096, 0.25, n) == said
