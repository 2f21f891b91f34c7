"""docs/commands.md and docs/settings.md agree with the code."""

import re
import tomllib
from pathlib import Path

import click
import pytest

from tests.cli.test_cli import command_of, with_verbs_below
from tracegen.cli import docs
from tracegen.cli.commands import VERBS
from tracegen.contract.experiment import LIMITS, SETTINGS
from tracegen.contract.matrix import OWN, matrix_from
from tracegen.contract.settings import experiment_from

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["commands.md", "settings.md"])
def test_a_page_is_what_the_code_says(name: str) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert page == docs.pages()[name], "run: python -m tracegen.cli.docs"


def test_every_command_and_option_has_its_place() -> None:
    page = docs.pages()["commands.md"]
    sections = dict(re.findall(r"^##+ (tracegen [^\n]+)\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL))
    for verb in VERBS:
        whole = command_of(verb)
        for command in with_verbs_below(whole):
            text = sections[f"tracegen {verb}" if command is whole else f"tracegen {verb} {command.name}"]
            for param in command.params:
                if isinstance(param, click.Option) and not param.hidden:
                    for name in param.opts:
                        assert re.search(rf"^\|.*`{name}[ `]", text, re.MULTILINE), (verb, name)


def test_every_setting_has_its_place() -> None:
    headings = re.findall(r"^### (.+)$", docs.pages()["settings.md"], re.MULTILINE)
    assert sorted(headings) == sorted([*SETTINGS, *OWN])


@pytest.mark.parametrize("key", SETTINGS)
def test_an_example_is_allowed_and_a_meaning_is_a_sentence(key: str, tmp_path: Path) -> None:
    setting = SETTINGS[key]
    written = tomllib.loads(f"{key} = {setting.example}")
    assert setting.holds(written[key])
    assert setting.meaning[0].isupper() and setting.meaning.endswith(".")
    (tmp_path / "prompt.txt").write_text("p")
    least: dict[str, object] = {"question": "?", "model": "demo", "tokens": 1}
    least |= {} if key == "prompt_file" else {"prompt": "p"}
    least |= {"page_cache": "cold"} if key == "memory_limit_gb" else {}
    experiment = experiment_from("a", least | ({"limits": written} if key in LIMITS else written), tmp_path)
    given = {"model": str(tmp_path / "../../models/model.gguf"), "prompt_file": None}.get(key, written[key])
    assert getattr(experiment, key, None) == (tuple(given) if isinstance(given, list) else given)
    assert experiment.prompt == written.get("prompt", "p")


def test_defaults_are_those_of_an_experiment() -> None:
    for key, setting in SETTINGS.items():
        output = docs.default_of(key)
        if output == "none":
            assert setting.default in (None, ())
        elif not output.startswith("none: "):
            assert tomllib.loads(f"x = {output.strip('`')}") == {"x": setting.default}
            assert setting.holds(setting.default) or key == "asks"


def test_the_least_experiment_of_the_page_is_one(tmp_path: Path) -> None:
    least, matrix = blocks("toml", docs.pages()["settings.md"])
    assert experiment_from("a", tomllib.loads(least), tmp_path).tokens == 16
    assert len(matrix_from("a", tomllib.loads(matrix), tmp_path).plan_after(())) == 20


def test_the_experiment_of_the_readme_is_one(tmp_path: Path) -> None:
    (of_readme,) = blocks("toml", (ROOT / "README.md").read_text(encoding="utf-8"))
    experiment = experiment_from("a", tomllib.loads(of_readme), tmp_path)
    assert experiment.model == "smollm2" and experiment.chat and experiment.memory_limit_gb


def test_the_lines_for_a_notebook_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line of the page, on the version that it names: an expression gives something to show."""
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for block in blocks("python", (ROOT / "docs/notebook.md").read_text(encoding="utf-8")):
        for line in block.splitlines():
            code = line.partition("#")[0].strip()
            if code.startswith(("import ", "sample = ")):
                exec(code, names)
            elif code:
                assert eval(code, names) is not None, line


def blocks(language: str, page: str) -> list[str]:
    """The blocks of code of a page."""
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


@pytest.mark.parametrize("key", OWN)
def test_an_example_of_a_matrix_is_allowed(key: str) -> None:
    section = docs.pages()["settings.md"].partition("## Matrix")[2].partition(f"### {key}\n")[2].partition("\n###")[0]
    example = re.search(r"^\| example \| `(.*)` \|$", section, re.MULTILINE)
    assert example and OWN[key].holds(tomllib.loads(example[1])[key])
