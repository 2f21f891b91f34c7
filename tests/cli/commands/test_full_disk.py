"""Full disks and read-only ones: exit code 3, the message names what lacks room, and what was published stays."""

import errno
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from mkdocs import utils

from tests.small_disk import filling, make_read_only, needs_root, small_disk
from tests.stand_in import a_project, a_run, a_run_folder
from tracegen.cli.main import main
from tracegen.contract.errors import file_of
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


@pytest.mark.parametrize("stage", ["write_bundle", "_enter"], ids=["bundle", "ledger"])
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


@pytest.mark.parametrize("place", [".", "versions"])
def test_a_place_that_cannot_be_written_is_found_before_anything_is_drawn(
    place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    a_run_folder(tmp_path, a_run())
    folder = tmp_path / "sample" / place
    folder.mkdir(exist_ok=True)
    with small_disk(folder, "size=4m"):
        if place == ".":
            a_run_folder(tmp_path, a_run())
            (folder / "versions").mkdir()
        make_read_only(folder)
        monkeypatch.setattr("tracegen.report.drawing.process", lambda: pytest.fail("it was drawn"))
        assert main(["publish", str(tmp_path / "sample"), "-m", "why"]) == 3
    said = capsys.readouterr()
    advice = "Read-only file system; the version goes there: make it writable"
    assert said.err == f"tracegen: {folder}: cannot be written: {advice}\n" and "becomes public" not in said.out


def test_a_copy_to_a_full_disk_is_named_and_not_its_source(tmp_path: Path) -> None:
    source, disk = tmp_path / "source", tmp_path / "disk"
    source.write_bytes(bytes(1 << 20))
    disk.mkdir()
    with small_disk(disk, "size=64k"), pytest.raises(OSError) as caught:
        shutil.copyfile(source, disk / "copy")
    assert (caught.value.filename, file_of(caught.value)) == (str(source), str(disk / "copy"))
    with pytest.raises(OSError) as caught:
        shutil.copyfile(tmp_path / "none", source)
    assert file_of(caught.value) == str(tmp_path / "none")


@pytest.mark.parametrize("page", [False, True], ids=["copy", "page"])
def test_a_full_disk_under_a_site_names_the_site(
    page: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config, site = a_project(tmp_path / "project"), tmp_path / "project" / "site"
    site.mkdir()
    with small_disk(site, "size=8m" if page else "size=200k"):
        if page:
            monkeypatch.setattr(utils, "write_file", filling(site, utils.write_file))
        assert main(["build", "-f", str(config)]) == 3
    said = capsys.readouterr().err.splitlines()[-1]
    assert re.fullmatch(rf"tracegen: {site}\S*: cannot be written: No space left on device; free space", said)


def test_a_disk_that_is_full_while_serving_is_no_trouble_with_the_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = a_project(tmp_path / "project")

    def copied(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "source", None, "copy")

    monkeypatch.setattr("mkdocs.commands.serve.serve", copied)
    assert main(["serve", "-f", str(config), "-a", "127.0.0.1:0"]) == 3
    assert capsys.readouterr().err == "tracegen: copy: cannot be written: No space left on device; free space\n"
