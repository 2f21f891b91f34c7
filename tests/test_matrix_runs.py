from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_run, scaled_case
from tracegen import store
from tracegen.errors import EnvironmentFailure, SettingsError
from tracegen.matrix import Cell, Matrix, matrix_from
from tracegen.model import Check, Experiment, Run, Slot
from tracegen.progress import Progress
from tracegen.runs import matrix_runs, places
from tracegen.runs.matrix_report import matrix_text, outcome_text, plan_text
from tracegen.runs.matrix_runs import Outcome, carry_out, todo
from tracegen.runs.places import Here

LEAST: dict[str, Any] = {"question": "Why?", "model": "demo", "prompt": "Hello", "tokens": 4}
BAD = (Check("dropped_events", "No event was dropped", "failed", "3", "0"),)


class Machine:
    """Stands for `measure`: stores a run, or fails as it is told for a number of threads."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []
        self.fails: dict[int, list[Any]] = {}
        self.busy = threading.Lock()

    def measure(
        self, experiment: Experiment, folder: Path, progress: Progress, program: Any = None, *, slot: Slot
    ) -> Run:
        assert self.busy.acquire(blocking=False), "two measured runs shared a machine"
        try:
            self.calls.append((slot.number, experiment.threads))
            what = self.fails.get(experiment.threads, [])
            failure = what.pop(0) if what else None
            if isinstance(failure, BaseException):
                raise failure
            return stored(folder, slot, BAD if failure == "not usable" else ())
        finally:
            self.busy.release()


def stored(folder: Path, slot: Slot, checks: tuple[Check, ...] = ()) -> Run:
    number = store.next_number(folder / "runs")
    run = replace(a_run(checks=checks, slot=asdict(slot)), experiment="a", number=number)
    with store.whole_folder(folder / "runs" / f"{number:03d}") as beside:
        store.write_tables(beside / "tables", scaled_case(), "stand-in 1")
        store.write_run_file(beside, run)
    return store.read_run(folder / "runs" / f"{number:03d}")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine()
    monkeypatch.setattr(places, "measure", made.measure)
    yield made


def a_matrix(tmp_path: Path, **matrix: object) -> tuple[Matrix, Path]:
    folder = tmp_path / "experiments" / "a"
    folder.mkdir(parents=True, exist_ok=True)
    return matrix_from("a", {**LEAST, "matrix": {"threads": [1, 2], "repeat": 3} | matrix}, folder), folder


def all_of(matrix: Matrix, folder: Path, **more: Any) -> list[Outcome]:
    return list(carry_out(todo(matrix, folder), Here(folder, Progress(), **more), Progress()))


def test_every_run_is_made_once_in_the_order_of_the_plan(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path)
    outcomes = all_of(matrix, folder)
    assert machine.calls == [(slot.number, cell.experiment.threads) for cell, slot in matrix.plan]
    assert all(outcome.usable and not outcome.problems for outcome in outcomes)
    left = todo(matrix, folder)
    assert [run.facts["slot"]["number"] for run in left.stored] == [1, 2, 3, 4, 5, 6] and left.missing == []
    assert left.seconds == 0 and left.size_bytes == 0
    assert "every run is stored" in plan_text(matrix, left)
    assert all_of(matrix, folder) == [] and len(machine.calls) == 6


def test_after_an_interrupt_the_missing_runs_are_made(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path)
    machine.fails[1] = [None, KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        all_of(matrix, folder)
    n = len(todo(matrix, folder).stored)
    assert 0 < n < 6
    left = todo(matrix, folder)
    assert left.seconds == pytest.approx(2.5 * (6 - n)) and (left.size_bytes or 0) > 1000 * (6 - n)
    assert f"{6 - n} run" in plan_text(matrix, left) and " to make: about " in plan_text(matrix, left)
    all_of(matrix, folder)
    numbers = [run.facts["slot"]["number"] for run in todo(matrix, folder).stored]
    assert numbers == [1, 2, 3, 4, 5, 6] and len(machine.calls) == 7


def test_a_run_that_fails_is_tried_once_more(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path)
    machine.fails[2] = [EnvironmentFailure("no room"), None, "not usable"]
    outcomes = all_of(matrix, folder)
    assert all(outcome.usable for outcome in outcomes) and len(outcomes) == 6
    assert [outcome.problems for outcome in outcomes if outcome.problems] == [
        ["no room"], ["run-004 is not usable: No event was dropped: 3"],
    ]  # fmt: skip
    assert len(machine.calls) == 8 and len(todo(matrix, folder).stored) == 6
    assert "failed: no room" in outcome_text(next(o for o in outcomes if o.problems))


def test_a_cell_that_always_fails_is_left_aside_and_reported(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path)
    machine.fails[2] = ["not usable"] * 99
    outcomes = all_of(matrix, folder)
    assert [threads for _, threads in machine.calls].count(2) == 2  # one run, one more try
    failed = [outcome for outcome in outcomes if not outcome.usable]
    assert len(failed) == 3 and failed[1].problems == ["not tried again: this cell failed before"]
    text = matrix_text(matrix, todo(matrix, folder).stored, failed)
    assert "3 of 6 runs stored and usable" in text and "threads=2  no run, n = 0" in text
    assert "failed: threads=2, run" in text and "tracegen compare" not in text
    machine.fails.clear()
    assert all(outcome.usable for outcome in all_of(matrix, folder)) and todo(matrix, folder).missing == []


def test_wrong_settings_are_not_tried_twice(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path)
    machine.fails[1] = [SettingsError("no such model")] * 9
    assert [threads for _, threads in machine.calls].count(1) == 0
    all_of(matrix, folder)
    assert [threads for _, threads in machine.calls].count(1) == 1


def test_a_fault_of_tracegen_ends_it(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path)
    machine.fails[1] = [ZeroDivisionError()]
    with pytest.raises(ZeroDivisionError):
        all_of(matrix, folder)


def test_runs_of_other_settings_are_not_taken(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path)
    all_of(matrix, folder)
    other, _ = a_matrix(tmp_path, repeat=2)
    assert len(todo(other, folder).missing) == 4 and todo(other, folder).stored == []


def test_anew_begins_again_and_is_gone_on_with(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path)
    all_of(matrix, folder)
    anew = todo(matrix, folder, anew=True)
    assert anew.name == f"{matrix.identity}/2" and len(anew.missing) == 6
    begun = carry_out(anew, Here(folder, Progress()), Progress())
    next(begun)
    begun.close()
    left = todo(matrix, folder)
    assert left.name == anew.name and len(left.missing) == 5 and len(left.stored) == 1


def test_any_executor_makes_them_one_after_the_other(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path)
    machine.fails[1] = [EnvironmentFailure("gone")]
    with ThreadPoolExecutor(4) as executor:
        outcomes = all_of(matrix, folder, executor=executor)
    assert [o.slot.number for o in outcomes] == [1, 2, 3, 4, 5, 6] and all(o.usable for o in outcomes)


def test_the_plan_of_many_cells_is_short(tmp_path: Path) -> None:
    matrix, folder = a_matrix(tmp_path, threads=list(range(1, 101)))
    text = plan_text(matrix, todo(matrix, folder))
    assert "100 cells, 3 runs each: 300 runs" in text and "… and 60 more" in text and len(text.splitlines()) == 44


class Node:
    """Stands for a machine of a cluster; a job ends when its turn comes, and is lost with the machine."""

    def __init__(self, machine: str, folder: Path, calls: list[tuple[str, int, int]]) -> None:
        self.machine, self.words, self.folder, self.calls = machine, f" on {machine}", folder, calls
        self.dies_at = self.jobs = 0
        self.gone = False

    def submit(self, cell: Cell, slot: Slot) -> Future[Any]:
        self.calls.append((self.machine, slot.round, slot.number))
        self.jobs += 1
        job: Future[Any] = Future()
        if self.jobs == self.dies_at:
            self.gone = True
        else:
            job.set_result(stored(self.folder, slot))
        return job

    def take(self, job: Future[Any]) -> Run:
        if job.cancelled():
            raise EnvironmentFailure(f"{self.machine} vanished")
        run = job.result()
        assert isinstance(run, Run)
        return run

    def lost(self, job: Future[Any]) -> bool:
        return self.gone


class Nodes:
    def __init__(self, *nodes: Node) -> None:
        self.nodes = nodes

    def present(self) -> list[Node]:
        return [node for node in self.nodes if not node.gone]


def test_a_round_is_made_on_one_machine(tmp_path: Path) -> None:
    matrix, folder = a_matrix(tmp_path, threads=[1, 2, 3], repeat=4)
    calls: list[tuple[str, int, int]] = []
    nodes = Nodes(Node("a", folder, calls), Node("b", folder, calls))
    outcomes = list(carry_out(todo(matrix, folder), nodes, Progress()))
    assert len(outcomes) == len(calls) == 12 and all(outcome.usable for outcome in outcomes)
    machines = {turn: {machine for machine, of, _ in calls if of == turn} for turn in (1, 2, 3, 4)}
    assert all(len(of) == 1 for of in machines.values())
    assert {machine for of in machines.values() for machine in of} == {"a", "b"}
    assert todo(matrix, folder).missing == []


def test_a_machine_that_vanishes_loses_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(matrix_runs, "POLL_S", 0.01)
    matrix, folder = a_matrix(tmp_path, threads=[1, 2, 3], repeat=4)
    calls: list[tuple[str, int, int]] = []
    nodes = Nodes(Node("a", folder, calls), Node("b", folder, calls))
    nodes.nodes[0].dies_at = 2
    outcomes = list(carry_out(todo(matrix, folder), nodes, Progress()))
    assert all(outcome.usable for outcome in outcomes) and todo(matrix, folder).missing == []
    assert [outcome.problems for outcome in outcomes if outcome.problems] == [["a vanished"]]
    assert [machine for machine, _, _ in calls].count("a") == 2 and len(calls) == 13
    assert " on b: threads=" in capsys.readouterr().err


def test_without_a_machine_it_ends_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_runs, "POLL_S", 0.01)
    monkeypatch.setattr(matrix_runs, "PATIENCE_S", 0.05)
    matrix, folder = a_matrix(tmp_path)
    only = Node("a", folder, [])
    only.dies_at = 3
    with pytest.raises(EnvironmentFailure, match="no machine is there"):
        list(carry_out(todo(matrix, folder), Nodes(only), Progress()))
    assert len(todo(matrix, folder).stored) == 2
    only.gone = False
    list(carry_out(todo(matrix, folder), Nodes(only), Progress()))
    assert todo(matrix, folder).missing == []


def test_a_round_that_was_begun_goes_on_on_its_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, folder = a_matrix(tmp_path, threads=[1, 2, 3], repeat=2)
    plan = todo(matrix, folder)
    first = plan.missing[0][1]
    run = replace(a_run(slot=asdict(first), host={**a_run().facts["host"], "id": "b"}), experiment="a", number=1)
    with store.whole_folder(folder / "runs" / "001") as beside:
        store.write_tables(beside / "tables", scaled_case(), "stand-in 1")
        store.write_run_file(beside, run)
    calls: list[tuple[str, int, int]] = []
    nodes = Nodes(Node("a", folder, calls), Node("b", folder, calls))
    list(carry_out(todo(matrix, folder), nodes, Progress()))
    assert {machine for machine, turn, _ in calls if turn == first.round} == {"b"} and len(calls) == 5
