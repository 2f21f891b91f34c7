"""The page of a comparison and of a matrix: what stands on it, and what hostile names do to it."""

import csv
import io
import re
from dataclasses import replace

import markdown
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import scaled_case
from tests.comparing.made import HOST, of_tables, run_with, slot
from tests.drawn import empty_figures
from tests.report.rendered import Tags, words
from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import compare
from tracegen.comparing.conditions import differing
from tracegen.comparing.effects import effects, factors_of, in_order
from tracegen.comparing.markdown import markdown_of
from tracegen.comparing.matrix_page import render_matrix
from tracegen.comparing.page import render_comparison
from tracegen.contract.facts import Slot
from tracegen.contract.records import decode
from tracegen.contract.tables import empty
from tracegen.publishing.side import Side
from tracegen.report.document.page import Report


def well_formed(html: str) -> Tags:
    """Nesting is right, each id stands once, and each link within the page leads somewhere."""
    tags = Tags(html)
    assert len(set(tags.ids)) == len(tags.ids) and not tags.handlers and "script" not in tags.tags
    assert {link[1:] for link in tags.links if link.startswith("#")} <= set(tags.ids)
    return tags


DENSE, MOE = scaled_case(2, 2), scaled_case(2, 2, moe=True)
HOSTILE = "</title><script>alert(1)</script>|`@you`#1 {{7*7}}"


@pytest.fixture(scope="module")
def report() -> Report:
    """Of two models."""
    return render_comparison(compare(of_tables("a", DENSE), of_tables("b", MOE)))


def test_a_page_has_every_part_and_its_files(report: Report) -> None:
    (page,) = report.pages
    well_formed(page.body)
    text = words(page.body)
    for title in (
        "What differs?",
        "What was set or built differently?",
        "How far apart are the runs?",
        "Which timed measures differ?",
        "Which counted measures differ?",
        "Where does the time of a generated token go?",
        "How long did the tokens take?",
        "Which operations changed most?",
        "Which operations of the graph differ?",
        "counted measures different",
        "at the median in A",
    ):
        assert title in text, title
    for name in ("timed", "counted", "operations", "graph", "conditions", "runs", "components"):
        rows = list(csv.reader(io.StringIO(report.files[f"data/{name}.csv"].decode())))
        assert len(rows) > 1 or name == "conditions", name
    assert {figure.key for figure in report.figures} == {"runs", "tokens", "components", "graph"}
    assert "The model files differ: their places cannot be compared." in text


def test_the_same_run_again_differs_in_nothing() -> None:
    comparison = compare(of_tables("a", MOE), of_tables("b", MOE))
    assert say.in_brief(comparison).startswith("0 of ")
    report = render_comparison(comparison)
    text = words(report.pages[0].body)
    papers = {name for name, content in report.files.items() if content.startswith(b"%PDF")}
    assert {"figures/picture.pdf", "figures/picture-86mm.pdf", "figures/runs.pdf"} <= papers
    assert "All counters are identical: " in text and {"map", "picture"} <= {figure.key for figure in report.figures}
    assert "Nothing that is known of the runs differs" in text and "Nothing: all " in text
    assert (
        "only A" not in text
        and "(better, " not in text
        and ">better<" not in report.pages[0].body.partition("</select>")[2]
    )


def test_the_picture_has_the_pass_of_median_length_of_each_kind_and_side() -> None:
    slow = dict(MOE)
    slow["passes"] = slow["passes"].assign(end_ns=slow["passes"]["end_ns"] + 200_000)
    report = render_comparison(compare(of_tables("a", MOE), of_tables("b", slow)))
    rows = {row["label"]: row for row in csv.DictReader(io.StringIO(report.files["data/picture.csv"].decode()))}
    assert list(rows) == [f"{side}: {kind}" for kind in ("prompt", "token") for side in "AB"]
    for side, tables in (("A", MOE), ("B", slow)):
        for kind, name in (("prompt", "prompt"), ("generate", "token")):
            of_kind = tables["passes"][tables["passes"]["kind"] == kind].dropna(subset=["graph"])
            took = sorted(int(ns) for ns in of_kind["end_ns"] - of_kind["begin_ns"])
            row = rows[f"{side}: {name}"]
            assert int(row["n_passes"]) == len(took) and float(row["duration_ns"]) == took[(len(took) - 1) // 2]
            parts = [float(value or 0) for key, value in row.items() if key not in ("label", "n_passes", "duration_ns")]
            assert sum(parts) == pytest.approx(float(row["duration_ns"])), row


def test_runs_without_anything_have_a_page() -> None:
    report = render_comparison(compare(of_tables("a", empty()), of_tables("b", empty())))
    text = words(report.pages[0].body)
    assert "No time was recorded on either side." in text and "No operation with a time runs on both sides." in text


def test_hostile_names_stay_text() -> None:
    tables = dict(DENSE)
    nodes = tables["graph_nodes"]
    tables["graph_nodes"] = nodes.assign(name=nodes["name"] + HOSTILE)
    a, b = of_tables(HOSTILE, tables), of_tables("b", DENSE, model={"file": HOSTILE})
    comparison = compare(a, b)
    report = render_comparison(comparison)
    well_formed(report.pages[0].body)
    assert "<script>alert" not in report.pages[0].body and HOSTILE[:20] not in report.pages[0].body
    text = markdown_of(comparison)
    assert "<script>" not in text and "@you" not in text and len(text.splitlines()) <= 40
    for line in text.splitlines():
        assert line.replace(r"\|", "").count("|") in (0, 4, 6), line
    html = markdown.markdown(text, extensions=["tables"])
    assert html.count("<table>") == 2 and "<script" not in html and "alert" in html


def test_what_is_set_differently_is_listed_and_nothing_else() -> None:
    a = of_tables("a", DENSE, 2, settings=dict(threads=1, question="x", repeat=2), host=HOST)
    b = of_tables("b", DENSE, 1, settings=dict(threads=2, question="y", repeat=1), host=HOST)
    assert [(d.group, d.key, d.a, d.b) for d in differing(a, b)] == [("Setting", "threads", ("1",), ("2",))]
    c = of_tables("c", DENSE, 1, settings=dict(chat=True, threads=2), host=HOST, model={"name": "another"})
    order = [(d.group, d.key, d.known) for d in differing(a, c) if d.group in ("Setting", "Model") and d.b != ("none",)]
    assert order[0] == ("Model", "name", True) and order[-1][2] is False, "what both hold comes first"
    assert ("Setting", "threads", True) in order and ("Setting", "chat", False) in order


def test_the_first_screen_has_the_answer_and_a_picture_and_the_rest_is_folded(report: Report) -> None:
    body = report.pages[0].body
    opened, inner = body, re.compile(r"<details[^>]*>(?:(?!<details).)*?</details>", re.DOTALL)
    while inner.search(opened):
        opened = inner.sub("", opened)
    marks = ('class="tg-answer"', 'id="fig-picture"', 'id="findings"', 'id="fig-tokens"')
    places = [opened.index(mark) for mark in marks]
    assert places == sorted(places) and "tab-" not in re.sub(r"<a [^>]*>", "", opened)
    folded = "".join(re.findall(r'<details class="tg-more tg-unfold".*', body, re.DOTALL))
    for table in ("conditions", "timed", "counted", "operations", "graph"):
        assert f'id="tab-{table}"' in folded, table


def cell(name: str, threads: str, repack: str, tables: dict[str, object]) -> Side:
    side = of_tables(name, tables, 3)  # type: ignore[arg-type]
    places = [slot(n, threads=threads, repack=repack) for n in (1, 2, 3)]
    runs = zip(side.runs, places, strict=True)
    return Side(
        name, tuple(replace(run, facts=replace(run.facts, slot=decode(Slot, place)), checks=()) for run, place in runs)
    )


CELLS = [
    cell(f"threads={t}, repack={r}", t, r, MOE if t == "10" else DENSE) for t in ("2", "10") for r in ("true", "false")
]


@given(st.permutations(["2", "10", "4"]), st.permutations(range(3)))
def test_values_of_a_factor_are_in_the_order_in_which_they_were_written(written: list[str], made: list[int]) -> None:
    cells = [run_with(n, []) for n in range(3)]
    for n in made:
        place = Slot("x/1", {"threads": written[n]}, 1, 1, 3, "", 3, 1, {"threads": n})
        cells[n] = replace(cells[n], facts=replace(cells[n].facts, slot=place))
    sides = [Side(f"threads={written[n]}", (cells[n],)) for n in made]
    assert factors_of(sides) == {"threads": written}
    assert [of.name for of in in_order(sides)] == [f"threads={value}" for value in written]


def test_an_effect_is_that_of_one_factor_whatever_the_others() -> None:
    assert factors_of(CELLS) == {"threads": ["2", "10"], "repack": ["false", "true"]}
    found = {effect.name: effect for effect in effects(CELLS)}
    assert list(found) == ["threads, 2 → 10", "repack, false → true"]
    threads, repack = found.values()
    assert not threads.comparison.paired, "six pairs are too few for a test"
    assert len(threads.comparison.a.runs) == 6
    assert {run.factors["threads"] for run in threads.comparison.b.runs} == {"10"}
    assert [name for name, _ in threads.within] == ["repack=false", "repack=true"]
    counted = [row for row in repack.comparison.rows if row.kind == "counted"]
    assert {row.state for row in counted} <= {"equal", "varies", "only A", "only B"}
    assert all(row.state == "equal" for row in counted if len(row.values_a) == 6)
    assert not say.in_brief(threads.comparison).startswith("0 of ")


def test_a_cell_without_its_neighbour_has_no_effect() -> None:
    assert effects([CELLS[0], CELLS[3]]) == []
    report = render_matrix("m", [CELLS[0], CELLS[3]])
    assert "No two cells differ in one factor alone." in words(report.pages[0].body)


def test_the_report_of_a_matrix_has_a_page_for_each_effect() -> None:
    with empty_figures():
        report = render_matrix("My matrix", CELLS)
    assert [page.path for page in report.pages] == ["index.html", "effect-1/index.html", "effect-2/index.html"]
    for page in report.pages:
        well_formed(page.body)
    text = words(report.pages[0].body)
    assert "4 cells, 12 usable runs" in text and "threads: 2, 10" in text
    assert 'href="effect-2/index.html"' in report.pages[0].body
    assert "../data/effect-2-timed.csv" in report.pages[2].body and "data/effect-2-timed.csv" in report.files
