"""Blocks as Markdown that is pasted where strangers read it, such as an issue on GitHub.

Names come from models and traces. None of them may become markup, a link, a mention of a person, or a reference to an
issue. GitHub looks for mentions and references after it has read the Markdown, so a backslash does not stop it: a
character without width, put inside, does.
"""

import re
from collections.abc import Sequence

from tracegen.contract.quantities import printable
from tracegen.report.document.blocks import Grid, Items, Line, Note, Words

APART = "\u2060"  # word joiner: it has no width, allows no line break, and is not a letter, digit or sign
LONGEST = 60  # characters of a name
_MARKUP = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])|<(?=[\w/!?])|&(?=[#\w])|^[#>+-](?=\s|$)")
# What GitHub links, and where it no longer does if a character stands there.
_LINKED = re.compile(r"(?<=@)(?=\w)|(?<=#)(?=\d)|(?<=\bGH-)(?=\d)|(?<=\w:)(?=//)|(?<=\bwww)(?=\.)", re.IGNORECASE)


def rendered(blocks: Sequence[Note | Items | Grid]) -> str:
    """The blocks that are not empty, with an empty line between them."""
    return "\n\n".join(filter(None, map(_block, blocks))) + "\n"


def _block(block: Note | Items | Grid) -> str:
    if isinstance(block, Grid):
        head = [(head.label, head.number) for head in block.head]
        return table(head, [[_words(cell) for cell in row] for row in block.rows])
    if isinstance(block, Items):
        return "\n".join(f"- {line(item)}" for item in block.items)
    return "\n".join(filter(None, map(line, block.lines)))


def line(parts: Line) -> str:
    """A line of Markdown."""
    return "".join(map(_words, parts))


def _words(words: str | Words) -> str:
    if isinstance(words, str):
        return words
    if words.style == "code":
        return code(words.text, words.longest)
    text = prose(words.text, words.longest)
    return f"**{text}**" if words.style == "strong" and text else text


def prose(text: str, longest: int = 400) -> str:
    """One line of plain text: no markup, no link, no mention and no reference; longer than `longest`, it is cut."""
    return _LINKED.sub(APART, _MARKUP.sub(_escaped, _line(text, longest)))


def _escaped(sign: re.Match[str]) -> str:
    """A sign of markup as text; the two of HTML as entities, because not every renderer reads backslashes there."""
    return {"<": "&lt;", "&": "&amp;"}.get(sign.group(), f"\\{sign.group()}")


def code(text: str, longest: int = LONGEST) -> str:
    """A name as a code span, in which nothing is markup; its middle is left out if it is longer than `longest`.

    No two renderers agree on backticks and bars in the code spans of a table: look-alikes stand in their place.
    """
    name = _line(text, longest).replace("`", "\u02cb").replace("|", "\u00a6").strip()
    return f"`{name}`" if name else "–"


def table(head: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]]) -> str:
    """A table, its columns padded to read well as plain text too; `head`: (label, whether the column holds numbers).

    The cells must be Markdown already: results of `prose` and `code`, or numbers.
    """
    texts = [[label for label, _ in head], *rows]
    widths = [max(3, *(len(row[at]) for row in texts)) for at in range(len(head))]
    if not head[-1][1]:
        widths[-1] = max(3, len(head[-1][0]))  # a long sentence in the last column widens no other row
    lines = [
        " | ".join(
            text.rjust(width) if number else text.ljust(width)
            for text, width, (_, number) in zip(row, widths, head, strict=True)
        )
        for row in texts
    ]
    rule = " | ".join(
        f"{'-' * (width - number)}{':' * number}" for width, (_, number) in zip(widths, head, strict=True)
    )
    return "\n".join(f"| {line} |" for line in (lines[0], rule, *lines[1:]))


def _line(text: str, longest: int) -> str:
    """The text on one line, without unfit characters and without its middle if it is too long."""
    line = re.sub(r"[ \t\n\r]+", " ", printable(text)).strip(" ")  # keeps the thin spaces of numbers
    return line if len(line) <= longest else f"{line[: longest * 2 // 3]}…{line[-(longest - longest * 2 // 3 - 1) :]}"
