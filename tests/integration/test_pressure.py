"""llama.cpp with little memory on purpose: locked beside it, or limited to it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.conftest import written
from tests.integration.test_faults import wrapper
from tracegen.cli.main import main
from tracegen.contract.errors import SettingsError
from tracegen.contract.model import Run
from tracegen.measure.capture import cgroup, limited, locked
from tracegen.measure.capture.llama_cpp import Build
from tracegen.readers.gguf.file import read_model
from tracegen.storing import store

pytestmark = pytest.mark.llama

Ran = Callable[..., tuple[int, str, Run | None]]
SMALL = 0.05  # GiB


@pytest.fixture
def ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hooked: Build, demo: Path, capfd: pytest.CaptureFixture[str]
) -> Ran:
    """Run an experiment with these settings; exit code, all that was said, and the run if there is one."""
    monkeypatch.chdir(tmp_path)

    def call(programs: Path | None = None, **settings: object) -> tuple[int, str, Run | None]:
        folder = written(demo, **settings)
        status = main(["run", "case", "--llama-cpp", str(programs or hooked.programs)])
        captured = capfd.readouterr()
        stored = store.run_folders(folder)
        return status, captured.out + captured.err, store.read_run(stored[-1]) if stored else None

    return call


@pytest.fixture
def limits() -> None:
    """Skips where this machine allows no limit, with its reason."""
    try:
        limited.refuse_limit(1)
    except SettingsError as error:
        pytest.skip(str(error))


def test_memory_is_locked_beside_it(ran: Ran, capfd: pytest.CaptureFixture[str]) -> None:
    before = locked._own_locked()
    _, _, plain = ran()
    status, output, run = ran(mlock_gb=SMALL, page_cache="warm")
    assert status == 0 and plain is not None and run is not None and "lock memory" in output and "hash model" in output
    size = locked.bytes_of(SMALL)
    lock = run.facts.conditions.mlock
    assert (lock.asked_bytes, lock.locked_bytes) == (size, size) and lock.available_after_bytes > 0
    assert locked._own_locked() == before and run.facts.conditions.memory_limit is None
    assert run.facts.settings.get("mlock_gb") == SMALL and run.facts.text == plain.facts.text
    assert plain.facts.conditions.mlock is None and plain.facts.settings.get("mlock_gb") == "none"
    assert main(["show", "case"]) == 0
    assert "locked beside it" in capfd.readouterr().out


@pytest.mark.usefixtures("limits")
def test_pinned_tensors_stay_within_the_limit(ran: Ran, demo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What is pinned is in memory when the program begins, of a page cache that is cold otherwise."""
    kept = read_model(demo).tensors
    kept = kept[kept["name"].astype(str).str.startswith("blk.0.").to_numpy(bool)]
    status, _, run = ran(pin=["blk.0.*"], page_cache="cold", prefault=False, memory_limit_gb=SMALL * 2)
    assert status == 0 and run is not None
    pinned, size = run.facts.conditions.pinned, int(kept["size_bytes"].sum())
    assert pinned is not None and pinned.n_tensors == len(kept) and pinned.locked_bytes >= size
    assert run.facts.conditions.page_cache.before_bytes >= size and run.facts.settings.get("pin") == ["blk.0.*"]
    assert run.facts.conditions.memory_limit.peak_bytes > size
    assert main(["show", "case"]) == 0 and "pinned" in capfd.readouterr().out
    status, output, _ = ran(pin=["blk.77.*"])
    assert status == 2 and "'blk.77.*': no tensor of" in output


def test_it_is_given_back_when_the_program_fails(ran: Ran, tmp_path: Path, hooked: Build) -> None:
    before = locked._own_locked()
    killed = wrapper(tmp_path, hooked, before="kill -KILL $$")
    status, output, run = ran(killed, mlock_gb=SMALL)
    assert status == 3 and run is None and "killed by SIGKILL" in output
    assert locked._own_locked() == before


def test_what_this_machine_does_not_allow_runs_nothing(ran: Ran) -> None:
    status, output, run = ran(mlock_gb=100_000)
    assert status == 2 and run is None and "mlock_gb: 100,000 GiB cannot be locked" in output
    status, output, run = ran(memory_limit_gb=100_000, page_cache="cold")
    assert status == 2 and run is None and "memory_limit_gb: 100,000 GiB would limit nothing" in output
    assert not Path("experiments/case/failed").exists()


@pytest.mark.usefixtures("limits")
def test_a_limit_holds_and_is_gone_after(ran: Ran) -> None:
    folder = cgroup.own_cgroup()
    assert folder is not None
    _, _, plain = ran()
    status, _, run = ran(memory_limit_gb=0.5, page_cache="cold")
    assert status == 0 and plain is not None and run is not None
    limit = run.facts.conditions.memory_limit
    assert limit.asked_bytes == limit.limit_bytes == 1 << 29 and limit.processes_killed == 0
    assert limit.peak_bytes is None or 0 < limit.peak_bytes <= 1 << 29
    assert run.facts.text == plain.facts.text and not list(folder.glob("tracegen-*"))


@pytest.mark.usefixtures("limits")
def test_a_limit_that_is_too_small_is_named(ran: Ran) -> None:
    folder = cgroup.own_cgroup()
    status, output, run = ran(memory_limit_gb=0.004, page_cache="cold")
    assert status == 3 and folder is not None and not list(folder.glob("tracegen-*"))
    if run is None:  # it was killed before it came to the model
        assert "needed more memory than memory_limit_gb allows" in output
    else:
        assert " MiB of its limit, and the kernel killed it." in output
