"""`tracegen export NAME@vN archive`: one file, the same bytes everywhere, that opens, checks and builds by itself."""

import hashlib
import os
import shutil
import time
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.builders import a_run, scaled_case, stored
from tracegen.cli.main import main
from tracegen.export import archive

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("archive") / "sample-v3.zip"
    assert main(["export", str(EXPERIMENTS / "sample" / "versions" / "3"), "archive", "--out", str(target)]) == 0
    return target


def test_the_same_version_gives_the_same_bytes(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On another day, in another zone, with another mask, from files with other times and other rights."""
    copy = tmp_path / "experiments" / "sample"
    shutil.copytree(EXPERIMENTS / "sample" / "versions" / "3", copy / "versions" / "3", copy_function=shutil.copyfile)
    shutil.copy(EXPERIMENTS / "sample" / "ledger.json", copy)
    for path in copy.rglob("*.*"):
        path.chmod(0o600)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "C")
    time.tzset()
    before = os.umask(0o077)
    try:
        assert main(["export", str(copy / "versions" / "3"), "archive", "--out", str(tmp_path / "b.zip")]) == 0
    finally:
        os.umask(before)
        monkeypatch.undo()
        time.tzset()
    assert (tmp_path / "b.zip").read_bytes() == file.read_bytes()


def test_what_is_unpacked_is_whole_and_makes_a_site(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(file) as opened:
        opened.extractall(tmp_path)
    (top,) = tmp_path.iterdir()
    version = EXPERIMENTS / "sample" / "versions" / "3"
    unpacked = top / "experiments" / "sample" / "versions" / "3"
    assert top.name == "sample-v3"
    assert {p.relative_to(version): p.read_bytes() for p in version.rglob("*") if p.is_file()} == {
        p.relative_to(unpacked): p.read_bytes() for p in unpacked.rglob("*") if p.is_file()
    }
    sums = dict(line.split("  ")[::-1] for line in (top / "SHA256SUMS").read_text().splitlines())
    files = {p.relative_to(top).as_posix(): p for p in top.rglob("*") if p.is_file() and p.name != "SHA256SUMS"}
    assert sums == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    readme = (top / "README.md").read_text()
    assert "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53" in readme and "SmolLM2" in readme
    monkeypatch.chdir(top)
    assert main(["build", "--strict"]) == 0
    page = top / "site" / "experiments" / "sample" / "v3" / "index.html"
    assert page.is_file() and "sample@v3" in page.read_text() and "site/index.html" in capsys.readouterr().out


def test_what_is_no_whole_version_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = stored(tmp_path / "experiments", a_run(), scaled_case(1, 1))
    assert main(["export", str(run.folder), "archive", "--out", str(tmp_path / "x.zip")]) == 2
    assert "publish it, and export NAME@vN" in capsys.readouterr().err
    copy = tmp_path / "other" / "experiments" / "sample"
    shutil.copytree(EXPERIMENTS / "sample" / "versions" / "3", copy / "versions" / "3")
    asked = ["export", str(copy / "versions" / "3"), "archive", "--out", str(tmp_path / "x.zip")]
    assert main(asked) != 0 and "ledger.json" in capsys.readouterr().err
    shutil.copy(EXPERIMENTS / "sample" / "ledger.json", copy)
    (copy / "versions" / "3" / "data" / "values.json").write_text("{}")
    assert (
        main(asked) != 0 and "values.json: is missing or has changed since it was published" in capsys.readouterr().err
    )
    assert not (tmp_path / "x.zip").exists()


def test_the_citation_is_yaml_that_says_who_and_when() -> None:
    document = {"title": 'A "title": #1', "version": 2, "created": "2026-11-26T06:45:02Z", "author": "Ä. Student"}
    assert yaml.safe_load(archive._citation(document | {"url": "https://example.org/x"})) == {
        "cff-version": "1.2.0", "message": "If you use these data, please cite them.", "type": "dataset",
        "title": 'A "title": #1', "version": "2", "date-released": "2026-11-26", "authors": [{"name": "Ä. Student"}],
        "url": "https://example.org/x",
    }  # fmt: skip
