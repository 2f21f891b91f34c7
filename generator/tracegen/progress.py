"""What a long step says while it runs: how far it is and about how long it will take."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TextIO


class Progress:
    """One line per step on a terminal; elsewhere a line at most every ten seconds."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to `stream`, by default standard error."""
        self._stream = stream if stream is not None else sys.stderr
        self._terminal = self._stream.isatty()
        self._label = self._notes = ""
        self._begin = 0.0
        self._shown = 0.0

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
        counted = f"{done} of {total} {unit}".rstrip()
        self._write(f"{self._label}: {100 * done // total} % ({counted}){about}")

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

    def _write(self, text: str) -> None:
        self._send(f"\r\033[K{text}" if self._terminal else f"{text}\n")

    def _send(self, text: str) -> None:
        """Show text; that nobody reads it any more (`2>&1 | head`) is no reason to stop a run."""
        with suppress(BrokenPipeError):
            self._stream.write(text)
            self._stream.flush()


def _duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
