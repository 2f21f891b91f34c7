"""The control: the same program untraced, and a tracer that takes none of the memory that the program was given."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.conftest import written
from tracegen.cli.main import main
from tracegen.contract.errors import SettingsError
from tracegen.contract.facts import Control
from tracegen.contract.model import Run
from tracegen.measure.capture import limited
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.runs.control import CONFIRMED_BY
from tracegen.reading.notebook.loaded import load_run
from tracegen.storing import store

pytestmark = pytest.mark.llama
MIB = 1 << 20
COLD = dict(page_cache="cold", prefault=False, repack=False, warmup=False, tokens=6, control="auto")
Ran = Callable[..., Run]


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hooked: Build, demo: Path) -> Ran:
    """Run an experiment with these settings; the stored run."""
    monkeypatch.chdir(tmp_path)

    def call(**settings: object) -> Run:
        folder = written(demo, **settings)
        assert main(["run", "case", "--llama-cpp", str(hooked.programs)]) in (0, 1)  # a busy machine: not usable
        return store.read_run(store.run_folders(folder)[-1])

    return call


@pytest.fixture
def limits() -> None:
    """Skips where this machine allows no limit, with its reason."""
    try:
        limited.refuse_limit(1)
    except SettingsError as error:
        pytest.skip(str(error))


def assert_same_peaks(control: Control, n: int) -> None:
    """The traced peak lies within 1 MiB of those untraced, which huge pages may set further apart than that."""
    untraced = [execution.peak_bytes for execution in control.untraced]
    assert len(untraced) == n
    assert min(untraced) - MIB <= control.traced.peak_bytes <= max(untraced) + MIB


@pytest.mark.usefixtures("limits")
def test_traced_and_untraced_take_the_same_memory(ran: Ran) -> None:
    run = ran(**COLD | {"control": 2}, memory_limit_gb=0.5)
    control = run.facts.control
    assert_same_peaks(control, 2)
    assert run.facts.trace.own_page_bytes == 0
    assert [execution.times_reached for execution in (control.traced, *control.untraced)] == [0, 0, 0]
    assert control.without_limit is None  # it was never reached
    for execution in (control.traced, *control.untraced):
        assert execution.eval_runs == 5 and execution.read_bytes > 0 and execution.failure is None
    stages = [stage.name for stage in run.facts.stages]
    assert stages.index("capture") == stages.index("run untraced") + 1 and stages.count("run untraced") == 2


@pytest.mark.usefixtures("limits")
def test_a_limit_that_is_reached_is_counted_and_lifted_once(ran: Ran) -> None:
    needed = ran(**COLD, memory_limit_gb=0.5).facts.control.traced.peak_bytes
    run = ran(**COLD, memory_limit_gb=(needed - 2 * MIB) / 2**30)
    control, limit = run.facts.control, run.facts.conditions.memory_limit
    assert limit.peak_bytes == limit.limit_bytes and limit.times_reached > 0
    assert control.untraced[0].times_reached > 0
    whole = control.without_limit
    assert abs(whole.peak_bytes - needed) <= MIB and whole.times_reached == 0


@pytest.mark.usefixtures("limits")
def test_each_pass_says_what_the_program_holds(ran: Ran) -> None:
    run = ran(**COLD | {"control": False}, memory_limit_gb=0.5)
    assert run.folder is not None and run.facts.control.traced.peak_bytes > 0
    loaded = load_run(run.folder)
    memory = loaded.memory.pivot(index="pass_id", columns="kind", values="resident_bytes")
    assert memory.index.tolist() == loaded.passes["pass_id"].tolist() and memory.notna().all().all()
    assert (memory["group"] >= memory["anon"]).all() and memory["anon"].min() > MIB
    peak = run.facts.conditions.memory_limit.peak_bytes
    assert memory["group"].max() <= peak <= memory["group"].max() + 4 * MIB


def test_a_run_with_memory_to_spare_has_no_control_unless_it_is_asked_for(ran: Ran) -> None:
    assert not ran(control="auto").facts.control.untraced
    control = ran(control=True).facts.control
    assert control.untraced[0].peak_bytes is None and control.without_limit is None
    assert len(ran(**COLD).facts.control.untraced) in (1, 1 + CONFIRMED_BY)
    assert not ran(**COLD | {"control": False}).facts.control.untraced


def test_untraced_runs_before_and_after_in_turn(ran: Ran) -> None:
    ran(control=True, repeat=2)
    orders = []
    for folder in store.run_folders(Path("experiments/case")):
        names = [stage.name for stage in store.read_run(folder).facts.stages]
        orders.append([name for name in names if name in ("capture", "run untraced")])
    assert orders == [["run untraced", "capture"], ["capture", "run untraced"]]


def test_a_program_of_ones_own_runs_again_only_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hooked: Build, demo: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [str(hooked.programs / "llama-completion"), "-m", str(demo), "-p", "The page", "-n", "3", "-no-cnv"]
    assert main(["exec", "mine", "--control", "2", "--cold", str(demo), "--", *words]) == 0
    run = store.read_run(store.run_folders(Path("experiments/mine"))[-1])
    assert len(run.facts.control.untraced) == 2 and run.facts.settings.get("page_cache") == "cold"
    assert capfd.readouterr().out.count("The page") == 1  # what the control prints is not shown
    assert not list((run.folder or Path()).rglob("untraced*")) and not list((run.folder or Path()).rglob("pages"))
    assert main(["exec", "mine", "--control", "1", "--interactive", "--", *words]) == 2
    assert "--control: runs the program again without a keyboard" in capfd.readouterr().err
    assert main(["exec", "mine", "--cold", "none.gguf", "--", *words]) == 2
    assert "--cold: none.gguf: there is no such file" in capfd.readouterr().err


@pytest.mark.usefixtures("limits")
def test_attached_and_untraced_take_the_same_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: Build, demo: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [str(plain.programs / "llama-completion"), "-m", str(demo), "-p", "The page", "-n", "6", "-no-cnv"]
    options = ["--attach", "--faults", "--cold", str(demo), "--memory-limit-gb", "0.5", "--control", "2"]
    assert main(["exec", "mine", *options, "--", *words]) == 0
    facts = store.read_run(store.run_folders(Path("experiments/mine"))[-1]).facts
    assert_same_peaks(facts.control, 2)
    assert facts.trace.own_page_bytes == 0
