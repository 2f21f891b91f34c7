"""The author's own macros of LaTeX, as far as links, values and versions may stand in them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_DEFINED = re.compile(
    r"\\(?:(?:re|provide)?newcommand|(?:Re|Provide)?NewDocumentCommand|def|providecommand|renewcommand)\*?\s*"
    r"(?:\{\s*\\(?P<braced>[A-Za-z@]+)\s*\}|\\(?P<name>[A-Za-z@]+))\s*"
    r"(?:\[(?P<n>[1-9])\](?:\[[^\]]*\])?)?(?:(?:#[1-9])*)\s*(?=\{)"
)
_LEADS_TO_VERSION = re.compile(r"experiments/|tracegen|@v[0-9]|https?:|#[1-9]")
_OWN = {"tracegen", "tracegenexact", "tracegenunit", "tracegenknown"}  # of the file of values
_DEEPEST = 8
_LONGEST = 1 << 20  # signs of a text with its macros


@dataclass(frozen=True)
class Macros:
    """Bodies of macros by name."""

    bodies: dict[str, str] = field(default_factory=dict)

    def __or__(self, others: Macros) -> Macros:
        """Both; the others replace macros of the same name."""
        return Macros({**self.bodies, **others.bodies})

    def expanded(self, text: str) -> str:
        """The text with macros replaced by their bodies, as deep as they lead; cut where it grows beyond bounds."""
        if not self.bodies:
            return text
        called = re.compile(
            r"\\(" + "|".join(sorted(map(re.escape, self.bodies), key=len, reverse=True)) + r")(?![A-Za-z@])\s*"
        )
        for _ in range(_DEEPEST):
            parts, at = [], 0
            for match in called.finditer(text):
                if match.start() < at:
                    continue
                body, end = self.bodies[match[1]], match.end()
                for n in range(max((int(m) for m in re.findall(r"#([1-9])", body)), default=0)):
                    argument, end = _group(text, end)
                    body = body.replace(f"#{n + 1}", argument)
                parts += [text[at : match.start()], body]
                at = end
            if not parts:
                return text
            text = ("".join(parts) + text[at:])[:_LONGEST]
        return text


def macros_of(text: str) -> tuple[Macros, str]:
    """The macros that a text defines and that may lead to a version, and the text without them.

    Those of tracegen are not among them, nor what calls itself.
    """
    found, parts, at = {}, [], 0
    for match in _DEFINED.finditer(text):
        name, (body, end) = match["braced"] or match["name"], _group(text, match.end())
        if (
            (_LEADS_TO_VERSION.search(body) or name == "tracegenfolder")
            and name not in _OWN
            and f"\\{name}" not in body
        ):
            found[name] = body
            parts += [text[at : match.start()], "\n" * text.count("\n", match.start(), end)]
            at = end
    return Macros(found), "".join(parts) + text[at:]


def _group(text: str, at: int) -> tuple[str, int]:
    """What stands in the braces at a place, and where they end; nothing where there are none."""
    while at < len(text) and text[at].isspace():
        at += 1
    if at >= len(text) or text[at] != "{":
        return "", at
    depth = 0
    for end in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0) if text[end - 1] != "\\" else 0
        if not depth:
            return text[at + 1 : end], end + 1
    return "", at
