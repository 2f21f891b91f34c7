"""A new setting is declared once: all that reads settings knows it, in a process in which two more are declared."""

import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
BEFORE = "    flash_attention: "
DECLARED = """
    keep: int = llama("How many tokens of the prompt stay.", "8", s.whole(0), default=0, flag="--keep")
    persona: str = llama("How it answers.", '"Be brief."', s.TEXT, default="", flag="-sys", private=True)
"""
PERSONA = "Answer like a lighthouse keeper."


def declare() -> None:
    """Load the module that declares settings with two more."""
    spec = find_spec("tracegen.contract.experiment")
    assert spec and spec.origin
    source = Path(spec.origin).read_text(encoding="utf-8")
    assert source.count(BEFORE) == 1
    module = sys.modules[spec.name] = ModuleType(spec.name)
    exec(source.replace(BEFORE, DECLARED + BEFORE), vars(module))


def test_a_new_setting_is_declared_in_one_place() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.contract.test_new_setting"], cwd=ROOT, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


def check_all() -> None:
    """Look for the new settings wherever settings are read."""
    from tests.builders import a_run, scaled_case
    from tests.builders.runs import with_groups
    from tests.comparing.made import side, slot, timed
    from tracegen.cli import docs
    from tracegen.comparing.answer import answer
    from tracegen.comparing.comparison import compare
    from tracegen.comparing.reproduced import dropped_settings, experiment_of
    from tracegen.contract.errors import SettingsError
    from tracegen.contract.facts import Facts
    from tracegen.contract.matrix import matrix_from
    from tracegen.contract.records import decode
    from tracegen.contract.settings import experiment_from
    from tracegen.measure.capture.plan import command_for, settings_of
    from tracegen.publishing.privacy import public_run
    from tracegen.report.document.assets import Assets
    from tracegen.report.figures.context import Context
    from tracegen.report.pages.method import method

    least = {"question": "?", "model": "demo", "prompt": "p", "tokens": 1}
    settings = {**least, "keep": 8, "persona": PERSONA}
    experiment = experiment_from("a", settings, ROOT)

    documented = docs.pages()["settings.md"].partition("## How llama.cpp is called")[2].partition("\n## ")[0]
    for line in ("### keep", "How many tokens of the prompt stay.", "| default | `0` |", "| example | `keep = 8` |"):
        assert line in documented.splitlines(), line

    for wrong, why in (
        ({"keep": -1}, "keep: is -1; must be a whole number from 0 to"),
        ({"kep": 1}, "did you mean `keep`?"),
        ({"flags": ["--keep", "4"]}, "'--keep' is not allowed: the key `keep` sets it"),
    ):
        try:
            experiment_from("a", {**least, **wrong}, ROOT)
        except SettingsError as error:
            assert why in str(error), error
        else:
            raise AssertionError(wrong)

    matrix = matrix_from("a", {**least, "matrix": {"keep": [0, 8]}}, ROOT)
    assert [cell.name for cell in matrix.cells] == ["keep=0", "keep=8"]

    command = command_for(experiment, Path("llama-completion"), Path("m.gguf"))
    assert command[command.index("--keep") + 1] == "8" and command[command.index("-sys") + 1] == PERSONA
    assert "-sys" not in command_for(replace(experiment, persona=""), Path("llama-completion"), Path("m.gguf"))

    recorded = settings_of(experiment)
    assert (recorded["keep"], recorded["persona"]) == (8, PERSONA)
    facts = decode(Facts, {"settings": dict(recorded), "command": list(command)})
    assert experiment_of("a@v1", facts, "demo") == replace(experiment, name="a-v1")
    assert not dropped_settings(facts)

    a, b = (side(name, [[timed(9.0)]], settings={**recorded, "keep": keep}) for name, keep in (("a", 4), ("b", 8)))
    assert answer(compare(a, b)).startswith("One setting differs: keep is 4 in A and 8 in B.")

    run = a_run(settings=recorded, command=command, slot=slot(1, keep="8", persona=PERSONA[:6]))
    for private in (False, True):
        public = public_run(with_groups(run, settings={**recorded, "private": private}))
        (group,) = (g for g in method(Context(public, scaled_case(1, 1)), Assets())["groups"] if g.key == "settings")
        shown = {fact.name: fact.text for fact in group.facts}
        assert (shown["keep"], shown["persona"]) == ("8", "(private)" if private else PERSONA)
        assert (PERSONA[:6] in str(public)) is not private


if __name__ == "__main__":
    declare()
    check_all()
