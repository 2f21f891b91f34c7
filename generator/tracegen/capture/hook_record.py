"""The record in a hooked tree: who hooked it, with what, and which llama.cpp it was."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tracegen.capture.execute import output_of
from tracegen.errors import SettingsError

UNKNOWN = "not recorded"


@dataclass(frozen=True)
class Record:
    """Who hooked a tree: tracegen's version, that of the hooks, the tree's git commit and whether it was changed."""

    tracegen: str
    hooks: str
    commit: str
    changed: str
    files: Mapping[str, str]

    def text(self) -> str:
        """The record as `key = value`; keys with a slash are the files that are tracegen's, with their sha256."""
        pairs = {"tracegen": self.tracegen, "hooks": self.hooks, "commit": self.commit, "changed": self.changed}
        lines = [f"{key} = {value}" for key, value in {**pairs, **self.files}.items()]
        return "\n".join(["# `tracegen llama-cpp hook DIR --reverse` takes out what lies here.", *lines, ""])


def parse_record(path: Path, text: bytes) -> Record:
    """The record from the bytes of `path`. Raises SettingsError when it lacks a key."""
    lines = [line for line in text.decode("utf-8", "replace").splitlines() if not line.startswith("#")]
    pairs = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    try:
        tracegen, hooks, commit, changed = (pairs.pop(key) for key in ("tracegen", "hooks", "commit", "changed"))
    except KeyError as error:
        raise SettingsError(f"{path}: lacks {error}; take the hooks out by hand, then remove {path.parent}") from error
    return Record(tracegen, hooks, commit, changed, pairs)


def git_state(tree: Path, plain: Mapping[str, bytes]) -> tuple[str, str]:
    """The commit of `tree`, and whether its files differ from it (yes, no); `plain` are files without their hooks.

    UNKNOWN where git is missing or the tree is not the root of a repository.
    """

    def git(*arguments: str) -> str | None:
        return output_of(["git", "-C", str(tree), *arguments])

    top = git("rev-parse", "--show-toplevel")
    commit = git("rev-parse", "HEAD") if top and Path(top) == tree.resolve() else None
    if commit is None:
        return UNKNOWN, UNKNOWN
    differing = git("diff", "--name-only", "HEAD")
    if differing is None:
        return commit, UNKNOWN
    changed = [f for f in differing.splitlines() if f not in plain or git("rev-parse", f"HEAD:{f}") != _blob(plain[f])]
    return commit, "yes" if changed else "no"


def _blob(content: bytes) -> str:
    """git's name for the content of a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
