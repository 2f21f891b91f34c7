"""The record that `tracegen llama-cpp hook` leaves in a tree: version of tracegen and hooks, commit, files."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tracegen.contract.errors import SettingsError
from tracegen.storing.execute import output_of

UNKNOWN = "not recorded"


@dataclass(frozen=True)
class Record:
    """How a tree was hooked.

    `tracegen` and `hooks` are versions, `commit` is the tree's git commit, `changed` is `yes` if its files differed
    from that commit (`no`, or UNKNOWN). `files` maps the files that tracegen added to their sha256. `without`: the
    details (`contract/details.py`) whose hooks do not fit this tree.
    """

    tracegen: str
    hooks: str
    commit: str
    changed: str
    files: Mapping[str, str]
    without: tuple[str, ...] = ()

    def text(self) -> str:
        """The record as lines `key = value`; keys with a slash are the files that tracegen added."""
        pairs = {"tracegen": self.tracegen, "hooks": self.hooks, "commit": self.commit, "changed": self.changed}
        if self.without:
            pairs["without"] = " ".join(self.without)
        lines = [f"{key} = {value}" for key, value in {**pairs, **self.files}.items()]
        return "\n".join(["# `tracegen llama-cpp hook DIR --reverse` removes what lies here.", *lines, ""])


def parse_record(path: Path, text: bytes) -> Record:
    """Parse the bytes of the record at `path`. Raises SettingsError when it lacks a key."""
    lines = [line for line in text.decode("utf-8", "replace").splitlines() if not line.startswith("#")]
    pairs = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    try:
        tracegen, hooks, commit, changed = (pairs.pop(key) for key in ("tracegen", "hooks", "commit", "changed"))
    except KeyError as error:
        raise SettingsError(f"{path}: lacks {error}; remove the hooks by hand, then delete {path.parent}") from error
    without = tuple(pairs.pop("without", "").split())
    return Record(tracegen, hooks, commit, changed, pairs, without)


def git_state(tree: Path, plain: Mapping[str, bytes]) -> tuple[str, str]:
    """The git commit of `tree`, and `yes` or `no`: whether its files differ from that commit.

    `plain` maps hooked files to their contents without hooks. Both are UNKNOWN when git is missing or `tree` is not
    the root of a repository.
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
    """git's object name of a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
