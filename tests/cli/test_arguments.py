"""The arguments of commands: order of options, abbreviations, contradictions, wrong use, completion by a shell."""

import random
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.test_cli import command_of, with_verbs_below
from tracegen.cli import arguments
from tracegen.cli.arguments import COMPLETE, Command, Verb
from tracegen.cli.commands import VERBS
from tracegen.cli.commands.exec import PROGRAM
from tracegen.cli.main import main, tracegen
from tracegen.contract.model import DEMO_DTYPES, DEMO_MODELS, TRAINED_MODELS, WRITTEN_MODELS

LEAVES = [leaf for verb in VERBS for leaf in with_verbs_below(command_of(verb)) if isinstance(leaf, Command)]
# An option that stands for many: what is written behind it, and what the verb is given.
SAMPLES: dict[str, tuple[str, Any]] = {
    "integer": ("3", 3),
    "float": ("3", 3.0),
    "float range": ("3", 3.0),
    "rows": ("7", 7),
    "version": ("v4", 4),
    "text": ("a word", "a word"),
    "path": ("x y.gguf", Path("x y.gguf")),
    "pass": ("2-9", range(2, 10)),
}


def sample_of(param: click.Parameter) -> tuple[str, Any]:
    """A text for a parameter, and the value that it must be converted to."""
    if isinstance(param.type, click.Choice):
        return param.type.choices[-1], param.type.choices[-1]
    text, value = SAMPLES[param.type.name]
    if param.name == "llama_cpp":
        text = value = "./programs"  # not `programs`, which would be looked for elsewhere
    return (text, (value,)) if param.nargs == -1 or getattr(param, "multiple", False) else (text, value)


def pieces_of(command: Command, seed: int) -> tuple[list[list[str]], dict[str, Any]]:
    """A call with all parameters, but only one of options that exclude each other; and the values of its parameters."""
    order = random.Random(seed)
    left_out = {name for group in command.exclusive for name in order.sample(list(group), len(group) - 1)}
    pieces, meant = [], {}
    for param in command.params:
        assert param.name is not None
        if not param.expose_value:
            continue
        if isinstance(param, click.Option) and param.is_flag:
            meant[param.name] = param.name not in left_out
            pieces += [[param.opts[-1]]] if meant[param.name] else []
            continue
        text, value = sample_of(param)
        if isinstance(param, click.Argument):
            pieces.append([text])
        elif param.name in left_out:
            value = param.default if isinstance(param.default, str | int | Path) else None
        else:
            name = order.choice(param.opts)
            pieces.append([f"{name}={text}"] if name.startswith("--") and order.random() < 0.5 else [name, text])
        meant[param.name] = value
    return pieces, meant


def is_option(piece: list[str]) -> bool:
    return piece[0].startswith("-")


@pytest.mark.parametrize("command", LEAVES, ids=lambda command: command.name)
def test_options_stand_in_any_order(command: Command) -> None:
    for seed in range(60):
        pieces, meant = pieces_of(command, seed)
        order = random.Random(seed)
        arguments = [piece for piece in pieces if not is_option(piece)]  # these keep their order
        options = [piece for piece in pieces if is_option(piece)] + [["--debug"]]
        order.shuffle(options)
        places = sorted(order.choices(range(len(options) + 1), k=len(arguments)), reverse=True)
        for argument, at in zip(reversed(arguments), places, strict=True):
            options.insert(at, argument)
        words = [word for piece in options for word in piece]
        behind = ["--", "program", "--after", "-x"] if command.name == "exec" else []
        with command.make_context(str(command.name), words + behind) as context:
            assert context.params == meant, words
            assert context.obj == {"debug": True}
            assert context.meta.get(PROGRAM, ()) == tuple(behind[1:])


def used(option: click.Parameter) -> list[str]:
    """An option as it is written, with a value that it takes."""
    if isinstance(option, click.Option) and option.is_flag:
        return [option.opts[0]]
    return [option.opts[0], option.type.choices[0] if isinstance(option.type, click.Choice) else "x"]


@pytest.mark.parametrize("command", LEAVES, ids=lambda command: command.name)
def test_of_options_that_contradict_each_other_one_is_taken(command: Command) -> None:
    pieces, _ = pieces_of(command, 0)
    words = [word for piece in pieces if not is_option(piece) for word in piece]
    for group in command.exclusive:
        options = [next(p for p in command.params if p.name == name) for name in group]
        for first, second in ((a, b) for a in options for b in options if a is not b):
            both = [word for option in (first, second) for word in used(option)]
            with pytest.raises(click.UsageError) as refused:
                command.make_context(str(command.name), [*words, *both])
            output = refused.value.format_message()
            assert "not allowed with" in output and first.opts[0] in output and second.opts[0] in output


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["show"], "tracegen show: error: Missing argument 'RUN'."),
        (["show", "x", "y", "z"], "tracegen show: error: Got unexpected extra argument (z)"),
        (["show", "x", "--limi", "3"], "tracegen show: error: No such option '--limi'"),  # written in full
        (["show", "x", "--ops=3"], "tracegen show: error: Option '--ops' does not take a value."),
        (["publish", "x"], "Missing option '-m' / '--message'."),
        (
            ["publish", "x", "-m", "w", "--withdraw", "q"],
            "'--withdraw': 'q' is not a version; write 2 or v2",
        ),
        (["exec", "x", "--after", "soon", "--", "p"], "Invalid value for '--after': 'soon' is not a valid float."),
        (["model", "big", "x"], "'big' is not one of 'smollm2', 'demo', 'moe', 'tinyllama', 'gpt-oss'."),
        (["shwo", "x"], "No such command 'shwo'; `tracegen --help` lists them. Did you mean 'show'?"),
        (["llama-cpp", "frob"], "No such command 'frob'; `tracegen llama-cpp --help` lists them."),
        (["llama-cpp", "hook", "--source", "x"], "tracegen llama-cpp hook: error: No such option '--source'."),
        (["run", "--repeat", "9" * 5000], "Invalid value for '--repeat': '9"),
        (["show", "x", "--\x1b[31m\u202e"], "No such option '--\\x1b[31m\\u202e'."),
    ],
)
def test_wrong_use_is_one_message(arguments: list[str], output: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert output in captured.err and captured.out == "" and "Traceback" not in captured.err
    assert captured.err.startswith("Usage: tracegen") and "\x1b" not in captured.err


@pytest.mark.parametrize("command", [leaf for leaf in LEAVES if leaf.examples], ids=lambda command: command.name)
def test_examples_are_understood(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    for line in command.examples:
        program, verb, *words = shlex.split(line)
        assert (program, verb) == ("tracegen", command.name)
        assert command.make_context(verb, words).params
    assert main([str(command.name), "--help"]) == 0
    output = capsys.readouterr().out.splitlines()
    assert [f"  {line}" for line in command.examples] == output[output.index("Examples:") + 1 :][
        : len(command.examples)
    ]


def test_debug_is_heard_before_the_verb_and_behind_it(here: Path) -> None:
    for words in (["--debug", "show", "x"], ["show", "x", "--debug"], ["show", "--debug", "x"]):
        with pytest.raises(Exception, match="there is no such run"):
            main(words)


OPTIONS = {name for leaf in LEAVES for param in leaf.params for name in param.opts}
WORDS = sorted(OPTIONS | set(VERBS) | {"hook", "build", "--"})
SIGNS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")  # what a command line can hold


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(list(VERBS)), st.lists(st.sampled_from(WORDS) | st.text(SIGNS, max_size=4), max_size=5))
def test_no_words_are_a_traceback(verb: str, words: list[str]) -> None:
    """Parsing any words gives a context, a usage error or an exit; no command runs."""
    try:
        context = tracegen.make_context("tracegen", [verb, *words])
        name, command, rest = tracegen.resolve_command(context, [verb, *words])
        assert command is not None
        command.make_context(name, rest, parent=context)
    except click.UsageError as error:
        assert error.format_message()
    except click.exceptions.Exit as stop:
        assert stop.exit_code == 0
    except Exception as error:
        assert "put -- before the program" in str(error)


def test_choices_are_those_of_the_models() -> None:
    from tracegen.measure.demo.gpt_oss import KIND
    from tracegen.measure.demo.models import KINDS

    assert (*TRAINED_MODELS, *KINDS, KIND) == (*TRAINED_MODELS, *DEMO_MODELS, KIND) == WRITTEN_MODELS
    (kind, dtype) = (p.type for p in command_of("model").params if isinstance(p.type, click.Choice))
    assert (tuple(kind.choices), tuple(dtype.choices)) == (WRITTEN_MODELS, DEMO_DTYPES)
    assert {shape.dtype for shape in KINDS.values()} <= set(DEMO_DTYPES)


def offered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str) -> list[str]:
    """The completions for the last word of a line in bash."""
    monkeypatch.setenv(COMPLETE, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    assert main([]) == 0
    return [offer.partition(",")[2] for offer in capsys.readouterr().out.splitlines()]


def test_a_shell_completes_verbs_options_experiments_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in ("001", "002", ".003.part"):
        (tmp_path / "experiments" / "first-book" / "runs" / run).mkdir(parents=True)
    (tmp_path / "experiments" / "second").mkdir()
    (tmp_path / "experiments" / "fi\x1b[31m").mkdir()
    monkeypatch.chdir(tmp_path)
    assert offered(monkeypatch, capsys, "tracegen s") == ["show", "serve", "sample"]
    assert offered(monkeypatch, capsys, "tracegen llama-cpp ") == ["hook", "build", "path"]
    assert offered(monkeypatch, capsys, "tracegen llama-cpp hook --r") == ["--reverse"]
    assert offered(monkeypatch, capsys, "tracegen model --dtype Q") == ["Q4_0", "Q8_0", "Q4_K"]
    assert offered(monkeypatch, capsys, "tracegen run f") == ["first-book"]
    assert offered(monkeypatch, capsys, "tracegen show first-book access-p") == ["access-path"]
    assert offered(monkeypatch, capsys, "tracegen show first-book/") == ["first-book/run-001", "first-book/run-002"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_asks_us(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert f"{COMPLETE}={shell}_complete" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("# --other\n\nText.\n", r"show\.md: says nothing of --csv"),
        ("# --csv\n\nText.\n\n# --json\n\nText.\n", r"show\.md: the command has no --json"),
        ("# --csv\n\n# Examples\n\n    tracegen show\n", r"show\.md: “--csv” has no text"),
    ],
)
def test_help_that_does_not_fit_the_command_is_refused(
    text: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "show.md").write_text(text, encoding="utf-8")
    monkeypatch.setattr(arguments, "HELP", tmp_path)
    with pytest.raises(ValueError, match=fault):
        Verb("show", params=[click.Option(["--csv"], is_flag=True)])


def test_each_file_of_help_is_that_of_a_command() -> None:
    assert {path.stem for path in arguments.HELP.iterdir()} <= set(VERBS)
