"""Memory pressure on the traced program: memory that is locked beside it, and a limit for it."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tracegen.contract.facts import Conditions, Locked, Pinned
from tracegen.measure.capture.limited import Limit, memory_limit
from tracegen.measure.capture.locked import oom_kills


@dataclass(frozen=True)
class Pressure:
    """The locked memory, the limit and the pinned tensors that hold while the program runs; None where not set.

    `kills_before` is how many processes the kernel had killed for lack of memory before.
    """

    locked: Locked | None = None
    limit: Limit | None = None
    kills_before: int = 0
    pinned: Pinned | None = None

    @property
    def before(self) -> Callable[[], None] | None:
        """A function that the new process calls before the program begins; None when there is nothing to do."""
        return self.enter if self.locked or self.limit else None

    def enter(self) -> None:
        """In the new process: enter the limit, and become the first process that the kernel kills."""
        if self.limit:
            self.limit.enter()
        if self.locked:  # otherwise the kernel would kill tracegen, which holds most memory
            Path("/proc/self/oom_score_adj").write_text("1000")

    @property
    def tracer(self) -> dict[str, object]:
        """Settings of the tracer: where it reads how much memory the program has."""
        return {"MEMORY": self.limit.usage} if self.limit else {}

    def conditions(self) -> Conditions:
        """What of it is set, as it is now."""
        limit = self.limit.read() if self.limit else None
        return Conditions(mlock=self.locked, pinned=self.pinned, memory_limit=limit)

    def cause(self, status: int) -> str:
        """Why the program died for lack of memory; empty when it did not, as far as `status` and the kernel show."""
        limited = self.limit.read() if self.limit else None
        if limited and limited.processes_killed:
            return (
                f"needed more memory than memory_limit_gb allows ({limited.limit_bytes} bytes), and the kernel killed "
                "it; set more"
            )
        if self.locked and status == -signal.SIGKILL and oom_kills() > self.kills_before:
            return "killed by the kernel for lack of memory; set mlock_gb to less"
        return ""


@contextmanager
def under_pressure(locked: Locked | None, memory_limit_gb: float | None, *, lifted: bool = False) -> Iterator[Pressure]:
    """During the block, limit memory to `memory_limit_gb` GiB (None: not set), beside the memory that is locked.

    `lifted`: only count what the program takes. Raises SettingsError or EnvironmentFailure when this machine does not
    allow it.
    """
    with memory_limit(memory_limit_gb, lifted=lifted) as limit:
        yield Pressure(locked, limit, oom_kills() if locked else 0)
