"""Makes the runs of a matrix: in the order of its plan, each once, and goes on where it stopped.

Runs go through the interface of `concurrent.futures.Executor`; two measured runs never share a machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, ParamSpec, TypeVar

from tracegen import store
from tracegen.errors import SettingsError, TracegenError
from tracegen.matrix import Cell, Matrix
from tracegen.model import Run, Slot
from tracegen.progress import Progress
from tracegen.runs.measure import measure

TRIES = 2  # of a cell whose run fails
P = ParamSpec("P")
T = TypeVar("T")


class Alone(Executor):
    """An executor that calls in this thread, one call after the other: signals reach the run that is measured."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call `fn` now; its TracegenError is kept in the future, and everything else is raised at once."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except TracegenError as error:
            future.set_exception(error)
        return future


@dataclass(frozen=True)
class Todo:
    """What is stored of a matrix, and what is to do; `name` identifies this making of its runs."""

    name: str
    stored: list[Run]
    missing: list[tuple[Cell, Slot]]

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

    cell: Cell
    slot: Slot
    run: Run | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def usable(self) -> bool:
        """Whether a run was stored that statistics may use."""
        return self.run is not None and self.run.verdict != "not usable"


def todo(matrix: Matrix, folder: Path, *, anew: bool = False) -> Todo:
    """What is stored of the matrix in an experiment's folder, and which runs are missing.

    A run that is not usable is missing. `anew`: begin again, and leave stored runs of the same matrix aside.
    """
    runs = [run for path in store.run_folders(folder) if (run := store.read_run(path)).facts.get("slot")]
    made = [run for run in runs if str(run.facts["slot"]["matrix"]).partition("/")[0] == matrix.identity]
    last = max((int(str(run.facts["slot"]["matrix"]).partition("/")[2]) for run in made), default=0)
    name = f"{matrix.identity}/{last + 1 if anew or not last else last}"
    usable = {run.facts["slot"]["number"]: run for run in made if _belongs(run, name)}
    missing = [(cell, replace(slot, matrix=name)) for cell, slot in matrix.plan if slot.number not in usable]
    return Todo(name, [usable[number] for number in sorted(usable)], missing)


def carry_out(
    plan: Todo, folder: Path, progress: Progress, program: str | None = None, executor: Executor | None = None
) -> Iterator[Outcome]:
    """Make the missing runs, and yield each as soon as it is stored or has failed for good.

    A run that fails or is not usable is tried once more. A cell that failed so is not tried in later rounds: its
    outcomes then say so. `program`: the folder of llama.cpp, where a cell names none.
    """
    waiting = deque((Outcome(cell, slot), TRIES) for cell, slot in plan.missing)
    running: dict[Future[Run], tuple[Outcome, int]] = {}
    hopeless: set[str] = set()
    workers = executor or Alone()
    while waiting or running:
        while waiting and not running:
            outcome, tries = waiting.popleft()
            if outcome.cell.name in hopeless:
                outcome.problems.append("not tried again: this cell failed before")
                yield outcome
                continue
            progress.say(f"run {outcome.slot.number} of {outcome.slot.of}: {outcome.cell.name}")
            job = workers.submit(_measured, outcome.cell, outcome.slot, folder, progress, program)
            running[job] = outcome, tries - 1
        for job in wait(running, return_when=FIRST_COMPLETED).done:
            outcome, tries = running.pop(job)
            final = _ended(job, outcome)
            if not outcome.usable and tries and not final:
                waiting.appendleft((outcome, tries))
                continue
            if not outcome.usable:
                hopeless.add(outcome.cell.name)
            yield outcome


def _measured(cell: Cell, slot: Slot, folder: Path, progress: Progress, program: str | None) -> Run:
    return measure(cell.experiment, folder, progress, cell.program or program, slot=slot)


def _ended(job: Future[Run], outcome: Outcome) -> bool:
    """Take over the result of a job. Returns whether another try cannot help: the settings are wrong."""
    error = job.exception()
    if error is None:
        outcome.run = job.result()
        if not outcome.usable:
            failed = [check for check in outcome.run.checks if check.state == "failed"]
            why = "; ".join(f"{check.title}: {check.found}" for check in failed)
            outcome.problems.append(f"{outcome.run.name} is not usable: {why}")
    elif isinstance(error, TracegenError):
        outcome.problems.append(str(error))
    else:
        raise error
    return isinstance(error, SettingsError)


def _belongs(run: Run, name: str) -> bool:
    slot: dict[str, Any] = run.facts["slot"]
    return slot["matrix"] == name and run.verdict != "not usable"


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
