"""What of a text no reader sees: comments, listings, scripts, tags. Each takes one pass, however often it begins."""

import html
import re
from collections.abc import Mapping

VERBATIM = re.compile(r"\\begin\{(verbatim|lstlisting|comment)\*?\}")
VERBATIM_ENDS = {name: re.compile(rf"\\end\{{{name}\*?\}}") for name in ("verbatim", "lstlisting", "comment")}
HIDDEN = re.compile(r"<(script\b|style\b|!--)", re.IGNORECASE)
HIDDEN_ENDS = {
    "script": re.compile(r"</script\s*+>", re.IGNORECASE),
    "style": re.compile(r"</style\s*+>", re.IGNORECASE),
    "!--": re.compile("-->"),
}
_NO_CHARACTER = re.compile(r"&#(?:[0-9]{9,}|[xX][0-9A-Fa-f]{9,});?")  # `int` refuses numbers of 4,300 digits


def blanked(pattern: re.Pattern[str], text: str, keep: int = 0) -> str:
    """The text without what the pattern finds, but for its line breaks and the group `keep`."""
    return pattern.sub(lambda m: (m[keep] if keep else "") + "\n" * m[0].count("\n"), text)


def without_blocks(begin: re.Pattern[str], ends: Mapping[str, re.Pattern[str]], text: str) -> str:
    """The text without what stands between a begin and the next end of its kind, but for its line breaks.

    What begins and does not end stays. A kind that has no end from one place on has none after it: looking for it once
    is enough, where a flood of begins would take quadratic time.
    """
    parts, at, endless = [], 0, set()
    while found := begin.search(text, at):
        kind = found[1].lower()
        end = None if kind in endless else ends[kind].search(text, found.end())
        if end is None:
            endless.add(kind)
            parts.append(text[at : found.end()])
            at = found.end()
        else:
            parts += [text[at : found.start()], "\n" * text.count("\n", found.start(), end.end())]
            at = end.end()
    return "".join(parts) + text[at:]


def unescaped(text: str) -> str:
    """HTML with its characters for their names and numbers."""
    return html.unescape(_NO_CHARACTER.sub("\ufffd", text))
