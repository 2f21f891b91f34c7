"""The command line's own words around click: what a verb takes, how its help looks, how wrong use is refused.

Options of a verb stand in any order, `--debug` too. A long option is written in full: an abbreviation that
works today means two things when an option is added.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

CONTEXT: Mapping[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
COMPLETE = "_TRACEGEN_COMPLETE"  # what the shells' scripts, which are click's, ask through
Convert = Callable[[str], object]


class _Placed(click.Command):
    """A command that is named by all that is wrong with how it was called; click's parser does not know it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the arguments apart. Raises click.UsageError with the context."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise


class Command(_Placed):
    """A verb; of the options in each group of `exclusive` (their parameter names) one may be given.

    Its `examples` stand in the help, a line each.
    """

    def __init__(
        self, *given: Any, exclusive: Sequence[Sequence[str]] = (), examples: Sequence[str] = (), **settings: Any
    ) -> None:
        """Add `--debug`, and keep what click leaves over to refuse it in our words."""
        super().__init__(*given, **{"context_settings": {**CONTEXT, "allow_extra_args": True}, **settings})
        self.exclusive, self.examples = exclusive, examples
        self.params.append(debug_option(hidden=True))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the arguments apart. Raises click.UsageError for those that are too many or contradict each other."""
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            raise click.UsageError(f"unrecognized arguments: {' '.join(rest)}", ctx)
        given = click.core.ParameterSource.COMMANDLINE
        for group in self.exclusive:
            named = [name for name in group if ctx.get_parameter_source(name) is given]
            if len(named) > 1:
                first, second = (next(p for p in self.params if p.name == name) for name in named[:2])
                raise click.UsageError(f"argument {called(second)}: not allowed with argument {called(first)}", ctx)
        return rest

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, whole lines of a shell, and what is to be said besides."""
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"{'':{formatter.current_indent}}{line}\n" for line in self.examples))
        super().format_epilog(ctx, formatter)


class Group(_Placed, click.Group):
    """A verb with verbs of its own, each listed with its whole first paragraph."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them in the order they were written."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, paragraphs(one)[0]) for name, one in self.commands.items()])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order they were written."""
        return list(self.commands)


def paragraphs(command: click.Command) -> list[str]:
    """The help of a command, a line for each paragraph."""
    return [" ".join(part.split()) for part in cleandoc(command.help or "").split("\n\n")]


def debug_option(*, hidden: bool = False) -> click.Option:
    """`--debug`, which stands before the verb or among its options."""

    def switch(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            ctx.ensure_object(dict)["debug"] = True

    return click.Option(
        ["--debug"], is_flag=True, expose_value=False, callback=switch, hidden=hidden,
        help="Show where an error comes from.",
    )  # fmt: skip


class Converted(click.ParamType[Any]):
    """A value that a function makes of the text; what it raises as ValueError is said of the argument."""

    def __init__(self, name: str, convert: Convert) -> None:
        """Call the values `name` in help."""
        self.name = name
        self._convert = convert

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value itself; a default is one already."""
        if not isinstance(value, str):
            return value
        try:
            return self._convert(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def number_as(kind: type[int] | type[float]) -> Converted:
    """A number of this type."""

    def convert(text: str) -> int | float:
        try:
            return kind(text)
        except ValueError as error:
            raise ValueError(f"invalid {kind.__name__} value: {text!r}") from error

    return Converted(kind.__name__, convert)


class PathType(click.Path):
    """A file or folder, looked at by the verb and not before; a shell completes it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        return Path(value)


class PlaceType(PathType):
    """A path or a name: as text, for `./x` and `x` may differ."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The text as it was given."""
        return value


PATH, PLACE = PathType(), PlaceType()
WHOLE, NUMBER = number_as(int), number_as(float)


class Choice(click.Choice[str]):
    """One of a few words."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Name the word that is none of them, and those there are."""
        return f"invalid choice: {value!r} (choose from {', '.join(map(repr, self.choices))})"


def called(param: click.Parameter) -> str:
    """`-m/--message`, or what stands for an argument in the usage line."""
    return "/".join(param.opts) if isinstance(param, click.Option) else param.human_readable_name


def explain(error: click.UsageError) -> str:
    """What is wrong with how a command was called, in one sentence."""
    known = error.ctx.command.params if error.ctx else []
    match error:
        case click.exceptions.NoSuchCommand():
            return f"argument COMMAND: invalid choice: {error.command_name!r}{_verbs(error.ctx)}"
        case click.NoSuchOption():
            near = _meant(error, [name for param in known for name in param.opts])
            return f"unrecognized arguments: {error.option_name}{f'; did you mean {near}?' if near else ''}"
        case click.MissingParameter():
            return f"the following arguments are required: {called(error.param) if error.param else error.param_hint}"
        case click.BadParameter():
            return f"argument {called(error.param) if error.param else error.param_hint}: {error.message}"
        case click.BadOptionUsage():
            flags = [p for p in known if error.option_name in p.opts and isinstance(p, click.Option) and p.is_flag]
            return f"argument {error.option_name}: {'takes no value' if flags else 'expected one argument'}"
    return error.message


def _verbs(ctx: click.Context | None) -> str:
    if ctx is None or not isinstance(ctx.command, click.Group):
        return ""
    return f" (choose from {', '.join(ctx.command.list_commands(ctx))})"


def _meant(error: click.NoSuchOption, known: Sequence[str]) -> str:
    """The options that were abbreviated, or else spelt nearly so."""
    begun = [name for name in known if len(error.option_name) > 2 and name.startswith(error.option_name)]
    return " or ".join(begun or error.possibilities or [])


def experiment_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """For a shell: the experiments here that begin so, else files."""
    return _offered(_folders("experiments"), incomplete)


def run_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """For a shell: the experiments here, and behind a slash the runs of one."""
    name, slash, _ = incomplete.partition("/")
    runs = [f"{name}/run-{number}" for number in _folders(f"experiments/{name}/runs")] if slash else []
    return _offered(runs or _folders("experiments"), incomplete)


def _folders(at: str) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(at) if entry.is_dir() and not entry.name.startswith("."))
    except OSError:
        return []


def _offered(names: Sequence[str], incomplete: str) -> list[CompletionItem]:
    found = [CompletionItem(name) for name in names if name.startswith(incomplete) and name.isprintable()]
    return found or [CompletionItem(incomplete, type="file")]
