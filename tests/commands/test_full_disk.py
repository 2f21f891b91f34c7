"""Publishing and withdrawing on a full disk and on a read-only one: exit code 3, and everything is as it was."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.small_disk import filling, make_read_only, needs_root, small_disk
from tests.stand_in import a_run, a_run_folder
from tracegen.cli.main import main
from tracegen.publishing import versions as publish
from tracegen.storing.hashes import HashCache

pytestmark = [needs_root, pytest.mark.usefixtures("stand_in_renderer")]


@pytest.fixture
def experiments(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of its own, with a run."""
    folder = tmp_path / "experiments"
    folder.mkdir()
    with small_disk(folder, "size=4m"):
        a_run_folder(folder, a_run())
        yield folder


def versions(experiment: Path) -> list[int]:
    """The numbers of the published versions. Fails when anything else lies in their folder, even if hidden."""
    bundles = publish.read_published(experiment, HashCache(Path("none")))
    folder = experiment / "versions"
    assert len(list(folder.iterdir()) if folder.exists() else []) == len(bundles)
    return [bundle.version.number for bundle in bundles]


@pytest.mark.parametrize("stage", ["write_bundle", "_write_json"], ids=["bundle", "ledger"])
def test_a_disk_that_is_full_while_publishing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], experiments: Path, stage: str
) -> None:
    for published in ([], [1]):
        with monkeypatch.context() as patch:
            patch.setattr(publish, stage, filling(experiments, getattr(publish, stage)))
            assert main(["publish", "sample", "-m", "why", "--again"]) == 3
        output = capsys.readouterr().err
        assert "No space left on device" in output and "Traceback" not in output
        assert versions(experiments / "sample") == published
        (experiments / "filler").unlink()
        assert main(["publish", "sample", "-m", "why", "--again"]) == 0
    assert versions(experiments / "sample") == [2, 1]


def test_a_disk_that_is_full_while_withdrawing(capsys: pytest.CaptureFixture[str], experiments: Path) -> None:
    assert main(["publish", "sample", "-m", "why"]) == 0
    before = {path: path.stat().st_mtime_ns for path in experiments.rglob("*") if path.is_file()}
    filling(experiments, lambda: None)()
    assert main(["publish", "sample", "--withdraw", "1", "-m", "wrong"]) == 3
    assert "No space left on device" in capsys.readouterr().err
    (experiments / "filler").unlink()
    assert {path: path.stat().st_mtime_ns for path in experiments.rglob("*") if path.is_file()} == before


def test_a_read_only_disk(capsys: pytest.CaptureFixture[str], experiments: Path) -> None:
    make_read_only(experiments)
    assert main(["publish", "sample", "-m", "why"]) == 3
    output = capsys.readouterr().err
    assert "Read-only file system" in output and "Traceback" not in output
    assert versions(experiments / "sample") == []
