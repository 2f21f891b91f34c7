"""`tracegen show RUN QUESTION`: answers on the terminal are those of the pages."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import a_moe_run, a_run, scaled_case
from tests.foreign.samples import sample
from tests.site_project import stored
from tracegen.cli.main import main
from tracegen.contract.components import GROUP_OF
from tracegen.contract.quantities import THIN
from tracegen.reading.notebook.loaded import load
from tracegen.report.document.amount import in_words
from tracegen.report.document.assets import Assets
from tracegen.report.document.page import OUTLINE
from tracegen.report.figures.answers import answers, questions
from tracegen.report.figures.context import Context
from tracegen.report.figures.expert_shares import EXPERTS_BALANCE
from tracegen.report.pages.parts import sections


@pytest.fixture(autouse=True)
def run(here: Path) -> None:
    """A stored run `demo` of a mixture."""
    stored(Path("experiments"), a_moe_run(), scaled_case(4, 2, moe=True))


def printed(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert main(["show", *words]) == status
    out, err = capsys.readouterr()
    return out if status == 0 else err


def test_every_question_of_every_page_is_answered_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "demo", "all").splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    loaded = load("demo")
    context = Context(loaded.measured, loaded.tables)
    asked = {part.key: part.page for part in questions() if part.when.holds(context)}
    assert sorted(listed) == sorted(asked) and "disk" in listed
    of_page = {key: title for key, title, _ in OUTLINE}
    titles = [line for line in lines if line and not line.startswith(" ")]
    assert titles == [title for key, title in of_page.items() if key in asked.values()], "each once, in their order"
    under, title = {}, ""
    for line in filter(None, lines):
        if line.startswith("  "):
            under[line.split()[0]] = title
        else:
            title = line
    assert under == {key: of_page[page] for key, page in asked.items()}


def test_times_and_sizes_have_a_unit_that_fits() -> None:
    loaded = load("demo")
    found = answers(Context(loaded.measured, loaded.tables), questions())
    heads = [head for answer in found for head, _ in answer.columns]
    assert "duration (µs)" in heads and "time_per_token (µs)" in heads and "touched_bytes (KiB)" in heads
    assert not [head for head in heads if re.search(r"(^|_)(ns|bytes)(_\w+)?$", head)]
    (tokens,) = (answer for answer in found if answer.key == "file-tokens")
    assert tokens.data is not None
    for head, texts in tokens.columns:
        if group := next(
            (name for name in (*GROUP_OF.values(), "duration_ns") if head.startswith(name.removesuffix("_ns"))), None
        ):
            scale = {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1.0}[head[head.index("(") + 1 : -1]]
            shown = [float(text.replace(THIN, "")) * scale for text in texts]
            assert shown == pytest.approx(tokens.data[group], abs=scale / 1e3), head


def test_answers_are_the_amounts_of_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    answers = {answer["key"]: answer for answer in json.loads(printed(capsys, "demo", "all", "--json"))}
    loaded = load("demo")
    blocks = sections(Context(loaded.measured, loaded.tables), Assets(), "appendix")
    for view in (view for views in blocks.values() for view in views):
        assert answers[view.key]["answer"] == (None if view.reason else in_words(view.answer))
        assert answers[view.key]["question"] == view.title
        counts = view.caption.partition(" What the first page says with it:")[0]
        assert answers[view.key]["reason"] == (view.reason or None) and answers[view.key]["counts"] == counts
        assert answers[view.key]["page"] == "appendix"
    assert all(answer["answer"] is None or answer["reason"] is None for answer in answers.values())


def test_the_data_are_those_of_the_csv_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    loaded = load("demo")
    context = Context(loaded.measured, loaded.tables)
    assets = Assets()
    sections(context, assets, "appendix"), sections(context, assets, "file")
    for key in ("access-order", "access-reads", "tensor-groups"):
        text = printed(capsys, "demo", key, "--csv")
        assert text == assets.files[f"data/{key}.csv"].decode()
        rows = json.loads(printed(capsys, "demo", key, "--json"))["data"]
        assert len(rows) == len(list(csv.DictReader(io.StringIO(text)))) > 0


def test_one_answer_has_its_rows_and_what_was_counted(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "demo", "access-reads").splitlines()
    assert lines[0] == "9 accesses, 1 read with a gap tolerance of 2.00 MiB"
    assert lines[2].split("  ")[0] == "At most between" and lines[3].split()[0] == "nothing"
    assert lines[-1].startswith("Accesses that follow each other")


def test_a_question_without_an_answer_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert "too few to learn a hot set" in printed(capsys, "demo", "hot-experts")
    assert "too few to learn a hot set" in printed(capsys, "demo", "hot-experts", "--csv", status=2)
    answer = json.loads(printed(capsys, "demo", "hot-experts", "--json"))
    assert answer["answer"] is None and "too few" in answer["reason"] and answer["data"] is None


def test_a_foreign_trace_answers_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert "FLASH_ATTN_EXT" in printed(capsys, str(sample("v3-256-moe")), "op-kinds")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("demo", "speed"), "speed: is not a question; there are: all, file-tokens, "),
        (("demo", "--csv"), "--csv: prints the data of one answer; name its QUESTION"),
        (("demo", "all", "--csv"), "--csv: prints the data of one answer; name its QUESTION"),
        (("nothing", "access-order"), "nothing: there is no such run"),
        (("nothing@v1", "all"), "nothing@v1: there is no such version"),
        (("demo", "access-order", "--ops"), "--ops: is not allowed with a QUESTION"),
        (("demo", "disk-split"), "disk-split: is asked of a run that recorded page faults (faults = true) only"),
        (("demo", "access-order", "--csv", "--json"), "not allowed with '--csv'"),
    ],
)
def test_wrong_use(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    assert said in printed(capsys, *words, status=2)


def test_names_of_a_trace_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    tables = scaled_case(2, 1)
    names = tables["tensors"]["name"]
    tables["tensors"] = tables["tensors"].assign(name=("\x1b[2J" + names).astype(names.dtype))
    stored(Path("experiments"), replace(a_run(), experiment="hostile"), tables)
    text = printed(capsys, "hostile", "biggest-tensors")
    assert "[2J" in text and "\x1b" not in text


def test_columns_of_the_same_name_keep_their_own_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """The table has three columns `by chance`: of entropy, of Gini, and of the largest load."""
    lines = [line for line in printed(capsys, "demo", "experts-balance").splitlines() if line]
    heads = lines[1].split("  ")
    loaded = load("demo")
    content = EXPERTS_BALANCE.content(Context(loaded.measured, loaded.tables))
    assert sum(head.strip() == "by chance" for head in heads) == 3
    cells = [text for text in lines[2].split("  ") if text]
    assert [text.strip() for text in cells] == [cell.text for cell in content.rows[0]]
