"""Standard output and error: open, able to express every character, and named when they cannot be written."""

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

from tracegen.contract.errors import CheckError, EnvironmentFailure

OUTPUT = "standard output"


def opened() -> bool:
    """Whether standard output was open; a stream that is closed gets /dev/null, as a file would take its number.

    What a stream cannot express (Latin-1, ASCII) is written as an escape.
    """
    was_open = sys.stdout is not None
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            os.dup2(descriptor, number)
            if descriptor != number:
                os.close(descriptor)
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if type(sys.stdout) is TextIOWrapper:  # and not a stand-in of tests
        output = sys.stdout
        sys.stdout = _Output(
            output.buffer,
            output.encoding,
            output.errors,
            line_buffering=output.line_buffering,
            write_through=output.write_through,
        )
    return was_open


class _Output(TextIOWrapper):
    """Standard output, whose errors name it: the system's name nothing."""

    def write(self, text: str) -> int:
        """Write text. Raises OSError with the name of the stream."""
        try:
            return super().write(text)
        except OSError as error:
            error.filename = OUTPUT
            raise

    def flush(self) -> None:
        """Write what waits. Raises OSError with the name of the stream."""
        try:
            super().flush()
        except OSError as error:
            error.filename = OUTPUT
            raise


def flushed(status: int) -> int:
    """The exit code, when all that was printed has gone where it should: EnvironmentFailure's if it could not.

    Otherwise Python would try once more when it ends, and print an error of its own.
    """
    if _is_lost(sys.stdout) and status in (0, CheckError.exit_code):
        with suppress(OSError):
            print(f"tracegen: {OUTPUT}: cannot be written; is its disk full?", file=sys.stderr)
        status = EnvironmentFailure.exit_code
    _is_lost(sys.stderr)
    return status


def _is_lost(stream: TextIO) -> bool:
    """Whether what was printed cannot be written; then it is dropped."""
    try:
        stream.flush()
    except (OSError, ValueError):
        discard(stream)
        return True
    return False


def discard(stream: TextIO) -> None:
    """From now on the stream leads to /dev/null."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
