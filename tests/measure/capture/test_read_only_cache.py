"""A cache that cannot be written: a build of llama.cpp that is ready in it is used, one that is not is an error."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.small_disk import make_read_only, needs_root, small_disk
from tracegen.contract.errors import EnvironmentFailure
from tracegen.measure.capture import attach, llama_cpp
from tracegen.storing.progress import Progress

pytestmark = needs_root


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache on a disk of its own with a build that looks ready, and nothing that compiles or downloads."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("configure", "compile_targets", "_archive"):
        monkeypatch.setattr(llama_cpp, name, lambda *_: pytest.fail("it was built"))
    with small_disk(tmp_path, "size=1m"):
        build = llama_cpp.pinned_build()
        build.programs.mkdir(parents=True)
        (build.folder / "source.ok").touch()
        (build.programs / llama_cpp.TARGET).touch()
        library = (
            tmp_path
            / "tracegen"
            / "llama.cpp"
            / f"attach-{attach._key(attach.resource_folder('native'), attach._PARTS)}"
        )
        library.mkdir()
        (library / attach.LIBRARY).touch()
        yield tmp_path


@pytest.mark.parametrize("locked_before", [False, True])
def test_a_ready_build_is_used(locked_before: bool, cache: Path) -> None:
    if locked_before:
        llama_cpp.ensure_build(Progress())
        attach.ensure_attach(Progress())
    make_read_only(cache)
    assert llama_cpp.ensure_build(Progress()) == llama_cpp.pinned_build()
    assert attach.ensure_attach(Progress()).is_file()
    assert bool(list(cache.rglob("*.lock"))) == locked_before


@pytest.mark.parametrize("lacking", ["source.ok", llama_cpp.TARGET])
def test_a_build_that_is_not_ready_says_what_cannot_be_written(lacking: str, cache: Path) -> None:
    next(cache.rglob(lacking)).unlink()
    make_read_only(cache)
    said = rf"{llama_cpp.pinned_build().folder}: cannot be written: Read-only file system; set XDG_CACHE_HOME"
    with pytest.raises(EnvironmentFailure, match=said):
        llama_cpp.ensure_build(Progress())
