"""The first page: question, answer, picture and findings, each with a figure that stands where it leads."""

import re
from collections.abc import Mapping
from itertools import pairwise

import pandas as pd
import pytest

from tests.builders import a_moe_run, a_run, only, scaled_case, with_facts
from tests.report.rendered import CASES, Tags, body, disk_case, rendered
from tests.site_project import private_run, private_tables
from tracegen.contract.model import Check, Run
from tracegen.publishing import privacy
from tracegen.report.document.assets import Assets
from tracegen.report.figures.context import Context
from tracegen.report.figures.file_tokens import FILE_TOKENS
from tracegen.report.pages.parts import figure
from tracegen.report.words import sentences


def test_the_first_page_is_question_answer_picture_key_figures_findings_verdict_and_text() -> None:
    run = a_moe_run()
    run = with_facts(run, settings=dict(question="Which experts?"))
    overview = body(rendered(CASES["experts"], run), "overview")
    marks = (
        "<h1>Which experts?</h1>",
        'class="tg-answer"',
        'id="fig-file-tokens"',
        'id="key-figures"',
        'id="findings"',
        'id="verdict"',
        'id="text"',
    )
    assert all(overview.count(mark) == 1 for mark in marks)
    places = [overview.index(mark) for mark in marks]
    assert all(a < b for a, b in pairwise(places))
    assert [name for name in Tags(overview).ids if name.startswith(("fig-", "tab-"))] == ["fig-file-tokens"]
    assert overview.count('<div id="value-') == 6


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
        assert f'index.html#verdict" title="{line}">' in page.body.replace("\u202f", " "), page.key


def test_the_verdict_of_a_run_that_is_not_usable_names_what_failed_and_not_what_warned() -> None:
    run = a_run(
        checks=(
            Check("interference", "x", "warning", "9 %", "5 %"),
            Check("one_run_id", "y", "failed", "2", "x" * 500),
        )
    )
    line = sentences.verdict_line(run.verdict, run.checks)
    assert line.startswith("not usable: one run id 2 (limit: xxx") and line.endswith("x…") and len(line) < 140


def chat(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Every third pass that generated is called a pass of a prompt."""
    kinds = tables["passes"]["kind"].astype("object")
    later = [kind == "generate" and n % 3 == 0 for n, kind in enumerate(kinds)]
    return {**tables, "passes": tables["passes"].assign(kind=kinds.mask(later, "prompt").astype("category"))}


def unknown(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """No pass has a kind, nor a token: graphs of ggml without llama.cpp."""
    passes = tables["passes"]
    some = passes["n_tokens"] > 0
    nothing = {name: passes[name].mask(some) for name in ("kind", "produced_token", "ubatch")}
    return {**tables, "passes": passes.assign(**nothing)}


RUNS: dict[str, tuple[Run, Mapping[str, pd.DataFrame]]] = {
    **{name: (a_moe_run() if name in ("experts", "hard case") else a_run(), tables) for name, tables in CASES.items()},
    "everything recorded": disk_case(),
    "private": (private_run(), privacy.public_tables(private_run(), private_tables())),
    "load and warm-up": (a_run(), only(CASES["dense"], ("load", "warmup"))),
    "prompts between tokens": (a_run(), chat(scaled_case(90, 1))),
    "unknown kinds": (a_run(), unknown(scaled_case(90, 1))),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_picture_is_drawn_or_says_why_it_is_not(name: str) -> None:
    run, tables = RUNS[name]
    view = figure(Context(run, dict(tables)), Assets(), FILE_TOKENS)
    assert (view.drawing is None) == bool(view.reason)
    if view.drawing is None:
        assert name in ("only a load", "nothing", "no graph", "no times", "load and warm-up"), view.reason
        return
    for layout in view.drawing.layouts:
        texts = re.findall(r"<text[^>]*>([^<]*)</text>", layout.svg)
        width = float(re.findall(r'width="([\d.]+)"', layout.svg)[0])
        assert "time" in texts and not {"nan", "None", "<NA>"} & set(texts) and width <= layout.width, layout.width
        assert len(re.findall("<path|<rect", layout.svg)) < 5_000
