"""The lower part of the front page: the newest entries of the journal, and the newest experiments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import Any

from tracegen.charts.text import printable
from tracegen.publishing.bundle import Bundle, shells
from tracegen.site.dark import DarkPictures
from tracegen.site.gather import Entry, Site

MARK = "<!-- tracegen:home -->"  # stands in the front page until the drafts are drawn
N_ENTRIES, N_EXPERIMENTS = 3, 4
LONGEST = 240  # characters of a summary
_DATE = re.compile(r"(?:^|/)(\d{4}-\d{2}-\d{2})[^/]*$")
_PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)
_FINDING = re.compile(r'<[ou]l class="tg-(?:answers|findings)">\s*<li>(.*?)</li>', re.DOTALL)
_LINK = re.compile(r'<a class="tg-figure-of".*?</a>', re.DOTALL)


@dataclass(frozen=True)
class JournalEntry:
    """An entry of the journal with its date; `path` is its address from the root, `summary` its first paragraph."""

    path: str
    title: str
    date: str
    summary: str


@dataclass(frozen=True)
class Card:
    """An experiment on the front page: its newest version, else its newest draft; `name` is empty without either.

    `picture` and `dark` are the addresses of its heatmap on light and on dark ground, `drawing` is the file.
    """

    experiment: str
    question: str
    path: str
    name: str
    created: str
    verdict: str
    picture: str
    alt: str
    finding: str
    drawing: Path | None = None
    dark: str = ""


def journal_entry(path: str, source: str, title: str, meta: Mapping[str, Any], html: str) -> JournalEntry | None:
    """The entry of a page of the journal: its date is that of its settings or of its file's name; None without one."""
    named = _DATE.search(source)
    date = str(meta["date"])[:10] if meta.get("date") else named[1] if named else ""
    if not date:
        return None
    first = _PARAGRAPH.search(html)
    return JournalEntry(path, title, date, _cut(_text(first[1])) if first else "")


def home(site: Site, entries: Iterable[JournalEntry], dark: DarkPictures) -> str:
    """The HTML of the lower part; waits until all drafts are drawn. Links count from the root of the site.

    `dark` collects the dark pictures.
    """
    newest = sorted(entries, key=lambda entry: (entry.date, entry.path), reverse=True)[:N_ENTRIES]
    cards = sorted((_card(entry, site.base) for entry in site.entries), key=lambda card: card.created, reverse=True)
    shown = [replace(c, dark=dark.of(c.drawing)) if c.drawing else c for c in cards[:N_EXPERIMENTS]]
    template = shells().get_template("home.html")
    return template.render(entries=newest, cards=shown, base=site.base, more=len(cards) > N_EXPERIMENTS)


def _card(entry: Entry, base: str) -> Card:
    current = next((p for p in entry.published if p.version.status == "current"), None)
    if current is not None:
        return _shown(entry, base, current.version.name, current.version.citation, current.bundle)
    if entry.drafts:
        draft = entry.drafts[0]
        return _shown(entry, base, draft.run.name, f"{entry.name}/{draft.run.name}, a draft", draft.bundle)
    return Card(entry.name, entry.question, f"{base}/{entry.name}", "", "", "", "", "", "")


def _shown(entry: Entry, base: str, folder: str, name: str, bundle: Bundle) -> Card:
    path, document = f"{base}/{entry.name}/{folder}", bundle.document
    heatmap = next((f for f in document["figures"] if f["key"].removeprefix("fig-") == "heatmap"), None)
    drawn = (heatmap.get("layouts") or {}).get("690", heatmap["path_svg"]) if heatmap else ""
    found = _FINDING.search(bundle.body("index.html").decode())
    return Card(
        entry.name,
        entry.question,
        path,
        name,
        str(document["created"]),
        str(document["verdict"]),
        f"{path}/{drawn}" if drawn else "",
        heatmap["alt"] if heatmap else "",
        _text(_LINK.sub("", found[1])) if found else "",
        bundle.folder / drawn if drawn else None,
    )


def _text(html: str) -> str:
    return printable(" ".join(unescape(re.sub(r"<[^>]+>", "", html)).split()))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rsplit(' ', 1)[0]} …"
