"""Texts and lists of words that stand in files beside the code which uses them."""

import re
from functools import cache
from pathlib import Path


@cache
def sections(path: Path) -> dict[str, str]:
    """Head (`# head`) -> the text under it, as in the file. Raises ValueError for a head without a text."""
    found = {}
    for part in re.split(r"^# ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, _, text = part.partition("\n")
        found[head] = text.strip()
        if not found[head]:
            raise ValueError(f"{path.name}: “{head}” has no text")
    return found


def joined(text: str) -> str:
    """The lines of a paragraph as one line."""
    return text.replace("\n", " ")


def lists(path: Path) -> dict[str, tuple[str, ...]]:
    """Head -> the words under it, between spaces and ends of lines."""
    return {head: tuple(text.split()) for head, text in sections(path).items()}
