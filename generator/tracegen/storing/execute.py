"""Starts other programs. No other module does."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, TextIO

from tracegen.contract.errors import EnvironmentFailure
from tracegen.contract.text import visible
from tracegen.storing.signals import noticed_interrupts

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Used:
    """What a program and those that it waited for used, as the kernel counts it: bytes that it read from devices."""

    processor_s: float
    minor_faults: int
    major_faults: int
    read_bytes: int

    @classmethod
    def so_far(cls) -> "Used":
        """The sum over all programs that this process has waited for."""
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(usage.ru_utime + usage.ru_stime, usage.ru_minflt, usage.ru_majflt, usage.ru_inblock * 512)

    def since(self, before: "Used") -> "Used":
        """What was used since `before`."""
        return Used(*(now - then for now, then in zip(astuple(self), astuple(before), strict=True)))


@dataclass(frozen=True)
class Completed:
    """How a program ended: its exit status (negative: the signal that killed it), its duration, what it used."""

    status: int
    seconds: float
    timed_out: bool = False
    used: Used | None = None

    @property
    def ending(self) -> str:
        """How it ended, in words: `exit status 1`, `killed by SIGSEGV` or `stopped after its time limit`."""
        return "stopped after its time limit" if self.timed_out else ending(self.status)


def ending(status: int) -> str:
    """An exit status in words: `exit status 1`, or for a negative one `killed by SIGSEGV`."""
    if status >= 0:
        return f"exit status {status}"
    if status == -signal.SIGKILL:
        return "killed by SIGKILL, by hand or by the system for lack of memory"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:  # a real-time signal has no name
        return f"killed by signal {-status}"


def run_program(
    command: Sequence[str],
    *,
    stdout: Path,
    stderr: Path,
    environment: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
    cwd: Path | None = None,
    watch: Callable[[], None] | None = None,
    before: Callable[[], None] | None = None,
) -> Completed:
    """Run a program until it ends, without standard input; its output goes into the files `stdout` and `stderr`.

    `watch` is called ten times a second while it runs; `before` is called in the new process before the program
    begins. Ctrl-C stops the program (SIGINT, after five seconds SIGKILL); then KeyboardInterrupt is raised. After
    `timeout_s` the program is stopped; it ends with tracegen too, when that is killed. Raises EnvironmentFailure when
    it cannot be started.
    """
    begin, used, timed_out = time.monotonic(), Used.so_far(), False
    with noticed_interrupts() as interrupts, stdout.open("wb") as out, stderr.open("wb") as err:
        child = _launched(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err if stderr != stdout else out,
            env={**os.environ, **(environment or {})},
            cwd=cwd,
            start_new_session=True,
            preexec_fn=ending_with_this_thread(before),
        )
        try:
            while not (interrupts.count or timed_out):
                with suppress(subprocess.TimeoutExpired):
                    child.wait(0.1)
                    break
                if watch is not None:
                    watch()
                timed_out = timeout_s is not None and time.monotonic() - begin > timeout_s
        finally:
            status = stop(child)
    if interrupts.count:
        raise KeyboardInterrupt
    return Completed(status, time.monotonic() - begin, timed_out, Used.so_far().since(used))


def _launched(command: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """The program, running. Raises EnvironmentFailure when it cannot be started."""
    try:
        return subprocess.Popen(list(command), **how)
    except OSError as error:
        raise EnvironmentFailure(f"{command[0]}: cannot be started: {error.strerror}") from error
    except subprocess.SubprocessError as error:
        settled = "its processors, priority or memory limit could not be set"
        raise EnvironmentFailure(f"{command[0]}: {settled}: {error}") from error


def ending_with_this_thread(before: Callable[[], object] | None) -> Callable[[], None]:
    """What a new process calls first: the kernel kills it when the thread that started it, and waits for it, ends."""
    libc, parent = ctypes.CDLL(None), os.getpid()

    def settle() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before
            os._exit(1)
        if before is not None:
            before()

    return settle


class Beside:
    """A program that runs beside tracegen; its output is copied to tracegen's output and into two files.

    With `interactive` it shares the terminal: it reads the keyboard and receives Ctrl-C. Without, it reads nothing
    from a terminal, and only tracegen receives Ctrl-C. `before` is called in the new process before the program
    begins. Raises EnvironmentFailure when it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdout: Path,
        stderr: Path,
        environment: Mapping[str, str],
        interactive: bool = False,
        before: Callable[[], None] | None = None,
    ) -> None:
        """Start the program."""
        self._begin, self._used = time.monotonic(), Used.so_far()
        self._interactive = interactive
        keyboard = sys.stdin is not None and sys.stdin.isatty()
        self._child = _launched(
            command,
            stdin=subprocess.DEVNULL if keyboard and not interactive else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
            start_new_session=not interactive,
            preexec_fn=before,
        )
        pipes = ((self._child.stdout, stdout, sys.stdout), (self._child.stderr, stderr, sys.stderr))
        self._lost: list[OSError] = []
        self._copiers = [threading.Thread(target=_copy, args=(*pipe, self._lost), daemon=True) for pipe in pipes]
        for copier in self._copiers:
            copier.start()

    def wait(self, patience_s: float | None = None) -> Completed | None:
        """Wait until it ends, and return how; None when it still runs after `patience_s` seconds.

        Raises EnvironmentFailure when its output could not be kept.
        """
        try:
            status = self._child.wait(patience_s)
        except subprocess.TimeoutExpired:
            return None
        for copier in self._copiers:
            copier.join(5.0)  # a grandchild may hold the pipe open
        for error in self._lost:
            raise EnvironmentFailure(
                f"{error.filename}: the output of the program could not be kept: {error.strerror}; "
                "free space and run again"
            ) from error
        return Completed(status, time.monotonic() - self._begin, used=Used.so_far().since(self._used))

    def interrupt(self, patience_s: float = 10.0) -> Completed:
        """Send SIGINT, and SIGKILL if it has not ended after `patience_s` seconds; return how it ended.

        Raises EnvironmentFailure when it does not end.
        """
        for number in (signal.SIGINT, signal.SIGKILL):
            with suppress(ProcessLookupError):
                if self._interactive:
                    self._child.send_signal(number)
                else:
                    os.killpg(self._child.pid, number)
            ended = self.wait(patience_s)
            if ended is not None:
                return ended
        raise EnvironmentFailure(f"process {self._child.pid}: still runs after SIGKILL; end it by hand")

    def close(self) -> None:
        """Kill the program if it still runs, and close its pipes."""
        if self._child.poll() is None:
            with suppress(ProcessLookupError):
                self._child.kill() if self._interactive else os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()
        for copier in self._copiers:
            copier.join(1.0)
        for pipe in (self._child.stdout, self._child.stderr):
            if pipe is not None:
                pipe.close()


def _copy(source: IO[bytes], path: Path, shown: TextIO, lost: list[OSError]) -> None:
    """Copy a pipe into a file and to `shown` until it ends. When `shown` is closed, the file still gets all.

    When the file takes no more, the error is added to `lost`, and the pipe is read on: else the program would wait
    for ever for somebody to read what it writes.
    """
    with ExitStack() as files:
        stream = None
        try:
            stream = files.enter_context(path.open("wb", buffering=0))
        except OSError as error:
            lost.append(error)
        while piece := os.read(source.fileno(), 1 << 16):
            try:
                rest = memoryview(piece)
                while stream and rest:
                    rest = rest[stream.write(rest) :]
            except OSError as error:
                lost.append(OSError(error.errno, error.strerror, str(path)))
                stream = None
            with suppress(OSError, ValueError):
                shown.write(piece.decode("utf-8", "replace"))
                shown.flush()


def piped(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """A program that reads and writes through pipes, and ends when this process is killed; `stop` ends it before.

    Ctrl-C does not reach it. SIGINT, which stops it, is blocked until it unblocks that: Python would print an error
    while it begins. Raises EnvironmentFailure when it cannot be started.
    """
    pipe, block = subprocess.PIPE, partial(signal.pthread_sigmask, signal.SIG_BLOCK, {signal.SIGINT})
    before = ending_with_this_thread(block)
    return _launched(command, stdin=pipe, stdout=pipe, start_new_session=True, preexec_fn=before)


def output_of(command: Sequence[str], timeout_s: float = 30.0) -> str | None:
    """The output of a short program without outer blanks; None when it is missing, fails or exceeds `timeout_s`."""
    try:
        ended = subprocess.run(list(command), capture_output=True, text=True, timeout=timeout_s, check=True)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return ended.stdout.strip()


def stop(child: subprocess.Popen[bytes]) -> int:
    """Stop the program and all processes of its group (SIGINT, then SIGKILL); return its exit status."""
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
    """The non-blank ones of the last `n` lines of a log, with control characters escaped; empty when unreadable."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - 16384))
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(visible(line) for line in text.splitlines()[-n:] if line.strip())
