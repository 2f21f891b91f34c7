"""Little memory, on purpose: what is locked beside the traced program, and what limits it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tracegen.capture.limited import Limit, memory_limit
from tracegen.capture.locked import Locked, locked_memory, oom_kills


@dataclass(frozen=True)
class Pressure:
    """What holds while the program runs; null is what was not asked for. `kills_before` counts those of the kernel."""

    locked: Locked | None = None
    limit: Limit | None = None
    kills_before: int = 0

    @property
    def before(self) -> Callable[[], None] | None:
        """What the new process does before the program begins; null: nothing."""
        return self.enter if self.locked or self.limit else None

    def enter(self) -> None:
        """In the new process, before the program begins: enter the limit, and be the first that the kernel ends."""
        if self.limit:
            self.limit.enter()
        if self.locked:  # else it would end us, who hold the most
            Path("/proc/self/oom_score_adj").write_text("1000")

    def facts(self) -> dict[str, Any]:
        """What run.json says of it; nothing of what was not asked for."""
        return {
            **({"mlock": asdict(self.locked)} if self.locked else {}),
            **({"memory_limit": asdict(self.limit.read())} if self.limit else {}),
        }

    def cause(self, status: int) -> str:
        """Why the program with this exit status died for want of memory; empty when it did not, as far as told."""
        limited = self.limit.read() if self.limit else None
        if limited and limited.processes_killed:
            return (
                f"needed more memory than memory_limit_gb allows ({limited.limit_bytes} bytes), and the kernel ended "
                "it; give it more"
            )
        if self.locked and status == -signal.SIGKILL and oom_kills() > self.kills_before:
            return "ended by the kernel for want of memory; ask for less with mlock_gb"
        return ""


@contextmanager
def under_pressure(mlock_gb: float | None, memory_limit_gb: float | None, needed: int = 0) -> Iterator[Pressure]:
    """Lock memory (GiB), and make a limit (GiB), while the block runs; `needed` bytes must stay available.

    Raises SettingsError or EnvironmentFailure, before the block, when this machine does not allow it.
    """
    with locked_memory(mlock_gb, needed) as locked, memory_limit(memory_limit_gb) as limit:
        yield Pressure(locked, limit, oom_kills() if locked else 0)
