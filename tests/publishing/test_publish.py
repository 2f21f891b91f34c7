"""Versions are frozen once, remembered for ever, and marked from outside."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.publishing.test_bundle import files_of
from tests.stand_in import NOW, a_report, a_run, a_version, drawn
from tracegen.contract.errors import SettingsError, StoreError
from tracegen.publishing import versions as publish
from tracegen.storing.hashes import HashCache


def published(folder: Path) -> list[publish.Published]:
    return publish.read_published(folder, HashCache(folder / "no-cache"))


def test_publishing_makes_a_version_and_a_ledger(tmp_path: Path) -> None:
    version = a_version(tmp_path, number=1)
    assert (version.citation, version.verdict, version.runs) == ("sample@v1", "complete", (1,))
    assert version.created == "2026-11-21T12:00:00Z"
    (one,) = published(tmp_path / "sample")
    assert one.version == version
    ledger = json.loads((tmp_path / "sample" / "ledger.json").read_text())
    assert [entry["version"] for entry in ledger["versions"]] == [1]


def test_a_run_is_published_once_unless_asked_otherwise(tmp_path: Path) -> None:
    a_version(tmp_path, number=1)
    a_version(tmp_path, number=2)
    folder, run = tmp_path / "sample", a_run(number=1)
    with pytest.raises(SettingsError, match=r"sample/run-001 is published already, as sample@v1; .*--again"):
        publish.publish(folder, run, drawn, "once more", NOW)
    assert len(published(folder)) == 2
    assert publish.publish(folder, run, drawn, "once more", NOW, again=True).citation == "sample@v3"
    with pytest.raises(SettingsError, match="as sample@v3"):
        publish.publish(folder, run, drawn, "a fourth time", NOW)


def test_a_younger_run_of_the_same_number_is_another_run(tmp_path: Path) -> None:
    """On another machine, with the versions but without the runs, numbers begin at 1 again."""
    a_version(tmp_path, number=1)
    younger = replace(a_run(number=1), created="2026-12-24T08:00:00Z")
    assert publish.publish(tmp_path / "sample", younger, drawn, "here too", NOW).number == 2


def test_a_newer_version_supersedes(tmp_path: Path) -> None:
    a_version(tmp_path, number=1)
    before = files_of(tmp_path / "sample" / "versions" / "1")
    a_version(tmp_path, number=2)
    newest, oldest = published(tmp_path / "sample")
    assert (newest.version.status, oldest.version.status, oldest.successor) == ("current", "superseded", 2)
    assert files_of(tmp_path / "sample" / "versions" / "1") == before


def test_a_withdrawn_version_names_reason_and_successor(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        a_version(tmp_path, number=number)
    folder = tmp_path / "sample"
    publish.withdraw(folder, 3, "wrong clock", None, NOW)
    with pytest.raises(SettingsError, match="withdrawn itself"):
        publish.withdraw(folder, 1, "wrong model", 3, NOW)
    publish.withdraw(folder, 1, "wrong model", 2, NOW)
    statuses = [(p.version.number, p.version.status, p.reason, p.successor) for p in published(folder)]
    assert statuses == [
        (3, "withdrawn", "wrong clock", 2),
        (2, "current", "", None),
        (1, "withdrawn", "wrong model", 2),
    ]


def test_withdrawing_twice_is_refused_and_again_keeps_what_was_said(tmp_path: Path) -> None:
    a_version(tmp_path, number=1)
    a_version(tmp_path, number=2)
    folder = tmp_path / "sample"
    publish.withdraw(folder, 1, "wrong clock", None, NOW)
    before = (folder / "status.json").read_bytes()
    with pytest.raises(SettingsError, match=r"sample@v1 .*already \(2026-11-20T12:00:00Z\): wrong clock; .*--again"):
        publish.withdraw(folder, 1, "wrong model", 2, NOW)
    assert (folder / "status.json").read_bytes() == before
    for reason in ("wrong model", "both"):
        publish.withdraw(folder, 1, reason, 2, NOW, again=True)
    assert [(p.reason, p.successor) for p in published(folder) if p.version.number == 1] == [("both", 2)]
    publish.withdraw(folder, 1, "both", None, NOW, again=True)
    assert publish.read_withdrawn(folder)[1]["successor"] == 2  # as was said before
    earlier = publish.read_withdrawn(folder)[1]["earlier"][:2]
    assert [(entry["reason"], entry["successor"]) for entry in earlier] == [("wrong clock", None), ("wrong model", 2)]


@pytest.mark.parametrize(
    ("number", "reason", "successor", "message"),
    [
        (9, "x", None, "never published"),
        (1, "x", 9, "never published"),
        (1, " ", None, "empty"),
        (1, "x", 1, "own"),
    ],
)
def test_a_withdrawal_of_an_unknown_version_is_refused(
    tmp_path: Path, number: int, reason: str, successor: int | None, message: str
) -> None:
    a_version(tmp_path)
    with pytest.raises(SettingsError, match=message):
        publish.withdraw(tmp_path / "sample", number, reason, successor, NOW)


def test_a_number_is_never_used_twice(tmp_path: Path) -> None:
    a_version(tmp_path, number=1)
    a_version(tmp_path, number=2)
    shutil.rmtree(tmp_path / "sample" / "versions" / "2")
    assert a_version(tmp_path, number=3).number == 3


def test_a_bundle_outside_the_ledger_is_named(tmp_path: Path) -> None:
    a_version(tmp_path)
    (tmp_path / "sample" / "ledger.json").unlink()
    with pytest.raises(StoreError, match=r"versions/1: is not in .*ledger\.json"):
        published(tmp_path / "sample")
    with pytest.raises(StoreError, match="is not in"):
        a_version(tmp_path, number=2)


@pytest.mark.parametrize(("name", "message"), [("sample", "  "), ("<b>", "why"), ("..x", "why")])
def test_refused_before_anything_is_written(tmp_path: Path, name: str, message: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    with pytest.raises(SettingsError, match=re.escape("-m") if not message.strip() else "name"):
        publish.publish(folder, a_run(name), drawn, message, NOW)
    assert list(folder.iterdir()) == []


def test_a_report_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        a_version(tmp_path, report=a_report(extra="<!-- tracegen:body -->"))
    assert list((tmp_path / "sample").rglob("*")) == [tmp_path / "sample" / "versions"]
