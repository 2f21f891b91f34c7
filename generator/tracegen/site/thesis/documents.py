"""The texts that `tracegen check` reads: LaTeX with its inputs, BibTeX, Markdown, notebooks, HTML; as paragraphs."""

import html
import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tracegen.contract.documents import content
from tracegen.contract.errors import SettingsError
from tracegen.contract.text import visible
from tracegen.publishing.bundle import VERSION_FILE
from tracegen.site.thesis.macros import MOST_DEPTH, Expansion, Macros, macros_of

SUFFIXES = (".tex", ".bib", ".md", ".ipynb", ".html", ".htm")
EXPORTED = "tracegen.json"  # in a folder that was exported for LaTeX: its version, and the hashes of its files
MOST_BYTES = 64 << 20  # of a file
MOST_INPUTS = 15  # files that input one another; TeX takes as many (max_in_open)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
_INPUT = re.compile(r"\\(?P<how>input|include|subfile)\s*\{(?P<file>[^{}]+)\}")
_INCLUDED = re.compile(r"\\includegraphics\s*+(?:\[[^][]*+\])?\s*+\{(?P<file>[^{}]+)\}")
_GRAPHICS_PATH = re.compile(r"\\graphicspath\s*+\{((?:\s*+\{[^{}]*+\})++)\s*+\}")
_PICTURES = ("", ".pdf", ".png", ".jpg", ".svg")
_TAG = re.compile(r"<[^<>]*>")
_LINKING = re.compile(r"<(?:a|img|iframe|source)\b[^<>]*+>", re.I)
_ADDRESS = re.compile(r"\b(?:href|src)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')", re.I)
_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1", re.DOTALL | re.MULTILINE)
_GENERATED = re.compile(r"% (Values of |Needs \\usepackage)")  # how what a version holds for LaTeX begins
# What of a text no reader sees: listings, scripts, comments.
_VERBATIM = re.compile(r"\\begin\{(verbatim|lstlisting|comment)\*?\}")
_VERBATIM_ENDS = {name: re.compile(rf"\\end\{{{name}\*?\}}") for name in ("verbatim", "lstlisting", "comment")}
_HIDDEN = re.compile(r"<(script\b|style\b|!--)", re.IGNORECASE)
_HIDDEN_ENDS = {
    "script": re.compile(r"</script\s*+>", re.IGNORECASE),
    "style": re.compile(r"</style\s*+>", re.IGNORECASE),
    "!--": re.compile("-->"),
}
_NO_CHARACTER = re.compile(r"&#(?:[0-9]{9,}|[xX][0-9A-Fa-f]{9,});?")  # `int` refuses numbers of 4,300 digits
_ESCAPED = re.compile(r"\\([#$%&_{}~^])")


@dataclass(frozen=True)
class Paragraph:
    """Text without comments, its macros expanded, that begins in `line` of its document; `place` instead of a line."""

    line: int
    text: str
    place: str = ""

    def line_at(self, at: int) -> int:
        """The line of a place in it; where macros were expanded over lines, the one where it begins."""
        return self.line + bisect_left(self._breaks, at)

    @cached_property
    def _breaks(self) -> list[int]:
        """Where its lines end."""
        return [found.start() for found in re.finditer("\n", self.text)]


@dataclass(frozen=True)
class Included:
    """A file that a document includes: as it is written there, and where it lies; None: there is none."""

    line: int
    written: str
    path: Path | None
    is_text: bool  # else a picture


@dataclass
class Document:
    """A text with what it includes; `note` says what was odd about reading it."""

    path: Path
    paragraphs: list[Paragraph] = field(default_factory=list)
    included: list[Included] = field(default_factory=list)
    note: str = ""

    @property
    def is_latex(self) -> bool:
        """Whether values are macros of LaTeX in it."""
        return self.path.suffix in (".tex", ".bib")


def documents(paths: Sequence[Path]) -> list[Document]:
    """The documents at these paths and below these folders, each once; LaTeX with all that it inputs.

    Raises SettingsError for a path that is none, cannot be read, is too large, or takes too much when LaTeX's macros
    and inputs are followed.
    """
    found: dict[Path, Document] = {}
    for path in paths:
        for file in sorted(_files(path), key=lambda file: not _is_main(file)):
            _read(file, file.parent, found)
    return list(found.values())


def _is_main(file: Path) -> bool:
    """Whether a file is the main one of LaTeX: it knows the macros of those that it inputs, and where they lie."""
    if file.suffix.lower() != ".tex" or not file.is_file():
        return False
    with file.open("rb") as stream:
        return b"\\documentclass" in stream.read(1 << 20)


def _is_generated(path: Path) -> bool:
    """Whether tracegen wrote a file for LaTeX: it is compared with the version's, and its numbers are no author's."""
    with path.open(encoding="utf-8", errors="replace") as stream:
        return bool(_GENERATED.match(stream.readline(200)))


def exported(path: Path) -> Path | None:
    """The folder of `tracegen export NAME@vN latex` that a file lies in."""
    return next((folder for folder in (path.parent, path.parent.parent) if (folder / EXPORTED).is_file()), None)


def of_markdown(path: Path, text: str) -> Document:
    """The document that this Markdown is; what stands in blocks of code is none of it."""
    return Document(path, list(_split(_blanked(_FENCE, text))))


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        if path.suffix.lower() not in SUFFIXES:
            raise SettingsError(f"{path}: is none of {', '.join(SUFFIXES[:-1])}; name such a file, or a folder")
        yield path
        return
    for file in sorted(path.rglob("*")):
        parts = file.relative_to(path).parts
        hidden = any(part.startswith(".") for part in parts)
        if file.suffix.lower() in SUFFIXES and not hidden and file.is_file() and not _of_a_version(file, path):
            yield file


def _of_a_version(file: Path, top: Path) -> bool:
    """Whether a file is part of a published version, which says nothing about others."""
    folders = [folder for folder in file.parents if folder == top or top in folder.parents]
    return any((folder / name).is_file() for folder in folders for name in (VERSION_FILE, EXPORTED))


def _read(path: Path, root: Path, found: dict[Path, Document], macros: Macros | None = None, depth: int = 0) -> None:
    """Read a document, and what it inputs, where LaTeX looks for it: from the folder of the main file."""
    key = path.resolve()
    if key in found:
        return
    document = found[key] = Document(path)
    text = _text_of(document)
    kind = path.suffix.lower()
    if kind == ".tex":
        _read_latex(document, text, root, found, macros or Macros(), depth)
    elif kind == ".bib":
        document.paragraphs = [Paragraph(p.line, _plain(p.text)) for p in _split(text)]
    elif kind == ".ipynb":
        document.paragraphs = list(_cells(document.path, text))
    elif kind == ".md":
        document.paragraphs = of_markdown(path, text).paragraphs
    else:
        linked = _LINKING.sub(_address, _without_blocks(_HIDDEN, _HIDDEN_ENDS, text))
        document.paragraphs = list(_split(_unescaped(_blanked(_TAG, linked))))


def _address(tag: re.Match[str]) -> str:
    """The address that a tag of HTML leads to, in its place."""
    found = _ADDRESS.search(tag[0])
    return f" {found[1] or found[2] or ''} " if found else tag[0]


def _read_latex(
    document: Document, text: str, root: Path, found: dict[Path, Document], macros: Macros, depth: int
) -> None:
    text = _blanked(_COMMENT, _without_blocks(_VERBATIM, _VERBATIM_ENDS, text), keep=1)
    own, text = macros_of(text, document.path)
    macros |= own
    of_names = Expansion(macros, document.path)
    names = dict.fromkeys(of_names.expanded(name).strip().removesuffix(".tex") for _, name in _INPUT.findall(text))
    for name in names:
        path = root / f"{name}.tex"
        if path.is_file() and exported(path):
            macros |= macros_of(_text_of(Document(path)), path)[0]
    _inputs(document, Expansion(macros, document.path).expanded(text), root, found, macros, depth)
    expansion = Expansion(macros, document.path)
    document.paragraphs = [Paragraph(p.line, _plain(expansion.expanded(p.text, p.line))) for p in _split(text)]
    deep = next((p for p in document.paragraphs if macros.first_call(p.text) is not None), None)
    if deep is not None:
        document.note += f"{'; ' * bool(document.note)}in line {deep.line} macros lead to one another more than "
        document.note += f"{MOST_DEPTH} times; what they lead to was not looked at"


def _text_of(document: Document) -> str:
    path = document.path
    try:
        data = content(path, MOST_BYTES, SettingsError, f"name a text of at most {MOST_BYTES >> 20} MiB")
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        document.note = "is not UTF-8; it was read as Latin-1"
        return data.decode("latin-1")


def _split(text: str, place: str = "") -> Iterator[Paragraph]:
    """The paragraphs of a text, which empty lines part."""
    line = 1
    part: list[str] = []
    for number, words in enumerate(text.split("\n"), start=1):
        if words.strip():
            line = line if part else number
            part.append(words)
        elif part:
            yield Paragraph(line, "\n".join(part), place)
            part = []
    if part:
        yield Paragraph(line, "\n".join(part), place)


def _plain(text: str) -> str:
    """LaTeX with its escapes undone, so that links and units read as elsewhere."""
    return _ESCAPED.sub(r"\1", text).replace("~", " ").replace(r"\,", " ")


def _cells(path: Path, text: str) -> Iterator[Paragraph]:
    try:
        cells = json.loads(text)["cells"]
        for number, cell in enumerate(cells, start=1):
            source = cell.get("source", "") if cell.get("cell_type") == "markdown" else ""
            yield from _split("".join(source) if isinstance(source, list) else str(source), f"cell {number}")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SettingsError(f"{path}: is not a Jupyter notebook ({visible(str(error))[:80]})") from error


def _inputs(document: Document, text: str, root: Path, found: dict[Path, Document], macros: Macros, depth: int) -> None:
    """Read what LaTeX inputs, and note it and the pictures. Raises SettingsError where inputs lead too deep."""
    whole = Paragraph(1, text)
    folders = [
        root,
        *(root / name for names in _GRAPHICS_PATH.findall(text) for name in re.findall(r"\{([^{}]*)\}", names)),
    ]
    for pattern, suffixes, places in (
        (_INPUT, ("", ".tex"), [root, document.path.parent]),
        (_INCLUDED, _PICTURES, folders),
    ):
        for match in pattern.finditer(text):
            written = match["file"].strip()
            line = whole.line_at(match.start())
            path = next((p for f in places for s in suffixes if (p := f / (written + s)).is_file()), None)
            document.included.append(Included(line, written, path, pattern is _INPUT))
            if path is None or pattern is _INCLUDED or exported(path):
                continue
            if not _is_generated(path) and not _of_a_version(path, Path(path.anchor)):
                if depth >= MOST_INPUTS and path.resolve() not in found:
                    raise SettingsError(
                        f"{document.path}:{line}: inputs {written!r} below {MOST_INPUTS} others, more than TeX takes; "
                        "leave this file out, or input it from another"
                    )
                _read(path, root, found, macros, depth + 1)


def _blanked(pattern: re.Pattern[str], text: str, keep: int = 0) -> str:
    """The text without what the pattern finds, but for its line breaks and the group `keep`."""
    return pattern.sub(lambda m: (m[keep] if keep else "") + "\n" * m[0].count("\n"), text)


def _without_blocks(begin: re.Pattern[str], ends: Mapping[str, re.Pattern[str]], text: str) -> str:
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


def _unescaped(text: str) -> str:
    """HTML with its characters for their names and numbers."""
    return html.unescape(_NO_CHARACTER.sub("\ufffd", text))
