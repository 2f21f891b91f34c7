"""Where the kernel lets nobody record requests, a line says so before anything is built or run; the run goes on."""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tracegen.contract.errors import CheckError, EnvironmentFailure
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture import requests, tracefs
from tracegen.measure.runs import measure, observe
from tracegen.storing.progress import Progress

SAID = "disk: requests will not be recorded, and the run goes on without: "


def lines() -> str:
    stream = io.StringIO()
    requests.say_if_refused(Progress(stream))
    return stream.getvalue()


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without root the folder of tracefs cannot be opened; with another kernel it has no such events."""
    monkeypatch.setattr(tracefs, "tracefs_folder", lambda: tmp_path)
    assert (
        lines() == f"{SAID}{tmp_path}/instances: No such file or directory: only root may record the kernel's events\n"
    )
    (tmp_path / "instances").mkdir()
    assert lines().startswith(f"{SAID}{tmp_path}/instances/tracegen-{os.getpid()}-")
    assert lines().endswith("/events/block/block_rq_issue/format: No such file or directory\n")
    assert not list((tmp_path / "instances").iterdir())


def test_a_mount_that_the_kernel_refuses_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: bytes) -> int:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(tracefs, "tracefs_folder", lambda: None)
    monkeypatch.setattr(tracefs, "_detached_mount", refused)
    why = "tracefs is not mounted, and cannot be: Operation not permitted; as root: `mount -t tracefs nodev"
    assert lines() == f"{SAID}{why} /sys/kernel/tracing`\n"


def test_nothing_is_said_where_requests_can_be_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def made() -> Iterator[tracefs.Instance]:
        for event in (requests.ISSUE, requests.COMPLETE):
            (tmp_path / f"events/{event}").mkdir(parents=True)
            (tmp_path / f"events/{event}/format").touch()
        yield tracefs.Instance(tmp_path)

    monkeypatch.setattr(requests, "instance", made)
    assert lines() == ""


@pytest.mark.parametrize("disk", [True, False])
def test_it_is_said_before_a_program_is_built(disk: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise CheckError("here llama.cpp would be built")

    @contextmanager
    def none() -> Iterator[None]:
        raise EnvironmentFailure("only root")
        yield

    monkeypatch.setattr(requests, "instance", none)
    monkeypatch.setattr(measure, "traced_program", stop)
    monkeypatch.setattr(observe, "ensure_attach", stop)
    stream = io.StringIO()
    with pytest.raises(CheckError, match="here llama"):
        measure.measure(Experiment("a", "?", "demo", "x", tokens=1, disk=disk), tmp_path, Progress(stream))
    assert (f"{SAID}only root\n" in stream.getvalue()) == disk
    observation = observe.Observation("a", (sys.executable,), "?", attach=True, disk=disk)
    stream = io.StringIO()
    with pytest.raises(CheckError, match="here llama"):
        observe.observe(observation, tmp_path, Progress(stream))
    assert (f"{SAID}only root\n" in stream.getvalue()) == disk
