"""The places that state what a report found, each as numbers that can be held beside one another.

A number stands for all values that are shown alike: `54.3 %` for those from 54.25 to 54.35 %. Two places contradict
each other where no value is shown as both. What a sentence is about is told by the words that any sentence about it has
(`page fault`, the name of a tensor), and not by how it is put.
"""

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pandas as pd

# Numbers

SIZES = {f"{prefix}B": 2.0 ** (10 * n) for n, prefix in enumerate(("", "Ki", "Mi", "Gi", "Ti"))}
UNITS = {  # as texts write them -> the unit of the measure, and how many of it they are
    "%": ("share", 0.01),
    "tokens/s": ("tokens/s", 1.0),
    "×": ("times", 1.0),
    **{
        unit: ("ns", ns)
        for unit, ns in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10), ("h", 3.6e12))
    },
    **{unit: ("bytes", size) for unit, size in SIZES.items()},
    **{f"{unit}/s": ("bytes/s", size) for unit, size in SIZES.items()},
    "": ("", 1.0),
}
_UNIT = "|".join(sorted(map(re.escape, filter(None, UNITS)), key=len, reverse=True))
_NUMBER = re.compile(
    r"(?<![\w.,/@–-])(?P<sign>[<>] )?(?P<number>\d{1,3}(?: \d{3})+(?![\d])|\d+)(?P<decimals>\.\d+)?"
    rf"(?: ?(?P<unit>{_UNIT})(?![\w/]))?(?!\w)"
)
CLOSE = 1e-9


@dataclass(frozen=True)
class Shown:
    """A number as it is shown: all values from `low` to `high`, in the unit of measures, are."""

    text: str
    unit: str
    low: float
    high: float

    def stands_for(self, value: float) -> bool:
        """Whether this value is shown so."""
        slack = CLOSE * max(abs(value), 1e-300)
        return self.low - slack <= value <= self.high + slack

    def agrees(self, other: "Shown") -> bool:
        """Whether some value is shown as both."""
        slack = CLOSE * max(abs(self.high), abs(other.high))
        return self.unit == other.unit and self.low <= other.high + slack and other.low <= self.high + slack


def exactly(value: float, unit: str) -> Shown:
    """A number that is stated with all its digits."""
    return Shown(repr(value), unit, float(value), float(value))


def _shown(found: re.Match[str]) -> Shown:
    unit, size = UNITS[found["unit"] or ""]
    value = float(found["number"].replace(" ", "") + (found["decimals"] or ""))
    half = 0.5 * 10.0 ** -max(len(found["decimals"] or ".") - 1, 0)
    if unit == "share" and value in (0, 100):
        half = 0.05  # `percent` writes it so
    low, high = (value - half) * size, (value + half) * size
    if found["unit"] == "B":
        low, high = value, value + 1.0  # cut, not rounded
    if found["sign"] == "< ":
        low, high = 0.0, value * size
    if found["sign"] == "> ":
        low, high = value * size, size * 100.0
    return Shown(found[0].strip(), unit, low, high)


@lru_cache(1 << 16)
def numbers(text: str) -> tuple[Shown, ...]:
    """The numbers of a text in their order, with and without a unit."""
    return tuple(_shown(found) for found in _NUMBER.finditer(text))


def number(text: str) -> Shown | None:
    """The number that a text is; None for any other text."""
    found = _NUMBER.fullmatch(plain(text))
    return _shown(found) if found else None


def plain(text: str) -> str:
    """The text with one kind of space, without signs that no reader sees and without marks of code."""
    return " ".join(re.sub(r"[\\`*\u2060]", "", text).split())


@lru_cache(1 << 16)
def skeleton(sentence: str) -> str:
    """A sentence without its numbers."""
    return _NUMBER.sub("#", sentence)


@lru_cache(1 << 16)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text."""
    return tuple(re.split(r"(?<=[.!?])\s+(?=[A-Z“])", plain(text)))


# Pages

_BLOCKS = frozenset(
    ("p", "div", "dt", "dd", "li", "tr", "td", "th", "h1", "h2", "h3", "small", "summary", "figcaption")
)
_ENDS = _BLOCKS | {"section", "figure", "b"}  # a number of an answer is the bold beginning of a block
_UNREAD = frozenset(("script", "style", "pre", "select", "textarea"))


@dataclass(frozen=True)
class Line:
    """A block of text of a page, the ids around it, the innermost last, and the row of a table that it is in, or 0."""

    ids: tuple[str, ...]
    text: str
    row: int = 0


class _Lines(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[Line] = []
        self.open: list[tuple[str, str]] = []
        self.text: list[str] = []
        self.unread = self.row = self.rows = 0
        self.feed(html)
        self.close()
        self.end()

    def end(self) -> None:
        text = plain("".join(self.text))
        self.text.clear()
        if text:
            self.found.append(Line(tuple(at for _, at in self.open if at), text, self.row))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.unread += tag in _UNREAD
        if tag not in _ENDS or self.unread:
            return
        self.end()
        if tag == "tr":
            self.rows += 1
            self.row = self.rows
        if tag != "b":
            self.open.append((tag, dict(attrs).get("id") or ""))

    def handle_endtag(self, tag: str) -> None:
        self.unread -= tag in _UNREAD
        if tag not in _ENDS or tag == "b" or self.unread:
            return
        self.end()
        self.row = 0 if tag == "tr" else self.row
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not self.unread:
            self.text.append(data)


_DRAWN = re.compile(r'<svg\b.*?</svg>|<a class="tg-figure-of".*?</a>', re.DOTALL)


@lru_cache(maxsize=128)
def lines(html: str) -> tuple[Line, ...]:
    """The blocks of text of a page in their order, without drawings and code."""
    return tuple(_Lines(_DRAWN.sub("", html)).found)


_TEX = re.compile(
    r"\\(?:ensuremath\{\\(?P<sign>[a-z]+)\}|(?:text)?(?P<named>[a-z]+)\{\}|(?P<one>[%&#_${}, ]))|(?P<between>[-',])\{\}"
)
_SIGNS = {"mu": "µ", "times": "×", "less": "<", "greater": ">", "endash": "–", "ldots": "…"}


def from_tex(text: str) -> str:
    """Text of LaTeX as it is printed, as far as numbers and names go."""

    def sign(found: re.Match[str]) -> str:
        named = found["sign"] or found["named"]
        if named:
            return _SIGNS.get(named, " ")
        one = found["one"] or found["between"]
        return " " if one == "," and found["one"] else one

    return plain(_TEX.sub(sign, text))


# What is told of a report


@dataclass(frozen=True)
class Report:
    """All that tells of one run: the files of its report by path, and what commands and notebooks say.

    `tables` are those of `tracegen.load`, `asked` what `tracegen show NAME QUESTION` prints by question, `cited` the
    values as the journal quotes them by key (exact, and in words); of a run `shown` is what `tracegen show --json`
    prints, and `printed` what `tracegen show` does.
    """

    name: str
    files: Mapping[str, str]
    tables: Mapping[str, pd.DataFrame]
    asked: Mapping[str, str] = field(default_factory=dict)
    cited: Mapping[str, tuple[object, str]] = field(default_factory=dict)
    shown: Mapping[str, Any] = field(default_factory=dict)
    printed: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def values(self) -> Mapping[str, Mapping[str, Any]]:
        """The published values by key, with their exact numbers."""
        return dict(json.loads(self.files["data/values.json"]))

    @property
    def document(self) -> Mapping[str, Any]:
        """`version.json`; empty for the draft of a run."""
        return dict(json.loads(self.files.get("version.json", "{}")))

    @property
    def pages(self) -> dict[str, str]:
        """The finished pages by path, and the one to mail."""
        return {path: text for path, text in self.files.items() if path.endswith(("index.html", "overview.txt"))}

    def rows(self, path: str) -> list[dict[str, str]]:
        """The rows of a CSV."""
        return list(csv.DictReader(io.StringIO(self.files[path])))


# Measures, by their keys

FIRST_PAGES = ("index.html", "data/overview.txt")
OUTSIDE = ("load", "warmup")  # of every statistic


@dataclass(frozen=True)
class Stated:
    """A measure as a place states it."""

    place: str
    key: str
    text: str
    exact: float | None = None

    def against(self, value: Mapping[str, Any]) -> str:
        """What is wrong beside the published value; empty if nothing is."""
        if value["value"] is None:
            return "" if plain(self.text) == plain(value["text"]) and self.exact is None else f"not {value['text']!r}"
        shown = number(self.text) if self.exact is None else exactly(self.exact, value["unit"])
        right = shown is not None and shown.unit == value["unit"] and shown.stands_for(value["value"])
        return "" if right else f"not {value['text']} ({value['value']!r})"


def measures(report: Report) -> Iterator[Stated]:
    """Every place that states a measure under its key."""
    yield from _of_values("data/values.json", report.values)
    yield from _of_values("version.json", report.document.get("values", {}))
    yield from _of_values("show --json", report.shown.get("measures", {}))
    yield from _macros(report.files["data/values.tex"])
    yield from _printed(report)
    for key, (value, text) in report.cited.items():
        yield Stated("a quotation in the journal", key, text)
        if value is not None:
            yield Stated("a quotation in the journal, exact", key, text, float(str(value)))
    for path in FIRST_PAGES:
        for key, (_, text, *_) in key_figures(report.files[path]).items():
            yield Stated(path, key, text)
    yield from _speeds("data/issue.md", report.files["data/issue.md"])
    yield from _speeds("index.html, for an issue", issue_of(report.files["index.html"]))
    yield from _of_tables(report)
    yield from _of_csv(report)


def wrong_measures(report: Report) -> list[str]:
    """The places whose measure is not the published one."""
    wrong = [
        f"{of.place}: {of.key} is {of.text!r}{f' ({of.exact!r})' if of.exact is not None else ''}, {why}"
        for of in measures(report)
        if (why := of.against(report.values[of.key]) if of.key in report.values else "which is not published")
    ]
    return [*wrong, *_wrong_notes(report)]


def _of_values(place: str, values: Mapping[str, Mapping[str, Any]]) -> Iterator[Stated]:
    for key, value in values.items():
        yield Stated(place, key, value["text"])
        if value["value"] is not None:
            yield Stated(f"{place}, exact", key, value["text"], float(value["value"]))


def _macros(text: str) -> Iterator[Stated]:
    for key, words, exact, _ in re.findall(
        r"^\\tracegenvalue\{(.*?)\}\{(.*?)\}\{([^{}]*)\}\{([^{}]*)\}%$", text, re.MULTILINE
    ):
        yield Stated("data/values.tex", key, from_tex(words))
        if exact:
            yield Stated("data/values.tex, exact", key, words, float(exact))


def _printed(report: Report) -> Iterator[Stated]:
    """What `tracegen show` prints: the longest label that a line begins with is that of the measure."""
    labels = {of["label"]: key for key, of in report.shown.get("measures", {}).items()}
    for name, text in report.printed.items():
        fits = [label for label in labels if name == label or name.startswith(f"{label}, ")]
        if fits and text is not None:
            yield Stated("show", labels[max(fits, key=len)], str(text))


def issue_of(page: str) -> str:
    """The lines for an issue that a page has."""
    found = re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)
    return unescape(found[1]) if found else ""


def _speeds(place: str, text: str) -> Iterator[Stated]:
    """The table of speeds in the lines for an issue."""
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines() if line[:1] == "|"]
    for row in rows[2:]:
        of = dict(zip(rows[0], row, strict=True))
        phase, counted = ("prompt", "prompt_tokens") if of["test"][:2] == "pp" else ("generate", "n_generate_passes")
        yield Stated(
            place, f"tokens_per_second_{phase}", f"{of['t/s']} tokens/s" if of["t/s"][:1].isdigit() else of["t/s"]
        )
        if of["test"][2:]:
            yield Stated(place, counted, of["test"][2:])
        if number(of["size"]):
            yield Stated(place, "file_bytes", of["size"])


def _of_tables(report: Report) -> Iterator[Stated]:
    """Measures that a notebook counts in a line, of the tables that `tracegen.load` gives."""
    place, passes = "tracegen.load", report.tables["passes"]
    kind = passes["kind"].astype("object")
    took = (passes["end_ns"] - passes["begin_ns"]).astype("Float64")
    phases = {"prompt": (kind == "prompt").to_numpy(bool), "generate": (kind == "generate").to_numpy(bool)}
    counted: dict[str, Any] = {
        "token_ns_median": took[phases["generate"]].median(),
        "file_bytes": report.tables["files"]["size_bytes"].sum(),
        "disk_read_bytes": passes["read_bytes"][~kind.isin(OUTSIDE).to_numpy(bool)].sum(skipna=False),
    }
    for phase, of in phases.items():
        counted[f"n_{phase}_passes"] = of.sum()
        counted[f"disk_read_bytes_{phase}"] = passes["read_bytes"][of].sum(skipna=False, min_count=1)
        counted[f"tokens_per_second_{phase}"] = 1e9 * passes["n_tokens"][of].sum() / took[of].sum(skipna=False)
    for key, value in counted.items():
        if not pd.isna(value) and report.values[key]["value"] is not None:
            yield Stated(place, key, "", float(value))


def _of_csv(report: Report) -> Iterator[Stated]:
    """Measures that the data of figures have in a column."""
    if "data/tokens.csv" in report.files and (rows := report.rows("data/tokens.csv")):
        yield Stated(
            "data/tokens.csv", "token_ns_median", "", float(pd.Series([float(r["duration_ns"]) for r in rows]).median())
        )
        read = [row["read_bytes"] for row in rows]
        if all(read) and len(rows) == report.values["n_generate_passes"]["value"]:
            yield Stated("data/tokens.csv", "disk_read_bytes_generate", "", float(sum(map(float, read))))
    if "data/disk-split.csv" in report.files:
        kinds = report.tables["passes"].set_index("pass_id")["kind"].astype("object")
        rows = [row for row in report.rows("data/disk-split.csv") if kinds[int(row["pass_id"])] == "generate"]
        parts = {"disk_wait": ("disk", "behind"), "paging": ("paging",), "processor_wait": ("processor",)}
        for key, of in parts.items() if rows else ():
            mean = sum(float(row[f"{part}_ns"]) for row in rows for part in of) / len(rows)
            yield Stated("data/disk-split.csv", f"{key}_ns_per_token", "", mean)


def key_figures(html: str) -> dict[str, list[str]]:
    """The key figures of a first page: label, text and notes of each."""
    found: dict[str, list[str]] = {}
    for line in lines(html):
        if line.ids and line.ids[-1].startswith("value-"):
            found.setdefault(line.ids[-1].removeprefix("value-"), []).append(line.text)
    return found


def _wrong_notes(report: Report) -> list[str]:
    """Numbers with a unit beside key figures that no measure has."""
    known = [(of["unit"], of["value"]) for of in report.values.values() if of["value"] is not None]
    known += [("tokens/s", 1e9 / value) for unit, value in known if unit == "ns" and value]
    return [
        f"{path}: beside {key}: {shown.text} is no measure of the run"
        for path in FIRST_PAGES
        for key, (_, _, *notes) in key_figures(report.files[path]).items()
        for note in notes
        for shown in numbers(note)
        if shown.unit and not any(unit == shown.unit and shown.stands_for(value) for unit, value in known)
    ]


# Sentences that stand in several places

FIRST = ("answer", "help", "findings", "trust")  # the parts of the first page that say what was found
LEAST_WORDS = 4
Kept = dict[str, list[tuple[Shown, ...]]]


def texts(report: Report) -> Iterator[tuple[str, str, str]]:
    """Every text that people read or copy: where it is, the figure or part that it belongs to, and itself."""
    for path, page in report.pages.items():
        for line in lines(page):
            yield path, line.ids[-1] if line.ids else "", line.text
        for cells in _rows(page):
            yield path, "", " ".join(cells[:2])
    for place, text in (
        ("data/issue.md", report.files["data/issue.md"]),
        ("index.html, for an issue", issue_of(report.files["index.html"])),
    ):
        yield from ((place, "issue", plain(line.lstrip("-> "))) for line in text.splitlines() if line[:1] != "|")
    for path, text in report.files.items():
        if path.endswith(".tex") and "\\caption" in text:
            kind = "tab" if path.startswith("data/") else "fig"
            key = path.rpartition("/")[2].removesuffix(".tex")
            caption = re.search(r"^ *\\caption\[.*?\]\{(.*)\}$", text, re.MULTILINE)
            alt = re.search(r",alt=\{(.*?)\}\]\{", text)
            for found in filter(None, (caption, alt)):
                yield path, f"{kind}-{key}", from_tex(found[1]).replace("textbf{", "").replace("}", "")
    yield "version.json", "answer", plain(report.document.get("finding", ""))
    for figure in report.document.get("figures", ()):
        for name in ("caption", "alt"):
            yield f"version.json, {name}", f"fig-{figure['key']}", plain(figure[name])
    for key, text in report.asked.items():
        yield from (("show QUESTION", f"{kind}-{key}", plain(text)) for kind in ("fig", "tab"))
    said = [
        report.shown.get("answer"),
        *report.shown.get("would_help", ()),
        report.shown.get("nothing_would"),
        report.shown.get("floor"),
    ]
    yield from (("show --json", "answer", plain(text)) for text in said if text)
    yield from (("show", "answer", plain(str(text))) for text in report.printed.values() if text is not None)


@lru_cache(maxsize=128)
def _rows(page: str) -> list[list[str]]:
    """The texts of the cells of each row of a table."""
    rows = defaultdict(list)
    for line in lines(page):
        rows[line.row].append(line.text)
    return [cells for row, cells in rows.items() if row]


def wrong_sentences(report: Report) -> list[str]:
    """Sentences that have other numbers than the first page has in the same sentence, or a figure in its own page."""
    found, of_figures = defaultdict(list), defaultdict(lambda: defaultdict(list))  # type: Kept, dict[str, Kept]
    for line in lines(report.files["index.html"]):
        if set(line.ids) & set(FIRST):
            _keep(found, line.text)
    for path, page in report.pages.items():
        for line in lines(page) if path.endswith(".html") else ():
            at = next((at for at in reversed(line.ids) if at.startswith(("fig-", "tab-"))), "")
            if at and not line.row:
                _keep(of_figures[at], line.text)
    wrong = []
    for place, at, text in texts(report):
        for piece in _pieces(text):
            for kept in (found, of_figures[at]) if at in of_figures else (found,):
                known, here = kept.get(skeleton(piece)), numbers(piece)
                if known and not any(all(map(Shown.agrees, here, one)) for one in known):
                    elsewhere = " or ".join(", ".join(shown.text for shown in one) for one in known)
                    wrong.append(f"{place}: {piece!r} has {elsewhere} elsewhere")
    return wrong


@lru_cache(1 << 16)
def _pieces(text: str) -> tuple[str, ...]:
    """The sentences of a text, and what stands between their commas and colons, as far as there are numbers in it."""
    whole = sentences(text)
    parts = [part for sentence in whole for part in re.split("[,:] ", sentence.rstrip("."))]
    parts += [of for sentence in whole for of in sentence.split(": ", 1)[1:]]
    return tuple(piece for piece in dict.fromkeys((*whole, *parts)) if numbers(piece) and _is_said(piece))


def _is_said(piece: str) -> bool:
    return len(re.findall(r"[^\W\d_]{2,}", skeleton(piece))) >= LEAST_WORDS


def _keep(kept: Kept, text: str) -> None:
    for piece in _pieces(text):
        kept[skeleton(piece)].append(numbers(piece))
