"""The lower part of the front page: the newest entries of the journal, and the newest experiments."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tracegen.publishing.bundle import shells
from tracegen.site.about import cut, plain
from tracegen.site.cards import Card, card, newest_first
from tracegen.site.gather import Site

MARK = "<!-- tracegen:home -->"  # stands in the front page until the drafts are drawn
N_ENTRIES, N_EXPERIMENTS = 3, 4
LONGEST = 240  # characters of a summary
_DATE = re.compile(r"(?:^|/)(\d{4}-\d{2}-\d{2})[^/]*$")
_PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)


@dataclass(frozen=True)
class JournalEntry:
    """An entry of the journal with its date; `path` is its address from the root, `summary` its first paragraph."""

    path: str
    title: str
    date: str
    summary: str


def journal_entry(path: str, source: str, title: str, meta: Mapping[str, Any], html: str) -> JournalEntry | None:
    """The entry of a page of the journal: its date is that of its settings or of its file's name; None without one."""
    named = _DATE.search(source)
    date = str(meta["date"])[:10] if meta.get("date") else named[1] if named else ""
    if not date:
        return None
    first = _PARAGRAPH.search(html)
    return JournalEntry(path, title, date, cut(plain(first[1]), LONGEST) if first else "")


def home(site: Site, entries: Iterable[JournalEntry]) -> str:
    """The HTML of the lower part; waits until all drafts are drawn. Links count from the root of the site."""
    newest = sorted(entries, key=lambda entry: (entry.date, entry.path), reverse=True)[:N_ENTRIES]
    cards = newest_first([card(entry) for entry in site.entries])
    shown = [(c, site.pictures.of(c.about), _alt(c)) for c in cards[:N_EXPERIMENTS]]
    template = shells().get_template("home.html")
    return template.render(entries=newest, cards=shown, base=site.base, more=len(cards) > N_EXPERIMENTS)


def _alt(of: Card) -> str:
    """What the picture of a version or draft shows, in words."""
    figures = of.about.bundle.document["figures"]
    of_key = {str(f["key"]).removeprefix("fig-"): str(f["alt"]) for f in figures}
    return of_key.get("file-tokens") or of_key.get("heatmap", "")
