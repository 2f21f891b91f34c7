"""The command line: every command has a help, every error is a message with the right exit code."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pyarrow
import pytest

from tests.builders import a_run, scaled_case
from tests.random_files import write_lora, write_projector
from tests.random_models import LLAMA
from tests.site_project import stored
from tracegen.cli import main as cli
from tracegen.cli.arguments import paragraphs
from tracegen.cli.commands import VERBS
from tracegen.cli.commands import run as run_module
from tracegen.cli.main import main
from tracegen.contract.experiment import SETTINGS

ROOT = Path(__file__).parents[2]


def command_of(verb: str) -> click.Command:
    with click.Context(cli.tracegen) as context:
        command = cli.tracegen.get_command(context, verb)
    assert command is not None and command.name == verb
    return command


def with_verbs_below(command: click.Command) -> list[click.Command]:
    return [command, *(command.commands.values() if isinstance(command, click.Group) else ())]


def options_of(verb: str) -> set[str]:
    """Every option of a command and of its subcommands."""
    known = {name for command in with_verbs_below(command_of(verb)) for param in command.params for name in param.opts}
    return known | {"-h", "--help"}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--help", "-h"):
        assert main([verb, option]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert paragraphs(command_of(verb))[0] == VERBS[verb] and VERBS[verb] in text


def test_the_verbs_of_a_group_are_listed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["llama-cpp", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "..." not in text.partition("Commands:")[2] and "or update the hooks in it." in text


def test_the_program_of_exec_stands_behind_two_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exec", "case", "llama-completion", "-m", "model.gguf"]) == 2
    assert "put -- before the program, as in: tracegen exec NAME -- llama-server" in capsys.readouterr().err
    assert main(["exec", "--help"]) == 0


def test_an_experiment_keeps_its_name(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "experiments" / "case").mkdir(parents=True)
    (here / "experiments" / "case" / "experiment.toml").touch()
    assert main(["run", "--model", "demo", "--prompt", "p", "--name", "case"]) == 2
    assert "has an experiment.toml, which `tracegen run case` runs" in capsys.readouterr().err


def test_a_file_that_goes_with_a_model_is_not_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path, what in (
        (write_projector(here / "mmproj.gguf"), "a multimodal projector (mmproj)"),
        (write_lora(LLAMA, here / "adapter.gguf", ["attention_q"]), "an adapter (LoRA)"),
    ):
        assert main(["run", "--name", "case", "--model", str(path), "--prompt", "The", "-n", "1"]) == 2
        message = f"{path}: is {what}, not a language model; name the model that it was made for"
        assert message in capsys.readouterr().err
    assert not (here / "experiments").exists()


def test_wrong_use_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Exit codes: 0 fine" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "output"),
    [
        (["-n", "3"], "need --model"),
        (["--name", "other"], "need --model"),
        (["--chat"], "need --model"),
        (["--threads", "4"], "need --model"),
        (["--model", "demo"], "not both"),
        (["-m", "why"], "add --publish"),
    ],
)
def test_an_experiment_is_run_as_it_is_written(
    here: Path, capsys: pytest.CaptureFixture[str], more: list[str], output: str
) -> None:
    """Options that would have no effect are refused before anything runs."""
    folder = here / "experiments" / "case"
    folder.mkdir(parents=True)
    (folder / "experiment.toml").write_text('question = "Q?"\nmodel = "demo"\nprompt = "p"\ntokens = 2\n')
    assert main(["run", "case", *more]) == 2
    assert output in capsys.readouterr().err
    assert not (folder / "runs").exists()


def test_an_error_is_one_message(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "nothing"]) == 2
    assert capsys.readouterr().err == "tracegen: nothing: there is no such run; experiments with runs: none here\n"
    assert main(["run", "nothing"]) == 2
    assert "there is no such experiment" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("raised", "code", "says"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device", "/x"), 3, "/x: No space left on device"),
        (OSError(12, "Cannot allocate memory"), 3, "memory ran out; close other programs, or raise the limit"),
        (RuntimeError("can't start new thread"), 3, "memory ran out; close other programs"),
        (MemoryError(), 3, "memory ran out; close other programs, or raise the limit"),
        (pyarrow.ArrowMemoryError("malloc of size 9 failed"), 3, "memory ran out; close other programs"),
        (ImportError("x.so: failed to map segment from shared object"), 3, "memory ran out; close other programs"),
    ],
)
def test_errors_of_the_system_have_their_exit_code(
    raised: BaseException, code: int, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**options: object) -> int:
        raise raised

    monkeypatch.setattr(run_module.command, "callback", fail)
    assert cli.main(["run", "x"]) == code
    assert says in capsys.readouterr().err


TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_texts_name_verbs_and_options_that_exist(path: Path) -> None:
    """Each `tracegen VERB --option` in them is understood."""
    lines = re.findall(rf"tracegen ((?:{'|'.join(VERBS)})\b[^`\n]*)", path.read_text(encoding="utf-8"))
    for line in lines:
        ours = line.partition(" -- ")[0].partition("#")[0]
        for option in re.findall(r"\s(--?[a-z][a-z-]*)", ours):
            assert option in options_of(line.split()[0]), (line, option)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_links_of_texts_lead_to_files(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8")):
        assert target.startswith("http") or (path.parent / target).exists(), target


def test_make_targets_of_the_readme_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)\b", (ROOT / "README.md").read_text())) - {"alone"}
    assert {"demo", "test", "sample"} <= named <= targets


def in_process(*words: str, say: str = "", **named: Any) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, started by a shell: `say` redirects its streams, or limits it before."""
    command = [sys.executable, "-m", "tracegen", *words]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")} | named
    shell = f"{say} {shlex.join(command)}" if say.endswith(";") else f"{shlex.join(command)} {say}"
    return subprocess.run(["bash", "-c", shell], capture_output=True, text=True, encoding="latin-1", env=environment)


def test_what_an_output_cannot_take_is_escaped(tmp_path: Path) -> None:
    folder = stored(tmp_path / "experiments", a_run(), scaled_case(1, 1)).folder
    ended = in_process("show", str(folder), PYTHONIOENCODING="ascii")
    assert ended.returncode == 0 and "operations\\u2019 time" in ended.stdout and not ended.stderr


@pytest.mark.parametrize("words", [("--help",), ("completion", "bash")])
@pytest.mark.parametrize(
    ("say", "why"),
    [
        (">&-", "tracegen: standard output is closed; let it lead to a file, or to /dev/null"),
        (">/dev/full", "tracegen: standard output: No space left on device"),
    ],
)
def test_an_output_that_cannot_be_written_is_3(words: tuple[str, ...], say: str, why: str) -> None:
    ended = in_process(*words, say=say)
    assert ended.returncode == 3 and ended.stderr.splitlines() == [why]


@pytest.mark.parametrize("say", ["2>&-", "2>/dev/full", "<&- 2>&-"])
def test_an_error_that_nobody_hears_keeps_its_code(say: str) -> None:
    ended = in_process("show", "nothing", say=say)
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", "")


@pytest.mark.parametrize("epoch", ["garbage", "-1", "1e9", "9" * 12, "²", ""])
def test_a_date_of_the_site_that_is_none_is_one_error(
    epoch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "journal").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    for verb in ("build", "serve"):
        assert main([verb]) == 2
        assert f"SOURCE_DATE_EPOCH: is {epoch!r}; must be seconds since 1970" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize("error", [RuntimeError("a fault of ours"), ImportError("cannot import name")])
def test_a_fault_of_ours_stays_one(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("tracegen.cli.main._run_command", fail)
    with pytest.raises(type(error)):
        main(["show", "x"])


def test_the_readme_is_short_and_names_the_newest_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 900
    assert text.index("![") < 1_200, "one screen before the first picture"
    assert "tracegen exec mine --attach" in text
    first = text.partition("```console\n")[2].partition("```")[0]
    assert "tracegen sample" in first and not re.search(r"tracegen (exec|run)|make demo", first), "no compiler yet"
    assert text.index("Clone this repository") < text.index("```console")


def test_names_in_gb_say_that_they_count_gib() -> None:
    said = {key: of.meaning for key, of in SETTINGS.items() if key.endswith("_gb")}
    options = (ROOT / "docs/commands.md").read_text(encoding="utf-8").splitlines()
    said |= {line: line for line in options if re.match(r"\| `--[a-z-]+-gb ", line)}
    assert len(said) == 5 and all("GiB (2^30 bytes" in text for text in said.values())
