"""The console script `tracegen`: one file per verb in commands/, errors caught once, here."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

from tracegen.capture.execute import visible
from tracegen.commands import build, llama_cpp, model, publish, read, run, sample, serve, show, tensors
from tracegen.commands import exec as exec_
from tracegen.errors import EnvironmentFailure, SettingsError, TracegenError
from tracegen.resources import package_version

COMMANDS: tuple[ModuleType, ...] = (
    run, exec_, show, publish, build, serve, read, sample, model, tensors, llama_cpp,
)  # fmt: skip

DESCRIPTION = "What a model really does to memory and disk: traces of llama.cpp as pages a thesis can cite."
EXIT_CODES = (
    "exit codes: 0 fine · 1 a check failed · 2 wrong use or bad input · "
    "3 the environment failed (disk full, child killed, tool missing) · 130 interrupted"
)


def parser() -> argparse.ArgumentParser:
    """The command line of `tracegen`, with every verb."""
    made = argparse.ArgumentParser(prog="tracegen", description=DESCRIPTION, epilog=EXIT_CODES)
    made.add_argument("--version", action="version", version=f"tracegen {package_version()}")
    made.add_argument("--debug", action="store_true", help="show where an error comes from")
    verbs = made.add_subparsers(dest="verb", metavar="COMMAND", required=True)
    for command in COMMANDS:
        verb = verbs.add_parser(
            command.NAME, help=command.HELP, description=command.HELP, epilog=getattr(command, "EPILOG", None)
        )
        command.add_arguments(verb)
        verb.set_defaults(handler=command.run)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if exec_.lacks_program(given):
        _say("exec: put -- before the program, as in: tracegen exec NAME -- llama-server -m FILE")
        return SettingsError.exit_code
    given, program = exec_.split(given)
    try:
        args = parser().parse_args(given)
        args.program = program
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        with _terminable():
            status = int(args.handler(args))
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): that is fine, but Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as stop:
        _say(f"interrupted; {stop}" if str(stop) else "interrupted")
        return 130
    except TracegenError as error:
        if args.debug:
            raise
        _say(str(error))
        return error.exit_code
    except OSError as error:
        if args.debug:
            raise
        place = f"{error.filename}: " if error.filename else ""
        _say(f"{place}{error.strerror or error}")
        return EnvironmentFailure.exit_code


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM and the end of the terminal are heard like Ctrl-C: nothing half written stays, captures are kept."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    mine = threading.current_thread() is threading.main_thread()
    heard = [
        number for number in (signal.SIGTERM, signal.SIGHUP) if mine and signal.getsignal(number) is signal.SIG_DFL
    ]
    for number in heard:
        signal.signal(number, interrupted)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)


def _say(message: str) -> None:
    """A message quotes paths, settings and logs: what they hold must not steer the terminal."""
    lines = (visible(line) for line in message.split("\n"))
    print("tracegen:", "\n".join(lines), file=sys.stderr)
