"""`tracegen import-version`: a version of somebody else is kept as it is; an archive that is not whole is refused."""

import os
import re
import shutil
import stat
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.builders import a_run, scaled_case, stored
from tracegen.cli.main import main
from tracegen.contract.errors import TracegenError
from tracegen.publishing import received, versions

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
VERSION = EXPERIMENTS / "sample" / "versions" / "3"
NOW = datetime(2026, 12, 1, tzinfo=UTC)
Entries = list[tuple[zipfile.ZipInfo, bytes]]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("archive") / "sample-v3.zip"
    assert main(["export", str(VERSION), "archive", "--out", str(target)]) == 0
    return target


def changed(archive: Path, target: Path, change: Callable[[Entries], object]) -> Path:
    """A copy of the archive whose entries `change` has changed."""
    with zipfile.ZipFile(archive) as opened:
        entries = [(info, opened.read(info)) for info in opened.infolist()]
    change(entries)
    with warnings.catch_warnings(), zipfile.ZipFile(target, "w") as out:
        warnings.simplefilter("ignore")  # of a name that occurs twice
        for info, content in entries:
            out.writestr(info, content)
    return target


def test_a_version_of_somebody_else_is_kept_as_it_is(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["import-version", str(archive)]) == 0
    assert "sample@v3  experiments/sample/versions/3\n" in (said := capsys.readouterr().out) and "author: not" in said
    home = tmp_path / "experiments" / "sample"
    files = {path.relative_to(VERSION): path.read_bytes() for path in VERSION.rglob("*") if path.is_file()}
    here = home / "versions" / "3"
    assert files == {path.relative_to(here): path.read_bytes() for path in here.rglob("*") if path.is_file()}
    before = (home / "ledger.json").read_bytes()
    assert main(["import-version", str(archive)]) == 0
    assert "it was here" in capsys.readouterr().out and (home / "ledger.json").read_bytes() == before
    assert [p.name for p in (tmp_path / "experiments").iterdir()] == ["sample"]
    assert main(["export", "sample@v3", "archive", "--out", "again.zip"]) == 0
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()
    assert main(["build", "--strict"]) == 0
    site = tmp_path / "site"
    page = (site / "experiments" / "sample" / "v3" / "index.html").read_text()
    assert (
        "Somebody else published this version" in page
        and "received" in (site / "experiments" / "sample" / "index.html").read_text()
    )
    stated = (VERSION / "citation.bib").read_text().partition("SHA-256 of the content: ")[2][:12]
    assert "../../experiments/sample/v3/index.html" in (site / "x" / stated / "index.html").read_text()


def test_its_author_and_its_withdrawal_come_with_it(archive: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs" / "experiments" / "sample"
    shutil.copytree(VERSION, theirs / "versions" / "3")
    shutil.copy(EXPERIMENTS / "sample" / "ledger.json", theirs)
    versions.withdraw(theirs, 3, "the wrong model", None, NOW)
    assert main(["export", str(theirs / "versions" / "3"), "archive", "--out", str(tmp_path / "a.zip")]) == 0
    got, new = received.receive(tmp_path / "a.zip", tmp_path / "experiments", NOW)
    assert new and got.version.status == "withdrawn"
    (kept,) = versions.read_published(tmp_path / "experiments" / "sample", None)
    assert (kept.version.status, kept.reason, kept.received) == ("withdrawn", "the wrong model", "2026-12-01T00:00:00Z")


def test_it_is_never_mixed_with_ones_own(archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    experiments = tmp_path / "experiments"
    (experiments / "sample").mkdir(parents=True)
    (experiments / "sample" / "experiment.toml").write_text('question = "?"\n')
    ask = ["import-version", str(archive), "--experiments", str(experiments)]
    assert main(ask) == 2 and "is an experiment of this project" in capsys.readouterr().err
    assert not (experiments / "sample" / "versions").exists()
    (experiments / "sample" / "experiment.toml").unlink()
    assert main(ask) == 0
    run = stored(experiments, replace(a_run(), experiment="sample"), scaled_case(1, 1))
    assert run.folder is not None
    assert main(["publish", str(experiments / "sample"), "-m", "mine"]) == 2
    assert "somebody else" in capsys.readouterr().err
    ledger = experiments / "sample" / "ledger.json"
    ledger.write_text(re.sub(r'("sha256": ")[0-9a-f]{8}', r"\g<1>00000000", ledger.read_text()))
    assert main(ask) == 2 and "holds another sample@v3" in capsys.readouterr().err


def _to(name: str) -> Callable[[Entries], object]:
    def change(entries: Entries) -> None:
        entries.append((zipfile.ZipInfo(name), b"x"))

    return change


def _link(entries: Entries) -> None:
    info = zipfile.ZipInfo("sample-v3/link")
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    entries.append((info, b"/etc/passwd"))


def _other(name: str, content: bytes) -> Callable[[Entries], object]:
    def change(entries: Entries) -> None:
        at = next(n for n, (info, _) in enumerate(entries) if info.filename.endswith(name))
        entries[at] = (entries[at][0], content)

    return change


def _without(name: str) -> Callable[[Entries], object]:
    def change(entries: Entries) -> None:
        entries[:] = [entry for entry in entries if not entry[0].filename.endswith(name)]

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_to("sample-v3/../../evil"), "leads elsewhere"), (_to("/etc/evil"), "leads elsewhere"),
        (_to("sample-v3/README.md"), "occurs twice"), (_to("sample-v3/a//b"), "leads elsewhere"),
        (_to("sample-v3/a\\b"), "is no plain file"), (_to("sample-v3/\x1b[2J"), "is no plain file"),
        (_to("other/README.txt"), "is no archive of a version"), (_link, "is no plain file"),
        (_to("sample-v3/more.txt"), "more.txt is not listed"), (_to("sample-v3/README.md/x"), "cannot be written"),
        (_other("data/values.json", b"{}"), "values.json has changed"), (_without("data/values.json"), "is missing"),
        (_without("SHA256SUMS"), "is no archive of a version"), (_other("SHA256SUMS", b"x"), "no list of hashes"),
        (_other("SHA256SUMS", b"\xff"), "damaged"),
    ],
)  # fmt: skip
def test_an_archive_that_is_not_whole_is_refused(
    archive: Path, tmp_path: Path, change: Callable[[Entries], object], said: str
) -> None:
    bad = changed(archive, tmp_path / "bad.zip", change)
    with pytest.raises(TracegenError, match=said):
        received.receive(bad, tmp_path / "experiments", NOW)
    assert list((tmp_path / "experiments").iterdir()) == [] and not (tmp_path / "evil").exists()


def test_what_is_no_archive_or_too_large_is_refused(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = archive.read_bytes()
    for name, content in (("text", b"no ZIP"), ("cut", whole[: len(whole) // 2]), ("empty", b"")):
        (tmp_path / name).write_bytes(content)
        assert main(["import-version", str(tmp_path / name), "--experiments", str(tmp_path / "e")]) == 2
        assert "is no ZIP file" in capsys.readouterr().err
    assert main(["import-version", str(tmp_path / "none.zip"), "--experiments", str(tmp_path / "e")]) == 2
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "e"):
        assert main(["import-version", str(tmp_path / name), "--experiments", str(tmp_path / "e")]) == 2
        assert "is no file" in capsys.readouterr().err
    damaged = bytearray(whole)
    damaged[len(whole) // 3] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    assert main(["import-version", str(tmp_path / "damaged"), "--experiments", str(tmp_path / "e")]) == 2
    capsys.readouterr()
    monkeypatch.setattr(received, "MOST_BYTES", 1 << 20)
    assert main(["import-version", str(archive), "--experiments", str(tmp_path / "e")]) == 2
    assert "it is not unpacked" in capsys.readouterr().err and list((tmp_path / "e").iterdir()) == []
