"""Inserts hooks (whole lines) beside lines of llama.cpp's source, and removes them. Pure: text in, text out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracegen.contract import documents
from tracegen.contract.errors import SettingsError


@dataclass(frozen=True)
class Hook:
    """A line to insert into `file` before or after an anchor line.

    The anchor is the first line that equals it, blanks aside, after a line that begins with `within`. `anchors` are
    alternatives for different releases of llama.cpp: the first that the file has is used. A hook of a `detail`
    (`contract/details.py`) may be missing, and all others of that detail with it. `where_there`: a file without the
    line `within` needs no such hook.
    """

    file: str
    anchors: tuple[str, ...]
    insert: str
    after: bool
    within: str = ""
    detail: str = ""
    where_there: bool = False

    def is_needed(self, text: str | None) -> bool:
        """Whether a file of this content has what the hook is for."""
        head = " ".join(self.within.split())
        lines = (text or "").split("\n") if self.where_there else ()
        return not self.where_there or any(" ".join(line.split()).startswith(head) for line in lines)


def parse_hooks(text: str) -> tuple[Hook, ...]:
    """Parse a list of hooks such as native/hooks/llama-cpp.toml. Raises SettingsError when it is none."""
    try:
        return tuple(_hook(entry) for entry in documents.parse_toml(text, "llama-cpp.toml")["hook"])
    except (SettingsError, KeyError, TypeError) as error:
        raise SettingsError(
            f"the list of hooks (llama-cpp.toml) cannot be read: {error!r}; restore it, or install tracegen again"
        ) from error


def _hook(entry: dict[str, str | list[str]]) -> Hook:
    side = "after" if "after" in entry else "before"
    anchors = entry[side]
    return Hook(
        file=str(entry["file"]),
        anchors=(anchors,) if isinstance(anchors, str) else tuple(anchors),
        insert=str(entry["insert"]),
        after=side == "after",
        within=str(entry.get("within", "")),
        detail=str(entry.get("detail", "")),
        where_there=bool(entry.get("where_there", False)),
    )


def fitting(texts: Mapping[str, str | None], hooks: Sequence[Hook]) -> tuple[tuple[Hook, ...], dict[str, str]]:
    """The hooks without the details that do not fit these files, and why each of those does not.

    `texts` maps each file of the hooks to its content, None where it is missing. Hooks for what a file does not have
    are left out, too.
    """
    hooks = [hook for hook in hooks if hook.is_needed(texts[hook.file])]
    missing: dict[str, str] = {}
    for hook in hooks:
        if hook.detail and hook.detail not in missing:
            text = texts[hook.file]
            try:
                if text is None:
                    raise SettingsError(f"{hook.file}: is missing")
                _place(hook.file, text.split("\n"), hook)
            except SettingsError as error:
                missing[hook.detail] = str(error)
    return tuple(hook for hook in hooks if hook.detail not in missing), missing


def apply_hooks(file: str, text: str, hooks: Sequence[Hook]) -> str:
    """Return the `text` of `file` with its hooks inserted. A hook takes indent and line ending of the line beside it.

    Raises SettingsError naming file and text when an anchor is missing, or when a line equals a hook already: the
    reverse would remove that line too.
    """
    lines = text.split("\n")
    inserted = _lines_of(file, hooks)
    for number, line in enumerate(lines, 1):
        if line.strip() in inserted:
            raise SettingsError(
                f"{file}:{number}: holds {line.strip()!r} already, but not from `tracegen llama-cpp hook`; "
                "remove the line first"
            )
    placed = [(_place(file, lines, hook), hook) for hook in hooks if hook.file == file]
    for index, hook in sorted(placed, key=lambda pair: pair[0], reverse=True):
        lines.insert(index, _formatted(hook.insert, lines[index - 1 if hook.after else index]))
    return "\n".join(lines)


def remove_hooks(file: str, text: str, hooks: Sequence[Hook]) -> str:
    """Return `text` without the lines that `apply_hooks` inserted."""
    inserted = _lines_of(file, hooks)
    return "\n".join(line for line in text.split("\n") if line.strip() not in inserted)


def _lines_of(file: str, hooks: Sequence[Hook]) -> frozenset[str]:
    return frozenset(hook.insert.strip() for hook in hooks if hook.file == file)


def _place(file: str, lines: Sequence[str], hook: Hook) -> int:
    """The index at which the hook's line is to be inserted. Raises SettingsError when an anchor is missing."""
    plain = [" ".join(line.split()) for line in lines]
    start = 0
    if hook.within:
        head = " ".join(hook.within.split())
        start = next((i for i, line in enumerate(plain, 1) if line.startswith(head)), 0)
        if not start:
            raise _missing(file, [head], 0)
    wanted = [" ".join(anchor.split()) for anchor in hook.anchors]
    for anchor in wanted:
        if anchor in plain[start:]:
            return plain.index(anchor, start) + hook.after
    raise _missing(file, wanted, start)


def _missing(file: str, wanted: Sequence[str], start: int) -> SettingsError:
    texts = " or ".join(repr(text) for text in wanted)
    after = f" after line {start}" if start else ""
    return SettingsError(f"{file}: the line {texts} is missing{after}")


def _formatted(insert: str, beside: str) -> str:
    """The line `insert` with the ending of the line `beside`, and with its indent unless `insert` has its own."""
    indent = "" if insert.startswith(" ") else beside[: len(beside) - len(beside.lstrip())]
    return indent + insert + ("\r" if beside.endswith("\r") else "")
