"""What a long step says while it runs: how far it is, how fast, and about how long it will take."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

BYTES = "B"  # the unit of steps that count bytes: they are told in KiB, MiB, GiB
_BAR_WIDTH = 24


class Progress:
    """One line per step on a terminal, with a bar; elsewhere a line at most every ten seconds."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to `stream`, by default standard error."""
        self._stream = stream if stream is not None else sys.stderr
        self._terminal = self._stream.isatty()
        self._label = self._notes = ""
        self._begin = 0.0
        self._shown = 0.0
        self._console: Console | None = None

    def step(self, label: str) -> None:
        """Begin a step; the one before it has ended."""
        self.done()
        self._label, self._notes, self._begin, self._shown = label, "", time.monotonic(), 0.0
        if self._terminal:
            self._write(f"{label} …")

    def say(self, text: str) -> None:
        """Say at once what is waited for, on a terminal or not."""
        self.done()
        self._send(f"{text}\n")

    def update(self, done: int, total: int, unit: str = "") -> None:
        """Say that `done` of `total` are through; cheap enough to call often."""
        now = time.monotonic()
        if now - self._shown < (0.2 if self._terminal else 10.0) or total <= 0:
            return
        self._shown = now
        spent = now - self._begin
        left = spent / done * (total - done) if done else 0.0
        about = f", about {_duration(left)} left" if done and spent > 2 else ""
        if self._terminal:
            rate = f", {_counted(done / spent, unit)}/s" if done and spent > 0 else ""
            self._draw(done, total, f"{_of(done, total, unit)}{rate}{about}")
        else:
            self._write(f"{self._label}: {100 * done // total} % ({_of(done, total, unit)}){about}")

    def note(self, text: str) -> None:
        """What the line that ends this step says beside its time."""
        self._notes += f", {text}"

    def done(self) -> None:
        """End the step with the time it took."""
        if not self._label:
            return
        self._write(f"{self._label}: {_duration(time.monotonic() - self._begin)}{self._notes}")
        if self._terminal:
            self._send("\n")
        self._label = ""

    def _draw(self, done: int, total: int, text: str) -> None:
        """A bar between label and figures, on one line of the terminal.

        Not rich's live display: its thread would draw while a program is started, and it hides the cursor, which a
        step that ends with an error would leave so.
        """
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        console = self._console = self._console or self._made_console()
        line = Table.grid(padding=(0, 1))
        for _ in range(4):
            line.add_column(no_wrap=True, overflow="ellipsis")
        bar = ProgressBar(total=total, completed=min(done, total), width=_BAR_WIDTH)
        line.add_row(Text(self._label), bar, Text(f"{100 * done // total:3} %"), Text(text))
        with console.capture() as captured:
            console.print(line, end="", no_wrap=True, crop=True)
        self._write(captured.get().split("\n")[0].rstrip())

    def _made_console(self) -> Console:
        from rich.console import Console

        return Console(file=self._stream, force_terminal=True, highlight=False)

    def _write(self, text: str) -> None:
        self._send(f"\r\033[K{text}" if self._terminal else f"{text}\n")

    def _send(self, text: str) -> None:
        """Show text; that nobody reads it any more (`2>&1 | head`) is no reason to stop a run."""
        with suppress(BrokenPipeError):
            self._stream.write(text)
            self._stream.flush()


def _of(done: int, total: int, unit: str) -> str:
    """`120 of 300 files`, `8.0 of 26.3 MiB`."""
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
    """The largest unit that a size has one of."""
    for power, name in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return 1 << power, name
    return 1, "B"


def _duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
