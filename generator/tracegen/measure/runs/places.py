"""Where the runs of a matrix are made: a place is a machine, and makes one run at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

from tracegen.contract.errors import TracegenError
from tracegen.contract.matrix import MatrixCell
from tracegen.contract.model import Run, Slot
from tracegen.measure.capture.machine import machine_id
from tracegen.measure.runs.measure import measure
from tracegen.storing.progress import Progress

P = ParamSpec("P")
T = TypeVar("T")


class Place(Protocol):
    """A machine that makes one run at a time, through a `concurrent.futures.Executor`."""

    @property
    def machine(self) -> str:
        """The id of the machine (`capture.machine.machine_id`)."""

    @property
    def words(self) -> str:
        """How messages name the machine, empty for this one: ` on node7`."""

    def submit(self, cell: MatrixCell, slot: Slot) -> Future[Any]:
        """Begin a run. Raises TracegenError when it cannot begin."""

    def take(self, job: Future[Any]) -> Run:
        """The stored run of a job that has ended. Raises TracegenError when it could not be made."""

    def lost(self, job: Future[Any]) -> bool:
        """Whether the machine has vanished with this job."""


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


class Here:
    """This machine: runs are stored below an experiment's folder. `program`: llama.cpp, where a cell names none."""

    def __init__(self, folder: Path, progress: Progress, program: str | None = None, executor: Executor | None = None):
        """Make runs through the executor; by default in this thread."""
        self._folder, self._progress, self._program = folder, progress, program
        self._executor = executor or Alone()
        self.machine, self.words = machine_id(), ""

    def present(self) -> Sequence[Place]:
        """The machines that there are now: this one."""
        return (self,)

    def submit(self, cell: MatrixCell, slot: Slot) -> Future[Any]:
        """Make a run."""
        program = cell.program or self._program
        return self._executor.submit(measure, cell.experiment, self._folder, self._progress, program, slot=slot)

    def take(self, job: Future[Any]) -> Run:
        """The stored run."""
        run = job.result()
        assert isinstance(run, Run)
        return run

    def lost(self, job: Future[Any]) -> bool:
        """False: this machine is there."""
        return False
