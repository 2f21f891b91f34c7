"""A matrix as versions: one a cell, which do not supersede each other, and a page that compares them without runs."""

import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_run, scaled_case, stored
from tests.builders.runs import facts_of
from tests.cli.commands.conftest import stand_in_renderer as stand_in_renderer
from tests.comparing.made import run_with, slot, timed
from tests.site.test_comparisons import gathered
from tests.site.test_journal import shown
from tracegen.cli.main import main
from tracegen.comparing.answer import matrix_answer
from tracegen.comparing.comparison import compare
from tracegen.comparing.effects import effects
from tracegen.comparing.matrix_page import render_matrix
from tracegen.comparing.sides import cells_of, newest_published_cells, side_of
from tracegen.publishing.side import Side
from tracegen.publishing.versions import read_published
from tracegen.site import home
from tracegen.site.cards import card
from tracegen.site.references import references
from tracegen.site.thesis.documents import Paragraph
from tracegen.site.thesis.mentions import mentions
from tracegen.storing import store

pytestmark = pytest.mark.usefixtures("empty_figures")
HOST = facts_of(a_run())["host"]


def a_matrix(folder: Path, rounds: range = range(1, 9), matrix: str = "abc/1", **facts: Any) -> None:
    """Runs of two cells; those with two threads take half the time, and later rounds a little more."""
    for turn in rounds:
        for threads in ("1", "2"):
            number = store.next_number(folder / "runs")
            own = {**slot(turn, threads=threads), "matrix": matrix}
            settings = {**facts_of(a_run())["settings"], "threads": int(threads)}
            run = a_run(slot=own, settings=settings, host={**HOST, "id": "0a1b2c3d"}, **facts)
            run = replace(
                run, experiment=folder.name, number=number, created=f"2026-11-20T12:{turn:02d}:{threads:>02}Z"
            )
            tables = dict(scaled_case(2, 1))
            passes = tables["passes"]
            times = {name: (passes[name] * (100 + turn) // (100 * int(threads))) for name in ("begin_ns", "end_ns")}
            tables["passes"] = passes.assign(**times)
            stored(folder.parent, run, tables)


def published(root: Path, rounds: range = range(1, 9)) -> Path:
    """The folder `experiments` of a project with versions of both cells."""
    a_matrix(root / "experiments" / "m", rounds)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main(["publish", "m", "--matrix", "-m", "both cells"]) == 0
    return root / "experiments"


@pytest.fixture(scope="module")
def made(empty_figures: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nobody changes it."""
    return published(tmp_path_factory.mktemp("matrix"))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one test has drawn, another finds: a comparison is named by the hash of its sides."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def project(made: Path, here: Path) -> Path:
    """A copy of it without the runs."""
    shutil.copytree(made, here / "experiments", ignore=shutil.ignore_patterns("runs"))
    return here / "experiments"


def test_each_cell_is_a_version_with_all_its_runs(made: Path) -> None:
    versions = {p.version.name: p for p in read_published(made / "m", None)}
    assert {name: p.bundle.cell for name, p in versions.items()} == {
        "v1": {"matrix": "abc/1", "factors": {"threads": "1"}},
        "v2": {"matrix": "abc/1", "factors": {"threads": "2"}},
    }
    for version, threads in (("v1", "1"), ("v2", "2")):
        folder = versions[version].bundle.folder
        (csl,) = json.loads((folder / "citation.json").read_text())
        cited = (folder / "citation.bib").read_text()
        assert csl["title"].endswith(f" (threads={threads})") and f"(threads={threads})}}}}" in cited
        assert f'data-question="{csl["title"]}"' in (folder / "operations" / "index.html").read_text()
        rows = list(csv.DictReader(io.StringIO((folder / "data/runs.csv").read_text())))
        numbers = range(1 if threads == "1" else 2, 17, 2)
        assert [(row["run"], row["round"], row["host_id"]) for row in rows] == [
            (f"run-{number:03d}", str(turn), "0a1b2c3d") for turn, number in enumerate(numbers, 1)
        ]
        names = {row["run"] for row in csv.DictReader(io.StringIO((folder / "data/repeats.csv").read_text()))}
        assert names == {f"run-{number:03d}" for number in numbers}
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        extra = sum((folder / "data" / name).stat().st_size for name in ("repeats.csv", "runs.csv"))
        assert size <= 1.2 * (size - extra)


def test_the_journal_names_a_cell_and_the_version_must_be_it(made: Path) -> None:
    known = references(read_published(made / "m", None))
    value = "m@v2:threads=2:tokens_per_second_generate"
    (plain, _), (of_cell, none) = (
        shown(known, text) for text in ("{{ m@v2:tokens_per_second_generate }}", f"{{{{ {value} }}}}")
    )
    assert plain == of_cell and "tokens/s" in plain and none == []
    for text, why in (
        ("{{ m@v1:threads=2:x }}", "m@v1 is threads=1; threads=2 is m@v2 (current)"),
        ("{{ m@v1:threads=3:x }}", "no version of m has threads=3"),
        ("{{ m:threads=1:x }}", "a reference names a version; threads=1 is m@v1 (current)"),
    ):
        (problem,) = shown(known, text)[1]
        assert problem.literal == text and why in problem.reason
    (mention,) = mentions(Paragraph(1, f"{{{{ {value}:run }}}}"))
    assert (mention.citation, mention.cell, mention.key, mention.part) == (
        "m@v2",
        "threads=2",
        "tokens_per_second_generate",
        "run",
    )


def test_versions_say_what_their_runs_say(made: Path) -> None:
    """The same pairs, the same shift, interval and p: from the versions as from the runs."""
    of_runs = compare(*cells_of("m", made))
    of_versions = compare(*newest_published_cells("m", made))
    assert of_runs.paired and of_versions.paired
    assert [replace(row, difference=None) for row in of_runs.rows] == [
        replace(row, difference=None) for row in of_versions.rows
    ]
    timed = [row for row in of_runs.rows if row.difference]
    assert timed and [row.difference for row in of_versions.rows] == [row.difference for row in of_runs.rows]
    assert any(row.state == "different" for row in timed)
    both = compare(side_of("m@v1", made), side_of("m@v2", made))
    assert [row.state for row in both.rows] == [row.state for row in of_runs.rows]


def test_each_run_of_a_matrix_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_matrix(tmp_path / "m", range(1, 3))
    read, tables_of = [], store.read_tables

    def counted(folder: Path, *more: Any) -> Any:
        read.append(folder.parent.name)
        return tables_of(folder, *more)

    monkeypatch.setattr(store, "read_tables", counted)
    report = render_matrix("m", cells_of("m", tmp_path))
    assert len(report.pages) == 2 and sorted(read) == ["001", "002", "003", "004"]


@pytest.mark.usefixtures("stand_in_renderer")
@pytest.mark.parametrize(("listed", "order"), [("[2, 1]", ["2", "1"]), ("[2]", ["2", "1"]), ("[1, 2]", ["1", "2"])])
def test_versions_stand_in_the_order_of_the_file(here: Path, listed: str, order: list[str]) -> None:
    a_matrix(here / "experiments" / "m", range(1, 2))
    (here / "experiments" / "m" / "experiment.toml").write_text(
        f'question = "?"\nmodel = "demo"\nprompt = "a"\ntokens = 2\n[matrix]\nthreads = {listed}\n'
    )
    assert main(["publish", "m", "--matrix", "-m", "both cells"]) == 0
    found = read_published(here / "experiments" / "m", None)
    versions = {p.version.number: p.bundle.cell["factors"]["threads"] for p in found}
    assert [versions[n] for n in (1, 2)] == order


@pytest.mark.usefixtures("stand_in_renderer")
def test_cells_do_not_supersede_each_other(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = published(here, range(1, 4))

    def status() -> dict[str, tuple[str, int | None]]:
        return {p.version.name: (p.version.status, p.successor) for p in read_published(project / "m", None)}

    assert status() == {"v1": ("current", None), "v2": ("current", None)}
    assert main(["publish", "m", "--matrix", "-m", "again"]) == 0
    assert capsys.readouterr().out.count("it is published already, as m@v") == 2 and len(status()) == 2
    assert main(["publish", "m/run-001", "-m", "another run of the first cell"]) == 0
    said = capsys.readouterr().err
    assert all(f"{step}: " in said for step in ("check the evidence of the run", "draw the pages", "write the version"))
    assert status() == {"v1": ("superseded", 3), "v2": ("current", None), "v3": ("current", None)}
    assert main(["publish", "m", "--withdraw", "3", "-m", "wrong"]) == 0
    assert status() == {"v1": ("current", None), "v2": ("current", None), "v3": ("withdrawn", None)}
    assert main(["publish", "m", "--withdraw", "2", "-m", "wrong"]) == 0
    assert status() == {"v1": ("current", None), "v2": ("withdrawn", None), "v3": ("withdrawn", None)}
    a_matrix(project / "m", range(1, 2), "abc/2")
    assert main(["publish", "m", "--matrix", "-m", "a new matrix"]) == 0
    assert status() == {
        "v1": ("superseded", 5),
        "v2": ("withdrawn", 5),
        "v3": ("withdrawn", 5),
        "v4": ("current", None),
        "v5": ("current", None),
    }


def test_the_site_compares_the_cells_without_their_runs(project: Path, cache: Path) -> None:
    site = gathered(project, cache)
    assert [c.planned.slug for c in site.entries[0].comparisons] == ["matrix-v1-to-v2"]
    page = site.pages["experiments/m/matrix-v1-to-v2/index.md"].content()
    assert "threads, 1 → 2" in page and all(f'href="../v{n}/index.html"' in page for n in (1, 2))
    assert "medians of 8 and 8 runs, tested in pairs" in page
    listed = site.pages["experiments/m/index.md"].content()
    assert "The matrix of v1 to v2" in listed and "threads=1" in listed
    assert "Superseded" not in site.pages["experiments/m/v1/index.md"].content()


def test_two_cells_as_a_matrix_and_as_a_pair_are_two_pages(project: Path, cache: Path) -> None:
    site = gathered(project, cache, ["m@v1", "m@v2"])
    assert {c.planned.slug: len(c.bundle.pages) for c in site.entries[0].comparisons if c.bundle} == {
        "matrix-v1-to-v2": 2,
        "with-m-v1-m-v2": 1,
    }


def test_a_cell_is_compared_with_the_last_version_of_the_same_cell(project: Path, cache: Path) -> None:
    a_matrix(project / "m", range(1, 2), "abc/2")
    assert main(["publish", "m", "--matrix", "-m", "a new matrix"]) == 0
    shutil.rmtree(project / "m" / "runs")
    site = gathered(project, cache)
    assert [c.planned.slug for c in site.entries[0].comparisons] == [
        "v4-from-v2",
        "v3-from-v1",
        "matrix-v3-to-v4",
        "matrix-v1-to-v2",
    ]


def test_compare_takes_the_versions_where_there_are_no_runs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "m", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["a"]["name"] == "threads=1" and found["b"]["name"] == "threads=2"
    assert side_of("m:threads=2").name == "threads=2 (v2)" and len(side_of("m:threads=2").runs) == 8
    assert main(["compare", "m:threads=1", "m:threads=3"]) == 2
    assert "names no cell, or several; cells of m: threads=1 (v1); threads=2 (v2)" in capsys.readouterr().err
    assert main(["compare", "m@x", "m@v1"]) == 2
    assert "m@x: names no version; write NAME@v2" in capsys.readouterr().err


def test_a_private_matrix_tells_no_matrix(here: Path) -> None:
    folder = here / "experiments" / "m"
    a_matrix(folder, range(1, 2))
    (folder / "experiment.toml").write_text("private = true\n")
    assert main(["publish", "m", "--matrix", "-m", "both cells"]) == 0
    for version in read_published(folder, None):
        assert version.bundle.cell == {}
        for path in version.bundle.folder.rglob("*"):
            assert not path.is_file() or b"abc/1" not in path.read_bytes(), path
    assert newest_published_cells("m", folder.parent) == []
    assert not side_of("m@v1", folder.parent).runs[0].matrix


def test_cells_are_named_without_the_paths_of_their_factors_and_stay_apart(tmp_path: Path) -> None:
    for number, place in enumerate(("/home/ada/x/m.gguf", "/home/ada/y/m.gguf", "z/m.gguf"), 1):
        own = {**slot(number, model=place), "matrix": "abc/1"}
        stored(tmp_path, replace(a_run(slot=own), experiment="m", number=number), scaled_case(1, 1))
    cells = cells_of("m", tmp_path)
    shown = [cell.runs[0].factors["model"] for cell in cells]
    assert "ada" not in str([cell.name for cell in cells] + shown)
    assert len(set(shown)) == 3 and "z/m.gguf" in shown
    assert [cell.name for cell in cells] == [f"model={model}" for model in shown]
    for address in ("m:model=/home/ada/x/m.gguf", f"m:{cells[0].name}"):
        assert len(side_of(address, tmp_path).runs) == 1


def test_what_does_not_go_together_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_matrix(here / "experiments" / "m", range(1, 3))
    for words in (["m", "3", "--matrix"], ["m/run-003", "--matrix"], ["m", "--matrix", "--withdraw", "1"]):
        assert main(["publish", *words, "-m", "x"]) == 2
        assert "--matrix: publishes a run of each cell" in capsys.readouterr().err


def test_a_list_of_runs_that_was_changed_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = project / "m" / "versions" / "1" / "data" / "runs.csv"
    path.write_text(path.read_text().replace("0a1b2c3d", "ffffffff"))
    assert main(["compare", "m@v1", "m@v2"]) == 2
    assert "runs.csv: is missing or has changed since it was published" in capsys.readouterr().err


def test_the_card_of_a_matrix_has_the_answer_of_its_comparison(made: Path, cache: Path) -> None:
    """Two threads take half the time of one, in each of eight rounds: the least p of pairs is 2 / 2 ** 8."""
    site = gathered(made, cache)
    (entry,) = site.entries
    shown = card(entry)
    assert shown.finding.startswith("One setting differs: threads is 1 in A and 2 in B. Generation speed is ")
    assert "2.00 × as fast: better." in shown.finding and shown.finding.endswith("8 and 8 runs, tested in pairs.")
    assert shown.finding != shown.about.finding and shown.about.finding not in shown.finding
    front = home.completed(home.marked("<h1>x</h1>"), site, [], {})
    listed = site.pages["experiments/index.md"].content()
    for html, base in ((front, "experiments/"), (listed, "")):
        assert "threads is 1 in A and 2 in B. Generation speed" in html
        assert f'<a href="{base}m/matrix-v1-to-v2/index.html">The comparison</a>' in html


def test_the_factor_that_changed_the_speed_most_answers() -> None:
    """Threads double the speed, repacking adds a tenth; noise of a thousandth; eight rounds."""
    cells = []
    for threads, repack, rate in (("1", "off", 10.0), ("1", "on", 11.0), ("2", "off", 20.0), ("2", "on", 22.0)):
        runs = [
            run_with(turn, [timed(rate * (1 + turn / 1000))], slot=slot(turn, repack=repack, threads=threads))
            for turn in range(1, 10)
        ]
        cells.append(Side(f"threads={threads}, repack={repack}", tuple(runs)))
    found = effects(cells)
    assert [effect.factor for effect in found] == ["repack", "threads"]
    said = matrix_answer(found)
    assert said.startswith("One factor differs: threads is 1 in A and 2 in B. Generation speed is 10.6 tokens/s in A")
    assert "2.00 × as fast: better." in said and said.endswith("1 other factor varied, too.")
    assert matrix_answer([]) == ""


def test_runs_of_a_matrix_answer_before_they_are_published(tmp_path: Path) -> None:
    a_matrix(tmp_path / "experiments" / "m", range(1, 3))
    (entry,) = gathered(tmp_path / "experiments", tmp_path / "cache").entries
    shown = card(entry)
    assert shown.matrix is not None and shown.matrix.planned.slug == "matrix"
    assert shown.finding.startswith("One setting differs: threads is 1 in A and 2 in B. Generation speed is ")
