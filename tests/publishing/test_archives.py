"""Archives of versions, as `tracegen reproduce` unpacks them: one that is not whole, or is hostile, is refused."""

import hashlib
import json
import os
import random
import shutil
import stat
import warnings
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tracegen.cli.main import main
from tracegen.contract.errors import TracegenError
from tracegen.publishing import archives, versions

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
VERSION = EXPERIMENTS / "sample" / "versions" / "1"
NOW = datetime(2026, 12, 1, tzinfo=UTC)
Entries = list[tuple[zipfile.ZipInfo, bytes]]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("archive") / "sample-v1.zip"
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
    files = {name.replace(f"{home}/1/", f"{home}/{number}/"): content for name, content in files.items()}
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
            out.writestr(f"sample-v1/{name}", content)
    return target


def test_it_holds_the_version_as_it_was_published(archive: Path, tmp_path: Path) -> None:
    with archives.unpacked(archive, tmp_path) as got:
        version = got.published.version
        assert (version.citation, version.status) == ("sample@v1", "current") and version.folder is not None
        assert got.folder in version.folder.parents and kept_files(version.folder) == kept_files(VERSION)
        assert got.sha256 == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert not list(tmp_path.iterdir()), "nothing is left"


def test_its_withdrawal_comes_with_it(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs" / "experiments" / "sample"
    shutil.copytree(VERSION, theirs / "versions" / "1")
    shutil.copy(EXPERIMENTS / "sample" / "ledger.json", theirs)
    versions.withdraw(theirs, 1, "the wrong model", None, NOW)
    assert main(["export", str(theirs / "versions" / "1"), "archive", "--out", str(tmp_path / "a.zip")]) == 0
    with archives.unpacked(tmp_path / "a.zip", tmp_path) as got:
        assert (got.published.version.status, got.published.reason) == ("withdrawn", "the wrong model")


def test_a_successor_that_it_lacks_is_refused(archive: Path, tmp_path: Path) -> None:
    text = json.dumps({"schema": 1, "withdrawn": {"1": {"reason": "wrong", "successor": 99}}})
    bad = forged(archive, tmp_path / "99.zip", 1, more={"experiments/sample/status.json": text})
    refused(bad, tmp_path / "e", "v99, which was never published")


def refused(archive: Path, beside: Path, said: str) -> None:
    """The archive is refused in words that can be printed, and leaves nothing behind."""
    beside.mkdir()
    with pytest.raises(TracegenError, match=said) as caught, archives.unpacked(archive, beside):
        pass
    assert "\x1b" not in str(caught.value) and not list(beside.iterdir())
    beside.rmdir()


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
def test_a_record_that_is_hostile_is_refused(archive: Path, tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    refused(forged(archive, tmp_path / "bad.zip", 1, changes), tmp_path / "e", said)


@pytest.mark.parametrize("number", [-1, 0, 10**12])
def test_a_version_of_no_number_is_refused(archive: Path, tmp_path: Path, number: int) -> None:
    refused(forged(archive, tmp_path / "bad.zip", number), tmp_path / "e", "has a version")


def _to(name: str) -> Callable[[Entries], object]:
    def change(entries: Entries) -> None:
        entries.append((zipfile.ZipInfo(name), b"x"))

    return change


def _link(entries: Entries) -> None:
    info = zipfile.ZipInfo("sample-v1/link")
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
        (_to("sample-v1/../../evil"), "leads elsewhere"),
        (_to("/etc/evil"), "leads elsewhere"),
        (_to(f"s/{'a' * 300}"), "too long"),
        (_to("sample-v1/README.md"), "occurs twice"),
        (_to("sample-v1/a//b"), "leads elsewhere"),
        (_to("sample-v1/a\\b"), "is not a plain file"),
        (_to("sample-v1/\x1b[2J"), "is not a plain file"),
        (_to("other/README.txt"), "is not an archive of a version"),
        (_link, "is not a plain file"),
        (_to("sample-v1/more.txt"), "more.txt is not listed"),
        (_to("sample-v1/README.md/x"), "lies in a file"),
        (_other("data/values.json", b"{}"), "values.json has changed"),
        (_without("data/values.json"), "is missing"),
        (_without("SHA256SUMS"), "is not an archive of a version"),
        (_other("SHA256SUMS", b"x"), "not a list of hashes"),
        (_other("SHA256SUMS", b"\xff"), "not a list of hashes"),
    ],
)
def test_an_archive_that_is_not_whole_is_refused(
    archive: Path, tmp_path: Path, change: Callable[[Entries], object], said: str
) -> None:
    refused(changed(archive, tmp_path / "bad.zip", change), tmp_path / "e", said)
    assert not (tmp_path / "evil").exists()


def test_what_is_no_archive_or_too_large_is_refused(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, bad, beside = archive.read_bytes(), tmp_path / "bad", tmp_path / "e"
    for content in (b"no ZIP", whole[: len(whole) // 2], b""):
        bad.write_bytes(content)
        refused(bad, beside, "is not a ZIP file")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a folder").mkdir()
    for name in ("none.zip", "pipe", "a folder"):
        refused(tmp_path / name, beside, "there is no such file")
    with zipfile.ZipFile(bad, "w", zipfile.ZIP_LZMA) as packed:
        packed.writestr("sample-v1/SHA256SUMS", b"x")
    refused(bad, beside, "is encrypted, or compressed in an unusual way")
    encrypted = bytearray(whole)
    first = encrypted.index(b"PK\x01\x02")  # of the list of files at the end
    encrypted[first + 8] |= 1
    bad.write_bytes(encrypted)
    refused(bad, beside, "is encrypted")
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", str(bad)]) == 2 and "is encrypted" in capsys.readouterr().err
    monkeypatch.setattr(archives, "MOST_BYTES", 1 << 20)
    refused(archive, beside, "it is not unpacked")


def test_a_changed_bit_is_found_or_changes_nothing_of_the_version(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as opened, zipfile.ZipFile(tmp_path / "z", "w", zipfile.ZIP_DEFLATED) as packed:
        for info in opened.infolist():
            packed.writestr(info.filename, opened.read(info))
    chosen = random.Random(20261126)
    for content in (archive.read_bytes(), (tmp_path / "z").read_bytes()):
        for _ in range(20):
            damaged = bytearray(content)
            damaged[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
            (tmp_path / "damaged").write_bytes(damaged)
            with suppress(TracegenError), archives.unpacked(tmp_path / "damaged", tmp_path) as got:
                assert kept_files(got.folder / "experiments/sample/versions/1") == kept_files(VERSION), (
                    "a time, a right"
                )
