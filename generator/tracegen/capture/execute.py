"""The only place that starts another program."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tracegen.errors import EnvironmentFailure


@dataclass(frozen=True)
class Completed:
    """How a program ended: exit status (negative: the signal that killed it) and seconds."""

    status: int
    seconds: float
    timed_out: bool = False

    @property
    def ending(self) -> str:
        """`exit status 1`, `killed by SIGKILL`, `stopped after its time limit`."""
        return "stopped after its time limit" if self.timed_out else ending(self.status)


def ending(status: int) -> str:
    """`exit status 1`, `killed by SIGKILL`: what a status says."""
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def run_program(
    command: Sequence[str],
    *,
    stdout: Path,
    stderr: Path,
    environment: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
    cwd: Path | None = None,
    watch: Callable[[], None] | None = None,
) -> Completed:
    """Run a program with closed standard input, its output into two files.

    `watch` is called ten times a second while it runs. Ctrl-C stops the program
    (SIGINT, after five seconds SIGKILL) and is raised again. Raises
    EnvironmentFailure when the program cannot be started.
    """
    begin = time.monotonic()
    with stdout.open("wb") as out, stderr.open("wb") as err:
        try:
            child = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err if stderr != stdout else out,
                env={**os.environ, **(environment or {})},
                cwd=cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise EnvironmentFailure(f"{command[0]}: cannot be started: {error.strerror}") from error
        try:
            while True:
                try:
                    status = child.wait(0.1)
                    return Completed(status, time.monotonic() - begin)
                except subprocess.TimeoutExpired:
                    if watch is not None:
                        watch()
                    if timeout_s is not None and time.monotonic() - begin > timeout_s:
                        status = _stop(child)
                        return Completed(status, time.monotonic() - begin, timed_out=True)
        finally:
            _stop(child)


@contextmanager
def started(command: Sequence[str], given: bytes) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs beside the block, reads what is given and prints into a pipe; it ends with the block.

    Raises EnvironmentFailure when the program cannot be started.
    """
    with tempfile.TemporaryFile() as stdin:
        stdin.write(given)
        stdin.seek(0)
        try:
            child = subprocess.Popen(list(command), stdin=stdin, stdout=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            raise EnvironmentFailure(f"{command[0]}: cannot be started: {error.strerror}") from error
    try:
        yield child
    finally:
        _stop(child)
        if child.stdout:
            child.stdout.close()


def output_of(command: Sequence[str], timeout_s: float = 30.0) -> str | None:
    """What a short program prints, stripped; None when it is missing, fails or takes too long."""
    try:
        ended = subprocess.run(list(command), capture_output=True, text=True, timeout=timeout_s, check=True)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return ended.stdout.strip()


def _stop(child: subprocess.Popen[bytes]) -> int:
    """End the program and all it started; its exit status."""
    for number, patience in ((signal.SIGINT, 5.0), (signal.SIGKILL, 5.0)):
        if child.poll() is not None:
            break
        try:
            os.killpg(child.pid, number)
            child.wait(patience)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue
    return child.wait()


def last_lines(path: Path, n: int = 12) -> str:
    """The last `n` lines of a log, as text with control characters made visible."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - 16384))
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(visible(line) for line in text.splitlines()[-n:] if line.strip())


def visible(text: str) -> str:
    """Text that cannot steer a terminal: control and format characters as escapes."""
    return "".join(c if c.isprintable() or c in "\t\u2009" else c.encode("unicode_escape").decode() for c in text)
