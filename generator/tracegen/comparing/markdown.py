"""A comparison as Markdown, to paste into an issue: what differs, and how certain that is."""

from tracegen.comparing import sentences as say
from tracegen.comparing.answer import answer
from tracegen.comparing.comparison import TELLING, Compared, Comparison
from tracegen.comparing.conditions import differing
from tracegen.comparing.machines import machines
from tracegen.contract import quantities as q
from tracegen.report.words.markdown import prose, table

MOST = 12  # rows of a table


def markdown_of(comparison: Comparison) -> str:
    """At most some 40 lines: sides, conditions, findings, and the measures that differ."""
    a, b = comparison.a, comparison.b
    lines = [f"**{prose(a.name)} → {prose(b.name)}**: {prose(answer(comparison), 600)}", ""]
    lines += [
        f"A: {prose(a.name)} (n = {len(a.runs)}), B: {prose(b.name)} (n = {len(b.runs)}). {prose(machines(a, b))}",
        "",
    ]
    facts = [[prose(d.key), prose(", ".join(d.a), 60), prose(", ".join(d.b), 60)] for d in differing(a, b)]
    if facts:
        lines += [table([("", False), ("A", False), ("B", False)], _cut(facts)), ""]
    rows = [row for row in comparison.rows if row.state in TELLING or (row.kind == "timed" and row.by == "run")]
    head = [("measure", False), ("A", True), ("B", True), ("change", True), ("finding", False)]
    lines.append(
        table(head, _cut([_row(row, comparison.margin) for row in sorted(rows, key=lambda row: row.by != "run")]))
    )
    lines += ["", prose(" ".join(say.rule(comparison)), 1000), *map(prose, say.disturbed(comparison))]
    return "\n".join([*lines, ""])


def _cut(rows: list[list[str]]) -> list[list[str]]:
    """The first rows, and how many more there are."""
    left = len(rows) - MOST
    return rows if left <= 0 else [*rows[:MOST], [f"… and {left} more", *[""] * (len(rows[0]) - 1)]]


def _row(row: Compared, margin: float) -> list[str]:
    certain = "counted, so real" if row.kind == "counted" else say.state(row, margin)
    if row.state == "different" and row.difference is not None:
        certain += f", {q.p_words(row.difference.p_adjusted)}"
    values = (say.value(row.a, row.unit), say.value(row.b, row.unit), say.share(row.relative))
    return [prose(text) for text in (say.name(row), *values, certain)]
