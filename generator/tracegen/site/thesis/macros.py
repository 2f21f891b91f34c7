"""The author's own macros of LaTeX, as far as links, values and versions may stand in them.

What a text makes of its macros is bounded, in steps and in signs: nine arguments in one another would take all memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from tracegen.contract.errors import SettingsError

MOST_SIGNS = 8 << 20  # that macros put into one document; a thesis has one million
MOST_DEPTH = 8  # of calls that lead to one another, and of definitions in one another
_DEFINED = re.compile(
    r"\\(?:(?:re|provide)?newcommand|(?:Re|Provide)?NewDocumentCommand|def|providecommand|renewcommand)\*?\s*+"
    r"(?:\{\s*+\\(?P<braced>[A-Za-z@]++)\s*+\}|\\(?P<name>[A-Za-z@]++))\s*+"
    r"(?:\[(?P<n>[1-9])\](?:\[[^][]*+\])?+)?+(?:#[1-9])*+\s*+(?=\{)"
)
_CALL = re.compile(r"\\([A-Za-z@]++)\s*+")
_PARAMETER = re.compile("#([1-9])")
_BRACE = re.compile(r"(?<!\\)[{}]")
_LEADS_TO_VERSION = re.compile(r"experiments/|tracegen|@v[0-9]|https?:|#[1-9]")
_OWN = {"tracegen", "tracegenexact", "tracegenunit", "tracegenknown"}  # of the file of values


@dataclass(frozen=True)
class Macros:
    """Bodies of macros by name."""

    bodies: dict[str, str] = field(default_factory=dict)

    def __or__(self, others: Macros) -> Macros:
        """Both; the others replace macros of the same name."""
        return Macros({**self.bodies, **others.bodies})

    def first_call(self, text: str) -> int | None:
        """Where a text calls one of them first; None: nowhere."""
        return next((call.start() for call in _CALL.finditer(text) if call[1] in self.bodies), None)


class Expansion:
    """Puts bodies in the place of macros, in the texts of one document: by MOST_SIGNS at most, in all of them."""

    def __init__(self, macros: Macros, path: Path) -> None:
        """Nothing yet; `path` is named in errors."""
        self._macros, self._path, self._left = macros, path, MOST_SIGNS

    def expanded(self, text: str, line: int = 1) -> str:
        """The text with macros replaced by their bodies, as deep as they lead, down to MOST_DEPTH.

        Raises SettingsError, which names the line (`line` is that of the text), where they put in too much.
        """
        for _ in range(MOST_DEPTH):
            if self._macros.first_call(text) is None:
                return text
            text = self._once(text, line)
        return text

    def _once(self, text: str, line: int) -> str:
        parts, at, closes = [], 0, _closes(text)
        for call in _CALL.finditer(text):
            body = self._macros.bodies.get(call[1])
            if body is None or call.start() < at:  # the latter: it stands in an argument
                continue
            named = [int(number) for number in _PARAMETER.findall(body)]
            arguments, end = [], call.end()
            for _ in range(max(named, default=0)):
                argument, end = _group(text, end, closes)
                arguments.append(argument)
            # Counted before it is made, and where arguments are empty as the work that it takes.
            self._left -= max(len(body), len(body) - 2 * len(named) + sum(len(arguments[n - 1]) for n in named))
            if self._left < 0:
                raise SettingsError(
                    f"{self._path}:{line + text.count(chr(10), 0, call.start())}: with the macro \\{call[1]} the "
                    f"author's macros put in more than {MOST_SIGNS:,} signs; leave this file out, or part it"
                )
            parts += [text[at : call.start()], _filled(body, arguments)]
            at = end
        return "".join(parts) + text[at:]


def macros_of(text: str, path: Path) -> tuple[Macros, str]:
    """The macros that a text defines and that may lead to a version, and the text without them.

    Those of tracegen are not among them, nor what calls itself. Raises SettingsError, which names `path` and the line,
    where definitions stand in one another deeper than MOST_DEPTH.
    """
    found, parts, at, closes = {}, [], 0, _closes(text)
    around: list[int] = []  # where the definitions end in which this one stands
    for match in _DEFINED.finditer(text):
        name, (body, end) = match["braced"] or match["name"], _group(text, match.end(), closes)
        around = [*(last for last in around if last > match.start()), end]
        if len(around) > MOST_DEPTH:
            raise SettingsError(
                f"{path}:{text.count(chr(10), 0, match.start()) + 1}: the definition of \\{name} stands in more than "
                f"{MOST_DEPTH} others; leave this file out, or define it outside of them"
            )
        if (
            (_LEADS_TO_VERSION.search(body) or name == "tracegenfolder")
            and name not in _OWN
            and f"\\{name}" not in body
        ):
            found[name] = body
            if match.start() >= at:
                parts += [text[at : match.start()], "\n" * text.count("\n", match.start(), end)]
                at = end
    return Macros(found), "".join(parts) + text[at:]


def _filled(body: str, arguments: list[str]) -> str:
    """A body with its arguments; what stands in these is not a parameter of this macro."""
    return _PARAMETER.sub(lambda parameter: arguments[int(parameter[1]) - 1], body)


def _closes(text: str) -> dict[int, int]:
    """Where each brace that is closed is closed."""
    closes, opened = {}, []
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            closes[opened.pop()] = brace.start()
    return closes


def _group(text: str, at: int, closes: dict[int, int]) -> tuple[str, int]:
    """What stands in the braces at a place, and where they end; nothing where there are none."""
    while at < len(text) and text[at].isspace():
        at += 1
    close = closes.get(at)
    return ("", at) if close is None else (text[at + 1 : close], close + 1)
