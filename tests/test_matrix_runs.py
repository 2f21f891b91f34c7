from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_run, scaled_case
from tracegen import store
from tracegen.errors import EnvironmentFailure, SettingsError
from tracegen.matrix import Matrix, matrix_from
from tracegen.model import Check, Experiment, Run, Slot
from tracegen.progress import Progress
from tracegen.runs import matrix_runs
from tracegen.runs.matrix_report import matrix_text, outcome_text, plan_text
from tracegen.runs.matrix_runs import Outcome, carry_out, todo

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
    monkeypatch.setattr(matrix_runs, "measure", made.measure)
    yield made


def a_matrix(tmp_path: Path, **matrix: object) -> tuple[Matrix, Path]:
    folder = tmp_path / "experiments" / "a"
    folder.mkdir(parents=True, exist_ok=True)
    return matrix_from("a", {**LEAST, "matrix": {"threads": [1, 2], "repeat": 3} | matrix}, folder), folder


def all_of(matrix: Matrix, folder: Path, **more: Any) -> list[Outcome]:
    return list(carry_out(todo(matrix, folder), folder, Progress(), **more))


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
    begun = carry_out(anew, folder, Progress())
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
