"""`tracegen import-version`: a version of somebody else is kept as it is; an archive that is not whole is refused."""

import hashlib
import json
import os
import random
import re
import shutil
import stat
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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


def kept_files(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


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


def forged(
    archive: Path,
    target: Path,
    number: int,
    changes: Mapping[str, Any] | None = None,
    more: Mapping[str, str] | None = None,
) -> Path:
    """A copy of the archive whose record says something else, with a ledger and hashes that agree with it."""
    with zipfile.ZipFile(archive) as opened:
        files = {name.partition("/")[2]: opened.read(name) for name in opened.namelist()}
    home = "experiments/sample/versions"
    files = {name.replace(f"{home}/3/", f"{home}/{number}/"): content for name, content in files.items()}
    record = f"{home}/{number}/version.json"
    document = {**json.loads(files[record]), "version": number, "citation": f"sample@v{number}", **(changes or {})}
    files[record] = json.dumps(document).encode()
    entry = {"version": number, "created": "", "sha256": hashlib.sha256(files[record]).hexdigest()}
    files["experiments/sample/ledger.json"] = json.dumps({"schema": 1, "versions": [entry]}).encode()
    files |= {name: text.encode() for name, text in (more or {}).items()}
    del files["SHA256SUMS"]
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items()))
    with zipfile.ZipFile(target, "w") as out:
        for name, content in {**files, "SHA256SUMS": sums.encode()}.items():
            out.writestr(f"sample-v3/{name}", content)
    return target


def test_a_version_of_somebody_else_is_kept_as_it_is(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["import-version", str(archive)]) == 0
    assert "sample@v3  experiments/sample/versions/3\n" in (said := capsys.readouterr().out) and "author: not" in said
    home = tmp_path / "experiments" / "sample"
    assert kept_files(home / "versions" / "3") == kept_files(VERSION)
    before = (home / "ledger.json").read_bytes()
    assert main(["import-version", str(archive)]) == 0
    assert (
        "was here already. Nothing was changed." in capsys.readouterr().out
        and (home / "ledger.json").read_bytes() == before
    )
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
    for path in ("index.html", "experiments/index.html"):
        assert "received from somebody else" in (site / path).read_text(), path
    stated = (VERSION / "citation.bib").read_text().partition("SHA-256 of the content: ")[2][:12]
    assert "../../experiments/sample/v3/index.html" in (site / "x" / stated / "index.html").read_text()


def test_its_author_and_its_withdrawal_come_with_it(archive: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs" / "experiments" / "sample"
    shutil.copytree(VERSION, theirs / "versions" / "3")
    shutil.copy(EXPERIMENTS / "sample" / "ledger.json", theirs)
    versions.withdraw(theirs, 3, "the wrong model", None, NOW)
    assert main(["export", str(theirs / "versions" / "3"), "archive", "--out", str(tmp_path / "a.zip")]) == 0
    for here, before in (("new", False), ("known", True)):
        if before:
            assert received.receive(archive, tmp_path / here, NOW).new
        got = received.receive(tmp_path / "a.zip", tmp_path / here, NOW)
        assert got.new != before and got.withdrawn and got.published.version.status == "withdrawn"
        (kept,) = versions.read_published(tmp_path / here / "sample", None)
        said = kept.version.status, kept.reason, kept.received
        assert said == ("withdrawn", "the wrong model", "2026-12-01T00:00:00Z")
        assert not received.receive(tmp_path / "a.zip", tmp_path / here, NOW).withdrawn
    with pytest.raises(TracegenError, match="who alone can withdraw it"):
        versions.withdraw(tmp_path / "known" / "sample", 3, "mine now", None, NOW, again=True)


def test_it_says_nothing_of_other_versions(archive: Path, tmp_path: Path) -> None:
    two = forged(archive, tmp_path / "2.zip", 2)
    others: dict[str, Any] = {"2": {"reason": "not theirs", "successor": 99}, "3": {"reason": "wrong", "successor": 99}}
    for successor in (99, None):
        others["3"]["successor"] = successor
        text = json.dumps({"schema": 1, "withdrawn": others})
        three = forged(archive, tmp_path / f"{successor}.zip", 3, more={"experiments/sample/status.json": text})
    received.receive(two, tmp_path / "e", NOW)
    with pytest.raises(TracegenError, match="v99, which was never published"):
        received.receive(tmp_path / "99.zip", tmp_path / "e", NOW)
    received.receive(three, tmp_path / "e", NOW)
    kept = versions.read_published(tmp_path / "e/sample", None)
    assert [(p.version.number, p.version.status) for p in kept] == [(3, "withdrawn"), (2, "current")]


def test_it_is_never_mixed_with_ones_own(archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    experiments = tmp_path / "experiments"
    (experiments / "sample").mkdir(parents=True)
    (experiments / "sample" / "experiment.toml").write_text('question = "?"\n')
    ask = ["import-version", str(archive), "--experiments", str(experiments)]
    assert main(ask) == 2 and "is an experiment of this project" in capsys.readouterr().err
    assert not (experiments / "sample" / "versions").exists()
    (experiments / "sample" / "experiment.toml").unlink()
    run = stored(experiments, replace(a_run(), experiment="sample"), scaled_case(1, 1))
    assert run.folder is not None
    assert main(ask) == 2 and "is an experiment of this project" in capsys.readouterr().err
    run.folder.parent.rename(tmp_path / "runs")
    assert main(ask) == 0
    (tmp_path / "runs").rename(run.folder.parent)
    assert main(["publish", str(experiments / "sample"), "-m", "mine"]) == 2
    assert "somebody else" in capsys.readouterr().err
    run.folder.parent.rename(tmp_path / "runs")
    ledger = experiments / "sample" / "ledger.json"
    ledger.write_text(re.sub(r'("sha256": ")[0-9a-f]{8}', r"\g<1>00000000", ledger.read_text()))
    assert main(ask) == 2 and "holds another sample@v3" in capsys.readouterr().err
    (experiments / "sample").rename(experiments / "Sample")
    assert main(ask) == 2 and "differ only in case" in capsys.readouterr().err


@pytest.mark.parametrize("step", ["whole_folder", "enter", "write_withdrawn"])
def test_what_an_interrupt_leaves_is_mended_by_the_next_call(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    text = json.dumps({"schema": 1, "withdrawn": {"3": {"reason": "wrong"}}})
    withdrawn = forged(archive, tmp_path / "w.zip", 3, more={"experiments/sample/status.json": text})

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(received.store if step == "whole_folder" else versions, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            received.receive(withdrawn, tmp_path / "e", NOW)
    got = received.receive(withdrawn, tmp_path / "e", NOW)
    assert got.withdrawn and got.new == (step != "write_withdrawn")
    (kept,) = versions.read_published(tmp_path / "e" / "sample", None)
    assert kept.version.status == "withdrawn"
    assert [path.name for path in (tmp_path / "e" / "sample" / "versions").iterdir()] == ["3"]


FIGURE = {"key": "x", "title": "x", "caption": "x", "alt": "x", "page": "overview", "layouts": {}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"figures": [{**FIGURE, "path_svg": "../../../../secret.svg"}]}, "none of its files"),
        ({"figures": [{**FIGURE, "path_svg": "figures/nope.svg"}]}, "none of its files"),
        ({"figures": [{"key": "x"}]}, "title"),
        ({"assets": {"a.css": "../../a.css"}}, "none of its files"),
        ({"cell": {"factors": {}}}, "matrix"),
        ({"values": {"a": {}}}, "text"),
        ({"runs": []}, "its runs"),
        ({"verdict": "\x1b[31mfine"}, "its verdict"),
        ({"created": "\x1b[2J"}, "its time"),
        ({"runs": None}, "runs"),
        ({"experiment": "other"}, "its folder another"),
        ({"experiment": "../x"}, "its folder another"),
    ],
)
def test_a_record_that_is_hostile_is_refused(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], said: str
) -> None:
    bad = forged(archive, tmp_path / "bad.zip", 3, changes)
    assert main(["import-version", str(bad), "--experiments", str(tmp_path / "e")]) == 2
    assert said in (err := capsys.readouterr().err) and "\x1b" not in err and not (tmp_path / "e").exists()


@pytest.mark.parametrize("number", [-1, 0, 10**12])
def test_a_version_of_no_number_is_refused(archive: Path, tmp_path: Path, number: int) -> None:
    with pytest.raises(TracegenError, match="has a version"):
        received.receive(forged(archive, tmp_path / "bad.zip", number), tmp_path / "e", NOW)


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
        (_to("sample-v3/../../evil"), "leads elsewhere"),
        (_to("/etc/evil"), "leads elsewhere"),
        (_to(f"s/{'a' * 300}"), "too long"),
        (_to("sample-v3/README.md"), "occurs twice"),
        (_to("sample-v3/a//b"), "leads elsewhere"),
        (_to("sample-v3/a\\b"), "is no plain file"),
        (_to("sample-v3/\x1b[2J"), "is no plain file"),
        (_to("other/README.txt"), "is no archive of a version"),
        (_link, "is no plain file"),
        (_to("sample-v3/more.txt"), "more.txt is not listed"),
        (_to("sample-v3/README.md/x"), "lies in a file"),
        (_other("data/values.json", b"{}"), "values.json has changed"),
        (_without("data/values.json"), "is missing"),
        (_without("SHA256SUMS"), "is no archive of a version"),
        (_other("SHA256SUMS", b"x"), "no list of hashes"),
        (_other("SHA256SUMS", b"\xff"), "no list of hashes"),
    ],
)
def test_an_archive_that_is_not_whole_is_refused(
    archive: Path, tmp_path: Path, change: Callable[[Entries], object], said: str
) -> None:
    bad = changed(archive, tmp_path / "bad.zip", change)
    with pytest.raises(TracegenError, match=said):
        received.receive(bad, tmp_path / "experiments", NOW)
    assert not (tmp_path / "experiments").exists() and not (tmp_path / "evil").exists()


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
    (tmp_path / "a folder").mkdir()
    for name in ("pipe", "a folder"):
        assert main(["import-version", str(tmp_path / name), "--experiments", str(tmp_path / "e")]) == 2
        assert "there is no such file" in capsys.readouterr().err
    with zipfile.ZipFile(archive) as opened, zipfile.ZipFile(tmp_path / "z", "w", zipfile.ZIP_DEFLATED) as packed:
        for info in opened.infolist():
            packed.writestr(info.filename, opened.read(info))
    chosen = random.Random(20261126)
    for content in (whole, (tmp_path / "z").read_bytes()):
        for _ in range(20):
            damaged = bytearray(content)
            damaged[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
            (tmp_path / "damaged").write_bytes(damaged)
            status = main(["import-version", str(tmp_path / "damaged"), "--experiments", str(tmp_path / "e")])
            assert status == 2 or kept_files(tmp_path / "e/sample/versions/3") == kept_files(VERSION), "a time, a right"
            assert status in (0, 2)
            shutil.rmtree(tmp_path / "e", ignore_errors=True)
    capsys.readouterr()
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_LZMA) as packed:
        packed.writestr("sample-v3/SHA256SUMS", b"x")
    encrypted = bytearray(whole)
    first = encrypted.index(b"PK\x01\x02")  # of the list of files at the end
    encrypted[first + 8] |= 1
    (tmp_path / "encrypted").write_bytes(encrypted)
    assert main(["import-version", str(tmp_path / "encrypted"), "--experiments", str(tmp_path / "e")]) == 2
    assert "is encrypted" in capsys.readouterr().err
    assert main(["import-version", str(tmp_path / "bomb"), "--experiments", str(tmp_path / "e")]) == 2
    assert "is encrypted, or compressed in an unusual way" in capsys.readouterr().err
    monkeypatch.setattr(received, "MOST_BYTES", 1 << 20)
    assert main(["import-version", str(archive), "--experiments", str(tmp_path / "e")]) == 2
    assert "it is not unpacked" in capsys.readouterr().err and not (tmp_path / "e").exists()
