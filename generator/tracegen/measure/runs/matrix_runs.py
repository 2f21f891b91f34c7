"""Makes the runs of a matrix: in the order of its plan, each once, and goes on where it stopped.

Runs go through the interface of `concurrent.futures.Executor` (`places.py`); two measured runs never share a machine.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from tracegen.contract.errors import EnvironmentFailure, SettingsError, TracegenError
from tracegen.contract.matrix import Matrix, MatrixCell
from tracegen.contract.model import Run, Slot
from tracegen.measure.runs.matrix_stored import cell_name, held
from tracegen.measure.runs.places import Place
from tracegen.storing import store
from tracegen.storing.progress import Progress

TRIES = 2  # of a cell whose run fails
POLL_S = 1.0  # between looks for machines that came or vanished
PATIENCE_S = 60.0  # for a machine to come when there is none


class Places(Protocol):
    """The machines that make the runs; they may come and go."""

    def present(self) -> Sequence[Place]:
        """Those that there are now."""


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


def carry_out(plan: Todo, places: Places, progress: Progress) -> Iterator[Outcome]:
    """Make the missing runs, and yield each as soon as it is stored or has failed for good.

    Each place makes one run at a time, and a round is made in one place: neighbouring runs of different cells then
    differ by their settings alone. A run that fails, is not usable or vanishes with its machine is tried once more. A
    cell that failed so is not tried in later rounds: its outcomes then say so. Raises EnvironmentFailure when no
    machine is left.
    """
    waiting = deque((Outcome(cell, slot), TRIES) for cell, slot in plan.missing)
    running: dict[Future[Any], tuple[Place, Outcome, int]] = {}
    hopeless: set[str] = set()
    rounds = {run.facts["slot"]["round"]: str(run.facts.get("host", {}).get("id")) for run in plan.stored}
    while waiting or running:
        present = _awaited(places) if not running else places.present()
        busy = [place for place, _, _ in running.values()]
        for place in present:
            while place not in busy and (found := _next(waiting, rounds, place, present)) is not None:
                outcome, tries = found
                if outcome.cell.name in hopeless:
                    outcome.problems.append("not tried again: this cell failed before")
                    yield outcome
                    continue
                rounds[outcome.slot.round] = place.machine
                progress.say(f"run {outcome.slot.number} of {outcome.slot.of}{place.words}: {outcome.cell.name}")
                try:
                    running[place.submit(outcome.cell, outcome.slot)] = place, outcome, tries - 1
                except TracegenError as error:
                    outcome.problems.append(str(error))
                    hopeless.add(outcome.cell.name)
                    yield outcome
                    continue
                break
        ended = wait(running, timeout=POLL_S, return_when=FIRST_COMPLETED).done
        for job in ended or {job for job, (place, _, _) in running.items() if place.lost(job)}:
            place, outcome, tries = running.pop(job)
            job.cancel()
            final = _ended(place, job, outcome)
            if not outcome.usable and tries and not final:
                waiting.appendleft((outcome, tries))
                continue
            if not outcome.usable:
                hopeless.add(outcome.cell.name)
            yield outcome


def _awaited(places: Places) -> Sequence[Place]:
    """The places that there are, at least one. Raises EnvironmentFailure when none comes."""
    until = time.monotonic() + PATIENCE_S
    while not (present := places.present()):
        if time.monotonic() > until:
            raise EnvironmentFailure("no machine is there to make runs; start a worker, then the same command goes on")
        time.sleep(POLL_S)
    return present


def _next(
    waiting: deque[tuple[Outcome, int]], rounds: Mapping[int, str], place: Place, present: Sequence[Place]
) -> tuple[Outcome, int] | None:
    """The next run for a place, taken out of `waiting`: of a round that it has begun, else of one that is nobody's."""
    there = {other.machine for other in present}
    own = [i for i, (of, _) in enumerate(waiting) if rounds.get(of.slot.round) == place.machine]
    free = [i for i, (of, _) in enumerate(waiting) if rounds.get(of.slot.round) not in there]
    for i in [*own, *free][:1]:
        found = waiting[i]
        del waiting[i]
        return found
    return None


def _ended(place: Place, job: Future[Any], outcome: Outcome) -> bool:
    """Take over the result of a job. Returns whether another try cannot help: the settings are wrong."""
    try:
        outcome.run = place.take(job)
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
