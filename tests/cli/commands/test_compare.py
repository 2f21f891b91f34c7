"""`tracegen compare`: addresses, output, exit codes, and the page that it writes."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests import builders
from tests.builders import a_run, scaled_case
from tests.builders.runs import facts_of
from tests.comparing.made import slot
from tests.stand_in import NOW
from tracegen.cli.main import main
from tracegen.comparing.sides import cells_of
from tracegen.contract.model import Check, Run
from tracegen.publishing import privacy
from tracegen.publishing import versions as publish
from tracegen.report.pages.render import render_report

pytestmark = pytest.mark.usefixtures("empty_figures", "here")
BAD = (Check("dropped_events", "No event was dropped", "failed", "3", "0"),)
TABLES = scaled_case(2, 2)


def stored(name: str, number: int, checks: tuple[Check, ...] = (), layers: int = 2, **facts: object) -> Run:
    run = replace(a_run(checks=checks, **facts), experiment=name, number=number)
    return builders.stored(Path("experiments"), run, TABLES if layers == 2 else scaled_case(2, layers))


def test_two_runs_are_compared_and_the_page_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    stored("a", 1)
    stored("b", 1, layers=3)
    assert main(["compare", "a/run-001", "b"]) == 0
    out = capsys.readouterr().out
    assert (
        "a/run-001 → b: " in out and "There is one run each, so the size" in out and "Same within 5 %: the whole" in out
    )
    (page,) = re.findall(r"^page: (.+)$", out, re.MULTILINE)
    text = Path(page).read_text(encoding="utf-8")
    assert "What differs?" in text and "countess" not in text
    assert main(["compare", "a/run-001", "b"]) == 0  # the page is written again


def test_ranges_series_and_runs_that_are_not_usable(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(1, 5):
        series = {"number": number, "of": 4, "first_run": "run-001"}
        stored("a", number, BAD if number == 2 else (), repetition=series)
    stored("a", 5)
    stored("b", 1, repetition={"number": 1, "of": 1, "first_run": "run-001"})
    assert main(["compare", "a/run-001..run-004", "a/3..9", "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert document["a"]["runs"] == ["a/run-001", "a/run-003", "a/run-004"]
    assert document["b"]["runs"] == ["a/run-003", "a/run-004", "a/run-005"]
    assert main(["compare", "b", "a/run-004", "--json"]) == 0
    capsys.readouterr()
    assert main(["compare", "a/run-002", "b"]) == 2
    assert "to compare (a/run-002: not usable: No event was dropped)" in capsys.readouterr().err
    assert main(["compare", "a/run-007..run-009", "b"]) == 2
    assert "has no usable run to compare (it names no run)" in capsys.readouterr().err


def test_the_newest_run_stands_for_its_series(capsys: pytest.CaptureFixture[str]) -> None:
    stored("a", 1)
    for number in (2, 3):
        stored("a", number, repetition={"number": number - 1, "of": 2, "first_run": "run-002"})
    assert main(["compare", "a/run-001", "a", "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert document["b"]["runs"] == ["a/run-002", "a/run-003"]


def test_cells_of_a_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    for number, (threads, repack) in enumerate([("1", "true"), ("2", "true"), ("1", "false"), ("2", "false")], 1):
        stored("m", number, slot=slot(1, threads=threads, repack=repack), layers=1 + int(threads))
    assert main(["compare", "m"]) == 0
    out = capsys.readouterr().out
    assert "threads=1 → threads=2: " in out and "\nrepack=false → repack=true: " in out
    assert "All counters are identical" in out and len(re.findall(r"^page: ", out, re.MULTILINE)) == 1
    assert main(["compare", "m:threads=1,repack=true", "m:repack=true, threads=2", "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert (document["a"]["runs"], document["b"]["runs"]) == (["m/run-001"], ["m/run-002"])
    assert main(["compare", "m:threads=1", "m"]) == 2
    assert "names several cells; cells of m: threads=1, repack=true; threads=1, repack=false" in capsys.readouterr().err
    assert main(["compare", "m:threads=7", "m"]) == 2
    assert "there is no such cell; cells of m: " in capsys.readouterr().err


def test_versions_are_compared_with_the_facts_that_they_hold(capsys: pytest.CaptureFixture[str]) -> None:
    for number, threads in ((1, 1), (2, 2)):
        settings = {**facts_of(a_run())["settings"], "threads": threads}
        run = stored("a", number, settings=settings)
        public = privacy.public_run(run)
        report = render_report(public, TABLES, citable=None)
        publish.publish(Path("experiments/a"), public, lambda planned, report=report: report, "why", NOW)
    assert main(["compare", "a@v1", "a@v2", "--markdown"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^\| threads +\| 1 +\| 2", out, re.MULTILINE) and " All counters are identical: " in out
    assert main(["compare", "a@v1", "a@v3"]) == 2
    assert "there is no such version" in capsys.readouterr().err


def test_a_broken_rule_of_fail_on_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    stored("a", 1)
    stored("b", 1, layers=4)
    assert main(["compare", "a", "b", "--json", "--fail-on", "ops_per_token>5%"]) == 1
    assert "ops_per_token>5%: operations per token, " in capsys.readouterr().err
    assert main(["compare", "b", "a", "--json", "--fail-on", "ops_per_token>5%"]) == 0
    capsys.readouterr()
    assert main(["compare", "a", "b", "--json", "--fail-on", "tokens_per_second_generate<-1%"]) == 0
    capsys.readouterr()
    assert main(["compare", "a", "b", "--fail-on", "speed"]) == 2


def test_the_margin_is_that_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    stored("a", 1)
    stored("b", 1, layers=3)
    assert main(["compare", "a", "b", "--json", "--margin", "2.5"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert document["margin"] == 0.025 and "Same within 2.5 %" in document["rule"][0]
    speed = next(
        of
        for of in document["measures"]
        if of["key"] == "tokens_per_second_generate" and of["state"] == "not enough runs"
    )
    assert speed["asked"] and speed["runs_needed"] >= 5 and speed["relative_low"] is None
    for bad in ("0", "-1", "101", "nan", "x"):
        assert main(["compare", "a", "b", "--margin", bad]) == 2


def test_what_cannot_be_compared(capsys: pytest.CaptureFixture[str]) -> None:
    stored("a", 1)
    assert main(["compare", "a"]) == 2
    assert "nothing to compare it with; name a second side, or an experiment with a matrix" in capsys.readouterr().err
    assert main(["compare", "a", "nobody"]) == 2
    assert "there is no such run; experiments with runs: a" in capsys.readouterr().err
    assert main(["compare", "a", "a", "--json", "--markdown"]) == 2


def test_a_private_matrix_tells_neither_prompts_nor_rows(capsys: pytest.CaptureFixture[str]) -> None:
    secret = ("Meet me at the old mill", "Bring the blue folder")
    for number, prompt in enumerate(secret, 1):
        stored("m", number, slot=slot(1, prompt=prompt), settings={**facts_of(a_run())["settings"], "prompt": prompt})
    (Path("experiments/m") / "experiment.toml").write_text("private = true\n")
    assert main(["compare", "m"]) == 0
    out = capsys.readouterr().out
    (page,) = re.findall(r"^page: (.+)$", out, re.MULTILINE)
    assert re.search(r"prompt=\([0-9a-f]{4}\) → prompt=\([0-9a-f]{4}\)", out)
    for path in [p for p in Path(page).parent.rglob("*") if p.is_file()]:
        assert all(word.encode() not in path.read_bytes() for word in secret), path
    assert all(word not in out for word in secret)
    assert main(["compare", "m", "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    known = {measure["key"] for measure in document["measures"] if measure["by"] == "run"}
    assert "touched_bytes" not in known and "ops_per_token" in known


def test_cells_whose_factors_all_differ_are_compared_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    for number, (prompt, repack) in enumerate([("code/1", "true"), ("law/1", "false")], 1):
        stored("m", number, slot=slot(1, prompt=prompt, repack=repack))
    assert main(["compare", "m:prompt=code/1", "m:prompt=law/1", "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert (document["a"]["runs"], document["b"]["runs"]) == (["m/run-001"], ["m/run-002"])
    assert main(["compare", "m", "--fail-on", "disk_read_bytes>1%"]) == 2
    assert "--fail-on: no two cells of m differ in one factor alone; name two" in capsys.readouterr().err


def slower(number: int, factor: float, **facts: object) -> None:
    """A stored run whose passes take `factor` times as long."""
    passes = TABLES["passes"]
    longer = passes["begin_ns"] + ((passes["end_ns"] - passes["begin_ns"]) * factor).astype("Int64")
    run = replace(a_run(**facts), experiment="a", number=number, created=f"2026-11-20T12:{number:02d}:00Z")
    builders.stored(Path("experiments"), run, {**TABLES, "passes": passes.assign(end_ns=longer)})


def test_a_version_of_a_series_holds_all_its_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for number, factor in enumerate((1.0, 1.3, 1.1, 1.4, 1.2), 1):
        slower(number, factor, repetition={"number": number, "of": 5, "first_run": "run-001"})
    slower(6, 3.0)
    for number, factor in enumerate((9.0, 9.3, 9.1, 9.4, 9.2), 7):
        slower(number, factor, slot=slot(number, threads="1"))
    slower(12, 1.0, slot=slot(1, threads="2"))
    assert main(["publish", "a", "2", "-m", "named"]) == 0
    assert "median speed" not in capsys.readouterr().out
    assert main(["publish", "a", "11", "-m", "a cell"]) == 0
    capsys.readouterr()
    assert main(["compare", "a@v1", "a@v2", "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert document["a"]["runs"] == [f"run-00{n}" for n in range(1, 6)]
    assert document["b"]["runs"] == ["run-007", "run-008", "run-009", "run-010", "run-011"]
    speed = next(m for m in document["measures"] if m["key"] == "tokens_per_second_generate")
    assert len(speed["values_a"]) == 5 and speed["state"] == "different" and speed["p"] < 0.01
    path = Path("experiments/a/versions/2/data/repeats.csv")
    path.write_bytes(path.read_bytes() + b"\n")
    assert main(["compare", "a@v1", "a@v2"]) == 2
    assert "has changed since it was published" in capsys.readouterr().err


def test_the_run_of_median_speed_stands_for_its_series(capsys: pytest.CaptureFixture[str]) -> None:
    for number, factor in enumerate((1.0, 1.3, 1.1, 1.4, 1.2), 1):
        slower(number, factor, repetition={"number": number, "of": 5, "first_run": "run-001"})
    assert main(["publish", "a", "-m", "the series"]) == 0
    assert "(a/run-001 to a/run-005), run-005 has the median" in capsys.readouterr().out
    document = json.loads(Path("experiments/a/versions/1/version.json").read_text(encoding="utf-8"))
    assert document["runs"] == [5] and "data/repeats.csv" in document["manifest"]


def test_cells_stand_by_the_size_of_their_values() -> None:
    for number, threads in enumerate(("16", "2", "1", "all"), 1):
        stored("m", number, slot=slot(1, threads=threads))
    assert [cell.name for cell in cells_of("m")] == ["threads=1", "threads=2", "threads=16", "threads=all"]
