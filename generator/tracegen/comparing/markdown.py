"""A comparison as Markdown, to paste into an issue: what differs, and how certain that is."""

from collections.abc import Sequence

from tracegen.comparing import prose
from tracegen.comparing import sentences as say
from tracegen.comparing.answer import answer
from tracegen.comparing.comparison import TELLING, Compared, Comparison
from tracegen.comparing.conditions import differing
from tracegen.comparing.machines import machines
from tracegen.contract import quantities as q
from tracegen.report.document import markdown
from tracegen.report.document.blocks import Grid, Line, Note, Words
from tracegen.report.document.cells import Head

MOST = 12  # rows of a table
Row = tuple[str | Words, ...]


def markdown_of(comparison: Comparison) -> str:
    """At most some 40 lines: sides, conditions, findings, and the measures that differ."""
    a, b = comparison.a, comparison.b
    facts = [
        (Words(d.key), Words(", ".join(d.a), longest=60), Words(", ".join(d.b), longest=60)) for d in differing(a, b)
    ]
    rows = [row for row in comparison.rows if row.state in TELLING or (row.kind == "timed" and row.by == "run")]
    rows.sort(key=lambda row: row.by != "run")
    head = (
        Head("measure"),
        Head("A", number=True),
        Head("B", number=True),
        Head("change", number=True),
        Head("finding"),
    )
    rule: Line = (Words(" ".join(say.rule(comparison)), longest=1000),)
    return markdown.rendered(
        (
            Note(((Words(f"{a.name} → {b.name}", "strong"), ": ", Words(answer(comparison), longest=1000)),)),
            Note(
                (
                    (
                        *_side("A", a.name, len(a.runs)),
                        ", ",
                        *_side("B", b.name, len(b.runs)),
                        ". ",
                        Words(machines(a, b)),
                    ),
                )
            ),
            *([Grid((Head(""), Head("A"), Head("B")), _cut(facts))] if facts else []),
            Grid(head, _cut([_row(row, comparison.margin) for row in rows])),
            Note((rule, *((Words(prose.text_of(line)),) for line in prose.disturbed(comparison)))),
        )
    )


def _side(letter: str, name: str, n: int) -> Line:
    return (f"{letter}: ", Words(name), f" (n = {n})")


def _cut(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The first rows, and how many more there are."""
    left = len(rows) - MOST
    return (*rows[:MOST], (f"… and {left} more", *[""] * (len(rows[0]) - 1))) if left > 0 else tuple(rows)


def _row(row: Compared, margin: float) -> Row:
    certain = "counted, so real" if row.kind == "counted" else say.state(row, margin)
    if row.state == "different" and row.difference is not None:
        certain += f", {q.p_words(row.difference.p_adjusted)}"
    values = (say.value(row.a, row.unit), say.value(row.b, row.unit), say.share(row.relative))
    return tuple(map(Words, (say.name(row), *values, certain)))
