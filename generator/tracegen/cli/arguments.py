"""Adapts click: the classes of commands and types of arguments, and the layout of help.

Options of a command may stand in any order, `--debug` too. Long options cannot be abbreviated: an abbreviation
becomes ambiguous when an option is added.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from tracegen.cli import commands
from tracegen.cli.commands import VERBS
from tracegen.contract.prose import joined, sections

CONTEXT: Mapping[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
COMPLETE = "_TRACEGEN_COMPLETE"  # the environment variable by which click's shell scripts ask for completions
HELP = Path(commands.__file__).parent / "help"
Convert = Callable[[str], object]


class _Placed(click.Command):
    """A command whose usage errors have a context, and so name the command; click's parser leaves it out."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Raises click.UsageError with the context."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise


class Command(_Placed):
    """A command. Of the options in each group of `exclusive` (parameter names) only one may be used.

    `examples` are printed in the help, one line each.
    """

    def __init__(
        self, *arguments: Any, exclusive: Sequence[Sequence[str]] = (), examples: Sequence[str] = (), **settings: Any
    ) -> None:
        """Add the option `--debug`."""
        super().__init__(*arguments, **{"context_settings": dict(CONTEXT), **settings})
        self.exclusive, self.examples = exclusive, examples
        self.params.append(debug_option(hidden=True))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Raises click.UsageError, also for options that exclude each other."""
        rest = super().parse_args(ctx, args)
        from_user = click.core.ParameterSource.COMMANDLINE
        for group in self.exclusive:
            named = [name for name in group if ctx.get_parameter_source(name) is from_user]
            if len(named) > 1:
                first, second = (next(p for p in self.params if p.name == name) for name in named[:2])
                hints = f"{second.get_error_hint(ctx)} is not allowed with {first.get_error_hint(ctx)}"
                raise click.UsageError(f"Option {hints}.", ctx)
        return rest

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then the epilog."""
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"{'':{formatter.current_indent}}{line}\n" for line in self.examples))
        super().format_epilog(ctx, formatter)


class Verb(Command):
    """A command of VERBS. What its help says stands in `commands/help/NAME.md`.

    Its parts have the names of options (the last one of each) and arguments. There may be `More`, which are further
    paragraphs of the help, `Examples`, and what stands `At the end`. A parameter may have its `help` in the code.
    """

    def __init__(self, name: str, **settings: Any) -> None:
        """Take the texts from the file of the command. Raises ValueError where it lacks one, or has one too many."""
        file = HELP / f"{name}.md"
        texts = dict(sections(file)) if file.is_file() else {}
        settings["help"] = "\n\n".join([VERBS[name], *([texts.pop("More")] if "More" in texts else [])])
        settings["epilog"] = joined(texts.pop("At the end", "")) or None
        examples = [line.strip() for line in texts.pop("Examples", "").splitlines()]
        super().__init__(name, examples=examples, **settings)
        for param in self.params:
            if isinstance(param, click.Option | click.Argument) and not param.help:
                param.help = joined(texts.pop(param.opts[-1], ""))
                if not param.help:
                    raise ValueError(f"{file.name}: says nothing of {param.opts[-1]}")
        if texts:
            raise ValueError(f"{file.name}: the command has no {', '.join(texts)}")


class Group(_Placed, click.Group):
    """A command with subcommands; its help lists each with the whole first paragraph of its help."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands, in the order of their definition."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, paragraphs(command)[0]) for name, command in self.commands.items()])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the subcommands, in the order of their definition."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The subcommand that is called. Raises click's NoSuchCommand, which names those that are spelled alike."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            message = f"No such command {name!r}; `{ctx.command_path} --help` lists them."
            raise click.exceptions.NoSuchCommand(name, message, known, ctx)
        return super().resolve_command(ctx, args)


def paragraphs(command: click.Command) -> list[str]:
    """The paragraphs of a command's help, each as one line."""
    return [" ".join(part.split()) for part in cleandoc(command.help or "").split("\n\n")]


def debug_option(*, hidden: bool = False) -> click.Option:
    """The option `--debug`, which may stand before the command or among its options."""

    def switch(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            ctx.ensure_object(dict)["debug"] = True

    return click.Option(
        ["--debug"],
        is_flag=True,
        expose_value=False,
        callback=switch,
        hidden=hidden,
        help="Show where an error comes from.",
    )


class Converted(click.ParamType[Any]):
    """A type of argument that a function converts from text; its ValueError becomes the message of the usage error."""

    def __init__(self, name: str, convert: Convert) -> None:
        """`name` is the name of the type in help."""
        self.name = name
        self._convert = convert

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The converted value; a default is returned as it is."""
        if not isinstance(value, str):
            return value
        try:
            return self._convert(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


# A file or folder, which a shell completes. It need not exist: the command itself checks it.
PATH = click.Path(readable=False, path_type=Path)
PLACE = click.Path(readable=False)  # a path or a name; it stays text, as `./x` and `x` may differ
WHOLE, NUMBER = click.INT, click.FLOAT


def experiment_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completions for a shell: the experiments here that begin with `incomplete`, or else files."""
    return _completions(_folders("experiments"), incomplete)


def run_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completions for a shell: the experiments here, and after a slash the runs of one."""
    name, slash, _ = incomplete.partition("/")
    runs = [f"{name}/run-{number}" for number in _folders(f"experiments/{name}/runs")] if slash else []
    return _completions(runs or _folders("experiments"), incomplete)


def _folders(at: str) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(at) if entry.is_dir() and not entry.name.startswith("."))
    except OSError:
        return []


def _completions(names: Sequence[str], incomplete: str) -> list[CompletionItem]:
    items = [CompletionItem(name) for name in names if name.startswith(incomplete) and name.isprintable()]
    return items or [CompletionItem(incomplete, type="file")]
