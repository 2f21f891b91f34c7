"""The library that a wheel brings is used where it was compiled from what the wheel brought, and only there."""

import platform
import shutil
from pathlib import Path

import pytest

from tracegen.contract.errors import EnvironmentFailure
from tracegen.measure.capture import attach
from tracegen.storing.progress import Progress
from tracegen.storing.resources import folder as resource_folder

BYTES = b"\x7fELF of a wheel"


@pytest.fixture
def native(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sources as an installed wheel has them, with a library for this processor, and no compiler."""
    native = tmp_path / "native"
    shutil.copytree(resource_folder("native"), native, ignore=shutil.ignore_patterns("build", "tests", "bench"))
    monkeypatch.setattr(attach, "resource_folder", lambda name: native)
    monkeypatch.setattr(attach, "cupti", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    shipped = native / attach.SHIPPED / platform.machine()
    shipped.mkdir(parents=True)
    (shipped / attach.LIBRARY).write_bytes(BYTES)
    (shipped / "key").write_text(attach._key(native, attach._PARTS), encoding="utf-8")
    return native


def test_what_a_wheel_brought_needs_no_compiler_and_no_source_of_llama_cpp(native: Path, tmp_path: Path) -> None:
    library = attach.ensure_attach(Progress())
    assert library.read_bytes() == BYTES
    assert library.is_relative_to(tmp_path / "cache")
    assert attach.ensure_attach(Progress()) == library


@pytest.mark.parametrize("change", ["a source", "the key", "no library", "another processor", "times of a device"])
def test_what_does_not_fit_is_not_used(native: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    shipped = native / attach.SHIPPED / platform.machine()
    if change == "a source":
        source = native / "attach/find.c"
        source.write_text(source.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    elif change == "the key":
        (shipped / "key").write_text("0" * 12, encoding="utf-8")
    elif change == "no library":
        (shipped / attach.LIBRARY).unlink()
    elif change == "another processor":
        monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(EnvironmentFailure, match=r"no C compiler found.*install a wheel"):
        attach.ensure_attach(Progress(), device_ops=change == "times of a device")
