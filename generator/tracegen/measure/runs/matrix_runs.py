"""Makes the runs of a matrix, here or on a cluster, in the order of its plan, and goes on where it stopped."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from tracegen.contract.errors import SettingsError, TracegenError
from tracegen.contract.facts import Slot
from tracegen.contract.matrix import Matrix, MatrixCell
from tracegen.contract.model import Run, cell_name
from tracegen.measure.runs.matrix_stored import stored_matrix
from tracegen.measure.runs.measure import measure
from tracegen.storing import store
from tracegen.storing.progress import Progress

TRIES = 2  # of a cell whose run fails


@dataclass(frozen=True)
class Todo:
    """What is stored of a matrix, and what is to do; `name` identifies this making of its runs.

    `joined`: the cells that have no run in the first rounds, because they joined later.
    """

    name: str
    stored: list[Run]
    missing: list[tuple[MatrixCell, Slot]]
    joined: list[MatrixCell] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        """How long the missing runs take, if they take as long as the stored ones; None without one."""
        took = [sum(stage.seconds for stage in run.facts.stages) for run in self.stored]
        return median(took) * len(self.missing) if took else None

    @property
    def size_bytes(self) -> int | None:
        """The room that the missing runs need, if they need as much as the stored ones; None without one."""
        sizes = [_size(run.folder) for run in self.stored if run.folder]
        return int(median(sizes)) * len(self.missing) if sizes else None


@dataclass
class Outcome:
    """One run that was made, or why it could not be made; `tries` of it failed."""

    cell: MatrixCell
    slot: Slot
    run: Run | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def usable(self) -> bool:
        """Whether a run was stored that statistics may use."""
        return self.run is not None and self.run.verdict != "not usable"

    def made(self, make: Callable[[], Run]) -> bool:
        """Take the stored run that `make` returns, or note why it cannot be had; whether another try cannot help."""
        try:
            self.run = make()
        except TracegenError as error:
            self.problems.append(str(error))
            return isinstance(error, SettingsError)
        if self.run.facts.failure is not None:
            words = self.run.facts.failure.words
            self.problems.append(f"{self.run.name}: the program failed{f': {words[0]}' if words else ''}")
            return (self.run.facts.exit_status or 0) > 0  # it refused model or settings
        if not self.usable:
            failed = [check for check in self.run.checks if check.state == "failed"]
            why = "; ".join(f"{check.title}: {check.found}" for check in failed)
            self.problems.append(f"{self.run.name} is not usable: {why}")
        return self.usable


def todo(matrix: Matrix, folder: Path, *, again: bool = False) -> Todo:
    """What is stored of the matrix in an experiment's folder, and which runs are missing.

    A run that is not usable is missing. `again`: begin again, and leave stored runs of the same matrix aside. A matrix
    that was given more rounds or more values goes on with its stored runs.
    """
    found = stored_matrix(matrix, [store.read_run(path) for path in store.run_folders(folder)], again=again)
    plan = matrix.plan_after(found.drawn)
    usable = {_turn(run.slot): run for run in found.runs if run.verdict != "not usable"}
    lacking = {cell.name: matrix.repeat for cell in matrix.cells}
    for run in usable.values():
        lacking[cell_name(run.slot.factors)] -= 1
    missing = []
    for cell, slot in plan:
        if _turn(slot) not in usable and lacking[cell.name] > 0:
            lacking[cell.name] -= 1
            missing.append((cell, slot))
    of = len(usable) + len(missing)
    first = {cell.name for cell, slot in plan if slot.round == 1}
    return Todo(
        found.name,
        sorted(usable.values(), key=lambda run: (run.slot.round, run.slot.number)),
        [(cell, replace(slot, matrix=found.name, of=of)) for cell, slot in missing],
        [cell for cell in matrix.cells if cell.name not in first],
    )


class Machines(Protocol):
    """What makes runs, one or several at a time: `cluster.Cluster`, or this machine (`Here`)."""

    def room(self) -> int:
        """How many runs can be in the making."""

    def submit(self, cell: MatrixCell, slot: Slot) -> Any:
        """Begin a run: the job that `ended` and `take` know."""

    def ended(self, jobs: Collection[Any]) -> list[Any]:
        """Those of the jobs that have ended; may wait a while for one."""

    def take(self, job: Any, outcome: Outcome) -> Run:
        """The stored run of a job that has ended. Raises TracegenError with why it failed."""


@dataclass(frozen=True)
class Here:
    """This machine, which makes a run when it is taken. `program`: llama.cpp, where a cell names none."""

    folder: Path
    progress: Progress
    program: str | None = None

    def room(self) -> int:
        """One: runs that are made beside each other disturb each other."""
        return 1

    def submit(self, cell: MatrixCell, slot: Slot) -> Any:
        """Begin nothing yet."""
        return cell.name, slot.number

    def ended(self, jobs: Collection[Any]) -> list[Any]:
        """All: to take one makes it."""
        return list(jobs)

    def take(self, _job: Any, outcome: Outcome) -> Run:
        """Make the run."""
        cell = outcome.cell
        return measure(cell.experiment, self.folder, self.progress, cell.program or self.program, slot=outcome.slot)


def carry_out(plan: Todo, machines: Machines, progress: Progress) -> Iterator[Outcome]:
    """Make the missing runs; yields each as soon as it is stored or has failed for good.

    A run that fails or is not usable is tried once more, unless the settings are wrong. A cell that failed so is not
    tried in later rounds: its outcomes then say so. Of a round one run is made at a time, so that a machine keeps to
    it. Raises what `Machines.room` does.
    """
    waiting = deque((Outcome(cell, slot), TRIES) for cell, slot in plan.missing)
    running: dict[Any, tuple[Outcome, int]] = {}
    hopeless: set[str] = set()
    while waiting or running:
        room = machines.room()
        while len(running) < room and (found := _next(waiting, {of.slot.round for of, _ in running.values()})):
            outcome, tries = found
            if outcome.cell.name in hopeless:
                outcome.problems.append("not tried again: this cell failed before")
                yield outcome
                continue
            progress.say(f"run {outcome.slot.number} of {outcome.slot.of}: {outcome.cell.name}")
            running[machines.submit(outcome.cell, outcome.slot)] = outcome, tries - 1
        for job in machines.ended(running) if waiting or running else ():
            outcome, tries = running.pop(job)
            final = outcome.made(lambda: machines.take(job, outcome))  # noqa: B023
            if not final and tries:
                waiting.appendleft((outcome, tries))
                continue
            if not outcome.usable:
                hopeless.add(outcome.cell.name)
            yield outcome


def _next(waiting: deque[tuple[Outcome, int]], begun: Collection[int]) -> tuple[Outcome, int] | None:
    """The first run of a round that has none in the making, taken out of `waiting`."""
    for i, found in enumerate(waiting):
        if found[0].slot.round not in begun:
            del waiting[i]
            return found
    return None


def _turn(slot: Slot) -> tuple[int, str]:
    """What one usable run of a matrix has: its round and its cell."""
    return slot.round, cell_name(slot.factors)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
