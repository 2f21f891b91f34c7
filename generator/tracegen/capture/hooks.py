"""The hooks for llama.cpp: whole lines of ours beside one line of theirs; all of them or none."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracegen.errors import EnvironmentFailure, SettingsError
from tracegen.store import write_text

SOURCES = "ggml/src/tensor-trace"
HEADER = "ggml/include/tensor_trace.h"


@dataclass(frozen=True)
class Hook:
    """Lines to insert before or after the first line equal to `anchor` that follows `within`."""

    file: str
    anchor: str
    insert: str
    after: bool
    within: str = ""


def read_hooks(path: Path) -> tuple[Hook, ...]:
    """Read the list of hooks from native/hooks/*.toml."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["hook"]
    return tuple(
        Hook(
            file=entry["file"],
            anchor=entry["after"] if "after" in entry else entry["before"],
            insert=entry["insert"],
            after="after" in entry,
            within=entry.get("within", ""),
        )
        for entry in entries
    )


def apply_hooks(file: str, text: str, hooks: Sequence[Hook]) -> str:
    """Return `text` of `file` with its hooks inserted.

    Raises SettingsError naming file and text when an anchor is missing.
    """
    lines = text.split("\n")
    placed = [(_place(file, lines, hook), hook) for hook in hooks if hook.file == file]
    for index, hook in sorted(placed, key=lambda pair: pair[0], reverse=True):
        lines[index:index] = _indented(hook, lines[index - 1 if hook.after else index])
    return "\n".join(lines)


def remove_hooks(file: str, text: str, hooks: Sequence[Hook]) -> str:
    """Return `text` without the lines that `apply_hooks` inserted."""
    ours = {line.strip() for hook in hooks if hook.file == file for line in hook.insert.split("\n")}
    return "\n".join(line for line in text.split("\n") if line.strip() not in ours)


def hook_tree(tree: Path, native: Path) -> tuple[str, ...]:
    """Hook the llama.cpp source tree `tree`: all files or none. Returns the files changed.

    Applying twice changes nothing. Raises SettingsError for a missing file or anchor.
    """
    hooks = read_hooks(native / "hooks" / "llama-cpp.toml")
    changed = {}
    for file in dict.fromkeys(hook.file for hook in hooks):
        try:
            text = (tree / file).read_text(encoding="utf-8")
        except OSError as error:
            raise SettingsError(f"{tree / file}: is missing; {tree} is no llama.cpp source tree") from error
        hooked = apply_hooks(file, remove_hooks(file, text, hooks), hooks)
        if hooked != text:
            changed[file] = hooked
    copy_sources(tree, native)
    for file, text in changed.items():
        write_text(tree / file, text)
    return tuple(changed)


def copy_sources(tree: Path, native: Path) -> None:
    """Put the tracer's own files into the tree, where its CMake file finds them."""
    target = tree / SOURCES
    try:
        target.mkdir(parents=True, exist_ok=True)
        for folder, pattern in (("src", "*.[ch]"), ("include", "*.h"), ("hooks", "*.[ch]"), ("hooks", "*.cmake")):
            for path in sorted((native / folder).glob(pattern)):
                place = tree / HEADER if path.name == Path(HEADER).name else target / path.name
                place.parent.mkdir(parents=True, exist_ok=True)
                if not place.exists() or place.read_bytes() != path.read_bytes():
                    shutil.copyfile(path, place)
    except OSError as error:
        raise EnvironmentFailure(f"{target}: could not be written: {error}") from error


def _place(file: str, lines: Sequence[str], hook: Hook) -> int:
    """Index at which the hook's lines go in."""
    start = 0
    if hook.within:
        start = _find(file, lines, hook.within, 0, prefix=True) + 1
    index = _find(file, lines, hook.anchor, start, prefix=False)
    return index + 1 if hook.after else index


def _find(file: str, lines: Sequence[str], wanted: str, start: int, *, prefix: bool) -> int:
    wanted = " ".join(wanted.split())
    for index in range(start, len(lines)):
        line = " ".join(lines[index].split())
        if line == wanted or (prefix and line.startswith(wanted)):
            return index
    after = f" after line {start}" if start else ""
    raise SettingsError(f"{file}: the line {wanted!r} is not there{after}; these hooks are made for another llama.cpp")


def _indented(hook: Hook, beside: str) -> list[str]:
    space = beside[: len(beside) - len(beside.lstrip())]
    return [space + line.strip() if not line.startswith(" ") else line for line in hook.insert.split("\n")]
