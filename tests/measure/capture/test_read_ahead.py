"""Setting the read-ahead of a device for a run, and restoring it, also after a kill; the device is a folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.measure.capture import read_ahead as module
from tracegen.measure.capture.read_ahead import read_ahead, refuse_read_ahead, restore_left


@pytest.fixture
def knob(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the kernel for the device below the model."""
    device = tmp_path.stat().st_dev
    folder = tmp_path / "bdi" / f"{os.major(device)}:{os.minor(device)}"
    folder.mkdir(parents=True)
    (folder / "read_ahead_kb").write_text("128\n")
    (tmp_path / "model.gguf").write_bytes(b"")
    monkeypatch.setattr(module, "DEVICES", tmp_path / "bdi")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder / "read_ahead_kb"


def test_it_holds_during_the_block(tmp_path: Path, knob: Path) -> None:
    with read_ahead(64, tmp_path / "model.gguf"):
        assert knob.read_text() == "64"
    assert knob.read_text() == "128"
    with read_ahead(None, tmp_path / "model.gguf"):
        assert knob.read_text() == "128"


def test_it_is_restored_after_an_error(tmp_path: Path, knob: Path) -> None:
    with pytest.raises(KeyError), read_ahead(0, tmp_path / "model.gguf"):
        raise KeyError
    assert knob.read_text() == "128"


KILLED = """
import os, signal, sys
from pathlib import Path
from tracegen.measure.capture import read_ahead as module
module.DEVICES = Path(sys.argv[1])
with module.read_ahead(64, Path(sys.argv[2])):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("next_one", ["restore", "run"])
def test_what_a_killed_run_left_is_restored_by_the_next(tmp_path: Path, knob: Path, next_one: str) -> None:
    model = tmp_path / "model.gguf"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "bdi"), str(model)], check=False)
    assert ended.returncode == -9 and knob.read_text() == "64"
    heard: list[str] = []
    if next_one == "restore":
        restore_left(heard.append)
        assert len(heard) == 1 and "128 again" in heard[0]
    else:
        with read_ahead(32, model):
            assert knob.read_text() == "32"
    assert knob.read_text() == "128"
    restore_left(heard.append)
    assert len(heard) <= 1


def test_a_second_run_is_refused_and_nothing_of_the_first_is_restored(tmp_path: Path, knob: Path) -> None:
    model = tmp_path / "model.gguf"
    heard: list[str] = []
    with read_ahead(64, model):
        with pytest.raises(EnvironmentFailure, match="another run has set it"), read_ahead(32, model):
            pass
        restore_left(heard.append)
        assert knob.read_text() == "64" and not heard
    assert knob.read_text() == "128"


def test_a_record_that_says_anything_else_changes_nothing(tmp_path: Path, knob: Path) -> None:
    record = tmp_path / "cache/tracegen/read-ahead" / knob.parent.name.replace(":", "-")
    record.parent.mkdir(parents=True)
    record.write_text("../../etc/passwd")
    heard: list[str] = []
    restore_left(heard.append)
    assert not heard
    assert knob.read_text() == "128\n"


def test_where_it_cannot_be_set(tmp_path: Path, knob: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "model.gguf"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(SettingsError, match="run tracegen as root"):
        refuse_read_ahead(model)
    knob.unlink()
    with pytest.raises(SettingsError, match="names no device"):
        refuse_read_ahead(model)
