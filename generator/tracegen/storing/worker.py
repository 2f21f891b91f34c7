"""A worker: another process that calls functions for this one, in the order in which it is asked.

Python stands still while a chart is drawn, and what draws takes long to load: a worker does both meanwhile.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any

from tracegen.contract.errors import EnvironmentFailure
from tracegen.storing import execute

# The program of a worker; it gets the module path of this process. SIGINT ends it, without a traceback.
START = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT}); "
    "sys.path[:] = sys.argv[1:]; from tracegen.storing import worker; worker.answer()"
)
PATIENCE_S = 5.0  # for a process that has closed its output


class Worker(Executor):
    """Hands calls to the process, and their results back; one thread writes, and one reads.

    The process ends with this one. When it ends before, a call fails with EnvironmentFailure.
    """

    def __init__(self) -> None:
        """Start the process. Raises EnvironmentFailure when it cannot be started."""
        self._child = execute.piped([sys.executable, "-c", START, *sys.path])
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
        """Stop the process, whatever it does: all results are here, or nobody waits for them."""
        execute.stop(self._child)
        self._calls.put(None)
        self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _write(self) -> None:
        assert self._child.stdin is not None
        with suppress(OSError), self._child.stdin as stream:  # the process has ended: who waits hears of it
            while (call := self._calls.get()) is not None:
                stream.write(call)
                stream.flush()

    def _read(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as stream:
            while (future := self._waiting.get()) is not None:
                try:
                    result, error = pickle.load(stream)
                except Exception:  # its output has ended, maybe within a result
                    result, error = None, EnvironmentFailure(self._why())
                if error is None:
                    future.set_result(result)
                else:
                    future.set_exception(error)

    def _why(self) -> str:
        """Why there is no result. A process that prints something else is killed."""
        try:
            status = self._child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            status = execute.stop(self._child)
        advice = "see whether memory ran out (`journalctl -k`), and try again"
        return f"the process that does it ended: {execute.ending(status)}; {advice}"


def answer() -> None:
    """What the process does: carry out each call that it reads, and write its result, or what it raises."""
    calls, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is not a result
    with suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            function, args, kwargs = pickle.load(calls)
            found: tuple[Any, Exception | None] = (None, None)
            try:
                found = (function(*args, **kwargs), None)
            except Exception as error:
                found = (None, error)
            results.write(pickle.dumps(found))
            results.flush()


def interruptible(function: Callable[..., Any], *args: Any) -> Any:
    """What a worker calls where SIGINT must not end it at once: KeyboardInterrupt lets the function tidy up."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return function(*args)
    finally:
        signal.signal(signal.SIGINT, before)
