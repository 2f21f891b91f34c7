"""The list of contents of a page: its sections and figures, read from its finished body."""

import re
from dataclasses import dataclass

from markupsafe import Markup

SHORTEST = 4  # entries; a page with fewer has no list
# Pages whose explorers need the whole width: their list stands above, folded.
WHOLE_WIDTH = ("file", "operations", "graph", "timeline")

_SECTION = r'<section id="(?P<section>[\w.-]+)"(?P<attributes>[^>]*)>\s*<h2>(?P<of_section>.*?)</h2>'
_HEADING = r'<h2 id="(?P<heading>[\w.-]+)">(?P<of_heading>.*?)</h2>'
_FIGURE = r'<figure id="(?P<figure>[\w.-]+)"[^>]*>\s*<p class="tg-title">(?P<of_figure>.*?)</p>'
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
    entries = []
    for found in _ENTRY.finditer(body):
        kind = next(name for name in ("section", "heading", "figure", "folded") if found[name])
        title = re.sub(r"<[^>]+>|\s*…$", "", found[f"of_{kind}"]).strip()
        scripted = kind == "section" and " hidden" in found["attributes"]
        entries.append(Entry(found[kind], Markup(title), kind == "figure", scripted))  # escaped before
    return entries if len(entries) >= SHORTEST else []
