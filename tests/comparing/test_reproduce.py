"""`tracegen reproduce`: what a version's record describes, and whether it came out the same."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.comparing.made import HOST, counted, side, timed
from tracegen.cli.commands import reproduce
from tracegen.cli.main import main
from tracegen.comparing import reproduced
from tracegen.comparing.comparison import compare
from tracegen.comparing.reproduced import (
    as_json,
    certificate,
    claimed,
    claims,
    dropped_settings,
    experiment_of,
    outcomes,
    summary,
)
from tracegen.contract.errors import CheckError, SettingsError
from tracegen.contract.experiment import Experiment
from tracegen.contract.facts import Facts
from tracegen.contract.records import decode
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.capture.plan import command_for, settings_of

MADE = Experiment(
    name="demo",
    question="What?",
    model="demo",
    prompt="A prompt\nof two lines",
    tokens=7,
    threads=3,
    context=64,
    flags=("--temp", "0.5"),
    page_cache="cold",
    memory_limit_gb=0.5,
    timeout_s=60,
    repeat=4,
)


def recorded(experiment: Experiment, **settings: Any) -> dict[str, Any]:
    command = command_for(experiment, Path("llama-completion"), Path("demo.gguf"))
    return {"settings": {**settings_of(experiment), **settings}, "command": list(command)}


@pytest.mark.parametrize(
    "experiment", [MADE, replace(MADE, memory_limit_gb=None, mlock_gb=2.0, page_cache="as is", chat=True)]
)
def test_the_record_of_a_run_describes_its_experiment(experiment: Experiment) -> None:
    again = experiment_of("demo@v1", decode(Facts, json.loads(json.dumps(recorded(experiment)))), "demo")
    assert again == replace(experiment, name="demo-v1", repeat=1, faults=experiment.faults)
    assert command_for(again, Path("a"), Path("b")) == command_for(experiment, Path("a"), Path("b"))


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({}, "cannot be run again"),
        ({"settings": {}, "command": ["x", "-p"]}, "cannot be run again"),
        (recorded(MADE, private=True), "withheld"),
        (recorded(MADE, flags=["--x", "(withheld)"]), "withheld"),
        (recorded(replace(MADE, prompt="(withheld)")), "withheld"),
        (recorded(MADE, flags=["-m", "/etc/passwd"]), "not allowed"),
        (recorded(MADE, tokens=-3), "tokens: is missing"),
        (recorded(MADE, threads="'; rm"), None),
    ],
)
def test_a_record_that_is_no_experiment_is_refused(facts: dict[str, Any], why: str | None) -> None:
    """A setting that is none is left out, as an older tracegen may have had others: the run's own checks follow."""
    known = decode(Facts, json.loads(json.dumps(facts)))
    if why is None:
        assert experiment_of("demo@v1", known, "demo").threads == Experiment.threads
        return
    with pytest.raises(SettingsError, match=why):
        experiment_of("demo@v1", known, "demo")


@pytest.mark.parametrize(
    ("settings", "dropped"),
    [
        ({}, []),
        ({"mlock_gb": None}, []),
        ({"threads": "'; rm"}, ['threads = "\'; rm"']),
        ({"huge_pages": True, "zone": {"x": 1}}, ["huge_pages = true", 'zone = {"x": 1}']),
        ({"timeout_s": -1}, ["timeout_s = -1"]),
        ({"a\x1b[2J": "x" * 99}, [rf'a\x1b[2J = "{"x" * 59}']),
    ],
)
def test_recorded_settings_that_are_left_out_are_named(settings: dict[str, Any], dropped: list[str]) -> None:
    facts = decode(Facts, json.loads(json.dumps(recorded(MADE, **settings))))
    assert dropped_settings(facts) == dropped
    assert not dropped or experiment_of("demo@v1", facts, "demo")


def test_settings_are_named_before_the_version_is_run_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise CheckError("here the runs begin")

    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setattr(reproduced, "SETTINGS", {k: of for k, of in reproduced.SETTINGS.items() if k != "ubatch"})
    monkeypatch.setattr(reproduce, "_runs", stopped)
    assert main(["reproduce", "sample@v1"]) == 1
    said = "sample@v1: recorded settings that this tracegen has not, and leaves out: ubatch = "
    assert re.fullmatch(rf"{said}[0-9]+\ntracegen: here the runs begin\n", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("folder", "named"),
    [
        ("", "hot-set@v1"),
        ("docs", "../experiments/hot-set@v1"),
        ("experiments", "hot-set@v1"),
        ("experiments/hot-set", "versions/1"),
        ("experiments/hot-set/versions", "1"),
    ],
)
def test_the_model_of_the_project_is_found_wherever_one_stands(
    folder: str, named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(experiment: Experiment, *_: object, **__: object) -> None:
        raise CheckError(f"found {experiment.model}")

    root = Path(__file__).parents[2]
    monkeypatch.chdir(root / folder)
    monkeypatch.setattr(reproduce, "_runs", stopped)
    assert main(["reproduce", named]) == 1
    said = capsys.readouterr().err.strip()
    assert said.startswith("tracegen: found ")
    model = Path(said.removeprefix("tracegen: found "))
    assert model.resolve() == (root / "models/tiny-mixture/tiny-mixture.gguf").resolve()


def test_counted_measures_must_be_equal_and_times_pass_the_test() -> None:
    slow, fast = ([[timed(v + i / 9), counted(4), counted(i, "varies")] for i in range(9)] for v in (100, 130))
    found = {one.key: one for one in outcomes(compare(side("demo@v1", slow), side("again", slow)))}
    assert found["generated_tokens"].outcome == "equal" and found["varies"].outcome == "different"
    assert found["tokens_per_second_generate"].outcome == "same"
    comparison = compare(side("demo@v1", slow), side("again", fast))
    found = {one.key: one for one in outcomes(comparison)}
    assert found["tokens_per_second_generate"].outcome == "different"
    one = compare(side("demo@v1", slow[:1]), side("again", fast))
    (speed,) = [of for of in outcomes(one) if of.key == "tokens_per_second_generate"]
    assert (speed.outcome, speed.why) == ("not judged", "too few runs for a test")
    other = compare(side("demo@v1", slow), side("again", fast, host={**HOST, "cpu": "Another"}))
    (speed,) = [of for of in outcomes(other) if of.key == "tokens_per_second_generate"]
    assert (speed.outcome, speed.why) == ("not judged", "made on another machine")
    text = certificate("demo@v1", other, outcomes(other), ["A fault"])
    assert "Other than then: Machine, cpu: Example CPU → Another" in text and "A fault" in text
    assert "Not checked: 1 measure, made on another machine." in text
    assert summary(outcomes(other)) == "1 of 2 counted measures are equal. Timed: 1 not judged."


def test_a_certificate_of_some_measures_says_that_there_are_others() -> None:
    runs = [[timed(100 + i / 9), counted(4)] for i in range(9)]
    comparison = compare(side("demo@v1", runs), side("again", runs))
    every = outcomes(comparison)
    some = claimed(every, ["generated_tokens", "generated_tokens"])
    assert [one.key for one in some] == ["generated_tokens"] and claimed(every, []) == every
    assert summary(some, len(every) - 1) == f"1 of {len(every)} measures were asked for. The counted measure is equal."
    text = certificate("demo@v1", comparison, some, [], len(every) - 1, dropped=["a = 1", "b = 2"])
    assert "- Recorded, but left out of the new runs: a = 1; b = 2\n" in text
    assert (
        "| generated tokens | 4 | 4 | equal |" in text
        and f"{len(every) - 1} measure" in text.partition("Not checked")[2]
    )
    with pytest.raises(SettingsError, match="did you mean 'generated_tokens'"):
        claimed(every, ["generation, token"])
    one = outcomes(compare(side("demo@v1", runs[:1]), side("again", runs)))
    alone = claimed(one, ["tokens_per_second_generate"])
    assert as_json("demo@v1", alone, 1)["reproduced"] is False, "nothing could be judged"
    (claim,) = [of for of in claims("demo@v1", every) if of["claim"] == "generated_tokens"]
    assert claim["command"] == "tracegen reproduce demo@v1 generated_tokens" and claim["values"] == [4.0] * 9


@pytest.mark.llama
def test_a_version_comes_out_the_same(
    hooked: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    programs = ["--llama-cpp", str(hooked.programs)]
    run = ["run", "--model", "demo", "--prompt", "The first", "-n", "3", "--name", "mine", *programs]
    assert main([*run, "--publish", "-m", "why"]) == 0
    assert main(["reproduce", "mine@v1", "--repeat", "2", *programs]) == 0
    said = capsys.readouterr().out
    assert " counted measures are equal" in said and "All " in said
    folder = Path(".tracegen/reproduced/mine-v1")
    assert len(list((folder / "runs").iterdir())) == 2
    before = (folder / "runs").stat().st_mtime_ns
    assert main(["reproduce", "mine@v1", "--repeat", "2", "--json", *programs]) == 0
    assert json.loads(capsys.readouterr().out)["reproduced"] is True and (folder / "runs").stat().st_mtime_ns == before
    assert "demo.gguf, SHA-256 " in (text := (folder / "certificate.md").read_text())
    cited = Path("experiments/mine/versions/1/citation.bib").read_text().partition("SHA-256 of the content: ")[2][:64]
    assert f"mine@v1, SHA-256 of its content {cited}" in text
    (tmp_path / "other.gguf").write_bytes(b"GGUF")
    assert main(["reproduce", "mine@v1", "--model", "other.gguf", *programs]) == 2
    assert main(["reproduce", "mine@v2", *programs]) == 2 and main(["reproduce", "mine", *programs]) == 2
    assert main(["export", "mine@v1", "archive", "--out", "mine.zip"]) == 0
    shutil.rmtree("experiments")
    capsys.readouterr()
    assert main(["reproduce", "mine.zip", "generated_tokens", "--repeat", "1", *programs]) == 0
    assert "The counted measure is equal." in capsys.readouterr().out
    (place,) = Path(".tracegen/reproduced").glob("mine-v1-*-archive")
    assert len(list((place.parent / place.name.removesuffix("-archive") / "runs").iterdir())) == 1, "runs of its own"
    assert main(["reproduce", "none.zip", *programs]) == 2 and "there is no such file" in capsys.readouterr().err
    assert main(["reproduce", "mine.zip", "tokens", *programs]) == 2
