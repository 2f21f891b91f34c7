"""`tracegen show --issue`: of runs and of versions, withdrawn ones too."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import a_moe_run, scaled_case
from tests.builders.runs import with_groups
from tests.cli.commands.test_show import on_a_terminal
from tests.report.rendered import rendered
from tests.site_project import NOW, plain_run, stored
from tracegen.cli.main import main
from tracegen.contract.model import Run, Version
from tracegen.publishing import privacy, versions
from tracegen.report.document.page import Report
from tracegen.report.pages.issue import PATH

TABLES = scaled_case(3, 2, moe=True)
DEMO = with_groups(plain_run(), model=replace(a_moe_run().facts.model, file="/srv/x/moe.gguf"))


pytestmark = pytest.mark.usefixtures("here")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["show", *words]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["show", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def published(run: Run, *, without: str = "") -> Report:
    """Publish the run as `demo@v1`, without one of its files."""
    public = privacy.public_run(run, privacy.this_machine())
    version = Version("demo", 1, run.created, "why", (run.number,), run.verdict, "title")
    report = rendered(privacy.public_tables(run, TABLES), public, version)
    files = {name: content for name, content in report.files.items() if name != without}
    Path("experiments/demo").mkdir(parents=True)
    versions.publish(Path("experiments/demo"), public, lambda planned: replace(report, files=files), "why", NOW)
    return report


# A run


def test_a_run_prints_what_its_page_offers(capsys: pytest.CaptureFixture[str]) -> None:
    stored(Path("experiments"), DEMO, TABLES)
    draft = rendered(TABLES, privacy.public_run(DEMO, privacy.this_machine()))
    text = printed(capsys, "demo", "--issue")
    assert text == draft.files[PATH].decode() and text.endswith("recorded by 0.1.0\n")
    assert printed(capsys, "--issue", "demo/run-001") == text
    assert on_a_terminal(Path.cwd(), "show", "demo", "--issue", columns=80).replace("\r\n", "\n") == text


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    stored(Path("experiments"), DEMO, TABLES)
    for words, message in {
        "demo --issue --json": "'--issue' is not allowed with '--json'",
        "demo --issue --ops": "not allowed with '--ops'",
        "demo --issue ops": "--issue: is not allowed with a QUESTION",
        "demo --issue --limit 3": "--limit: is allowed only with --ops",
        "nothing --issue": "nothing: there is no such run",
        "demo@v9 --issue": "demo@v9: there is no such version",
    }.items():
        assert message in refused(capsys, *words.split()), words


def test_an_experiment_that_became_private_later_is_private(capsys: pytest.CaptureFixture[str]) -> None:
    stored(Path("experiments"), DEMO, TABLES)
    shown = "A token touches "
    assert shown in printed(capsys, "demo", "--issue")
    Path("experiments/demo/experiment.toml").write_text("private = true\n")
    assert shown not in printed(capsys, "demo", "--issue")
    Path("experiments/demo/experiment.toml").write_text("private = \n")
    assert "experiment.toml: cannot be read, and may ask for privacy" in refused(capsys, "demo", "--issue")


# A version


def test_a_version_prints_what_its_page_offers(capsys: pytest.CaptureFixture[str]) -> None:
    report = published(DEMO)
    before = sorted(Path("experiments").rglob("*"))
    text = printed(capsys, "demo@v1", "--issue")
    assert text == report.files[PATH].decode() == printed(capsys, "experiments/demo/versions/1", "--issue")
    assert sorted(Path("experiments").rglob("*")) == before, "nothing is left behind"
    assert text.splitlines()[-1] == "`demo@v1`; tracegen 0.2.0, recorded by 0.1.0"


def test_a_withdrawn_version_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    published(DEMO)
    shutil.copytree("experiments/demo/versions/1", "elsewhere/versions/1")
    versions.withdraw(Path("experiments/demo"), 1, "measured | on @battery #1", None, NOW)
    lines = printed(capsys, "demo@v1", "--issue").splitlines()
    assert lines[-1].endswith(". **This version is withdrawn**: measured \\| on @\u2060battery #\u20601")
    assert "withdrawn" not in printed(capsys, "elsewhere/versions/1", "--issue")  # an archived copy: nobody knows


def test_a_version_without_the_lines_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    published(DEMO, without=PATH)
    assert "data/issue.md: is missing" in refused(capsys, "demo@v1", "--issue")


@pytest.mark.parametrize("name", [PATH, "version.json"])
def test_a_version_that_was_changed_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    published(DEMO)
    path = Path("experiments/demo/versions/1") / name
    path.write_text(path.read_text().replace("tracegen", "Tracegen"))
    assert "has changed since it was published" in refused(capsys, "demo@v1", "--issue")
    path.unlink()
    assert str(path) in refused(capsys, str(path.parents[name.count("/")]), "--issue") or name == "version.json"
