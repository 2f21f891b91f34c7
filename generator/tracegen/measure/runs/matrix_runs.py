"""Makes the runs of a matrix: in the order of its plan, each once, and goes on where it stopped.

Two measured runs never share a machine. `Here` makes them on this one, `cluster.Cluster` on the workers of a cluster.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from tracegen.contract.errors import SettingsError, TracegenError
from tracegen.contract.matrix import Matrix, MatrixCell
from tracegen.contract.model import Run, Slot
from tracegen.measure.runs.matrix_stored import cell_name, held
from tracegen.measure.runs.measure import measure
from tracegen.storing import store
from tracegen.storing.progress import Progress

TRIES = 2  # of a cell whose run fails
POLL_S = 1.0  # between looks for machines that came or vanished


class Machines(Protocol):
    """Where runs are made; machines may come and go."""

    def room(self) -> int:
        """How many runs can be made at once now, one on each machine."""

    def submit(self, cell: MatrixCell, slot: Slot) -> Future[Any]:
        """Begin a run."""

    def take(self, job: Future[Any], outcome: Outcome) -> Run:
        """The stored run of a job that has ended. Raises TracegenError when it could not be made."""


class Here:
    """This machine: runs are stored below an experiment's folder. `program`: llama.cpp, where a cell names none."""

    def __init__(self, folder: Path, progress: Progress, program: str | None = None) -> None:
        """Make nothing yet."""
        self._folder, self._progress, self._program = folder, progress, program

    def room(self) -> int:
        """One."""
        return 1

    def submit(self, cell: MatrixCell, slot: Slot) -> Future[Run]:
        """Make a run in this thread, so that signals reach it; its TracegenError is kept for `take`."""
        job: Future[Run] = Future()
        program = cell.program or self._program
        try:
            job.set_result(measure(cell.experiment, self._folder, self._progress, program, slot=slot))
        except TracegenError as error:
            job.set_exception(error)
        return job

    def take(self, job: Future[Run], outcome: Outcome) -> Run:
        """The stored run. Raises TracegenError when it could not be made."""
        return job.result()


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
        took = [sum(stage["seconds"] for stage in run.facts.get("stages", ())) for run in self.stored]
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


def todo(matrix: Matrix, folder: Path, *, anew: bool = False) -> Todo:
    """What is stored of the matrix in an experiment's folder, and which runs are missing.

    A run that is not usable is missing. `anew`: begin again, and leave stored runs of the same matrix aside. A matrix
    that was given more rounds or more values goes on with its stored runs.
    """
    found = held(matrix, [store.read_run(path) for path in store.run_folders(folder)], anew=anew)
    plan = matrix.plan_after(found.drawn)
    usable = {_turn(run.facts["slot"]): run for run in found.runs if run.verdict != "not usable"}
    lacking = {cell.name: matrix.repeat for cell in matrix.cells}
    for run in usable.values():
        lacking[cell_name(run.facts["slot"])] -= 1
    missing = []
    for cell, slot in plan:
        if _turn(asdict(slot)) not in usable and lacking[cell.name] > 0:
            lacking[cell.name] -= 1
            missing.append((cell, slot))
    of = len(usable) + len(missing)
    first = {cell.name for cell, slot in plan if slot.round == 1}
    return Todo(
        found.name,
        sorted(usable.values(), key=lambda run: (run.facts["slot"]["round"], run.facts["slot"]["number"])),
        [(cell, replace(slot, matrix=found.name, of=of)) for cell, slot in missing],
        [cell for cell in matrix.cells if cell.name not in first],
    )


def carry_out(plan: Todo, machines: Machines, progress: Progress) -> Iterator[Outcome]:
    """Make the missing runs, and yield each as soon as it is stored or has failed for good.

    Of a round one run is made at a time, so that a machine keeps to it. A run that fails or is not usable is tried
    once more. A cell that failed so is not tried in later rounds: its outcomes then say so. Raises EnvironmentFailure
    when no machine is left.
    """
    waiting = deque((Outcome(cell, slot), TRIES) for cell, slot in plan.missing)
    running: dict[Future[Any], tuple[Outcome, int]] = {}
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
        if not running:
            time.sleep(POLL_S if waiting else 0)
        for job in wait(running, timeout=POLL_S, return_when=FIRST_COMPLETED).done:
            outcome, tries = running.pop(job)
            final = _ended(machines, job, outcome)
            if not outcome.usable and tries and not final:
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


def _ended(machines: Machines, job: Future[Any], outcome: Outcome) -> bool:
    """Take over the result of a job. Returns whether another try cannot help: the settings are wrong."""
    try:
        outcome.run = machines.take(job, outcome)
    except TracegenError as error:
        outcome.problems.append(str(error))
        return isinstance(error, SettingsError)
    if not outcome.usable:
        failed = [check for check in outcome.run.checks if check.state == "failed"]
        why = "; ".join(f"{check.title}: {check.found}" for check in failed)
        outcome.problems.append(f"{outcome.run.name} is not usable: {why}")
    return False


def _turn(slot: Mapping[str, Any]) -> tuple[int, str]:
    """What one usable run of a matrix has: its round and its cell."""
    return int(slot["round"]), cell_name(slot)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
