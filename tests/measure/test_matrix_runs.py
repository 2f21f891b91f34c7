import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_run, scaled_case
from tracegen.cli.main import main
from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.contract.experiment import Experiment
from tracegen.contract.facts import Slot
from tracegen.contract.matrix import Matrix, matrix_from
from tracegen.contract.model import Check, Run
from tracegen.measure.runs import matrix_runs
from tracegen.measure.runs.matrix_runs import Here, Outcome, carry_out, todo
from tracegen.measure.runs.series import matrix_text, outcome_text, plan_text
from tracegen.publishing import privacy
from tracegen.storing import store
from tracegen.storing.progress import Progress

LEAST: dict[str, Any] = {"question": "Why?", "model": "demo", "prompt": "Hello", "tokens": 4}
BAD = (Check("dropped_events", "No event was dropped", "failed", "3", "0"),)


class Machine:
    """Stands for `measure`: stores a run, or fails as a test asks for a number of threads."""

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
    run = replace(a_run(checks=checks, slot=slot), experiment="a", number=number)
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


def all_of(matrix: Matrix, folder: Path) -> list[Outcome]:
    return list(carry_out(todo(matrix, folder), Here(folder, Progress()), Progress()))


def test_every_run_is_made_once_in_the_order_of_the_plan(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path)
    outcomes = all_of(matrix, folder)
    assert machine.calls == [(slot.number, cell.experiment.threads) for cell, slot in matrix.plan_after(())]
    assert all(outcome.usable and not outcome.problems for outcome in outcomes)
    left = todo(matrix, folder)
    assert [run.facts.slot.number for run in left.stored] == [1, 2, 3, 4, 5, 6] and left.missing == []
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
    numbers = [run.facts.slot.number for run in todo(matrix, folder).stored]
    assert numbers == [1, 2, 3, 4, 5, 6] and len(machine.calls) == 7


def test_a_run_that_fails_is_tried_once_more(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path)
    machine.fails[2] = [EnvironmentFailure("no room"), None, "not usable"]
    outcomes = all_of(matrix, folder)
    assert all(outcome.usable for outcome in outcomes) and len(outcomes) == 6
    assert [outcome.problems for outcome in outcomes if outcome.problems] == [
        ["no room"],
        ["run-004 is not usable: No event was dropped: 3"],
    ]
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


def test_anew_begins_again_and_is_gone_on_with(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path)
    all_of(matrix, folder)
    again = todo(matrix, folder, again=True)
    assert again.name == f"{matrix.identity}/2" and len(again.missing) == 6
    started = carry_out(again, Here(folder, Progress()), Progress())
    next(started)
    started.close()
    left = todo(matrix, folder)
    assert left.name == again.name and len(left.missing) == 5 and len(left.stored) == 1


def test_the_plan_of_many_cells_is_short(tmp_path: Path) -> None:
    matrix, folder = a_matrix(tmp_path, threads=list(range(1, 101)))
    text = plan_text(matrix, todo(matrix, folder))
    assert "100 cells, 3 runs each: 300 runs" in text and "… and 60 more" in text and len(text.splitlines()) == 44


def made(folder: Path) -> list[tuple[int, str]]:
    """Round and factors of every stored run, in the order in which they were made."""
    runs = [store.read_run(path) for path in store.run_folders(folder)]
    return [(run.facts.slot.round, str(run.facts.slot.factors["threads"])) for run in runs]


def test_a_matrix_grows_by_rounds(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path, threads=[1, 2], repeat=3)
    all_of(matrix, folder)
    first = made(folder)
    more, _ = a_matrix(tmp_path, threads=[1, 2], repeat=4)
    plan = todo(more, folder)
    assert len(plan.stored) == 6 and len(plan.missing) == 2 and plan.name == f"{matrix.identity}/1"
    assert [(slot.round, slot.number, slot.of) for _, slot in plan.missing] == [(4, n, 8) for n in (7, 8)]
    text = plan_text(more, plan)
    assert "threads=1  3 of 4 stored" in text and "2 runs to make" in text and "every cell once" in text
    all_of(more, folder)
    assert made(folder)[:6] == first and todo(more, folder).missing == []
    assert made(folder) == [
        (slot.round, dict(cell.factors)["threads"]) for cell, slot in more.plan_after(())
    ]  # as drawn at once
    assert len({store.read_run(path).facts.slot.matrix for path in store.run_folders(folder)}) == 1
    fewer = todo(matrix, folder)
    assert fewer.missing == [] and len(fewer.stored) == 8
    assert "threads=1  4 stored, 3 asked for" in plan_text(matrix, fewer)
    assert "8 runs stored, 6 asked for and usable" in matrix_text(matrix, fewer.stored, [])


def test_a_value_that_is_added_gets_its_runs_in_rounds_of_its_own(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path, threads=[1, 2], repeat=3)
    all_of(matrix, folder)
    first = made(folder)
    wider, _ = a_matrix(tmp_path, threads=[4, 1, 2], repeat=3)
    plan = todo(wider, folder)
    assert [(dict(cell.factors)["threads"], slot.round) for cell, slot in plan.missing] == [
        ("4", 4),
        ("4", 5),
        ("4", 6),
    ]
    text = plan_text(wider, plan)
    assert "threads=4  0 of 3 stored" in text and "threads=1  3 of 3 stored" in text
    assert "1 cell joined later and has no runs in the first rounds" in text and "not in pairs" in text
    machine.fails[4] = [None, KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        all_of(wider, folder)
    wider, _ = a_matrix(tmp_path, threads=[4, 1, 2], repeat=5)
    all_of(wider, folder)
    assert made(folder)[:6] == first and todo(wider, folder).missing == []
    assert sorted(made(folder)[6:]) == [(4, "4"), *((n, t) for n in (5, 6) for t in "124"), (7, "4"), (8, "4")]
    assert [round_ for round_, _ in made(folder)] == sorted(round_ for round_, _ in made(folder))
    wider, _ = a_matrix(tmp_path, threads=[4, 1, 2, 8, 16], repeat=5)  # `compare` pairs runs of one round
    assert {(cell.experiment.threads, slot.round) for cell, slot in todo(wider, folder).missing} == {
        (threads, n) for threads in (8, 16) for n in range(9, 14)
    }


def test_another_setting_or_a_value_less_is_another_matrix(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path, threads=[1, 2], repeat=2)
    all_of(matrix, folder)
    wider, _ = a_matrix(tmp_path, threads=[1, 2, 3], repeat=2)
    all_of(wider, folder)
    assert todo(wider, folder).missing == []
    back = todo(matrix, folder)
    assert back.stored == [] and len(back.missing) == 4 and back.name == f"{matrix.identity}/2"
    for change in ({"tokens": 5}, {"prompt": "Other"}, {"flags": ["--temp", "1"]}):
        other = matrix_from("a", {**LEAST, **change, "matrix": {"threads": [1, 2, 3], "repeat": 2}}, folder)
        assert todo(other, folder).stored == []
    seed, _ = a_matrix(tmp_path, threads=[1, 2, 3], repeat=2, order=1)
    assert todo(seed, folder).stored == []


def test_a_prompt_that_changes_under_its_name_is_another_matrix(tmp_path: Path, machine: Machine) -> None:
    folder = tmp_path / "experiments" / "a"
    folder.mkdir(parents=True)

    def of(**prompts: str) -> Matrix:
        (folder / "p.json").write_text(json.dumps(prompts))
        return matrix_from("a", {**LEAST, "matrix": {"prompts": "p.json"}}, folder)

    all_of(of(a="one", b="two"), folder)
    all_of(of(a="one", b="two", c="three"), folder)
    assert len(todo(of(a="one", b="two", c="three"), folder).stored) == 3
    assert todo(of(a="one", b="two", c="four"), folder).stored == []


@pytest.mark.parametrize("n", [1, 4])
def test_a_matrix_that_grows_after_an_interrupt_loses_no_run(tmp_path: Path, machine: Machine, n: int) -> None:
    matrix, folder = a_matrix(tmp_path, threads=[1, 2, 3], repeat=3)
    started = carry_out(todo(matrix, folder), Here(folder, Progress()), Progress())
    for _ in range(n):
        next(started)
    started.close()
    first = made(folder)
    wider, _ = a_matrix(tmp_path, threads=[1, 2, 3, 4], repeat=3)
    assert len(todo(wider, folder).stored) == n and len(todo(wider, folder).missing) == 12 - n
    outcomes = all_of(wider, folder)
    assert len(outcomes) == 12 - n and made(folder)[:n] == first and todo(wider, folder).missing == []
    of = [threads for _, threads in made(folder)]
    assert sorted(of) == sorted("1234" * 3) and len(set(made(folder))) == 12


def test_repeat_on_the_command_line_is_that_of_each_cell(
    here: Path, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix, folder = a_matrix(here, repeat=1)
    all_of(matrix, folder)
    least = "".join(f"{key} = {json.dumps(value)}\n" for key, value in LEAST.items())
    (folder / "experiment.toml").write_text(f"{least}[matrix]\nthreads = [1, 2]\nrepeat = 1\n")
    assert main(["run", "a", "--repeat", "2", "--plan"]) == 0
    assert "threads=1  1 of 2 stored" in capsys.readouterr().out
    assert main(["run", "a", "--repeat", "1001", "--plan"]) == 2
    assert "--repeat: is 1001; must be a whole number from 1 to 1000" in capsys.readouterr().err


def test_a_private_matrix_shows_no_hash_of_its_prompts(tmp_path: Path, machine: Machine) -> None:
    matrix, folder = a_matrix(tmp_path, repeat=1)
    all_of(matrix, folder)
    run = store.read_run(store.run_folders(folder)[0])
    public = privacy.public_run(privacy.made_private(run)).facts.slot
    assert run.facts.slot.cell and (public.cell, public.matrix) == ("(private)", "(private)")
