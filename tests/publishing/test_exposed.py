"""A version that was published with a secret says so: at every build, and when it is withdrawn."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from tests.stand_in import a_report, a_version
from tracegen.cli.main import main
from tracegen.publishing.bundle import read_bundle
from tracegen.publishing.exposed import exposed
from tracegen.publishing.versions import read_published
from tracegen.report.document.page import Page, Report
from tracegen.site.plugin import _warn_of_secrets


def _with_method(body: str) -> Report:
    """A report whose page of the method has this in it."""
    report = a_report()
    others = (page for page in report.pages if page.key != "method")
    return replace(report, pages=(*others, Page("method", "Method", "", body)))


def _page(command: str, **variables: str) -> str:
    facts = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in variables.items())
    line = f'<section id="command"><h2>Command</h2><pre class="tg">{command}</pre></section>'
    return f'{line}<section id="environment" class="tg-group"><dl>{facts}</dl></section>'


LEAKING = _page("llama-server -m m.gguf --api-key &#x27;a b&#x27;", LLAMA_API_KEY="abc", OMP_NUM_THREADS="2")
CLEAN = _page("llama-server -m m.gguf --api-key &#x27;(withheld)&#x27;", GGML_X="(withheld)", OMP_NUM_THREADS="2")


@pytest.mark.parametrize(
    ("page", "names"),
    [
        (LEAKING, ["LLAMA_API_KEY", "--api-key"]),
        (CLEAN, []),
        ("", []),
        (_page("x https://a:b@c/"), ["an argument of the command line"]),
        (_page("", OMP_PLACES="https://a:b@c/"), ["a text that looks like a token or a URL with a password"]),
    ],
)
def test_what_a_version_exposes(tmp_path: Path, page: str, names: list[str]) -> None:
    version = a_version(tmp_path, report=_with_method(page))
    assert version.folder and exposed(read_bundle(version.folder)) == names


def test_a_message_that_holds_a_password_is_exposed(tmp_path: Path) -> None:
    version = a_version(tmp_path, report=_with_method(CLEAN))
    bundle = read_bundle(version.folder)  # type: ignore[arg-type]
    said = replace(bundle, document={**bundle.document, "message": "see https://a:b@c/"})
    assert not exposed(bundle) and exposed(said) == ["a text that looks like a token or a URL with a password"]


def test_a_build_says_so_loudly(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    a_version(tmp_path, report=_with_method(LEAKING))
    a_version(tmp_path, number=2, report=_with_method(CLEAN))
    with caplog.at_level(logging.INFO):
        for published in read_published(tmp_path / "sample", None):
            _warn_of_secrets(published)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "SECRETS: sample@v1 shows what looks like secrets: LLAMA_API_KEY, --api-key." in caplog.text


def test_withdrawing_explains_that_history_keeps_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    a_version(tmp_path / "experiments", report=_with_method(LEAKING))
    assert main(["publish", "sample", "--withdraw", "1", "-m", "It shows a key"]) == 0
    said = capsys.readouterr().out
    assert "sample@v1 holds what looks like secrets: LLAMA_API_KEY, --api-key." in said
    assert "A commit stays in git's history" in said and "revoke that secret first" in said
    assert "--path experiments/sample/versions/1)" in said
    with caplog.at_level(logging.INFO):
        _warn_of_secrets(read_published(tmp_path / "experiments" / "sample", None)[0])
    assert [record.levelname for record in caplog.records] == ["INFO"]
