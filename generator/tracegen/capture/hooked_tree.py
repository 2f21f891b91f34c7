"""A source tree of llama.cpp, hooked in place: what would change, all of it or nothing, and back byte for byte.

A tree that has a ggml and nothing of llama.cpp (whisper.cpp, say) takes the hooks of its ggml, all or none.

What tracegen put into a tree lies in `ggml/src/tensor-trace` (and one header in `ggml/include`): the
tracer's sources, the list of hooks that was used, and HOOKED, the record of who did it and to which
commit. A hook is undone by the list in the tree, so a newer tracegen can undo what an older one did.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tracegen.capture.hook_record import Record, git_state, parse_record
from tracegen.capture.hooks import Hook, apply_hooks, parse_hooks, remove_hooks
from tracegen.errors import EnvironmentFailure, SettingsError
from tracegen.resources import package_version

SOURCES = "ggml/src/tensor-trace"
HEADER = "ggml/include/tensor_trace.h"
LIST = f"{SOURCES}/llama-cpp.toml"
GGML = "ggml/"
LLAMA = "include/llama.h"
RECORD = f"{SOURCES}/HOOKED"
_OWN = (("include", "*.h"), ("core", "*.[ch]"), ("ggml", "*.[ch]"), ("hooks", "*.cmake"), ("hooks", "llama-cpp.toml"))


@dataclass(frozen=True)
class Change:
    """What a file of the tree is and what it becomes; None: it is not there."""

    file: str
    before: bytes | None
    after: bytes | None

    @property
    def own(self) -> bool:
        """Whether the file is tracegen's and not llama.cpp's."""
        return self.file == HEADER or self.file.startswith(f"{SOURCES}/")

    @property
    def n_lines(self) -> int:
        """Lines more (or, negative, fewer) than before."""
        return (self.after or b"").count(b"\n") - (self.before or b"").count(b"\n")


@dataclass(frozen=True)
class Plan:
    """What hooking (or its reverse) would do to a tree.

    `state` is one of `not hooked`, `hooked`, `hooked in part`, `hooked by other hooks`;
    `changes` are in the order in which they are written, and may take a file away before it comes anew;
    `record` is the one found in the tree; `plain`: what is hooked is a ggml without llama.cpp.
    """

    tree: Path
    state: str
    changes: tuple[Change, ...]
    record: Record | None
    plain: bool = False

    def net(self) -> tuple[Change, ...]:
        """One change for each file: from what it is to what it will be."""
        files = dict.fromkeys(change.file for change in self.changes)
        made = []
        for file in files:
            steps = [change for change in self.changes if change.file == file]
            made.append(Change(file, steps[0].before, steps[-1].after))
        return tuple(made)


def hooks_version(native: Path) -> str:
    """A short hash of all that hooking puts into a tree."""
    digest = hashlib.sha256()
    for file, content in own_files(native).items():
        digest.update(f"{file}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


def own_files(native: Path) -> dict[str, bytes]:
    """The files that are tracegen's: place in the tree -> content; the list of hooks comes first."""
    made = {}
    for folder, pattern in reversed(_OWN):
        for path in sorted((native / folder).glob(pattern)):
            made[HEADER if path.name == Path(HEADER).name else f"{SOURCES}/{path.name}"] = path.read_bytes()
    return made


def plan_hooks(tree: Path, native: Path) -> Plan:
    """What would make `tree` a tree hooked with the hooks of `native`; writes nothing.

    Raises SettingsError when `tree` is no source tree with a ggml, an anchor is missing, or a file
    is a link, read-only, not tracegen's, or changed since tracegen wrote it.
    """
    record, undo = _undo(tree)
    own = own_files(native)
    hooks = parse_hooks(own[LIST].decode())
    plain = _is_plain(tree, hooks)
    if plain:
        hooks = tuple(hook for hook in hooks if hook.file.startswith(GGML))
    redo = _redo(tree, {change.file: change.after for change in undo}, own, hooks)
    net = Plan(tree, "", (*undo, *redo), record, plain).net()
    stale = {change.file for change in net if change.before != change.after and change.file != RECORD}
    version = hooks_version(native)
    state = _state(record, version, stale)
    if state == "hooked":
        return Plan(tree, state, (), record, plain)
    unhooked = {change.file: change.before for change in redo if not change.own and change.before is not None}
    commit, changed = git_state(tree, unhooked)
    files = {file: hashlib.sha256(content).hexdigest() for file, content in own.items()}
    made = Record(package_version(), version, commit, changed, files)
    if LIST in stale:  # while it is away, or another, no hook may be in: it alone tells which lines to take out
        stale.update(unhooked)
    *undo, old = undo or [Change(RECORD, None, None)]
    steps = (*undo, Change(RECORD, old.before, made.text().encode()), *redo)
    chosen = [c for c in steps if (c.file in stale or c.file == RECORD) and c.before != c.after]
    _must_be_writable(tree, chosen)
    return Plan(tree, state, tuple(chosen), record, plain)


def plan_reverse(tree: Path) -> Plan:
    """What would give `tree` back as it was before it was hooked; writes nothing.

    Raises SettingsError when `tree` is not hooked, or as `plan_hooks`.
    """
    record, undo = _undo(tree)
    if record is None:
        raise SettingsError(f"{tree}: is not hooked: it has no {RECORD}")
    changes = tuple(change for change in undo if change.before != change.after)
    _must_be_writable(tree, changes)
    return Plan(tree, "hooked", changes, record)


def carry_out(plan: Plan) -> None:
    """Write all changes of a plan, or none: what was written is restored when one fails.

    Raises EnvironmentFailure naming the file that could not be written.
    """
    begun: list[Change] = []
    try:
        for change in plan.changes:
            begun.append(change)
            _write(plan.tree / change.file, change.after)
    except BaseException as error:
        lost = [change.file for change in reversed(begun) if not _restored(plan.tree, change)]
        _drop_empty(plan.tree / SOURCES)
        if not isinstance(error, OSError):
            raise
        end = f"could not be restored: {', '.join(lost)}" if lost else "the tree is as it was"
        reason = error.strerror or error
        raise EnvironmentFailure(f"{plan.tree / begun[-1].file}: could not be written ({reason}); {end}") from error
    _drop_empty(plan.tree / SOURCES)


def hook_tree(tree: Path, native: Path) -> Plan:
    """Hook `tree`: all files or none; on a hooked tree it changes nothing. Returns what was done.

    Raises as `plan_hooks` and `carry_out`.
    """
    plan = plan_hooks(tree, native)
    carry_out(plan)
    return plan


def _state(record: Record | None, version: str, stale: set[str]) -> str:
    if record is None:
        return "not hooked"
    if record.hooks != version:
        return "hooked by other hooks"
    return "hooked in part" if stale else "hooked"


def _undo(tree: Path) -> tuple[Record | None, list[Change]]:
    """The record of a hooked tree, and what takes the hooks out: llama.cpp's files first, the record last."""
    if not tree.is_dir():
        raise SettingsError(f"{tree}: is no folder")
    if not (tree / "ggml").is_dir() or not (tree / "CMakeLists.txt").is_file():
        raise SettingsError(f"{tree}: is no source tree of llama.cpp, nor one with a ggml: no ggml and CMakeLists.txt")
    text = _read(tree, RECORD)
    if text is None:
        return None, []
    record = parse_record(tree / RECORD, text)
    listed = _read(tree, LIST)
    hooks = parse_hooks(listed.decode()) if listed is not None else ()
    undo = []
    for file in dict.fromkeys(hook.file for hook in hooks):
        found = _read(tree, file)
        if found is not None:
            undo.append(Change(file, found, _encode(remove_hooks(file, _decode(found), hooks))))
    for file, digest in sorted(record.files.items(), key=lambda pair: pair[0] == LIST):
        found = _read(tree, file)
        if found is not None and hashlib.sha256(found).hexdigest() != digest:
            raise SettingsError(f"{tree / file}: has changed since tracegen wrote it; move your change elsewhere")
        if found is not None:
            undo.append(Change(file, found, None))
    return record, [*undo, Change(RECORD, text, None)]


def _is_plain(tree: Path, hooks: Sequence[Hook]) -> bool:
    """Whether a tree has nothing of llama.cpp: neither its header nor one of the sources that are hooked."""
    others = dict.fromkeys(hook.file for hook in hooks if not hook.file.startswith(GGML))
    there = [file for file in (LLAMA, *others) if _read(tree, file) is not None]
    return all(PurePosixPath(file).name == "CMakeLists.txt" for file in there)  # every project has its own


def _redo(
    tree: Path, unhooked: Mapping[str, bytes | None], own: Mapping[str, bytes], hooks: Sequence[Hook]
) -> list[Change]:
    """What puts the hooks in, once what is in `unhooked` has been undone: tracegen's files first."""
    redo = []
    for file, content in own.items():
        found = unhooked[file] if file in unhooked else _read(tree, file)
        if found not in (None, content):
            raise SettingsError(f"{tree / file}: is there already and not tracegen's; move it away")
        redo.append(Change(file, found, content))
    for file in dict.fromkeys(hook.file for hook in hooks):
        found = unhooked[file] if file in unhooked else _read(tree, file)
        if found is None:
            raise SettingsError(f"{tree / file}: is missing; {tree} is no source tree that the hooks know")
        try:
            redo.append(Change(file, found, _encode(apply_hooks(file, _decode(found), hooks))))
        except SettingsError as error:
            raise SettingsError(f"{tree}: cannot be hooked: {error}") from error
    return redo


def _decode(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")  # bytes that are no UTF-8 come back as they were


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _read(tree: Path, file: str) -> bytes | None:
    """The bytes of a file of the tree, None when it is not there. Raises SettingsError for links and paths outside."""
    parts = PurePosixPath(file).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise SettingsError(f"{file!r}: lies outside the tree; the list of hooks is broken")
    path = tree
    for part in parts:
        path = path / part
        if path.is_symlink():
            raise SettingsError(f"{path}: is a symbolic link, and what it leads to is not the tree's; put a copy there")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror or error}") from error


def _must_be_writable(tree: Path, changes: Sequence[Change]) -> None:
    for path in dict.fromkeys(tree / change.file for change in changes):
        folder = next(parent for parent in path.parents if parent.is_dir())
        for place in (path, folder):
            if place.exists() and not (os.access(place, os.W_OK) and place.stat().st_mode & 0o200):
                raise SettingsError(f"{place}: is read-only; nothing was changed; chmod u+w it first")


def _write(path: Path, content: bytes | None) -> None:
    """Give a file its content, whole and with its mode; None removes it."""
    if content is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o7777 if path.exists() else 0o644
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _restored(tree: Path, change: Change) -> bool:
    try:
        _write(tree / change.file, change.before)
    except OSError:
        return False
    return True


def _drop_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # it holds something, or was never made
        folder.rmdir()
