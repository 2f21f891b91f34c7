"""Memory that is locked beside a program, and limits to its memory: effects, refusals, and that nothing is left."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.measure.capture.conftest import as_nobody
from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.contract.experiment import Experiment
from tracegen.contract.facts import Conditions, Limited
from tracegen.measure.capture import cgroup, conditions, limited, locked
from tracegen.measure.capture.limited import Limit, memory_limit
from tracegen.measure.capture.pressure import Pressure, under_pressure
from tracegen.storing.execute import run_program

EXPERIMENT = Experiment("x", "?", "demo", "Hello", 1)
SMALL = 0.02  # GiB
MIB = 1 << 20


def own_locked() -> int:
    return locked._own_locked()


# Locked memory


def test_memory_is_locked_while_the_block_runs() -> None:
    before = own_locked()
    with locked.locked_memory(SMALL) as held, under_pressure(held, None) as pressure:
        assert own_locked() - before == locked.bytes_of(SMALL)
        recorded = pressure.conditions()
    assert own_locked() == before
    assert recorded.mlock and recorded.mlock.asked_bytes == recorded.mlock.locked_bytes == locked.bytes_of(SMALL)
    assert recorded.mlock.available_after_bytes > 0 and recorded == Conditions(mlock=recorded.mlock)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, EnvironmentFailure])
def test_it_is_given_back_whatever_happens(stop: type[BaseException]) -> None:
    before = own_locked()
    with pytest.raises(stop), under_pressure(SMALL, None):
        raise stop
    assert own_locked() == before


def test_nothing_asked_for_is_nothing_done_and_nothing_recorded() -> None:
    with under_pressure(None, None) as pressure:
        assert pressure == Pressure() and pressure.conditions() == Conditions() and pressure.cause(-9) == ""
        assert conditions.before_start(EXPERIMENT, pressure) is None


def test_the_program_inherits_no_lock_and_is_the_first_that_the_kernel_ends(tmp_path: Path) -> None:
    code = (
        "print([l.split()[1] for l in open('/proc/self/status') if l.startswith('VmLck')], "
        "open('/proc/self/oom_score_adj').read().strip())"
    )
    with locked.locked_memory(SMALL) as held, under_pressure(held, None) as pressure:
        ended = run_program(
            [sys.executable, "-c", code],
            stdout=tmp_path / "out",
            stderr=tmp_path / "err",
            before=conditions.before_start(EXPERIMENT, pressure),
        )
    assert ended.status == 0 and (tmp_path / "out").read_text() == "['0'] 1000\n"
    assert Path("/proc/self/oom_score_adj").read_text().strip() != "1000"


def test_more_than_there_is_is_refused_with_what_there_is() -> None:
    with pytest.raises(SettingsError, match=r"mlock_gb: 1,048,576 GiB cannot be locked, .* available and 1 GiB must"):
        conditions.refuse_impossible(replace(EXPERIMENT, mlock_gb=1 << 20), Path("model.gguf"), 0)


def test_no_size_is_written_as_a_power_of_ten() -> None:
    sizes = {0.0: "0", 64 / 2**20: "0.000061", 0.5: "0.5", 1.0: "1", 10.0: "10", 62.34: "62.3", 9999.0: "9,999"}
    assert {size: locked.plain(size) for size in sizes} == sizes


def test_a_model_that_is_not_mapped_must_fit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locked, "available_bytes", lambda: 8 << 30)
    monkeypatch.setattr(locked, "allowed_bytes", lambda: None)
    experiment = replace(EXPERIMENT, mlock_gb=4.5)
    conditions.refuse_impossible(experiment, Path("model.gguf"), 3 << 30)
    with pytest.raises(SettingsError, match=r"4 GiB must stay available, 3 GiB of it for the model.*; set at most 4$"):
        conditions.refuse_impossible(replace(experiment, mmap=False), Path("model.gguf"), 3 << 30)
    with pytest.raises(SettingsError, match="end other programs first"):
        conditions.refuse_impossible(replace(experiment, mmap=False), Path("model.gguf"), 8 << 30)


def test_who_may_not_lock_gets_a_message_by_limit_and_by_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    message = as_nobody(lambda: locked.refuse_lock(0.5))
    assert (
        message.startswith("SettingsError: mlock_gb: 0.5 GiB cannot be locked, as you may lock ")
        and "ulimit -l" in message
    )

    def lock_all_the_same() -> None:
        monkeypatch.setattr(locked, "allowed_bytes", lambda: None)
        with locked.locked_memory(0.5):
            pass

    assert as_nobody(lock_all_the_same).startswith("EnvironmentFailure: mlock_gb: cannot lock 0.5 GiB of memory: ")


def test_memory_that_runs_short_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    left, before = iter([1 << 40, MIB]), own_locked()
    monkeypatch.setattr(locked, "available_bytes", lambda: next(left))
    with pytest.raises(EnvironmentFailure, match="memory ran short after 0 GiB of"), locked.locked_memory(SMALL):
        pytest.fail("the block must not begin")
    assert own_locked() == before


def test_a_kill_for_want_of_memory_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with locked.locked_memory(SMALL) as held, under_pressure(held, None) as pressure:
        assert pressure.cause(-9) == "" and pressure.cause(1) == ""
        kills = locked.oom_kills() + 1
        monkeypatch.setattr("tracegen.measure.capture.pressure.oom_kills", lambda: kills)
        assert "killed by the kernel for lack of memory" in pressure.cause(-9) and pressure.cause(-11) == ""


# A limit


class Fake:
    """Folders that look like cgroups, and a /proc that names them. It records what is written to them."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.own = root / "fs" / "user" / "run.scope"
        self.proc = root / "proc"
        self.written: list[tuple[str, str]] = []
        self.files = {"memory.max": "max\n", "memory.swap.max": "max\n", "cgroup.procs": ""}
        self.own.mkdir(parents=True)
        (self.proc / "self").mkdir(parents=True)
        self.say("cgroup.controllers", "cpu memory pids\n")
        self.say("cgroup.subtree_control", "\n")
        self.say("cgroup.procs", f"{os.getpid()}\n")
        self.say("cgroup.type", "domain\n")  # which the root alone has not
        (self.proc / "meminfo").write_text("MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\nSwapTotal: 0 kB\n")
        (self.proc / "self" / "cgroup").write_text("0::/pod/user/run.scope\n")
        (self.proc / "self" / "mountinfo").write_text(f"31 25 0:26 /pod {root}/fs rw,nosuid - cgroup2 cgroup2 rw\n")
        for module in (cgroup, limited, locked):
            monkeypatch.setattr(module, "PROC", self.proc)
        new, write = limited._new, limited._write

        def populated(parent: Path, prefix: str) -> Path:
            folder = new(parent, prefix)
            for name, text in self.files.items():
                (folder / name).write_text(text)
            return folder

        def noted(path: Path, text: str) -> None:
            self.written.append((f"{path.parent.name[:13]}/{path.name}", text))
            write(path, text)

        monkeypatch.setattr(limited, "_new", populated)
        monkeypatch.setattr(limited, "_write", noted)
        monkeypatch.setattr(Path, "rmdir", shutil.rmtree)

    def say(self, name: str, text: str) -> None:
        (self.own / name).write_text(text)

    def folders(self) -> list[str]:
        return [path.name for path in self.own.iterdir() if path.is_dir()]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    return Fake(tmp_path, monkeypatch)


def test_a_limit_is_made_entered_read_and_removed(fake: Fake) -> None:
    pid = str(os.getpid())
    with under_pressure(None, 0.25) as pressure:
        limit = pressure.limit
        assert limit is not None and limit.folder.parent == fake.own
        conditions.before_start(EXPERIMENT, pressure)()  # type: ignore[misc]
        assert (limit.folder / "cgroup.procs").read_text() == "0"
        (limit.folder / "memory.peak").write_text("260000000\n")
        (limit.folder / "memory.events").write_text("low 0\nhigh 0\nmax 17\noom 1\noom_kill 1\noom_group_kill 0\n")
        recorded = pressure.conditions()
        assert pressure.cause(-9).startswith("needed more memory than memory_limit_gb allows (268435456 bytes)")
        assert len(fake.folders()) == 2
        (limit.folder / "cgroup.procs").write_text("")
    assert recorded.memory_limit == Limited(
        asked_bytes=1 << 28,
        limit_bytes=1 << 28,
        swap_limit_bytes=0,
        peak_bytes=260_000_000,
        times_reached=17,
        times_out_of_memory=1,
        processes_killed=1,
    )
    assert fake.folders() == []
    assert fake.written == [
        ("tracegen-own-/cgroup.procs", pid),
        ("run.scope/cgroup.subtree_control", "+memory"),
        ("tracegen-run-/memory.max", str(1 << 28)),
        ("tracegen-run-/memory.swap.max", "0"),
        ("run.scope/cgroup.subtree_control", "-memory"),
        ("run.scope/cgroup.procs", pid),
    ]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, EnvironmentFailure])
def test_it_is_removed_whatever_happens(fake: Fake, stop: type[BaseException]) -> None:
    with pytest.raises(stop), memory_limit(0.25):
        raise stop
    assert fake.folders() == [] and fake.written[-1] == ("run.scope/cgroup.procs", str(os.getpid()))


def test_version_1_limits_where_it_has_the_memory_controller(fake: Fake) -> None:
    """Of a system with both versions: memory and swap count together, and nobody moves."""
    (fake.proc / "self" / "cgroup").write_text("4:cpu,memory:/pod/user/run.scope\n0::/\n")
    (fake.proc / "self" / "mountinfo").write_text(
        f"30 25 0:25 / {fake.own} rw - cgroup2 cgroup2 rw\n31 25 0:26 /pod {fake.own.parents[1]} rw - cgroup cgroup "
        "rw,cpu,memory\n"
    )
    fake.files = {"memory.limit_in_bytes": "", "memory.memsw.limit_in_bytes": "", "cgroup.procs": ""}
    with under_pressure(None, 0.25) as pressure:
        limit = pressure.limit
        assert limit is not None and limit.folder.parent == fake.own
        (limit.folder / "memory.max_usage_in_bytes").write_text("260000000\n")
        (limit.folder / "memory.failcnt").write_text("2\n")
        (limit.folder / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
        slack = 2 << 20  # else the limit with swap is reached first, and the kernel counts nothing
        assert limit.read() == Limited(1 << 28, 1 << 28, slack, 260_000_000, 2, None, 1)
        (limit.folder / "memory.failcnt").write_text("0\n")
        assert limit.read().times_reached == 0  # of a peak below the limit
        (limit.folder / "memory.max_usage_in_bytes").write_text(f"{1 << 28}\n")
        assert limit.read().times_reached is None  # the kernel does not count
        assert pressure.cause(-9).startswith("needed more memory than memory_limit_gb allows (268435456 bytes)")
    assert fake.folders() == [] and [path for path, _ in fake.written] == [
        "tracegen-run-/memory.limit_in_bytes",
        "tracegen-run-/memory.memsw.limit_in_bytes",
    ]


def test_a_lifted_limit_counts_and_limits_nothing(fake: Fake) -> None:
    with memory_limit(0.25, lifted=True) as limit:
        assert limit is not None and limit.usage == limit.folder / "memory.current"
        (limit.folder / "memory.peak").write_text("300000000\n")
        assert limit.read().peak_bytes == 300_000_000 and limit.read().limit_bytes is None
    assert not [path for path, _ in fake.written if path.startswith("tracegen-run-")] and fake.folders() == []


def test_where_children_may_be_limited_already_nobody_moves(fake: Fake) -> None:
    fake.say("cgroup.subtree_control", "memory\n")
    fake.say("cgroup.procs", f"1\n2\n{os.getpid()}\n")  # the topmost cgroup
    with memory_limit(0.25):
        pass
    assert [path for path, _ in fake.written] == ["tracegen-run-/memory.max", "tracegen-run-/memory.swap.max"]


def test_what_an_older_kernel_does_not_tell_is_unknown(tmp_path: Path) -> None:
    assert Limit(tmp_path, 7).read() == Limited(7, None, None, None, None, None, None)


def test_swap_that_cannot_be_limited_is_refused(fake: Fake) -> None:
    del fake.files["memory.swap.max"]
    with memory_limit(0.25) as limit:
        assert limit is not None and limit.read().swap_limit_bytes is None
    (fake.proc / "meminfo").write_text("MemTotal: 8388608 kB\nSwapTotal: 1024 kB\n")
    with pytest.raises(EnvironmentFailure, match="cannot limit swap; turn swap off"), memory_limit(0.25):
        pytest.fail("the block must not begin")
    assert fake.folders() == []


def refused(gib: float = 0.25) -> str:
    with pytest.raises(SettingsError) as error:
        conditions.refuse_impossible(replace(EXPERIMENT, memory_limit_gb=gib), Path("model.gguf"), 0)
    assert str(error.value).startswith("memory_limit_gb: ")
    return str(error.value)


def test_what_this_machine_does_not_allow_is_said_before(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "8 GiB would limit nothing, as this machine has 8 GiB" in refused(8)
    fake.say("cgroup.procs", f"1\n2\n{os.getpid()}\n")
    assert "holds 2 other processes" in refused() and "--scope -p Delegate=yes tracegen run" in refused()
    (fake.own / "cgroup.type").unlink()
    assert limited.refuse_limit(0.25) == (fake.own, 2)  # beside other processes in the root
    fake.say("cgroup.type", "domain\n")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "systemd-run --user --scope" in refused()
    monkeypatch.setattr(os, "access", lambda path, _: path.name != "cgroup.subtree_control")
    assert "run.scope/cgroup.subtree_control: cannot be written; run tracegen in its own scope" in refused()
    fake.say("cgroup.controllers", "cpu pids\n")
    assert "run.scope: has no memory controller; run tracegen in its own scope" in refused()
    (fake.proc / "self" / "cgroup").write_text("4:memory:/x\n")
    assert "needs cgroups, and this process is in none" in refused()
    (fake.proc / "self" / "cgroup").write_text("4:memory:/\n")
    (fake.proc / "self" / "mountinfo").write_text(f"31 25 0:26 / {fake.own} rw - cgroup cgroup rw,memory\n")
    monkeypatch.setattr(os, "access", lambda path, _: False)
    assert "run.scope: cannot be written; run tracegen as root" in refused()
    assert fake.written == [] and fake.folders() == []


def test_a_cgroup_above_may_leave_less_than_the_machine_has(fake: Fake) -> None:
    assert locked.available_bytes() == 4 << 30
    (fake.own.parent / "memory.max").write_text(f"{3 << 30}\n")
    (fake.own.parent / "memory.current").write_text(f"{2 << 30}\n")
    (fake.own.parent / "memory.stat").write_text(f"anon 5\nactive_file {MIB}\ninactive_file {MIB}\n")
    fake.say("memory.max", "max\n")
    fake.say("memory.current", f"{2 << 30}\n")
    assert locked.available_bytes() == (1 << 30) + 2 * MIB


def test_a_real_cgroup_is_entered_and_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    """Without a limit, as that needs the memory controller; tests/integration/test_pressure.py tests limits."""
    folder = cgroup.own_cgroup()
    if folder is None or not os.access(folder / "cgroup.procs", os.W_OK):
        pytest.skip("no cgroup of version 2 that can be written")
    limit = Limit(limited._new(folder, "tracegen-run-"), 1)
    left = None
    try:
        left = subprocess.Popen(["sleep", "60"], preexec_fn=limit.enter)
        code = "print(open('/proc/self/cgroup').read())"
        run_program([sys.executable, "-c", code], stdout=tmp_path / "out", stderr=tmp_path / "err", before=limit.enter)
        assert f"/{limit.folder.name}\n" in (tmp_path / "out").read_text()
        assert cgroup.words_of(limit.folder / "cgroup.procs") == [str(left.pid)]
    finally:
        limited._remove(limit.folder)
    assert left.wait(5) == -9 and not limit.folder.exists()
