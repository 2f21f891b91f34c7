"""The texts of four fields, as documents, from packages of Debian and from source that is at hand.

    english   the King James Bible (package bible-kjv) and the Debian Handbook (debian-handbook)
    german    the manual pages in German (manpages-de) and the German handbook
    python    the standard library of Python
    c         the source of llama.cpp, whose folder is given

Every twentieth document of a field is held out: nothing of it is trained on.
"""

import gzip
import html
import re
import subprocess
import sysconfig
from pathlib import Path

FIELDS = ("english", "german", "python", "c")
BYTES = 8_000_000  # of each field, at most
HELD_OUT = 20

HANDBOOK = Path("/usr/share/doc/debian-handbook/html")
MANUALS = Path("/usr/share/man/de")


def documents(llama_cpp: Path) -> dict[str, list[str]]:
    """By field: its documents, in a fixed order, up to BYTES of them."""
    found = {
        "english": bible() + handbook("en-US"),
        "german": handbook("de-DE") + [manual(file) for file in sorted(MANUALS.rglob("*.gz"))],
        "python": source(Path(sysconfig.get_path("stdlib")), (".py",), leave_out=("test", "tests", "site-packages")),
        "c": source(llama_cpp, (".c", ".h", ".cpp", ".hpp"), leave_out=("vendor", "build")),
    }
    return {field: cut(spread(found[field])) for field in FIELDS}


def split(texts: list[str]) -> tuple[list[str], list[str]]:
    """The documents to train on, and those held out."""
    held_out = texts[HELD_OUT - 1 :: HELD_OUT]
    return [text for place, text in enumerate(texts) if place % HELD_OUT != HELD_OUT - 1], held_out


def bible() -> list[str]:
    """One document a chapter, without the numbers of verses."""
    printed = subprocess.run(
        ["bible", "-f"], input="gen1:1-rev22:21\n", capture_output=True, text=True, check=True
    ).stdout
    chapters: dict[str, list[str]] = {}
    for line in printed.splitlines():
        verse = re.match(r"(?:bible\(KJV\) \[.*?\]> )?(\d?[A-Z][A-Za-z]+\d+):\d+ +(.*)", line)
        if verse:
            chapters.setdefault(verse[1], []).append(verse[2])
    return ["\n".join(verses) for verses in chapters.values()]


def handbook(language: str) -> list[str]:
    """One document a page of the handbook: its paragraphs, without markup."""
    texts = []
    for file in sorted((HANDBOOK / language).glob("*.html")):
        paragraphs = re.findall(r'<div class="para">(.*?)</div>', file.read_text("utf-8"), re.DOTALL)
        plain = [" ".join(html.unescape(re.sub(r"<[^>]*>", "", each)).split()) for each in paragraphs]
        texts.append("\n\n".join(each for each in plain if each))
    return [text for text in texts if text]


def manual(file: Path) -> str:
    """A manual page as text: the words of its lines, without roff's requests."""
    lines = []
    for line in gzip.decompress(file.read_bytes()).decode("utf-8", errors="replace").splitlines(keepends=True):
        line = re.sub(r"^\.(?:SH|SS|B|I|BR|IR|RB|RI|BI|IB|TP|PP)\b ?", "", line.rstrip("\n"))
        if line.startswith((".", "'")):
            continue
        line = re.sub(r"\\f(?:\(..|\[.*?\]|.)|\\[&|/,]|\\s[-+]?\d", "", line)
        line = line.replace("\\-", "-").replace("\\(bq", "‚").replace("\\(lq", "‘").replace("\\e", "\\")
        lines.append(re.sub(r"\\\((..)|\\\[[^]]*\]", "", line).replace('"', ""))
    return "\n".join(lines).strip()


def source(folder: Path, endings: tuple[str, ...], leave_out: tuple[str, ...]) -> list[str]:
    """The files of a folder with these endings, but for parts of that name."""
    return [
        file.read_text("utf-8", errors="replace")
        for file in sorted(folder.rglob("*"))
        if file.suffix in endings and file.is_file() and not set(file.relative_to(folder).parts) & set(leave_out)
    ]


def spread(texts: list[str]) -> list[str]:
    """The documents in another fixed order, so that neighbours in a folder do not stand together."""
    step = next(step for step in (7919, 7907, 7901) if len(texts) % step)
    return [texts[place * step % len(texts)] for place in range(len(texts))]


def cut(texts: list[str]) -> list[str]:
    """The first documents, up to BYTES; one alone has at most a fortieth of them."""
    kept, size = [], 0
    for text in texts:
        text = text[: BYTES // 40]
        size += len(text.encode())
        if size > BYTES:
            break
        if len(text) > 200:
            kept.append(text)
    return kept
