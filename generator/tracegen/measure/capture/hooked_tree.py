"""Hooks a source tree of llama.cpp in place: plans the changes, makes all or none, and can reverse them.

All hooks must fit, but those of a detail: where one of these does not, the tree is hooked without that detail. In a
tree that has a ggml but no llama.cpp (such as whisper.cpp) only the hooks in ggml are inserted.

tracegen adds its own files in `ggml/src/tensor-trace` (and one header in `ggml/include`): the tracer's sources, the
list of hooks, and the record HOOKED. The reverse uses the list in the tree, so a newer tracegen can remove the hooks
of an older one.
"""

import contextlib
import hashlib
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.measure.capture.hook_record import Record, git_state, parse_record
from tracegen.measure.capture.hooks import Hook, apply_hooks, fitting, parse_hooks, remove_hooks
from tracegen.storing import parts
from tracegen.storing.native import HEADER, LIST, SOURCES, hooks_version, own_files
from tracegen.storing.resources import package_version

GGML = "ggml/"
LLAMA = "include/llama.h"
RECORD = f"{SOURCES}/HOOKED"


@dataclass(frozen=True)
class Change:
    """The content of a file of the tree before and after; None where it does not exist."""

    file: str
    before: bytes | None
    after: bytes | None

    @property
    def own(self) -> bool:
        """Whether the file belongs to tracegen, not to llama.cpp."""
        return self.file == HEADER or self.file.startswith(f"{SOURCES}/")

    @property
    def n_lines(self) -> int:
        """By how many lines the file grows; negative when it shrinks."""
        return (self.after or b"").count(b"\n") - (self.before or b"").count(b"\n")


@dataclass(frozen=True)
class Plan:
    """What hooking (or its reverse) would do to a tree.

    `state` is one of `not hooked`, `hooked`, `hooked in part`, `hooked by other hooks`. `changes` are in the order of
    writing; a file may occur twice: first removed, then written again. `record` is the one in the tree, if any.
    `plain`: the tree has a ggml but no llama.cpp. `without`: each detail whose hooks do not fit, and why.
    """

    tree: Path
    state: str
    changes: tuple[Change, ...]
    record: Record | None
    plain: bool = False
    without: Mapping[str, str] = field(default_factory=dict)

    def net(self) -> tuple[Change, ...]:
        """One change for each file: from its content now to its content in the end."""
        net: dict[str, Change] = {}
        for change in self.changes:
            net[change.file] = Change(change.file, net.get(change.file, change).before, change.after)
        return tuple(net.values())


def plan_hooks(tree: Path, native: Path) -> Plan:
    """Plan how to insert the hooks of the folder `native` into `tree`; writes nothing.

    Raises SettingsError when `tree` is no source tree with a ggml, when an anchor is missing, or when a file is a
    link, is read-only, was not written by tracegen, or has changed since.
    """
    record, undo = _undo(tree)
    contents = own_files(native)
    hooks = parse_hooks(contents[LIST].decode())
    plain = _is_plain(tree, hooks)
    if plain:
        hooks = tuple(hook for hook in hooks if hook.file.startswith(GGML))
    unhooked_now = {change.file: change.after for change in undo}
    hooks, without = _fitting(tree, unhooked_now, hooks)
    redo = _redo(tree, unhooked_now, contents, hooks)
    net = Plan(tree, "", (*undo, *redo), record, plain).net()
    stale = {change.file for change in net if change.before != change.after and change.file != RECORD}
    version = hooks_version(native)
    state = _state(record, version, stale, without)
    if state == "hooked":
        return Plan(tree, state, (), record, plain, without)
    unhooked = {change.file: change.before for change in redo if not change.own and change.before is not None}
    commit, changed = git_state(tree, unhooked)
    files = {file: hashlib.sha256(content).hexdigest() for file, content in contents.items()}
    new_record = Record(package_version(), version, commit, changed, files, tuple(without))
    if LIST in stale:  # no hook may be in the tree while its list is missing: the list says which lines to remove
        stale.update(unhooked)
    *undo, old = undo or [Change(RECORD, None, None)]
    steps = (*undo, Change(RECORD, old.before, new_record.text().encode()), *redo)
    changes = [c for c in steps if (c.file in stale or c.file == RECORD) and c.before != c.after]
    _must_be_writable(tree, changes)
    return Plan(tree, state, tuple(changes), record, plain, without)


def plan_reverse(tree: Path) -> Plan:
    """Plan how to restore `tree` as it was before it was hooked; writes nothing.

    Raises SettingsError when `tree` is not hooked, and as `plan_hooks` does.
    """
    record, undo = _undo(tree)
    if record is None:
        raise SettingsError(f"{tree}: is not hooked (it has no {RECORD}); there is nothing to reverse")
    changes = tuple(change for change in undo if change.before != change.after)
    _must_be_writable(tree, changes)
    return Plan(tree, "hooked", changes, record)


def carry_out(plan: Plan) -> None:
    """Write all changes of a plan; when one fails, restore the files that were written.

    Raises EnvironmentFailure naming the file that could not be written.
    """
    tried: list[Change] = []
    try:
        for change in plan.changes:
            tried.append(change)
            _write(plan.tree / change.file, change.after)
    except BaseException as error:
        lost = [change.file for change in reversed(tried) if not _restored(plan.tree, change)]
        _drop_empty(plan.tree / SOURCES)
        if not isinstance(error, OSError):
            raise
        end = f"could not be restored: {', '.join(lost)}" if lost else "the tree is as it was"
        reason = error.strerror or error
        raise EnvironmentFailure(f"{plan.tree / tried[-1].file}: could not be written ({reason}); {end}") from error
    _drop_empty(plan.tree / SOURCES)


def hook_tree(tree: Path, native: Path) -> Plan:
    """Hook `tree`: all files or none. Returns the plan that was carried out; it is empty for a hooked tree.

    Raises as `plan_hooks` and `carry_out` do.
    """
    plan = plan_hooks(tree, native)
    carry_out(plan)
    return plan


def _state(record: Record | None, version: str, stale: set[str], without: Collection[str]) -> str:
    if record is None:
        return "not hooked"
    if record.hooks != version:
        return "hooked by other hooks"
    return "hooked in part" if stale or set(record.without) != set(without) else "hooked"


def _undo(tree: Path) -> tuple[Record | None, list[Change]]:
    """The record of a tree, and the changes that remove its hooks; (None, []) when the tree has no record.

    llama.cpp's files come first, then tracegen's with the list of hooks last, then the record.
    """
    if not tree.is_dir():
        raise SettingsError(f"{tree}: is not a folder; name the source tree of a llama.cpp")
    if not (tree / "ggml").is_dir() or not (tree / "CMakeLists.txt").is_file():
        raise SettingsError(
            f"{tree}: is not a source tree of llama.cpp, and has no ggml beside a CMakeLists.txt; name a source tree"
        )
    text = _read(tree, RECORD)
    if text is None:
        return None, []
    record = parse_record(tree / RECORD, text)
    listed = _read(tree, LIST)
    hooks = parse_hooks(listed.decode()) if listed is not None else ()
    hooks = tuple(hook for hook in hooks if hook.detail not in record.without)  # a line of these is not ours
    undo = []
    for file in dict.fromkeys(hook.file for hook in hooks):
        content = _read(tree, file)
        if content is not None:
            undo.append(Change(file, content, _encode(remove_hooks(file, _decode(content), hooks))))
    for file, digest in sorted(record.files.items(), key=lambda pair: pair[0] == LIST):
        content = _read(tree, file)
        if content is not None and hashlib.sha256(content).hexdigest() != digest:
            raise SettingsError(f"{tree / file}: has changed since tracegen wrote it; undo that change first")
        if content is not None:
            undo.append(Change(file, content, None))
    return record, [*undo, Change(RECORD, text, None)]


def _is_plain(tree: Path, hooks: Sequence[Hook]) -> bool:
    """Whether a tree has a ggml but no llama.cpp: neither its header nor one of its sources that take hooks."""
    sources = dict.fromkeys(hook.file for hook in hooks if not hook.file.startswith(GGML))
    there = [file for file in (LLAMA, *sources) if _read(tree, file) is not None]
    return all(PurePosixPath(file).name == "CMakeLists.txt" for file in there)  # every project has its own


def _fitting(
    tree: Path, unhooked: Mapping[str, bytes | None], hooks: Sequence[Hook]
) -> tuple[tuple[Hook, ...], dict[str, str]]:
    """The hooks without the details that do not fit this tree, and why; `unhooked` as for `_redo`."""
    contents = {file: unhooked[file] if file in unhooked else _read(tree, file) for file in {h.file for h in hooks}}
    return fitting({file: None if text is None else _decode(text) for file, text in contents.items()}, hooks)


def _redo(
    tree: Path, unhooked: Mapping[str, bytes | None], own_contents: Mapping[str, bytes], hooks: Sequence[Hook]
) -> list[Change]:
    """The changes that insert the hooks: tracegen's files first, then llama.cpp's.

    `unhooked` holds the contents of files after the old hooks have been removed, None for a file that is gone.
    """
    redo = []
    for file, content in own_contents.items():
        before = unhooked[file] if file in unhooked else _read(tree, file)
        if before not in (None, content):
            raise SettingsError(f"{tree / file}: exists already, but tracegen did not write it; move it away")
        redo.append(Change(file, before, content))
    for file in dict.fromkeys(hook.file for hook in hooks):
        before = unhooked[file] if file in unhooked else _read(tree, file)
        if before is None:
            raise SettingsError(
                f"{tree / file}: is missing; the hooks do not fit this source tree; docs/llama-cpp.md lists releases"
            )
        try:
            redo.append(Change(file, before, _encode(apply_hooks(file, _decode(before), hooks))))
        except SettingsError as error:
            fit = "the hooks fit other releases of llama.cpp, see docs/llama-cpp.md"
            raise SettingsError(f"{tree}: cannot be hooked: {error}; {fit}") from error
    return redo


def _decode(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")  # _encode restores bytes that are not UTF-8


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _read(tree: Path, file: str) -> bytes | None:
    """The bytes of a file of the tree; None when it does not exist.

    Raises SettingsError for a link, a path outside the tree, or a file that cannot be read.
    """
    names = PurePosixPath(file).parts
    if not names or names[0] == "/" or ".." in names:
        raise SettingsError(f"{file!r}: lies outside the tree; the list of hooks was changed, restore it")
    path = tree
    for name in names:
        path = path / name
        if path.is_symlink():
            raise SettingsError(f"{path}: is a symbolic link, so its target would change; put a copy there")
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
                raise SettingsError(f"{place}: is read-only, and nothing was changed; first: chmod u+w {place}")


def _write(path: Path, content: bytes | None) -> None:
    """Replace a file atomically and keep its mode; None removes the file. Raises OSError."""
    if content is None:
        path.unlink(missing_ok=True)
        return
    mode = path.stat().st_mode & 0o7777 if path.exists() else 0o644
    with parts.new_file(path.parent) as (part, descriptor):
        with open(descriptor, "wb", closefd=False) as stream:
            stream.write(content)
        os.fsync(descriptor)
        os.chmod(part, mode)
        os.replace(part, path)


def _restored(tree: Path, change: Change) -> bool:
    try:
        _write(tree / change.file, change.before)
    except OSError:
        return False
    return True


def _drop_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # it is not empty, or does not exist
        folder.rmdir()
