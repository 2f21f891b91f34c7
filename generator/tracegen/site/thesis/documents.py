"""The texts that `tracegen check` reads: LaTeX with its inputs, BibTeX, Markdown, notebooks, HTML; as paragraphs."""

import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracegen.contract.documents import content
from tracegen.contract.errors import SettingsError
from tracegen.contract.text import visible
from tracegen.publishing.bundle import VERSION_FILE
from tracegen.site.thesis.macros import Macros, macros_of

SUFFIXES = (".tex", ".bib", ".md", ".ipynb", ".html", ".htm")
EXPORTED = "tracegen.json"  # in a folder that was exported for LaTeX: its version, and the hashes of its files
MOST_BYTES = 64 << 20  # of a file
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
_VERBATIM = re.compile(r"\\begin\{(verbatim|lstlisting|comment)\*?\}.*?\\end\{\1\*?\}", re.DOTALL)
_INPUT = re.compile(r"\\(?P<how>input|include|subfile)\s*\{(?P<file>[^{}]+)\}")
_INCLUDED = re.compile(r"\\includegraphics\s*(?:\[[^\]]*\])?\s*\{(?P<file>[^{}]+)\}")
_GRAPHICS_PATH = re.compile(r"\\graphicspath\s*\{((?:\s*\{[^{}]*\}\s*)+)\}")
_PICTURES = ("", ".pdf", ".png", ".jpg", ".svg")
_TAG = re.compile(r"<[^<>]*>")
_LINK = re.compile(r"<(?:a|img|iframe|source)\b[^<>]*?\b(?:href|src)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')[^<>]*>", re.I)
_HIDDEN = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1", re.DOTALL | re.MULTILINE)
_GENERATED = re.compile(r"% (Values of |Needs \\usepackage)")  # how what a version holds for LaTeX begins
_ESCAPED = re.compile(r"\\([#$%&_{}~^])")


@dataclass(frozen=True)
class Paragraph:
    """Text without comments, its macros expanded, that begins in `line` of its document; `place` instead of a line."""

    line: int
    text: str
    place: str = ""


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

    Raises SettingsError for a path that is none, cannot be read, or is too large.
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


def _read(path: Path, root: Path, found: dict[Path, Document], macros: Macros | None = None) -> None:
    """Read a document, and what it inputs, where LaTeX looks for it: from the folder of the main file."""
    key = path.resolve()
    if key in found:
        return
    document = found[key] = Document(path)
    text = _text_of(document)
    kind = path.suffix.lower()
    if kind == ".tex":
        text = _blanked(_COMMENT, _blanked(_VERBATIM, text), keep=1)
        own, text = macros_of(text)
        macros = (macros or Macros()) | own
        for match in _INPUT.finditer(text):
            path = root / f"{macros.expanded(match['file']).strip().removesuffix('.tex')}.tex"
            if path.is_file() and exported(path):
                macros |= macros_of(_text_of(Document(path)))[0]
        _inputs(document, macros.expanded(text), root, found, macros)
        document.paragraphs = [Paragraph(p.line, _plain(macros.expanded(p.text))) for p in _split(text)]
    elif kind == ".bib":
        document.paragraphs = [Paragraph(p.line, _plain(p.text)) for p in _split(text)]
    elif kind == ".ipynb":
        document.paragraphs = list(_cells(document.path, text))
    elif kind == ".md":
        document.paragraphs = of_markdown(path, text).paragraphs
    else:
        linked = _LINK.sub(lambda m: f" {m[1] or m[2] or ''} ", _blanked(_HIDDEN, text))
        document.paragraphs = list(_split(html.unescape(_blanked(_TAG, linked))))


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


def _blanked(pattern: re.Pattern[str], text: str, keep: int = 0) -> str:
    """The text without what the pattern finds, but for its line breaks and the group `keep`."""
    return pattern.sub(lambda m: (m[keep] if keep else "") + "\n" * m[0].count("\n"), text)


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
        raise SettingsError(f"{path}: is no Jupyter notebook ({visible(str(error))[:80]})") from error


def _inputs(document: Document, text: str, root: Path, found: dict[Path, Document], macros: Macros) -> None:
    """Read what LaTeX inputs, and note it and the pictures."""
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
            line = text.count("\n", 0, match.start()) + 1
            path = next((p for f in places for s in suffixes if (p := f / (written + s)).is_file()), None)
            document.included.append(Included(line, written, path, pattern is _INPUT))
            if path is None or pattern is _INCLUDED or exported(path):
                continue
            if not _is_generated(path) and not _of_a_version(path, Path(path.anchor)):
                _read(path, root, found, macros)
