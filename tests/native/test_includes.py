"""Includes of the tracer go down only: neither its rooms nor the files of a room know one another in a circle."""

import re
from collections import defaultdict
from pathlib import Path

from tests.test_imports import circle

NATIVE = Path(__file__).parents[2] / "native"
# Which rooms a file may include from, beside its own.
BELOW: dict[str, set[str]] = {
    "include": set(),
    "core": {"include"},
    "ggml": {"include", "core"},
    "attach": {"include", "core", "ggml"},
    "vulkan": {"include", "core", "ggml", "attach"},
    "cuda": {"include", "core", "ggml", "attach"},
    "tools": {"include"},
    "tests": {"include", "core", "ggml", "vulkan", "cuda"},
    "bench": {"include", "core"},
}
OF_ROOMS = ("ggml", "attach", "vulkan", "cuda", "tests")  # they may include headers of ggml
OF_GGML = re.compile(r"(ggml|ggml-[a-z-]+|llama)\.h")
FILES = sorted(path for room in BELOW for path in (NATIVE / room).glob("*.[ch]"))
SYSTEM = "tt_system.h"  # linux.c and darwin.c define it
HEADERS = {path.name: path for path in FILES if path.suffix == ".h"}


def text_of(path: Path) -> str:
    """A file without its comments."""
    return re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def module_of(path: Path) -> str:
    """`core/clock` for clock.c and for its header, tt_clock.h."""
    name = re.sub(r"^(tt|attach)_", "", path.stem)
    has_source = path.with_name(f"{name}.c").exists()
    return f"{path.parent.name}/{name if has_source else path.stem}"


def included(path: Path) -> list[str]:
    return re.findall(r'^#include "(.+)"', text_of(path), re.MULTILINE)


def test_includes_go_down_and_in_no_circle() -> None:
    arrows = defaultdict[str, set[str]](set)
    for path in FILES:
        room = path.parent.name
        for name in included(path):
            if name not in HEADERS:
                assert OF_GGML.fullmatch(name) and room in OF_ROOMS, f"{path} includes {name}"
                continue
            header = HEADERS[name]
            assert header.parent.name in BELOW[room] | {room}, f"{path} includes {header}, which is above it"
            arrows[module_of(path)].add(module_of(header))
    assert not circle({module: known - {module} for module, known in arrows.items()})


def defined_in(module: str) -> set[str]:
    source = NATIVE / f"{module}.c"
    return set(re.findall(r"^\w.*?\b(tt_\w+)\(.*", text_of(source), re.MULTILINE)) if source.exists() else set()


def declared_in(header: Path) -> set[str]:
    return set(re.findall(r"^\w[\w *]*?\b(tt_\w+)\([^;{}]*\);", text_of(header), re.MULTILINE))


def test_a_header_declares_what_its_own_file_defines() -> None:
    wrong = []
    for path in HEADERS.values():
        module = "core/linux" if path.name == SYSTEM else module_of(path)
        wrong += [f"{path.name} declares {name}" for name in declared_in(path) - defined_in(module)]
    assert not wrong


def test_each_system_defines_what_the_others_do() -> None:
    """macOS has one file for what tt_system.h asks, and for the files that are of Linux alone."""
    lists = re.findall(r"APPEND TENSOR_TRACE_FILES ([a-z ]+)\)", (NATIVE / "hooks/tensor-trace.cmake").read_text())
    (darwin, linux) = (names.split() for names in lists)
    assert darwin == ["darwin"] and linux[0] == "linux"
    headers = [HEADERS[SYSTEM], *(HEADERS[f"tt_{name}.h"] for name in linux[1:])]
    assert defined_in("core/darwin") == {name for header in headers for name in declared_in(header)}


def test_all_files_of_the_recorder_are_compiled_into_llama_cpp() -> None:
    cmake = (NATIVE / "hooks/tensor-trace.cmake").read_text()
    listed = re.findall(r"TENSOR_TRACE_FILES\s+([a-z_0-9\s]+)\)", cmake)
    names = [path.stem for room in ("core", "ggml") for path in (NATIVE / room).glob("*.c")]
    assert sorted(word for words in listed for word in words.split()) == sorted(names)
