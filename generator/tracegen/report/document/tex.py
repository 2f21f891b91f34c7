"""Text, figures, tables and values as LaTeX; whatever a trace, a model or a prompt says compiles and stays text."""

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from tracegen.contract.text import ended, printable

_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\textasciigrave{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "{''}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "\u00a0": "~",
    "\u2009": r"\,",
    "\u202f": r"\,",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\ldots{}",
    "’": r"\textquoteright{}",
    "‘": r"\textquoteleft{}",
    "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}",
    "µ": r"\ensuremath{\mu}",
    "μ": r"\ensuremath{\mu}",
    "×": r"\ensuremath{\times}",
    "·": r"\ensuremath{\cdot}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "−": r"\ensuremath{-}",
    "→": r"\ensuremath{\rightarrow}",
    "±": r"\ensuremath{\pm}",
    "≈": r"\ensuremath{\approx}",
}
_SIGNS |= {sign: f"\\{sign}" for sign in "{}$&#_%"}
_LETTERS = {chr(n) for n in range(0xC0, 0x100)} - set("ÐÞðþ×÷")  # in every font of LaTeX
_JOINED = re.compile(r"([-',])(?=\1)")  # LaTeX makes one sign of two
MOST = 200  # rows of a table; the CSV has all
_LINE = 72  # mean characters of \small in a line of 121 mm, the text of a plain article on A4
_LONG = 24  # characters: longer text of a column wraps
_HEAD = 9  # characters: longer names of columns wrap, to the width of their cells
_EM = 0.5  # the width of a mean character, em
_LETTER, _WIDE = 0.53, 0.8  # of small letters and digits, and of capitals: no word is wider than they say


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

    A figure has its own width, or that of the line if this is less. `source` names the version; needs graphicx of
    2021 or later, for the text alternative.
    """
    others = "".join(f"% Or: \\includegraphics[width={_at_most(width)}]{{{file}}}\n" for file, width in files[:-1])
    file, width = files[-1]
    return (
        f"% Needs \\usepackage{{graphicx}}; the PDF lies beside this file.\n{others}"
        "\\begin{figure}\n  \\centering\n"
        f"  \\includegraphics[width={_at_most(width)},alt={{{text(alt)}}}]{{{file}}}\n"
        f"  \\caption[{{{text(title)}}}]{{{_said(title, caption, source)}}}\n"
        f"  \\label{{{label}}}\n\\end{{figure}}\n"
    )


def table(
    label: str, source: str, title: str, caption: str, head: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]]
) -> str:
    """A table environment for booktabs; `head`: names of columns, and whether they hold numbers.

    Long text wraps. A table that is still wider than the line is scaled down to it.
    """
    lines = list(rows)
    shown = lines[:MOST]
    longest = [max((len(row[n]) for row in shown), default=0) for n in range(len(head))]
    widths = _widths(head, shown, longest)
    kinds = ("r" if number else "l" for _, number in head)
    columns = "".join(f"p{{{width:.1f}em}}" if width else kind for width, kind in zip(widths, kinds, strict=True))
    more = f"% The first {MOST} of {len(lines)} rows; the CSV has all.\n" if len(lines) > MOST else ""
    body = "".join(f"    {_row(row, widths)}\n" for row in shown)
    names = [_name(*column, most) for column, most in zip(head, longest, strict=True)]
    return (
        f"% Needs \\usepackage{{booktabs,graphicx}}.\n{more}\\begin{{table}}\n  \\centering\n  \\small\n"
        "  \\setlength{\\belowcaptionskip}{1ex}\n"
        f"  \\caption[{{{text(title)}}}]{{{_said(title, caption, source)}}}\n"
        f"  \\label{{{label}}}\n"
        "  \\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
        f"  \\begin{{tabular}}{{{columns}}}\n    \\toprule\n"
        f"    {' & '.join(names)} \\\\\n    \\midrule\n{body}    \\bottomrule\n"
        "  \\end{tabular}}\n\\end{table}\n"
    )


def _at_most(width: str) -> str:
    """`width`, or that of the line if this is less."""
    return width if width == r"\linewidth" else f"\\ifdim{width}>\\linewidth\\linewidth\\else{width}\\fi"


def _widths(head: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]], longest: Sequence[int]) -> list[float]:
    """The width that the text of each column wraps to, in em; 0 for numbers and where no cell is long.

    Columns that wrap share what the others leave of a line, by their length, and hold their longest word.
    """
    wraps = [most > _LONG and not number for most, (_, number) in zip(longest, head, strict=True)]
    fixed = sum(max(most, _HEAD) for most, wrap in zip(longest, wraps, strict=True) if not wrap)
    left = max(_LINE - fixed - 3 * len(head), 0)
    whole = sum(most**0.5 for most, wrap in zip(longest, wraps, strict=True) if wrap)
    widths = []
    for n, (title, _) in enumerate(head):
        share = left * longest[n] ** 0.5 / whole if wraps[n] else 0.0
        words = [word for cell in (title, *(row[n] for row in rows)) for word in cell.split()]
        widest = max((_width(word) for word in words), default=0.0)
        widths.append(max(_EM * min(share, longest[n]), widest, _EM * _LONG / 2) if wraps[n] else 0.0)
    return widths


def _width(word: str) -> float:
    """About the width of a word, em; a sign that fonts may lack is written as eight."""
    letters = sum(_WIDE if sign.isupper() or sign in "mw@%…—" else _LETTER for sign in word)
    return letters + sum(8 * _WIDE for sign in word if sign > "~" and sign not in _LETTERS)


def _name(words: str, number: bool, most: int) -> str:
    """The name of a column, in lines of at most `most` characters where its words allow it."""
    parts = textwrap.wrap(" ".join(words.split()), max(_HEAD, most), break_long_words=False, break_on_hyphens=False)
    if len(parts) < 2:
        return text(words)
    lines = r" \\ ".join(text(part) for part in parts)
    return f"\\begin{{tabular}}[b]{{@{{}}{'r' if number else 'l'}@{{}}}}{lines}\\end{{tabular}}"


def _said(title: str, caption: str, source: str) -> str:
    """The words below a figure or above a table: the title ends with a full stop, unless it asks."""
    return f"\\textbf{{{text(ended(title))}}} {text(caption)} ({text(source)})"


def _row(cells: Iterable[str], widths: Iterable[float]) -> str:
    """A row; text that wraps is not stretched to the width of its column."""
    ragged = (r"\rightskip=0pt plus 1fil\relax " if width else "" for width in widths)
    return " & ".join(before + text(cell) for before, cell in zip(ragged, cells, strict=True)) + r" \\"


_COMMANDS = r"""% \tracegen{NAME@vN}{KEY}: a value with its unit; \tracegenexact, \tracegenunit: number and unit.
% \tracegen{NAME}{KEY} is that of the version whose file was read last.
\providecommand{\tracegenknown}[1]{\ifcsname#1\endcsname\csname#1\endcsname%
  \else\errmessage{tracegen has no value #1}\fi}
\providecommand{\tracegen}[2]{\tracegenknown{tracegen:#1:#2}}
\providecommand{\tracegenexact}[2]{\tracegenknown{tracegen:#1:#2:exact}}
\providecommand{\tracegenunit}[2]{\tracegenknown{tracegen:#1:#2:unit}}
\providecommand{\tracegenkeep}[4]{\expandafter\def\csname tracegen:#1\endcsname{#2}%
  \expandafter\def\csname tracegen:#1:exact\endcsname{#3}\expandafter\def\csname tracegen:#1:unit\endcsname{#4}}
"""


def values(
    experiment: str, source: str, published: Mapping[str, Mapping[str, object]], citation: str | None = None
) -> str:
    """The published values as commands of LaTeX: `\\tracegen{demo@v1}{tokens_per_second_generate}`.

    They are kept by `citation` of their version, where there is one, and by the name of the experiment alone.
    """
    names = [name(experiment), *(["@".join(map(name, citation.split("@")))] if citation else [])]
    keep = "".join(f"\\tracegenkeep{{{of}:#1}}{{#2}}{{#3}}{{#4}}" for of in names)
    lines = [f"% Values of {text(source)}.\n{_COMMANDS}\\def\\tracegenvalue#1#2#3#4{{{keep}}}%\n"]
    for key, value in sorted(published.items()):
        exact = "" if value.get("value") is None else value["value"]
        words = "".join(f"{{{text(part)}}}" for part in (value.get("text"), exact, value.get("unit")))
        lines.append(f"\\tracegenvalue{{{name(key)}}}{words}%\n")
    return "".join(lines)
