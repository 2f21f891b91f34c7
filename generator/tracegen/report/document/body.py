"""The body of a page from what its template rendered: with its list of contents, and with one note on what is left out.

Captions state in full what statistics leave out, because a journal and a notebook quote each of them alone. On a page
the note stands once, at its end, and a sign in each caption leads to it.
"""

import re
from dataclasses import dataclass

from jinja2 import Environment
from markupsafe import Markup, escape

from tracegen.report.words.sentences import OUTSIDE

SIGN = "†"
HEAD = '<header class="tg-head'
HEAD_ENDS = "</header>"
SHORTEST = 4  # entries; a page with fewer has no list
# Pages whose explorers need the whole width: their list stands above, folded.
WHOLE_WIDTH = ("file", "operations", "graph", "timeline")

_SECTION = r'<section id="(?P<section>[\w.-]+)"(?P<attributes>[^>]*)>\s*<h2>(?P<of_section>.*?)</h2>'
_HEADING = r'<h2 id="(?P<heading>[\w.-]+)">(?P<of_heading>.*?)</h2>'
_FIGURE = (
    r'<figure id="(?P<figure>[\w.-]+)"[^>]*>\s*<p class="tg-title">(?P<of_figure>.*?)(?:<span class="tg-amounts">|</p>)'
)
_FOLDED = r'<details class="tg-more" id="(?P<folded>[\w.-]+)"[^>]*>\s*<summary>(?P<of_folded>.*?)</summary>'
_ENTRY = re.compile("|".join((_SECTION, _HEADING, _FIGURE, _FOLDED)), re.DOTALL)


@dataclass(frozen=True)
class Entry:
    """A section or figure: its anchor, its title, whether it is a figure, and whether only scripts show it."""

    anchor: str
    title: Markup
    figure: bool
    scripted: bool


def contents(body: str) -> list[Entry]:
    """The sections and figures of a body, in their order; empty if there are fewer than `SHORTEST`."""
    entries: list[Entry] = []
    for found in _ENTRY.finditer(body):
        kind = next(name for name in ("section", "heading", "figure", "folded") if found[name])
        title = re.sub(r"<[^>]+>|\s*…$", "", found[f"of_{kind}"]).strip()
        scripted = kind == "section" and " hidden" in found["attributes"]
        if kind == "figure" and entries and entries[-1].title == title and not entries[-1].figure:
            continue  # it is folded under its own title
        entries.append(Entry(found[kind], Markup(title), kind == "figure", scripted))  # escaped before
    return entries if len(entries) >= SHORTEST else []


def assembled(environment: Environment, key: str, rendered: str, left_out: str) -> str:
    """The body of the page `key`; `rendered` is the output of its template, with one head."""
    head, _, rest = rendered.partition(HEAD_ENDS)
    note = ""
    if OUTSIDE in rest:
        note = f'<p class="tg-note" id="left-out">{SIGN} {escape(left_out)}</p>\n' if left_out else ""
    link = f'<a class="tg-sign" href="#left-out" title="{escape(left_out)}" aria-label="{escape(left_out)}">{SIGN}</a>'
    rest = rest.replace(f" {OUTSIDE}", f" {link}" if left_out else "").replace(OUTSIDE, link if left_out else "")
    entries, beside = contents(rest) if key != "overview" else [], key not in WHOLE_WIDTH
    lists = environment.get_template("contents.html")
    guide = "#reading-guide" in head  # a comparison has none
    folded, listed = (lists.render(entries=entries, beside=each, guide=guide) for each in (False, True))
    kind, listed = ("tg-page tg-listed", listed) if entries and beside else ("tg-page", "")
    head = head.replace(HEAD, HEAD + (" tg-folds" if entries else "") + (" tg-lists" if listed else ""), 1)
    main = f'<div class="{kind}">\n{listed}<div class="tg-main">{rest}{note}</div>\n</div>\n'
    return f"{head}{folded}{HEAD_ENDS}\n{main}"
