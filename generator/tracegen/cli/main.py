"""The console script `tracegen`. It imports the module of a command when it is called, and catches all errors."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from keyword import iskeyword

import click

from tracegen.cli.arguments import COMPLETE, CONTEXT, Group, debug_option
from tracegen.cli.commands import VERBS
from tracegen.contract.errors import EnvironmentFailure, SettingsError, TracegenError, file_of, out_of_memory
from tracegen.storing import signals, streams
from tracegen.storing.signals import RECEIVED

DESCRIPTION = "What a model really does to memory and disk: traces of llama.cpp as pages that a thesis can cite."
EXIT_CODES = (
    "Exit codes: 0 fine · 1 a check failed · 2 wrong use or bad input · "
    "3 the environment failed (disk full, child killed, tool missing) · "
    "130 interrupted · 143 terminated (SIGTERM)."
)


class Verbs(Group):
    """The commands of `tracegen` by name. A command's module is imported only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of the help."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name, or None."""
        if cmd_name not in VERBS:
            return None
        command = import_module(f"tracegen.cli.commands.{_module(cmd_name)}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


def _module(name: str) -> str:
    """The module of a command; `import` is a word of Python, and gets an underscore."""
    return f"{name}_" if iskeyword(name) else name.replace("-", "_")


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from tracegen.storing.resources import package_version

        click.echo(f"tracegen {package_version()}")
        ctx.exit()


tracegen = Verbs(
    "tracegen",
    help=DESCRIPTION,
    epilog=EXIT_CODES,
    context_settings=dict(CONTEXT),
    subcommand_metavar="COMMAND …",
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_version,
            help="Print the version and exit.",
        ),
        debug_option(),
    ],
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit code."""
    if not streams.opened():
        _say("standard output is closed; let it lead to a file, or to /dev/null")
        return EnvironmentFailure.exit_code
    return streams.flushed(_answered(arguments))


def _answered(arguments: Sequence[str] | None) -> int:
    """Run one command, say what went wrong, and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    state: dict[str, bool] = {}
    try:
        with signals.raising():
            status = _completion() if COMPLETE in os.environ else _run_command(words, state)
            sys.stdout.flush()
            if RECEIVED.raised:  # an exception in a callback is lost
                raise KeyboardInterrupt
        return status
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        _refuse(error)
        return SettingsError.exit_code
    except BrokenPipeError:
        # The reader of the output has ended (`| head`). That is not an error, but Python would print one at exit.
        streams.discard(sys.stdout)
        return 0
    except (KeyboardInterrupt, click.Abort) as stop:  # the latter at a question
        return _interrupted(str(stop))
    except TracegenError as error:
        if state.get("debug"):
            raise
        _say(str(error))
        return RECEIVED.exit_code if RECEIVED.raised else error.exit_code
    except OSError as error:
        if state.get("debug"):
            raise
        place = f"{file}: " if (file := file_of(error)) else ""
        _say(f"{place}{out_of_memory(error) or error.strerror or error}")
        return RECEIVED.exit_code if RECEIVED.raised else EnvironmentFailure.exit_code
    except Exception as error:
        if state.get("debug"):
            raise
        if message := out_of_memory(error):
            print(f"tracegen: {message}", file=sys.stderr)  # imports nothing, for which there may be no memory
            RECEIVED.starved = True
            return EnvironmentFailure.exit_code
        if not RECEIVED.raised:
            raise
        return _interrupted()  # numpy, for one, turns an interrupt while it is imported into an error of its own


def _interrupted(what_is_kept: str = "") -> int:
    """Say that a signal has ended the command; returns the exit code."""
    _say(f"interrupted; {what_is_kept}" if what_is_kept else "interrupted")
    return RECEIVED.exit_code


def _run_command(words: list[str], state: dict[str, bool]) -> int:
    """Run the command in `words`. The option `--debug` sets `debug` in `state`."""
    with tracegen.make_context("tracegen", words, obj=state) as context:
        return int(tracegen.invoke(context) or 0)


def _completion() -> int:
    """Print the completions of the command line that the shell passes in the environment."""
    from click.shell_completion import shell_complete

    return shell_complete(tracegen, {}, "tracegen", COMPLETE, os.environ[COMPLETE])


def _refuse(error: click.UsageError) -> None:
    """Print a usage error; for a group without a subcommand, print its help."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        print(error.message, file=sys.stderr)
        return
    context = error.ctx
    if context is not None:
        print(context.get_usage(), file=sys.stderr)
    _say(f"error: {error.format_message()}", context.command_path if context else "tracegen")


def _say(message: str, who: str = "tracegen") -> None:
    """Print a message to standard error, escaped: it may quote paths, settings and logs."""
    from tracegen.contract.text import visible

    lines = (visible(line) for line in message.split("\n"))
    with suppress(OSError):  # standard error may be full or closed, and then nobody hears it
        print(f"{who}:", "\n".join(lines), file=sys.stderr, flush=True)
