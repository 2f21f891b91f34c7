"""Shows the progress of long steps: how far they are, how fast, and about how long they will take."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

BYTES = "B"  # the unit of steps that count bytes; amounts are printed in KiB, MiB, GiB
_BAR_WIDTH = 24


class Progress:
    """On a terminal, one line per step, with a bar; elsewhere, at most one line every ten seconds."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to `stream`, or to standard error when it is None."""
        self._stream = stream if stream is not None else sys.stderr
        self._terminal = self._stream.isatty()
        self._label = self._notes = ""
        self._begin = 0.0
        self._shown = 0.0
        self._console: Console | None = None

    def step(self, label: str) -> None:
        """End the current step, and begin the step `label`."""
        self.done()
        self._label, self._notes, self._begin, self._shown = label, "", time.monotonic(), 0.0
        if self._terminal:
            self._write(f"{label} …")

    def say(self, text: str) -> None:
        """End the current step, and print a line at once."""
        self.done()
        self._send(f"{text}\n")

    def update(self, done: int, total: int, unit: str = "") -> None:
        """Show that `done` of `total` are finished. It is cheap: most calls print nothing."""
        now = time.monotonic()
        if now - self._shown < (0.2 if self._terminal else 10.0) or total <= 0:
            return
        self._shown = now
        spent = now - self._begin
        left = spent / done * (total - done) if done else 0.0
        about = f", about {_duration(left)} left" if done and spent > 2 else ""
        if self._terminal:
            rate = f", {_counted(done / spent, unit)}/s" if done and spent > 0 else ""
            self._draw(done, total, f"{_amount(done, total, unit)}{rate}{about}")
        else:
            self._write(f"{self._label}: {100 * done // total} % ({_amount(done, total, unit)}){about}")

    def later(self, label: str) -> Callable[[int, int, str], None]:
        """An `update` that begins the step `label` when it is called first: the step is shown only if it is long."""
        is_shown = False

        def update(done: int, total: int, unit: str = "") -> None:
            nonlocal is_shown
            if not is_shown:
                self.step(label)
                is_shown = True
            self.update(done, total, unit)

        return update

    def note(self, text: str) -> None:
        """Add `text` to the line that ends this step."""
        self._notes += f", {text}"

    def done(self) -> None:
        """End the current step, if there is one, with a line that states its duration."""
        if not self._label:
            return
        self._write(f"{self._label}: {_duration(time.monotonic() - self._begin)}{self._notes}")
        if self._terminal:
            self._send("\n")
        self._label = ""

    def _draw(self, done: int, total: int, text: str) -> None:
        """Draw label, bar and figures on one line of the terminal.

        rich's live display is not used: its thread could draw while a program starts, and it hides the cursor, which
        would stay hidden after an error.
        """
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        console = self._console = self._console or self._new_console()
        line = Table.grid(padding=(0, 1))
        for _ in range(4):
            line.add_column(no_wrap=True, overflow="ellipsis")
        bar = ProgressBar(total=total, completed=min(done, total), width=_BAR_WIDTH)
        line.add_row(Text(self._label), bar, Text(f"{100 * done // total:3} %"), Text(text))
        with console.capture() as captured:
            console.print(line, end="", no_wrap=True, crop=True)
        self._write(captured.get().split("\n")[0].rstrip())

    def _new_console(self) -> Console:
        from rich.console import Console

        return Console(file=self._stream, force_terminal=True, highlight=False)

    def _write(self, text: str) -> None:
        self._send(f"\r\033[K{text}" if self._terminal else f"{text}\n")

    def _send(self, text: str) -> None:
        """Write text. A closed pipe (`2>&1 | head`) or a full disk is ignored: it must not stop a run."""
        with suppress(OSError):
            self._stream.write(text)
            self._stream.flush()


def _amount(done: int, total: int, unit: str) -> str:
    """An amount in words: `120 of 300 files`, `8.0 of 26.3 MiB`."""
    if unit != BYTES:
        return f"{done} of {total} {unit}".rstrip()
    size, name = _unit_of(total)
    return f"{done} of {total} B" if size == 1 else f"{done / size:.1f} of {total / size:.1f} {name}"


def _counted(rate: float, unit: str) -> str:
    if unit != BYTES:
        return f"{rate:.1f} {unit}".rstrip()
    size, name = _unit_of(int(rate))
    return f"{rate / size:.1f} {name}"


def _unit_of(size: int) -> tuple[int, str]:
    """The bytes and the name of the largest unit that is not larger than `size`."""
    for power, name in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return 1 << power, name
    return 1, "B"


def _duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
