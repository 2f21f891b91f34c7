"""A series of runs: the repetition of each run, what ends the series, and its summary."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import a_run, scaled_case
from tests.site_project import stored
from tracegen.analysis.passes import measured
from tracegen.analysis.speed import Spread, speed_of, spread_of
from tracegen.cli.main import main
from tracegen.contract.errors import EnvironmentFailure
from tracegen.contract.experiment import Experiment
from tracegen.contract.facts import Repetition
from tracegen.contract.model import Check, Run
from tracegen.measure.runs import measure as measuring
from tracegen.measure.runs.series import series_report
from tracegen.storing.progress import Progress

FAILED = (Check("dropped_events", "No event was dropped", "failed", "3", "0"),)
TOML = 'question = "Q?"\nmodel = "demo"\nprompt = "p"\ntokens = 2\n'


class Machine:
    """Replaces `measure`: stores a run each time, or does what the test set for that repetition."""

    def __init__(self, experiments: Path) -> None:
        self.experiments = experiments
        self.asked: list[Repetition | None] = []
        self.at: dict[int, BaseException | tuple[Check, ...]] = {}

    def __call__(
        self,
        experiment: Experiment,
        folder: Path,
        progress: Progress,
        program: str | None = None,
        repetition: Repetition | None = None,
    ) -> Run:
        self.asked.append(repetition)
        number = len(self.asked)
        happens = self.at.get(number, ())
        if isinstance(happens, BaseException):
            raise happens
        cached = dict(page_cache=dict(before_bytes=1_250_000 * number, after_bytes=5_000_000))
        facts = a_run(checks=happens, conditions=cached).facts
        if repetition:
            first = repetition.first_run or f"run-{number:03d}"
            facts = replace(facts, repetition=replace(repetition, first_run=first))
        run = Run(experiment.name, number, "2026-11-20T12:00:00Z", happens or a_run().checks, facts)
        return stored(self.experiments, run, scaled_case(2 + number, 1))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    folder = tmp_path / "experiments" / "case"
    folder.mkdir(parents=True)
    (folder / "experiment.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    stand_in = Machine(Path("experiments"))
    monkeypatch.setattr(measuring, "measure", stand_in)
    return stand_in


def test_each_run_is_given_its_number(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "case", "--repeat", "3"]) == 0
    assert machine.asked == [Repetition(1, 3), Repetition(2, 3, "run-001"), Repetition(3, 3, "run-001")]
    captured = capsys.readouterr()
    assert captured.err.splitlines() == ["run 1 of 3", "run 2 of 3", "run 3 of 3"]
    assert "3 of 3 runs stored (run-001 to run-003), 3 usable; median of the usable (least to most):" in captured.out
    assert re.search(r"page cache held of the model before +50\.0 % of its bytes \(25\.0 to 75\.0\)", captured.out)
    assert main(["show", "case"]) == 0
    assert re.search(r"repetition +3 of 3; the first is run-001", capsys.readouterr().out)


def test_the_experiment_may_ask_for_it_and_the_option_decides(machine: Machine) -> None:
    Path("experiments/case/experiment.toml").write_text(TOML + "repeat = 2\n")
    assert main(["run", "case"]) == 0
    assert machine.asked == [Repetition(1, 2), Repetition(2, 2, "run-001")]
    assert main(["run", "case", "--repeat", "1"]) == 0
    assert machine.asked[2:] == [None]


def test_one_run_alone_is_no_series(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "case"]) == 0
    assert "runs stored" not in capsys.readouterr().out and machine.asked == [None]
    assert main(["show", "case", "--json"]) == 0
    assert "repetition" not in capsys.readouterr().out


def test_a_run_that_is_not_usable_is_kept_left_out_and_named(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.at[2] = FAILED
    assert main(["run", "case", "--repeat", "3"]) == 1
    captured = capsys.readouterr()
    assert "3 of 3 runs stored (run-001 to run-003), 2 usable" in captured.out
    assert "50.0 % of its bytes (25.0 to 75.0)" in captured.out  # of the first and the third
    assert captured.err.endswith("tracegen: case/run-002: not usable; see the failed checks above\n")


@pytest.mark.parametrize(("stop", "code"), [(KeyboardInterrupt(), 130), (EnvironmentFailure("no room"), 3)])
def test_what_is_whole_counts_when_the_series_is_stopped(
    machine: Machine, capsys: pytest.CaptureFixture[str], stop: BaseException, code: int
) -> None:
    machine.at[2] = stop
    assert main(["run", "case", "--repeat", "3"]) == code
    assert "1 of 3 runs stored (run-001), 1 usable" in capsys.readouterr().out
    assert len(machine.asked) == 2


def test_nothing_usable_has_no_figures(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.at = {1: FAILED, 2: FAILED}
    assert main(["run", "case", "--repeat", "2"]) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1] == "2 of 2 runs stored (run-001 to run-002), 0 usable"
    assert "case/run-001, case/run-002: not usable" in captured.err


@pytest.mark.parametrize(
    ("options", "output"),
    [
        (("--repeat", "0"), "--repeat: is 0; must be a whole number from 1 to 1000"),
        (("--repeat", "-2"), "--repeat: is -2; must be"),
        (("--repeat", "1001"), "--repeat: is 1001; must be"),
        (("--repeat", "two"), "Invalid value for '--repeat': 'two' is not"),
        (("--repeat", "2", "--publish", "-m", "why"), "--publish: publishes a single run, but this command makes 2"),
    ],
)
def test_refusals(machine: Machine, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], output: str) -> None:
    assert main(["run", "case", *options]) == 2
    assert output in capsys.readouterr().err and machine.asked == []


def test_the_figures_are_those_of_the_passes(machine: Machine) -> None:
    experiment = Experiment("case", "?", "demo", "p", 2, repeat=3)
    runs = list(measuring.repetitions(experiment, Path("experiments/case"), Progress()))
    rates = []
    for number in (1, 2, 3):
        passes = measured(scaled_case(2 + number, 1))
        generate = passes[passes["kind"] == "generate"]
        rates.append(len(generate) / generate["duration_ns"].sum() * 1e9)
        assert speed_of(passes).generate_rate == pytest.approx(rates[-1])
    expected = f"{sorted(rates)[1]:.1f} tokens/s ({min(rates):.1f} to {max(rates):.1f})"
    assert re.search(rf"^generation +{re.escape(expected)}$", series_report(runs, 3), re.MULTILINE)


def test_a_value_that_one_run_does_not_tell_is_unknown() -> None:
    assert spread_of([3.0, 1.0, 2.0, 10.0]) == Spread(2.5, 1.0, 10.0)
    assert spread_of([1.0, None]) is None and spread_of([]) is None
