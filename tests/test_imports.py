"""Imports go down only: the house of DESIGN.md, held by walking the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "generator" / "tracegen"

# From the ground up; a module imports from its own floor or from one below.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("model", "naming", "ggml_types", "errata"),
    ("tables",),
    ("resources", "progress", "store", "held_tokens", "hashes"),
    ("demo_weights",),
    ("demo_models",),
    ("settings", "readers", "capture"),
    ("analysis", "charts", "graph_svg"),
    ("evidence",),
    ("verdict_times",),
    ("verdict",),
    ("pages", "export", "bundle", "privacy", "loaded", "notebook", "run_facts"),
    ("recording",),
    ("measure", "observe", "series"),
    ("publish",),
    ("site_files", "site_search", "vega", "journal", "drafts", "reference"),
    ("site",),
    ("plugin", "commands"),
    ("demo", "cli"),
    ("__main__",),
)
FLOOR_OF = {name: number for number, names in enumerate(FLOORS) for name in names}
# Rooms that must not know each other, whatever their floors.
ALONE = {"analysis": {"readers", "capture", "store"}, "charts": {"readers", "capture", "store"}}


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py" or path.parent != PACKAGE)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """Rooms of tracegen imported at the top of a module, type-checking aside."""
    rooms = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tracegen":
            parts = node.module.split(".")
            rooms |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return rooms


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_go_down(path: Path) -> None:
    room = room_of(path)
    assert room in FLOOR_OF, f"{room}: give it a floor"
    for other in imported_rooms(path) - {room}:
        assert FLOOR_OF[other] <= FLOOR_OF[room], f"{room} imports {other}, which is above it"
        assert other not in ALONE.get(room, set()), f"{room} must not know {other}"


def test_the_renderer_knows_nothing_of_mkdocs() -> None:
    for room in ("pages", "charts", "analysis"):
        for path in (PACKAGE / room).glob("*.py"):
            assert "mkdocs" not in path.read_text(encoding="utf-8"), path
