"""A comparison as Markdown, to paste into an issue: what differs, and how sure that is."""

from __future__ import annotations

import re

from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import TELLING, Compared, Comparison
from tracegen.comparing.conditions import differing
from tracegen.words import quantities as q

MOST = 12  # rows of a table
_SIGNS = re.compile(r"([\\`*_{}\[\]<>#|@~])")


def markdown_of(comparison: Comparison) -> str:
    """At most some 40 lines: sides, conditions, findings, and the measures that differ."""
    a, b = comparison.a, comparison.b
    sides = f"A: {plain(a.name)} (n = {len(a.runs)}), B: {plain(b.name)} (n = {len(b.runs)})"
    lines = [f"**{plain(a.name)} → {plain(b.name)}**: {plain(say.in_brief(comparison))}", "", sides]
    facts = differing(a, b)
    lines += ["", "| | A | B |", "|---|---|---|"] if facts else []
    lines += [f"| {plain(d.key)} | {plain(', '.join(d.a))} | {plain(', '.join(d.b))} |" for d in facts[:MOST]]
    lines += [f"| … and {len(facts) - MOST} more | | |"] if len(facts) > MOST else []
    rows = [row for row in comparison.rows if row.state in TELLING or (row.kind == "timed" and row.by == "run")]
    lines += ["", "| measure | A | B | change | finding |", "|---|--:|--:|--:|---|"]
    lines += [_row(row) for row in sorted(rows, key=lambda row: row.by != "run")[:MOST]]
    lines += [f"| … and {len(rows) - MOST} more | | | | |"] if len(rows) > MOST else []
    return "\n".join([*lines, ""])


def _row(row: Compared) -> str:
    sure: str = "counted, so real" if row.kind == "counted" else row.state
    if row.state == "different" and row.difference is not None:
        sure = f"different, p = {say.p_value(row.difference.p_held)}"
    values = (say.value(row.a, row.unit), say.value(row.b, row.unit), say.share(row.relative))
    return f"| {' | '.join(plain(text) for text in (say.name(row), *values, sure))} |"


def plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line; nobody is named and nothing is linked by it."""
    line = " ".join(text.replace(q.THIN, " ").split())
    return _SIGNS.sub(lambda sign: f"\\{sign[1]}" if sign[1] != "@" else "@\u200b", line)
