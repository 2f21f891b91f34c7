"""Fields of prompts on the page of a matrix: the table of specialists, and the sentences of its findings."""

from typing import Any

from tracegen.analysis import chance
from tracegen.analysis.specialists import MARGIN, Specialists
from tracegen.comparing import field_sentences as say
from tracegen.comparing.fields import Fields
from tracegen.comparing.tables import Keep
from tracegen.contract import quantities as q
from tracegen.contract import tables
from tracegen.report.figures.cells import Cell, Head, cells, number
from tracegen.report.pages.views import TableView
from tracegen.report.words.markdown import prose

TITLE = "Which experts belong to a field?"
FIXED = "\u00a0"  # a space at which no line ends: on a narrow page a cell of many words has two lines, not ten
MOST, MOST_NONE = 40, 10  # rows of specialists, and of the largest effects if there is none
_HEAD = (
    Head("Expert"),
    Head("Field"),
    Head("In the field", number=True),
    Head("In others", number=True),
    Head("Effect", "points", True),
    Head("One left out", "points", True),
    Head("p", number=True),
    Head("Specialist"),
)


def specialists_table(fields: Fields, keep: Keep) -> TableView:
    """Specialists, or else the largest effects and why they are none; or why nobody can know."""
    of = fields.specialists
    reason = _reason(fields)
    shown = of.found.head(MOST) if len(of.found) else of.table.head(MOST_NONE)
    tellable = dict(zip(of.fields["field"], (of.fields["least_p"] < chance.LEVEL).fillna(False), strict=True))
    rows = () if len(of.table) == 0 else tuple(_row(row, bool(tellable[row["field"]])) for row in _records(shown))
    csv = keep("specialists", of.table) if len(of.table) else ""
    return TableView("specialists", TITLE, _caption(fields, len(rows)), _HEAD, rows, "" if rows else reason, csv)


def findings(fields: Fields) -> list[str]:
    """The sentences of the matrix: specialists, how alike prompts choose, and what random weights make of both."""
    of = fields.specialists
    found = [_specialist(row) for row in _records(of.found)]
    best = _specialist(_records(of.table)[0]) if len(of.table) else None
    lines = [say.specialists(found, best, n=_n(of), reason=_reason(fields), level=chance.LEVEL)]
    if fields.likeness is not None:
        like = fields.likeness
        lines.append(
            say.alike(
                same=like.same,
                different=like.different,
                n_same=like.n_same,
                n_different=like.n_different,
                p=like.p,
                least=like.least_p,
                level=chance.LEVEL,
            )
        )
    return [*lines, say.RANDOM] if fields.random else lines


def _specialist(row: dict[str, Any]) -> say.Specialist:
    return int(row["layer"]), int(row["expert"]), str(row["field"]), float(row["effect"]), float(row["p_adjusted"])


def markdown_of(fields: Fields) -> str:
    """The findings as a list in Markdown."""
    return "\n".join([f"**{TITLE}**", "", *(f"- {prose(line, 1_000)}" for line in findings(fields)), ""])


def as_json(fields: Fields) -> dict[str, Any]:
    """Findings, fields, and every effect as plain numbers; null: not tested or not known."""
    of, like = fields.specialists, fields.likeness
    return {
        "fields": tables.records(of.fields),
        "findings": [line.replace(q.THIN, " ") for line in findings(fields)],
        "specialists": [
            {key: value.item() if hasattr(value, "item") else value for key, value in row.items()}
            for row in _records(of.table)
        ],
        "likeness": None if like is None else vars(like),
        "prompts_needed": of.needed,
        "random_weights": fields.random,
    }


def _reason(fields: Fields) -> str:
    """Why nobody can know; empty if the prompts suffice."""
    of = fields.specialists
    if of.can_tell:
        return ""
    least = of.fields["least_p"].min()
    several = bool(of.fields["least_p"].notna().any())
    reason = say.cannot_tell(
        n_fields=len(of.fields),
        several=several,
        least=float(least) if several else None,
        level=chance.LEVEL,
        prompts=of.needed,
    )
    return f"{say.HIDDEN} {reason}" if fields.hidden else reason


def _n(of: Specialists) -> str:
    return say.sizes(int(of.fields["n_prompts"].sum()), len(of.fields), int(of.fields["n_tokens"].sum()))


def _row(row: dict[str, Any], tellable: bool) -> tuple[Cell, ...]:
    why = say.why_none(
        replicates=bool(row["replicates"]),
        stays=bool(row["stays"]),
        tellable=tellable,
        margin=MARGIN,
        level=chance.LEVEL,
        least=(row["least_prompt"], row["least"]),
        other=(row["other_field"], row["most_other"]),
        left_out=(row["left_out_prompt"], row["left_out"]),
    )
    effects = [number(say.points(row[key]).removesuffix(" points")) for key in ("effect", "left_out")]
    n = [
        f"n = {q.counted(row[f'n_{of}prompts'], 'prompt')}, {q.counted(row[f'n_{of}tokens'], 'token')}"
        for of in ("", "other_")
    ]
    shares = [
        Cell(q.percent(row[key]), number=True, exact=of) for key, of in zip(("share", "other_share"), n, strict=True)
    ]
    said = "yes" if row["specialist"] else f"no: {why}".replace(" ", FIXED).replace(f",{FIXED}", ", ")
    return cells(
        f"layer{FIXED}{row['layer']}, expert{FIXED}{row['expert']}",
        str(row["field"]),
        *shares,
        *effects,
        number(q.p_value(row["p_adjusted"])),
        said,
    )


def _caption(fields: Fields, n_shown: int) -> str:
    of = fields.specialists
    counts = [
        f"{r['field']}: {q.counted(r['n_prompts'], 'prompt')}, {q.counted(r['n_tokens'], 'token')}"
        for r in _records(of.fields)
    ]
    said = [
        "Tokens of generate passes. The effect is the share of a field’s tokens that chose the expert less that of all "
        "other tokens; “one left out” is the least effect with any one prompt left out. A specialist: every prompt of "
        "the field chose it more than each other field did in its mean; so with any one prompt left out, and the "
        f"effect is then at least {100 * MARGIN:g} points; and p is below {chance.LEVEL:g}.",
    ]
    if n_shown:
        how = f"all {q.count(of.n_ways)} ways" if of.exact else f"{q.count(of.n_ways)} drawn ways"
        said.append(
            "p is that of a permutation of whole prompts, for tokens of one prompt resemble each other: of "
            f"{how} to deal them to the fields, the share in which any expert of any layer reaches this effect in any "
            "field."
        )
        rest = f"{q.counted(len(of.found), 'specialist')} of {q.counted(of.n_experts, 'expert')} of all layers"
        said.append(
            f"{rest}; the CSV has every effect." if len(of.found) else f"{rest}: the largest effects stand here."
        )
    reason = _reason(fields)
    said += [reason] if reason and n_shown else []
    alone = int((of.fields["n_prompts"] < 2).sum())
    if n_shown and alone:
        count = f"{q.counted(alone, 'field')} of one prompt cannot be tested"
        said.append(f"{count}, and count{'s' * (alone == 1)} as others.")
    said.append(f"{_n(of)}: {'; '.join(counts[:12])}{'; …' if len(counts) > 12 else ''}.")
    return " ".join([*said, *_notes(fields)])


def _notes(fields: Fields) -> list[str]:
    """Which runs count, what is left out, and what random weights make of it."""
    said = []
    if fields.repeated:
        said.append("One run of each prompt counts, that of median speed: repeats chose the same experts.")
        if fields.varying:
            said[-1] = (
                "One run of each prompt counts, that of median speed; the repeats of "
                f"{q.counted(len(fields.varying), 'prompt')} chose differently."
            )
    if fields.where:
        said.append(f"Only cells with {fields.where}.")
    if fields.silent:
        said.append(f"{q.counted(len(fields.silent), 'prompt')} without a choice in generate passes left out.")
    left_out = fields.specialists.n_left_out
    if left_out:
        said.append(f"{q.counted(left_out, 'layer')} in which not every prompt chose left out.")
    return [*said, say.RANDOM] if fields.random else said


def _records(table: Any) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = table.to_dict("records")
    return records
