"""Texts of an experiment that a site shows beside its versions have the public form of a run: no file has a secret."""

from functools import partial
from pathlib import Path

import pytest

from tests.stand_in import NOW, a_project, a_run, a_run_folder, drawn, render
from tracegen.cli.commands.build import build_site
from tracegen.contract.withheld import WITHHELD
from tracegen.publishing import privacy, versions
from tracegen.site import gather

URL = "https://ada:canary@host.example/x?token=canary"
TAG = "sk-canary0canary0canary0"
SAID = f"Why does {URL} take /home/ada/canary/m.gguf on countess?"
SHOWN = f"Why does https://{WITHHELD}@host.example/x?token={WITHHELD} take m.gguf on (removed)?"
PROMPT = "the canary of the prompt"


def _experiment(experiments: Path, name: str, *lines: str) -> Path:
    folder = experiments / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "experiment.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def _said(question: str) -> str:
    return f'question = "{question}"'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(privacy, "this_machine", lambda: ("countess",))
    monkeypatch.setattr(gather, "gather", partial(gather.gather, render=render))
    config = a_project(tmp_path)
    experiments = tmp_path / "experiments"
    _experiment(experiments, "waiting", _said(SAID), f'tags = ["{TAG}"]')
    folder = _experiment(experiments, "sample", _said(SAID), f'tags = ["{TAG}"]')
    public = privacy.public_run(a_run("sample", 1, question=SAID))
    for again in (False, True):
        versions.publish(folder, public, lambda planned: drawn(planned), SAID, NOW, again=again)
    versions.withdraw(folder, 1, SAID, None, NOW)
    a_run_folder(experiments, a_run("sample", 2, question=SAID))
    a_run_folder(experiments, a_run("untold", 1, question=SAID))
    _experiment(experiments, "private", _said(f"What of {PROMPT}?"), f'prompt = "{PROMPT}"', "private = true")
    (
        _experiment(experiments, "file", _said(f"What of {PROMPT}?"), 'prompt_file = "p.txt"', "private = true")
        / "p.txt"
    ).write_text(PROMPT, encoding="utf-8")
    return config


def test_no_file_of_a_site_holds_the_secret_of_a_question_a_tag_or_a_message(project: Path) -> None:
    built = build_site(project, strict=True).parent
    contents = {path.relative_to(built): path.read_bytes() for path in built.rglob("*") if path.is_file()}
    held = [str(name) for name, content in contents.items() if b"canary" in content]
    assert not held
    texts = {str(name): content.decode(errors="replace") for name, content in contents.items()}
    lists = ("index.html", "experiments/index.html", "experiments/sample/index.html", "experiments/untold/index.html")
    for name in (*lists, "search/search_index.json", "search/search_index.js"):
        assert SHOWN in texts[name], name
    assert "What of (private)?" in texts["experiments/private/index.html"]
    assert "What of (private)?" in texts["experiments/file/index.html"]


def test_what_is_said_of_a_version_is_stored_in_its_public_form(project: Path) -> None:
    stored = [path for path in (project.parent / "experiments" / "sample").rglob("*.json") if "runs" not in path.parts]
    assert {"status.json", "ledger.json", "version.json"} <= {path.name for path in stored}
    assert not [path.name for path in stored if b"canary" in path.read_bytes()]
