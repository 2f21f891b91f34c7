"""Text, figures, tables and values as LaTeX; whatever a trace, a model or a prompt says compiles and stays text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tracegen.charts.text import ended, printable

_SIGNS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "`": r"\textasciigrave{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "{''}", "[": "{[}", "]": "{]}", "*": "{*}",
    "\u00a0": "~", "\u2009": r"\,", "\u202f": r"\,", "–": r"\textendash{}", "—": r"\textemdash{}",
    "…": r"\ldots{}", "’": r"\textquoteright{}", "‘": r"\textquoteleft{}", "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}", "µ": r"\ensuremath{\mu}", "μ": r"\ensuremath{\mu}", "×": r"\ensuremath{\times}",
    "·": r"\ensuremath{\cdot}", "≤": r"\ensuremath{\leq}", "≥": r"\ensuremath{\geq}", "−": r"\ensuremath{-}",
    "→": r"\ensuremath{\rightarrow}", "±": r"\ensuremath{\pm}", "≈": r"\ensuremath{\approx}",
}  # fmt: skip
_SIGNS |= {sign: f"\\{sign}" for sign in "{}$&#_%"}
_LETTERS = {chr(n) for n in range(0xC0, 0x100)} - set("ÐÞðþ×÷")  # in every font of LaTeX
_JOINED = re.compile(r"([-',])(?=\1)")  # LaTeX makes one sign of two
MOST = 200  # rows of a table; the CSV has all


def text(words: object) -> str:
    """The words as text of LaTeX on one line; a character that its fonts may lack becomes `[U+4F60]`.

    Signs that LaTeX would join (`--`, `''`) or read as an argument (`*`, `[`) stand alone.
    """
    line = " ".join(printable(words).split())
    return _JOINED.sub(r"\1{}", "".join(_sign(sign) for sign in line))


def _sign(sign: str) -> str:
    if sign in _SIGNS:
        return _SIGNS[sign]
    if " " <= sign <= "~" or sign in _LETTERS:
        return sign
    return f"{{[}}U+{ord(sign):04X}{{]}}"


def name(*parts: str) -> str:
    """Parts of a label or a key as letters, digits, `_` and `-`, joined by `-`."""
    return "-".join(re.sub(r"[^A-Za-z0-9_-]+", "-", part) for part in parts)


def figure(label: str, source: str, title: str, caption: str, alt: str, files: Sequence[tuple[str, str]]) -> str:
    """A figure environment for the last of `files`, each (file, width); the others stand in comments.

    `source` names the version; needs graphicx of 2021 or later, for the text alternative.
    """
    others = "".join(f"% Or: \\includegraphics[width={width}]{{{file}}}\n" for file, width in files[:-1])
    file, width = files[-1]
    return (
        f"% Needs \\usepackage{{graphicx}}; the PDF lies beside this file.\n{others}"
        "\\begin{figure}\n  \\centering\n"
        f"  \\includegraphics[width={width},alt={{{text(alt)}}}]{{{file}}}\n"
        f"  \\caption[{{{text(title)}}}]{{{_said(title, caption, source)}}}\n"
        f"  \\label{{{label}}}\n\\end{{figure}}\n"
    )


def table(
    label: str, source: str, title: str, caption: str, head: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]]
) -> str:
    """A table environment for booktabs; `head`: names of columns, and whether they hold numbers."""
    lines = list(rows)
    columns = "".join("r" if number else "l" for _, number in head)
    more = f"% The first {MOST} of {len(lines)} rows; the CSV has all.\n" if len(lines) > MOST else ""
    body = "".join(f"    {_row(row)}\n" for row in lines[:MOST])
    return (
        f"% Needs \\usepackage{{booktabs}}.\n{more}\\begin{{table}}\n  \\centering\n  \\small\n"
        f"  \\caption[{{{text(title)}}}]{{{_said(title, caption, source)}}}\n"
        f"  \\label{{{label}}}\n  \\begin{{tabular}}{{{columns}}}\n    \\toprule\n"
        f"    {_row([column for column, _ in head])}\n    \\midrule\n{body}    \\bottomrule\n"
        "  \\end{tabular}\n\\end{table}\n"
    )


def _said(title: str, caption: str, source: str) -> str:
    """The words below a figure or above a table: the title ends with a full stop, unless it asks."""
    return f"\\textbf{{{text(ended(title))}}} {text(caption)} ({text(source)})"


def _row(cells: Iterable[str]) -> str:
    return " & ".join(text(cell) for cell in cells) + r" \\"


_COMMANDS = r"""% \tracegen{EXPERIMENT}{KEY}: a value with its unit; \tracegenexact, \tracegenunit: number and unit.
\providecommand{\tracegenknown}[1]{\ifcsname#1\endcsname\csname#1\endcsname%
  \else\errmessage{tracegen has no value #1}\fi}
\providecommand{\tracegen}[2]{\tracegenknown{tracegen:#1:#2}}
\providecommand{\tracegenexact}[2]{\tracegenknown{tracegen:#1:#2:exact}}
\providecommand{\tracegenunit}[2]{\tracegenknown{tracegen:#1:#2:unit}}
"""


def values(experiment: str, source: str, published: Mapping[str, Mapping[str, object]]) -> str:
    """The published values as commands of LaTeX: `\\tracegen{demo}{tokens_per_second_generate}`."""
    lines = [f"% Values of {text(source)}.\n{_COMMANDS}"]
    for key, value in sorted(published.items()):
        at = f"tracegen:{name(experiment)}:{name(key)}"
        exact = "" if value.get("value") is None else value["value"]
        for suffix, words in (("", value.get("text")), (":exact", exact), (":unit", value.get("unit"))):
            lines.append(f"\\expandafter\\def\\csname {at}{suffix}\\endcsname{{{text(words)}}}%\n")
    return "".join(lines)
