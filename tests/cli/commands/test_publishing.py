"""`tracegen publish` and `tracegen serve`: what they print, and what they refuse."""

import json
import socket
import types
from dataclasses import replace
from pathlib import Path

import pytest

from tests.stand_in import a_project, a_run, a_run_folder
from tracegen.cli.commands import publish, serve
from tracegen.contract.errors import EnvironmentFailure, SettingsError, StoreError
from tracegen.contract.model import Check
from tracegen.publishing import versions as publishing
from tracegen.storing.hashes import HashCache

pytestmark = pytest.mark.usefixtures("stand_in_renderer")


def command(module: types.ModuleType, *words: str) -> int:
    result: int = module.command.main(list(words), standalone_mode=False)
    return result


def test_publish_lists_what_becomes_public_and_prints_the_citation(capsys: pytest.CaptureFixture[str]) -> None:
    a_run_folder(Path("experiments"), a_run(number=1))
    a_run_folder(Path("experiments"), a_run(number=2, prompt="esc \x1b[31m red"))
    assert command(publish, "sample", "-m", "first") == 0
    printed = capsys.readouterr().out
    assert "run 002 of sample" in printed and "prompt: esc �[31m red" in printed and "\x1b" not in printed
    assert "sample@v1  " in printed
    assert command(publish, "sample", "run-001", "-m", "second") == 0
    newest, _ = publishing.read_published(Path("experiments/sample"), HashCache(Path("none")))
    assert (newest.version.runs, newest.version.message) == ((1,), "second")


def test_a_run_that_is_not_usable_is_published_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    failed = (Check("drops", "Dropped", "failed", "3", "0"),)
    a_run_folder(Path("experiments"), replace(a_run(), checks=failed))
    command(publish, "sample", "-m", "kept as evidence")
    assert "verdict: not usable" in capsys.readouterr().out


def test_checks_that_did_not_pass_are_named_before_what_becomes_public(capsys: pytest.CaptureFixture[str]) -> None:
    checks = (
        Check("whole", "Whole", "passed", "all", "all"),
        Check("drops", "Dropped\nevents", "warning", "3 of 9\x1b[31m", "0"),
        Check("cost", "Cost", "warning", "12 %", ""),
        Check("delay", "Delay", "not checked", "nothing", "1 %"),
    )
    a_run_folder(Path("experiments"), replace(a_run(), checks=checks))
    command(publish, "sample", "-m", "with warnings")
    before = capsys.readouterr().out.partition("This became public:\n")[0]
    assert before == "warning: Dropped�events: 3 of 9�[31m (limit: 0)\nwarning: Cost: 12 %\n"


def test_whom_a_citation_names_is_said_before_it_is_frozen(capsys: pytest.CaptureFixture[str]) -> None:
    a_run_folder(Path("experiments"), a_run())
    command(publish, "sample", "-m", "first")
    lacks = "a citation, with neither author nor address nor licence; not stated: site_author, site_url, extra: licence"
    assert lacks in capsys.readouterr().out
    Path("mkdocs.yml").write_text("site_author: Ada\nsite_url: https://e/x\nextra: {licence: CC-BY-4.0}\n")
    command(publish, "sample", "-m", "second", "--again")
    assert "  a citation, with author Ada, licence CC-BY-4.0, address https://e/x\n" in capsys.readouterr().out
    version = Path("experiments/sample/versions/2")
    assert json.loads((version / "citation.json").read_text())[0]["license"] == "CC-BY-4.0"
    Path("mkdocs.yml").write_text("extra: {licence: as you like}\n")
    with pytest.raises(SettingsError, match="not an SPDX identifier"):
        command(publish, "sample", "-m", "third", "--again")


@pytest.mark.parametrize("named", ["sample/run-001", "experiments/sample/runs/001", "experiments/sample/runs/001/"])
def test_a_run_is_named_as_the_pages_and_the_commands_name_it(named: str) -> None:
    for number in (1, 2):
        a_run_folder(Path("experiments"), a_run(number=number))
    command(publish, named, "-m", "the first")
    (bundle,) = publishing.read_published(Path("experiments/sample"), HashCache(Path("none")))
    assert bundle.version.runs == (1,)


def test_a_version_is_withdrawn_once_and_again_with_another_reason(capsys: pytest.CaptureFixture[str]) -> None:
    a_run_folder(Path("experiments"), a_run())
    command(publish, "sample", "-m", "first")
    command(publish, "sample", "--withdraw", "v1", "-m", "wrong")
    (bundle,) = publishing.read_published(Path("experiments/sample"), HashCache(Path("none")))
    assert (bundle.version.status, bundle.reason) == ("withdrawn", "wrong")
    with pytest.raises(SettingsError, match=r"withdrawn already .*: wrong; "):
        command(publish, "sample", "--withdraw", "v1", "-m", "wrong model")
    command(publish, "sample", "--withdraw", "v1", "-m", "wrong model", "--again")
    (bundle,) = publishing.read_published(Path("experiments/sample"), HashCache(Path("none")))
    assert bundle.reason == "wrong model"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing", "-m", "x"), "no such experiment"),
        (("empty", "-m", "x"), "has no run yet; `tracegen run` or `tracegen exec`"),
        (("sample", "1", "2", "-m", "x"), "is made of one run"),
        (("sample/run-001", "2", "-m", "x"), "2 runs were named"),
        (("sample/run-001", "--withdraw", "1", "-m", "x"), "takes a version and no runs"),
        (("sample", "9", "-m", "x"), "has no run '9'; its runs are 001"),
        (("sample", "-m", " "), "the message is empty"),
        (("sample", "--successor", "1", "-m", "x"), "only with --withdraw"),
        (("sample", "--withdraw", "1", "-m", "x"), "never published"),
    ],
)
def test_refusals(words: tuple[str, ...], message: str) -> None:
    a_run_folder(Path("experiments"), a_run())
    Path("experiments/empty").mkdir()
    with pytest.raises(SettingsError, match=message):
        command(publish, *words)
    assert not (Path("experiments") / "sample" / "versions").exists()


def test_a_damaged_run_is_not_published() -> None:
    folder = a_run_folder(Path("experiments"), a_run())
    (folder / "tables" / "ops.parquet").write_bytes(b"changed")
    with pytest.raises(StoreError, match=r"ops\.parquet: has changed"):
        command(publish, "sample", "-m", "x")


@pytest.mark.parametrize("address", ["8000", "host:", ":80", "host:port", "host:70000", "host:²", f"host:{'9' * 6000}"])
def test_serve_refuses_addresses(address: str) -> None:
    with pytest.raises(SettingsError, match="write HOST:PORT"):
        command(serve, "-a", address)


def test_serve_says_when_it_cannot_listen() -> None:
    config = a_project(Path("project"))
    with pytest.raises(EnvironmentFailure, match="cannot listen there"):
        command(serve, "-f", str(config), "-a", "203.0.113.1:8000")


def test_serve_says_so_before_it_builds_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    config = a_project(Path("project"))
    monkeypatch.setattr("mkdocs.commands.serve.serve", lambda **_: pytest.fail("the site was built"))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(EnvironmentFailure, match="Address already in use; choose another --address"):
            command(serve, "-f", str(config), "-a", f"127.0.0.1:{other.getsockname()[1]}")


@pytest.mark.parametrize(
    "address, said", [("0.0.0.0:0", True), ("[::]:0", True), ("127.0.0.1:0", False), ("localhost:0", False)]
)
def test_serve_warns_when_others_can_read_drafts(
    address: str, said: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = a_project(Path("project"))
    monkeypatch.setattr("mkdocs.commands.serve.serve", lambda **_: None)
    monkeypatch.setattr("socket.socket.bind", lambda *_: None)  # not every machine has IPv6
    assert command(serve, "-f", str(config), "-a", address) == 0
    warning = f"tracegen: {address}: whoever reaches this machine over the network can read drafts\n"
    assert capsys.readouterr().err == (warning if said else "")
