"""Ctrl-C while another program runs: noticed at a moment of the caller's choice."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tracegen.storing.signals import HEARD


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
            HEARD.number = number  # of the exit code

    before = {}
    if threading.current_thread() is threading.main_thread():  # only there can it be set, and only there it would raise
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        before = {number: handler for number, handler in before.items() if callable(handler)}
    for number in before:
        signal.signal(number, notice)
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
