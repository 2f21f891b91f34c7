"""What wants to be code, to steer a terminal or to break an encoding, through publish and build."""

import json
import re
from pathlib import Path

import pytest

from tests.site_project import HOSTILE, NOW, SCRIPT
from tests.stand_in import a_project, a_run, a_run_folder, a_version
from tracegen.cli import main as cli
from tracegen.cli.commands.build import build_site
from tracegen.contract.errors import SettingsError, StoreError
from tracegen.publishing import versions as publish
from tracegen.publishing.bundle import read_bundle
from tracegen.storing import store
from tracegen.storing.hashes import HashCache

pytestmark = pytest.mark.usefixtures("empty_figures")

# What may not reach a terminal or a page: control characters, marks that turn the direction of writing.
UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture
def at(here: Path) -> Path:
    a_project(here)
    return here


def test_half_a_character_in_a_run_file_stops(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON can spell a lone surrogate, UTF-8 cannot: no run that tracegen wrote has one."""
    folder = a_run_folder(at / "experiments", a_run())
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace("What is read?", "What \\ud83d is read?"))
    assert cli.main(["publish", "sample", "-m", "x"]) == 2
    assert "run.json: cannot be read" in capsys.readouterr().err
    assert cli.main(["build"]) == 0
    assert "run.json: cannot be read" in (at / "site" / "experiments" / "sample" / "index.html").read_text()
    (folder / "run.json").write_text(text.replace("What is read?", "What \\ud83d\\ude00 and \\\\ud83d is read?"))
    assert cli.main(["publish", "sample", "-m", "x"]) == 0


def test_half_a_character_on_the_command_line(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Python spells bytes of an argument that are not UTF-8 as lone surrogates."""
    a_run_folder(at / "experiments", a_run())
    assert cli.main(["publish", "sample", "-m", "a\udcffb\x1b"]) == 0
    assert read_bundle(at / "experiments" / "sample" / "versions" / "1").document["message"] == "a\ufffdb\ufffd"
    assert cli.main(["publish", "sample", "--withdraw", "1", "-m", "a\udcffb"]) == 0
    assert cli.main(["publish", "sam\udcffple", "-m", "x"]) == 2
    assert cli.main(["run", "--model", "demo", "--prompt", "a\udcffb", "-n", "1"]) == 2
    assert (
        "prompt: is 'a\\udcffb'; must be a text that is not empty and has no NUL character, in UTF-8"
        in capsys.readouterr().err
    )
    assert build_site(at / "mkdocs.yml", strict=True).is_file()


def test_hostile_texts_of_settings_and_status_files_stay_text(at: Path) -> None:
    """Both may be written by another hand."""
    experiments = at / "experiments"
    a_version(experiments)
    a_version(experiments, number=2)
    publish.withdraw(experiments / "sample", 1, HOSTILE, 2, NOW)
    status = experiments / "sample" / "status.json"
    document = json.loads(status.read_text())
    assert not UNFIT.search(document["withdrawn"]["1"]["reason"])
    document["withdrawn"]["1"]["reason"] = HOSTILE
    status.write_text(json.dumps(document))
    (experiments / "waiting").mkdir()
    (experiments / "waiting" / "experiment.toml").write_text(f"question = {json.dumps(HOSTILE)}\n")
    site = build_site(at / "mkdocs.yml", strict=True).parent
    for page in ("", "waiting/", "sample/", "sample/v1/", "sample/v1/graph/"):
        text = (site / "experiments" / page / "index.html").read_text(encoding="utf-8")
        assert "&lt;script&gt;alert(1)" in text and SCRIPT not in text and "<img src=x" not in text, page
        assert not UNFIT.search(text), page
    assert "<script>alert" not in (site / "search" / "search_index.json").read_text()


@pytest.mark.parametrize("name", ["../../../evil.html", "/etc/passwd", "index.html\n", "nothing/index.html", 7])
def test_a_bundle_cannot_name_a_page_outside(at: Path, name: object) -> None:
    version = a_version(at / "experiments")
    assert version.folder
    path = version.folder / "version.json"
    document = json.loads(path.read_text())
    document["pages"][1]["path"] = name
    path.write_text(json.dumps(document))
    ledger = at / "experiments" / "sample" / "ledger.json"
    entries = json.loads(ledger.read_text())
    entries["versions"][0]["sha256"] = store.sha256_of(path)
    ledger.write_text(json.dumps(entries))
    with pytest.raises(StoreError, match="lists a page"):
        build_site(at / "mkdocs.yml")
    assert not (at / "site").exists() and not (at.parent / "evil.html").exists()


@pytest.mark.parametrize("name", ["<b>", "..x", "x\x1b[31m"])
def test_an_experiment_with_such_a_name_stops(at: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (at / "experiments" / name / "runs" / "001").mkdir(parents=True)
    with pytest.raises(SettingsError, match="the name of an experiment cannot be"):
        build_site(at / "mkdocs.yml")
    assert cli.main(["build"]) == 2
    assert not UNFIT.search(capsys.readouterr().err)


def test_a_file_that_the_manifest_lacks_stops_publishing_and_a_strict_build(
    at: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_run_folder(at / "experiments", a_run())
    (folder / "x\x1b[31m<script>.txt").write_text("foreign")
    assert cli.main(["publish", "sample", "-m", "x"]) == 2
    assert cli.main(["build", "--strict"]) == 1
    printed = capsys.readouterr()
    assert "is not in the manifest" in printed.err
    assert not UNFIT.search(printed.err)
    assert not (at / "experiments" / "sample" / "versions").exists()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("ledger.json", "{"),
        ("ledger.json", '{"schema": 1, "versions": [{"version": "../..", "sha256": ""}]}'),
        ("ledger.json", '{"schema": 9, "versions": []}'),
        ("ledger.json", "\x00\xff"),
        ("status.json", '{"schema": 1, "withdrawn": [1]}'),
        ("status.json", '{"schema": 1, "withdrawn": {"x": {"reason": "y"}}}'),
        ("status.json", '{"schema": 1, "withdrawn": {"1": {"reason": "y", "successor": "<script>"}}}'),
        ("status.json", '{"schema": 1, "withdrawn": {"1": {"reason": "y", "successor": 7}}}'),
        ("versions/1/version.json", "{}"),
    ],
)
def test_garbled_records_stop_and_are_named(at: Path, file: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    a_version(at / "experiments")
    path = at / "experiments" / "sample" / file
    path.write_text(text, encoding="latin-1")
    assert cli.main(["build"]) == 2
    assert path.name in capsys.readouterr().err


def test_a_withdrawn_version_that_never_was_is_ignored_or_named(at: Path) -> None:
    a_version(at / "experiments")
    (at / "experiments" / "sample" / "status.json").write_text(
        '{"schema": 1, "withdrawn": {"9": {"reason": "y", "successor": null}}}'
    )
    (one,) = publish.read_published(at / "experiments" / "sample", HashCache(Path("none")))
    assert one.version.status == "current"


@pytest.mark.parametrize("text", ["a: " + "[" * 20_000, "a: " + "9" * 6_000])
def test_a_site_file_that_hurts_its_reader_is_one_error(
    at: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (at / "mkdocs.yml").write_text(text)
    assert cli.main(["build"]) == 2
    assert "mkdocs.yml: MkDocs cannot" in capsys.readouterr().err
    a_run_folder(at / "experiments", a_run())
    assert cli.main(["publish", "sample", "-m", "x"]) == 2
