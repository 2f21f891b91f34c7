"""What the front page shows beside its own text: the newest answer, other experiments, entries of the journal."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, tostring

from tracegen.contract.address import EXPERIMENTS
from tracegen.publishing.bundle import shells
from tracegen.site.about import cut, plain
from tracegen.site.cards import Card, card, newest_first
from tracegen.site.gather import Site
from tracegen.site.journal import settle
from tracegen.site.pictured import SCHEME, pictured

FRONT = "index.html"
LEAD, MARK = "<!-- tracegen:lead -->", "<!-- tracegen:home -->"  # stand in the front page until the drafts are drawn
PICTURE = "file-tokens"  # the figure that answers at a glance
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


def marked(html: str) -> str:
    """The front page with a mark below its first heading, for the newest answer, and one at its end, for the rest."""
    before, heading, after = html.partition("</h1>")
    return f"{before}{heading}\n{LEAD}{after}\n{MARK}" if heading else f"{LEAD}\n{html}\n{MARK}"


def completed(html: str, site: Site, entries: Iterable[JournalEntry], dark: dict[str, bytes]) -> str:
    """The front page with the newest answer and the rest in place of their marks; waits until all drafts are drawn.

    Links count from the root of the site. Pictures on dark ground are added to `dark`, address to content.
    """
    newest = sorted(entries, key=lambda entry: (entry.date, entry.path), reverse=True)[:N_ENTRIES]
    cards = newest_first([card(entry) for entry in site.entries])
    usable = [c for c in cards if c.folder and c.verdict != "not usable"]
    lead = next((c for c in usable if c.is_published), usable[0] if usable else None)
    ran = [c for c in cards if c is not lead and (c.folder or c.n_versions or c.n_drafts)]
    shown = [(c, _figure(c).get("alt", "")) for c in ran[:N_EXPERIMENTS]]
    waiting = [c for c in cards if c is not lead and c not in ran]
    lead_page, home_page = (shells().get_template(name) for name in ("lead.html", "home.html"))
    first = lead_page.render(card=lead, base=EXPERIMENTS, picture=_picture(lead, dark))
    rest = home_page.render(
        entries=newest, cards=shown, base=EXPERIMENTS, waiting=waiting, any=bool(cards), more=len(ran) > N_EXPERIMENTS
    )
    return html.replace(LEAD, settle(first, path=FRONT, source="")[0], 1).replace(MARK, rest, 1)


def _picture(lead: Card | None, dark: dict[str, bytes]) -> str:
    """The picture of the newest answer as HTML; empty if its bundle has none."""
    if lead is None or not (figure := _figure(lead)):
        return ""
    root = f"{SCHEME}{EXPERIMENTS}/{lead.experiment}/{lead.folder}"
    link = Element("a", {"href": f"{root}/index.html"})
    pictured(link, figure, lead.about.bundle.folder, root, dark)
    return tostring(link, encoding="unicode", method="html").replace('loading="lazy"', "")


def _figure(of: Card) -> Mapping[str, Any]:
    """The figure of a version or draft that answers at a glance; empty if it has none."""
    return next((f for f in of.about.bundle.document["figures"] if f["key"] == PICTURE), {})
