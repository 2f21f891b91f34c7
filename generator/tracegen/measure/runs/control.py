"""The control of a run: the same program under the same conditions, untraced, before or after the traced one."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from tracegen.analysis.observer import effects
from tracegen.contract import facts
from tracegen.contract.check_keys import FAIL_SLOWER
from tracegen.contract.facts import Execution, Repetition, Slot
from tracegen.measure.capture.execution import Meter
from tracegen.measure.capture.pressure import Pressure
from tracegen.measure.runs.recording import Stages
from tracegen.storing.execute import Completed

OFTEN = 100  # a program that just fits reaches its limit once or twice, when pages are charged in groups
CONFIRMED_BY = 2  # more executions, where a single one says that tracing cost too much
LOG = "untraced.txt"  # what the untraced program prints; it is read and removed


@dataclass
class Control:
    """Runs a program untraced, and collects what is known of it and of the traced one.

    `conditions(lifted)`: a context in which the conditions of the run hold, with its memory limit lifted or not.
    `run(pressure, log)` runs the program there, and writes what it prints into `log`. `paths`: the model's files.
    """

    conditions: Callable[[bool], AbstractContextManager[Pressure]]
    run: Callable[[Pressure, Path], Completed]
    paths: Sequence[Path]
    folder: Path
    stages: Stages
    untraced: list[Execution] = field(default_factory=list)
    traced: Execution | None = None
    without_limit: Execution | None = None

    def repeat(self, times: int) -> None:
        """Run the program untraced `times` times."""
        for _ in range(times):
            self.stages.begin("run untraced")
            self.untraced.append(self._execute(lifted=False))

    def confirm(self) -> None:
        """Run it again, if it ran untraced once and the traced execution was too slow beside that one."""
        found = self.result()
        if len(self.untraced) == 1 and found and any(effect.slower > FAIL_SLOWER for effect in effects(found, ())):
            self.repeat(CONFIRMED_BY)

    def lift_limit(self) -> None:
        """Run it once without its memory limit, if an untraced execution reached the limit again and again."""
        if max((execution.times_reached or 0 for execution in self.untraced), default=0) < OFTEN:
            return
        self.stages.begin("run untraced without the memory limit")
        self.without_limit = self._execute(lifted=True)

    def _execute(self, *, lifted: bool) -> Execution:
        log = self.folder / LOG
        try:
            with self.conditions(lifted) as pressure:
                meter = Meter.start(self.paths)
                ended = self.run(pressure, log)
                text = log.read_text(encoding="utf-8", errors="replace")
                return meter.stop(ended, text, pressure.limit.read if pressure.limit else None)
        finally:
            log.unlink(missing_ok=True)

    def result(self) -> facts.Control | None:
        """What is known of all executions; None without a traced one."""
        if self.traced is None:
            return None
        return facts.Control(tuple(self.untraced), self.traced, self.without_limit)


def shares(controls: int, repetition: Repetition | None, slot: Slot | None) -> tuple[int, int]:
    """How many of the controls run before the traced program and after it: half, and an odd one in turn."""
    number = repetition.number if repetition else slot.number if slot else 1
    before = (controls + number % 2) // 2
    return before, controls - before
