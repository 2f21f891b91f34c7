"""What Ctrl-C, SIGTERM and SIGHUP do, from the first moment of a command to its last.

While a command works, a signal raises KeyboardInterrupt: parts are removed, and captures are kept. Before and after
that there is nothing to save: the process ends at once. The exit code is 128 and the number of the signal. Until
Python has begun the script of `tracegen`, which takes it some 10 ms, it answers Ctrl-C itself, and may print a
traceback; after `python -m tracegen`, it is twice as long.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Received:
    """The signals of one command: the last one, and whether one has raised an exception, which may have been lost."""

    def __init__(self) -> None:
        """None yet."""
        self.number: int | None = None
        self.raised = False
        self.raises = False
        self.starved = False  # memory ran out

    @property
    def exit_code(self) -> int:
        """The exit code of a stopped command: 130 by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP, 3 without memory."""
        return 3 if self.starved else 128 + (self.number or signal.SIGINT)

    def handle(self, number: int, _frame: FrameType | None = None) -> None:
        """The handler: raise KeyboardInterrupt while a command works, else end the process at once."""
        self.number = number
        if self.raises:
            self.raised = True
            raise KeyboardInterrupt
        os.write(2, b"tracegen: interrupted\n")
        os._exit(self.exit_code)


RECEIVED = Received()


def handle_until_exit() -> None:
    """Handle the signals until the process ends, and see to its exit code."""
    _install()
    sys.unraisablehook = _send_again
    atexit.register(_leave)  # as the first one, so it is called last


def _send_again(lost: sys.UnraisableHookArgs) -> None:
    """Send a signal again whose exception came up in a callback, as of the import lock: there Python drops it."""
    if RECEIVED.number is None or not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    again = threading.Timer(0.01, os.kill, (os.getpid(), RECEIVED.number))
    again.daemon = True
    again.start()


def _leave() -> None:
    """End the process of an interrupted command, and one that has no memory, with its exit code.

    Python would end it with a SIGINT of its own if the exception came up inside `exec`, as of a dataclass. Libraries
    whose loading failed crash while Python ends.
    """
    if RECEIVED.raised or RECEIVED.starved:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(RECEIVED.exit_code)


def _install() -> None:
    """Handle the signals that are not ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, RECEIVED.handle)


@contextmanager
def raising() -> Iterator[None]:
    """During the block, signals raise KeyboardInterrupt; in other threads than the first one, nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    RECEIVED.number, RECEIVED.raised, RECEIVED.starved, RECEIVED.raises = None, False, False, True
    try:
        _install()
        yield
    finally:
        RECEIVED.raises = False
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass
class Interrupts:
    """How often the user has asked to stop."""

    count: int = 0


@contextmanager
def noticed_interrupts(*, ctrl_c_is_the_programs: bool = False) -> Iterator[Interrupts]:
    """During the block Ctrl-C, SIGTERM and SIGHUP raise nothing; they are counted.

    An exception that a signal raises within `Popen.wait` can leave the lock of that method taken, and every later wait
    hangs. With `ctrl_c_is_the_programs` Ctrl-C is not counted, because the program receives it itself. A signal that is
    ignored, or ends this process, keeps doing so.
    """
    interrupts = Interrupts()

    def notice(number: int, _frame: object) -> None:
        if not (ctrl_c_is_the_programs and number == signal.SIGINT):  # not SIG_IGN, which the program would inherit
            interrupts.count += 1
            RECEIVED.number = number  # of the exit code

    before = {}
    if threading.current_thread() is threading.main_thread():  # only there can it be set, and only there it would raise
        before = {number: signal.getsignal(number) for number in SIGNALS}
        before = {number: handler for number, handler in before.items() if callable(handler)}
    for number in before:
        signal.signal(number, notice)
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
