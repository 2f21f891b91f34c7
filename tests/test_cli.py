"""The command line: every verb explains itself, every error is a message with the right exit code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tracegen import cli
from tracegen.cli import COMMANDS, main, parser

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.NAME)
def test_every_verb_has_help(command: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command.NAME, "--help"]) == 0  # type: ignore[attr-defined]
    text = capsys.readouterr().out
    assert command.HELP.split()[0] in text  # type: ignore[attr-defined]


def test_the_program_of_exec_stands_behind_two_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exec", "case", "llama-completion", "-m", "model.gguf"]) == 2
    assert "put -- before the program, as in: tracegen exec NAME -- llama-server" in capsys.readouterr().err
    assert main(["exec", "--help"]) == 0


def test_an_experiment_keeps_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments" / "case").mkdir(parents=True)
    (tmp_path / "experiments" / "case" / "experiment.toml").touch()
    assert main(["run", "--model", "demo", "--prompt", "p", "--name", "case"]) == 2
    assert "has an experiment.toml of its own: `tracegen run case` runs it" in capsys.readouterr().err


def test_wrong_use_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["frobnicate"]) == 2
    assert "exit codes" in parser().format_help()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["-n", "3"], "go with --model"),
        (["--name", "other"], "go with --model"),
        (["--model", "demo"], "not both"),
        (["-m", "why"], "add --publish"),
    ],
)
def test_an_experiment_is_run_as_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    """Options that would not count are refused before anything runs."""
    folder = tmp_path / "experiments" / "case"
    folder.mkdir(parents=True)
    (folder / "experiment.toml").write_text('question = "Q?"\nmodel = "demo"\nprompt = "p"\ntokens = 2\n')
    monkeypatch.chdir(tmp_path)
    assert main(["run", "case", *more]) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "runs").exists()


def test_an_error_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["show", "nothing"]) == 2
    assert capsys.readouterr().err == "tracegen: nothing: there is no such run; experiments with runs: none here\n"
    assert main(["run", "nothing"]) == 2
    assert "no experiment of this name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("raised", "code", "says"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device", "/x"), 3, "/x: No space left on device"),
    ],
)
def test_what_is_not_ours(
    raised: BaseException, code: int, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(args: object) -> int:
        raise raised

    monkeypatch.setattr(COMMANDS[0], "run", fail)
    assert cli.main(["run", "x"]) == code
    assert says in capsys.readouterr().err


def test_the_readme_names_verbs_and_options_that_exist() -> None:
    """Each `tracegen VERB --option` of the README is understood by the parser."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    verbs = "run|show|publish|build|serve|sample|llama-cpp|read|model|tensors"
    lines = re.findall(rf"tracegen ((?:{verbs})\b[^`\n]*)", text)
    assert len(lines) >= 6
    for line in lines:
        assert line.split()[0] in {command.NAME for command in COMMANDS}
        for option in re.findall(r"\s(--?[a-z][a-z-]*)", line):
            assert main([line.split()[0], "--help"]) == 0
            (action,) = [a for a in parser()._actions if a.dest == "verb"]
            assert option in action.choices[line.split()[0]]._option_string_actions, (line, option)  # type: ignore[index]


def test_the_readme_has_a_row_for_each_verb() -> None:
    """`| `tracegen VERB …` | what it does; `--option` |`, and the parser knows the options."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `tracegen ([a-z-]+)[^`]*` \| (.+) \|$", text, re.MULTILINE))
    assert set(rows) == {command.NAME for command in COMMANDS}
    (action,) = [a for a in parser()._actions if a.dest == "verb"]
    for verb, does in rows.items():
        known = action.choices[verb]._option_string_actions  # type: ignore[index]
        assert set(re.findall(r"`(--[a-z-]+)`", does)) <= set(known), verb


def test_make_targets_of_the_readme_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)\b", (ROOT / "README.md").read_text())) - {"alone"}
    assert {"demo", "test", "sample"} <= named <= targets
