"""Imports go down only: the floors that ARCHITECTURE.md prints, checked by walking the source."""

import ast
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.builders import a_run, scaled_case
from tests.site_project import stored

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "generator" / "tracegen"
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
OUTSIDE_THE_ROOMS = {"__init__", "__main__"}

# From the ground up; a module imports from its own floor or from one below.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("contract",),
    ("storing",),
    ("readers",),
    ("analysis", "charts"),
    ("measure",),
    ("foreign",),
    ("report",),
    ("publishing",),
    ("export",),
    ("reading",),
    ("comparing",),
    ("site",),
    ("cli", "__main__"),
)
FLOOR_OF = {name: number for number, names in enumerate(FLOORS) for name in names}
# Rooms that must not know each other, whatever their floors.
PUBLISHING = ("report", "publishing", "export", "reading", "comparing", "site")  # shares only files with `measure`
ALONE = {
    "analysis": {"readers", "storing"},
    "charts": {"readers", "storing"},
    **{room: {"measure"} for room in PUBLISHING},
}


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py" or path.parent != PACKAGE)


def room_of(name: str) -> str:
    """The room of a module, which is named without `tracegen.`."""
    return name.partition(".")[0]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def imported(path: Path) -> set[str]:
    """What a module imports of tracegen, also inside functions and for type checkers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tracegen":
            inside = node.module.removeprefix("tracegen").lstrip(".")
            names |= {f"{inside}.{alias.name}".lstrip(".") for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {a.name.removeprefix("tracegen.") for a in node.names if a.name.startswith("tracegen.")}
    return names


def circle(arrows: Mapping[str, set[str]]) -> list[str]:
    """Names that lead to one another along the arrows; empty if none do."""
    try:
        list(TopologicalSorter(arrows).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


def test_imports_go_down_and_in_no_circle() -> None:
    """From its own floor or from one below; neither rooms nor modules import one another in a circle."""
    wrong, rooms, files = [], defaultdict[str, set[str]](set), dict[str, set[str]]()
    names = {name_of(path) for path in modules()}
    for path in modules():
        name, found = name_of(path), imported(path)
        room = room_of(name)
        assert room in FLOOR_OF, f"{room}: give it a floor"
        below = {room_of(of) for of in found} - {room}
        rooms[room] |= below
        files[name] = {of if of in names else of.rpartition(".")[0] for of in found} - {name}
        wrong += [f"{name} imports {of}, which is above it" for of in below if FLOOR_OF[of] > FLOOR_OF[room]]
        wrong += [f"{name} must not know {of}" for of in below & ALONE.get(room, set())]
    assert not wrong
    assert not circle(rooms)
    assert not circle(files)


def printed_floors() -> str:
    return "\n".join(f"{number:2}  {'  '.join(names)}" for number, names in enumerate(FLOORS))


def test_the_architecture_prints_these_floors() -> None:
    assert f"```\n{printed_floors()}\n```" in ARCHITECTURE.read_text(encoding="utf-8")


def test_the_architecture_names_every_room_and_no_other() -> None:
    rows = re.findall(r"^\| ((?:`[\w/]+` ?)+)\|", ARCHITECTURE.read_text(encoding="utf-8"), re.MULTILINE)
    named = {name.rstrip("/") for row in rows for name in re.findall(r"`([\w/]+)`", row)}
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    native = {path.name for path in (ROOT / "native").iterdir() if path.is_dir() and path.name != "build"}
    assert named == (rooms - OUTSIDE_THE_ROOMS) | native


HEAVY = ("pandas", "numpy", "pyarrow", "altair", "vl_convert", "mkdocs", "jinja2", "gguf", "rich")


@pytest.mark.parametrize(
    ("arguments", "without"),
    [
        (["--help"], HEAVY),
        (["build", "--help"], HEAVY),
        (["show", "nothing"], HEAVY),
        (["show", "demo", "--verify"], HEAVY),
        (["show", "demo"], {"mkdocs", "gguf"}),  # the first time: the findings name their figures
        (["run", "nothing"], HEAVY),
        (["completion", "fish"], HEAVY),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_loads_what_it_needs(arguments: list[str], without: Iterable[str], tmp_path: Path) -> None:
    """In a process of its own: which of the large packages are loaded when it has ended."""
    if "demo" in arguments:
        stored(tmp_path / "experiments", a_run(), scaled_case(1, 1))
    code = (
        "import json, sys\nfrom tracegen.__main__ import main\nstatus = main()\n"
        "print(json.dumps([status, sorted(sys.modules)]))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=tmp_path)
    status, loaded = json.loads(ended.stdout.splitlines()[-1])
    assert status == (2 if "nothing" in arguments else 0), ended.stderr
    assert set(loaded) & set(without) == set()


def test_imports_inside_functions_are_seen(tmp_path: Path) -> None:
    module = tmp_path / "made.py"
    module.write_text(
        "from typing import TYPE_CHECKING\nimport tracegen.contract.model\n"
        "if TYPE_CHECKING:\n    from tracegen.cli import main\n"
        "def f():\n    if True:\n        from tracegen.site import plugin\n    from tracegen import analysis, storing\n"
    )
    assert {room_of(name) for name in imported(module)} == {"analysis", "cli", "contract", "site", "storing"}


def test_a_circle_is_seen() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()})
    assert not circle({"a": {"b", "c"}, "b": {"c"}, "c": set()})


def test_the_renderer_knows_nothing_of_mkdocs() -> None:
    for room in ("report", "charts", "analysis"):
        for path in (PACKAGE / room).rglob("*.py"):
            assert "mkdocs" not in path.read_text(encoding="utf-8"), path
