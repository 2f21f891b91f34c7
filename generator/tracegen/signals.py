"""What Ctrl-C, SIGTERM and SIGHUP do, from the first moment of a command to its last.

While a command works, a signal raises KeyboardInterrupt: parts are removed, and captures are kept. Before and after
that there is nothing to save: the process ends at once. The exit code is 128 and the number of the signal.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Heard:
    """The signals of one command: the last one, and whether one has raised an exception, which may have been lost."""

    def __init__(self) -> None:
        """None yet."""
        self.number: int | None = None
        self.raised = False
        self.raises = False

    @property
    def exit_code(self) -> int:
        """The exit code of a command that was stopped: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP."""
        return 128 + (self.number or signal.SIGINT)

    def hear(self, number: int, _frame: FrameType | None = None) -> None:
        """The handler: raise KeyboardInterrupt while a command works, else end the process at once."""
        self.number = number
        if self.raises:
            self.raised = True
            raise KeyboardInterrupt
        os.write(2, b"tracegen: interrupted\n")
        os._exit(self.exit_code)


HEARD = Heard()


def listen_to_the_end() -> None:
    """Hear the signals until the process ends, and see to its exit code."""
    _listen()
    atexit.register(_leave)  # as the first one, so it is called last


def _leave() -> None:
    """End the process of an interrupted command with its exit code.

    Python would end it with a SIGINT of its own if the exception came up inside `exec`, as of a dataclass.
    """
    if HEARD.raised:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(HEARD.exit_code)


def _listen() -> None:
    """Hear the signals that are not ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, HEARD.hear)


@contextmanager
def raising() -> Iterator[None]:
    """During the block, signals raise KeyboardInterrupt; in other threads than the first one, nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    HEARD.number, HEARD.raised, HEARD.raises = None, False, True
    try:
        _listen()
        yield
    finally:
        HEARD.raises = False
        for number, handler in before.items():
            signal.signal(number, handler)
