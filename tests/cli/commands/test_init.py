"""`tracegen init`, and the site of a folder without `tracegen init`."""

import re
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

from tests.builders import scaled_case
from tests.site_project import plain_run, stored
from tests.small_disk import fill, needs_root, small_disk
from tracegen.cli.commands import init
from tracegen.cli.main import main
from tracegen.contract.settings import read_experiment
from tracegen.publishing.citation import site_facts

SAID = "no mkdocs.yml here: the site is built with tracegen's default settings; `tracegen init` writes them\n"


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_project_is_written_and_its_site_is_clean(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = 'Reads: "cold" – 1'
    assert main(["init", name]) == 0
    output = capsys.readouterr().out
    assert "tracegen run first-look" in output and f"cd '{name}'" in output
    files = files_of(here / name)
    assert [line.split(": ")[0] + ":" for line in output.splitlines() if line.startswith("wrote")]
    message = {
        line.removeprefix(f"wrote {name}/").partition(": ")[0] for line in output.splitlines() if "wrote" in line
    }
    assert message == set(files)
    assert yaml.safe_load((here / name / "mkdocs.yml").read_text(encoding="utf-8"))["site_name"] == name
    monkeypatch.chdir(here / name)
    assert main(["build", "--strict"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "" and Path(captured.out.strip()).is_file() and not Path(".tracegen/mkdocs.yml").exists()
    front = Path("site/index.html").read_text(encoding="utf-8")
    assert 'href="experiments/index.html"' in front and 'href="reference/index.html"' in front
    entry = next(Path("site").glob("*first-entry*")).read_text(encoding="utf-8")
    assert "[[first-look@v1]]" in entry and "{{ first-look@v1:weight_bytes_per_token }}" in entry


def test_citations_name_who_is_given_or_asked_for(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--author", "Ada: L.", "--url", "https://e/x", "--licence", "CC-BY-4.0"]
    assert main(["init", "given", *given]) == 0
    expected = {"author": "Ada: L.", "url": "https://e/x/experiments/a/v1/index.html", "licence": "CC-BY-4.0"}
    assert site_facts(here / "given" / "mkdocs.yml", "experiments/a/v1") == expected
    answers = iter(["Ada: L.", "not yet", "", "free to use", "CC-BY-4.0"])  # what is wrong is asked for again
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: next(answers))
    assert main(["init", "asked"]) == 0
    del expected["url"]
    assert site_facts(here / "asked" / "mkdocs.yml", "experiments/a/v1") == expected
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False)
    wrongs = ["--licence", "free to use"], ["--url", "ftp://x"], ["--url", "https://[x"], ["--author", "a\x7fb"]
    for wrong in (*wrongs, ["--author", "\udcff"]):
        assert main(["init", "wrong", *wrong]) == 2 and wrong[0] in capsys.readouterr().err
    assert not (here / "wrong").exists()


def test_a_file_is_no_project(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("README.md").write_text("mine", encoding="utf-8")
    assert main(["init", "README.md"]) == 2
    assert "README.md: is a file" in capsys.readouterr().err
    assert files_of(here) == {"README.md": b"mine"}


def test_what_is_written_works_with_what_is_here(here: Path) -> None:
    assert main(["init"]) == 0
    experiment = read_experiment(here / "experiments/first-look/experiment.toml")
    assert (experiment.name, experiment.model) == ("first-look", "smollm2")
    recipe = yaml.safe_load((here / ".github/workflows/site.yml").read_text())
    runs = [step["run"] for step in recipe["jobs"]["site"]["steps"] if "run" in step]
    assert runs[-1].split()[0] == "tracegen" and main(runs[-1].split()[1:]) == 0
    assert not re.search(r"VERSION|DATE", "".join(map(bytes.decode, files_of(here / "journal").values())))
    subprocess.run(["git", "init", "-q"], check=True)
    stored(here / "experiments", plain_run("first-look"), scaled_case(1, 1))
    status = subprocess.run(["git", "status", "--short", "-uall"], capture_output=True, text=True, check=True).stdout
    assert not re.search("/runs/|site/|.tracegen", status) and "experiment.toml" in status


@pytest.mark.parametrize("taken", ["mkdocs.yml", ".gitignore", "experiments/first-look/experiment.toml"])
def test_nothing_is_written_over(here: Path, taken: str, capsys: pytest.CaptureFixture[str]) -> None:
    (here / taken).parent.mkdir(parents=True, exist_ok=True)
    (here / taken).write_text("mine")
    before = files_of(here)
    assert main(["init"]) == 2
    assert f"has {taken} already, so nothing was written" in capsys.readouterr().err
    assert files_of(here) == before


def test_what_another_init_wrote_meanwhile_is_not_written_over(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def cited(named: dict[str, str | None]) -> dict[str, str]:
        (here / ".gitignore").write_text("mine")
        return {}

    monkeypatch.setattr(init, "_cited", cited)
    assert main(["init"]) == 2
    assert "has .gitignore already, so nothing was written" in capsys.readouterr().err
    assert files_of(here) == {".gitignore": b"mine"}


def test_a_link_that_leads_nowhere_is_taken_too(here: Path) -> None:
    (here / "mkdocs.yml").symlink_to(here / "elsewhere.yml")
    assert main(["init"]) == 2
    assert not (here / "elsewhere.yml").exists()


def test_what_cannot_be_written_whole_is_taken_back(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / ".github").write_text("a file where a folder must be")
    before = files_of(here)
    assert main(["init"]) == 3
    assert ".github" in capsys.readouterr().err and files_of(here) == before


def test_the_site_of_runs_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The state after `pip install` and `tracegen run` in an empty folder."""
    stored(here / "experiments", plain_run("quick"), scaled_case(1, 1))
    assert main(["build", "--strict"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith(SAID) and captured.out == f"{here / 'site' / 'index.html'}\n"
    assert "draw the pages of 1 draft, in 1 process" in captured.err and "wait for the drafts: " in captured.err
    assert "experiments/index.html" in (here / "site/index.html").read_text()
    assert (here / "site/experiments/quick/run-001/index.html").is_file()
    assert {p.name for p in here.iterdir()} == {"experiments", "site", ".tracegen"}
    before = files_of(here / "site")
    assert main(["build", "--strict"]) == 0
    assert "draft" not in capsys.readouterr().err and files_of(here / "site").keys() == before.keys()


def test_a_journal_without_settings_is_the_front_page(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "journal").mkdir()
    (here / "journal/index.md").write_text("# My own words\n")
    assert main(["build", "--strict"]) == 0
    assert capsys.readouterr().err == SAID and "My own words" in (here / "site/index.html").read_text()


def test_a_site_without_a_front_page_begins_with_the_experiments(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init"]) == 0
    (here / "journal/index.md").unlink()
    capsys.readouterr()
    assert main(["build"]) == 0
    front = Path(capsys.readouterr().out.strip())
    assert front == here / "site" / "experiments" / "index.html" and front.is_file()


@pytest.mark.parametrize("arguments", [["build"], ["serve"], ["build", "-f", "mkdocs.yml"]])
def test_nothing_is_built_of_nothing(here: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    if "-f" in arguments:  # what was named is not replaced by something else
        (here / "experiments").mkdir()
    assert main(arguments) == 2
    assert "mkdocs.yml: is missing; go to the folder of mkdocs.yml" in capsys.readouterr().err
    assert not (here / ".tracegen").exists()


def test_runs_alone_are_served(here: Path) -> None:
    stored(here / "experiments", plain_run("quick"), scaled_case(1, 1))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-u", "-m", "tracegen", "serve", "-a", f"127.0.0.1:{port}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as served:
        try:
            assert served.stderr is not None and served.stderr.readline() == SAID
            address = next(line.split()[-1] for line in served.stderr if "Serving on" in line)
            with urlopen(f"{address}experiments/quick/run-001/index.html", timeout=20) as answer:
                assert answer.status == 200
        finally:
            served.terminate()
            served.stderr.read()
    assert served.returncode == 143


@needs_root
def test_a_full_disk_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with small_disk(tmp_path, "size=64k"):
        fill(tmp_path)
        assert main(["init", str(tmp_path)]) == 3
        said = capsys.readouterr().err
        assert re.fullmatch(rf"tracegen: {tmp_path}/\S+: (cannot be written: )?No space left on device\n", said)
        assert not (tmp_path / "mkdocs.yml").exists()
