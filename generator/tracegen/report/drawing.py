"""A process that draws charts: its engine takes half a second to start, and Python stands still while it draws."""

import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from subprocess import Popen
from threading import Thread
from typing import Any

from tracegen.charts import engine
from tracegen.contract.errors import EnvironmentFailure
from tracegen.storing.execute import asked

START = "import sys; sys.path[:] = sys.argv[2:]; from tracegen.report import drawing; drawing.answer(sys.argv[1])"
KILLED = "the process that draws charts was killed; see whether memory ran out (`journalctl -k`), and try again"


@contextmanager
def process(*, simulates: bool = False) -> Iterator[Executor]:
    """During the block, another process draws what it is asked for, in that order. It ends with this one.

    `simulates`: it will simulate caches first, and loads what that needs. Raises EnvironmentFailure where it cannot be
    started; what it was asked for does when it is killed.
    """
    if not simulates:  # else before the first drawing
        engine.refuse_few_addresses()
    first = "simulate" if simulates else "draw"
    with asked([sys.executable, "-c", START, first, *sys.path]) as child, _Executor(child) as executor:
        yield executor


class _Executor(Executor):
    """Hands calls to a process, and their results back; one thread writes, and one reads."""

    def __init__(self, child: Popen[bytes]) -> None:
        self._child = child
        self._calls: SimpleQueue[bytes | None] = SimpleQueue()
        self._waiting: SimpleQueue[Future[Any] | None] = SimpleQueue()
        self._threads = [Thread(target=does, daemon=True) for does in (self._write, self._read)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The result of a function that the process can import."""
        future: Future[Any] = Future()
        call = pickle.dumps((fn, args, kwargs))
        self._waiting.put(future)
        self._calls.put(call)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the process: all that it drew is here, or nobody waits for it."""
        self._child.kill()
        self._calls.put(None)
        self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _write(self) -> None:
        assert self._child.stdin is not None
        with suppress(OSError), self._child.stdin as stream:  # it was killed: who waits hears of it
            while (call := self._calls.get()) is not None:
                stream.write(call)
                stream.flush()

    def _read(self) -> None:
        assert self._child.stdout is not None
        while (future := self._waiting.get()) is not None:
            try:
                result, error = pickle.load(self._child.stdout)
            except Exception:  # its output has ended, maybe within a result
                result, error = None, EnvironmentFailure(KILLED)
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)


def answer(first: str) -> None:
    """What the process does: carry out each call that it reads, and write its result, or what it raises.

    `first`: what it is asked for first, `simulate` or `draw`; it gets ready for that before.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked hears Ctrl-C
    calls, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no result
    if first == "simulate":
        import tracegen.analysis.caches
        import tracegen.analysis.reuse  # noqa: F401
    else:
        engine.start()
    with suppress(EOFError, BrokenPipeError):
        while True:
            function, args, kwargs = pickle.load(calls)
            found: tuple[Any, Exception | None] = (None, None)
            try:
                found = (function(*args, **kwargs), None)
            except Exception as error:
                found = (None, error)
            results.write(pickle.dumps(found))
            results.flush()
