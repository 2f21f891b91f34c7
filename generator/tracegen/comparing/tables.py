"""The tables of a comparison: which conditions and measures differ, and what became of each operation."""

from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import TELLING, Compared, Comparison
from tracegen.comparing.conditions import differing
from tracegen.comparing.places import expert_distances
from tracegen.contract import quantities as q
from tracegen.contract.records import encode
from tracegen.publishing.side import Side, by_row
from tracegen.report.document.amount import Amount
from tracegen.report.document.blocks import TableBlock
from tracegen.report.document.cells import Cell, Head, cells, number

MOST = 40  # rows of a table on the page; the CSV has all
MOST_OPS = 15
MANY = {"layer": "layers", "expert": "experts"}  # keys of BY with too many measures for a page
GRAPH = "Which operations of the graph differ?"
Keep = Callable[[str, pd.DataFrame], str]  # keeps a CSV and returns its path


def heads(*labels: str) -> tuple[Head, ...]:
    """Heads of columns of text."""
    return tuple(map(Head, labels))


def number_heads(*labels: str) -> tuple[Head, ...]:
    """Heads of columns of numbers."""
    return tuple(Head(label, number=True) for label in labels)


def conditions(a: Side, b: Side, keep: Keep) -> TableBlock:
    """The settings and facts that are not the same on both sides."""
    found = differing(a, b)
    rows = tuple(cells(d.group, Cell(d.key, code=True), ", ".join(d.a), ", ".join(d.b)) for d in found)
    data = pd.DataFrame(
        [(d.group, d.key, "; ".join(d.a), "; ".join(d.b)) for d in found], columns=["group", "key", "a", "b"]
    )
    return TableBlock(
        "conditions",
        "What was set or built differently?",
        "Settings, model, machine, llama.cpp and tracegen of the runs of both sides; what is equal is left out.",
        heads("Of", "Fact", "A", "B"),
        rows,
        "" if rows else _same_conditions(a, b),
        keep("conditions", data),
        answer=(Amount(len(found), "", "settings or facts"),) if found else (),
    )


def _same_conditions(a: Side, b: Side) -> str:
    """That nothing differs, of what is known: what is the same is named only where both sides hold it."""
    words = {"settings": "settings", "model": "model", "llama_cpp": "builds"}
    known = [encode(side.typical.facts) for side in (a, b)]
    known_of_both = {word: all(facts.get(group) for facts in known) for group, word in words.items()}
    same, unknown = ([word for word, of in known_of_both.items() if of == both] for both in (True, False))
    text = f"Nothing that is known of the runs differs{': same ' * bool(same)}{', '.join(same)}."
    return f"{text} Not known of both: {', '.join(unknown)}." if unknown else text


def counted(comparison: Comparison, keep: Keep) -> TableBlock:
    """The counted measures that differ."""
    rows = [row for row in comparison.rows if row.kind == "counted"]
    telling = [row for row in rows if row.state in TELLING]
    head = (*heads("Measure", "Of"), *number_heads("A", "B", "Change", "Relative"))
    shown = [
        cells(
            *_named(row),
            _value(row.a, row),
            _value(row.b, row),
            number(say.signed(row.change, row.unit)),
            number(say.share(row.relative)),
        )
        for row in [row for row in telling if row.by not in MANY][:MOST]
    ]
    many = {by: sum(row.by == by for row in telling) for by in MANY}
    left = [f"{q.counted(n, 'measure')} of {MANY[by]}" for by, n in many.items() if n]
    left += [f"more than {MOST} others"] if len(telling) - sum(many.values()) > MOST else []
    more = f" {' and '.join(left)} differ too and are not shown here." if left else ""
    varies = sum(row.state == "varies" for row in telling)
    note = f" {q.counted(varies, 'measure')} differ between runs of one side too." if varies else ""
    reason = "Only measures of layers or experts differ." if telling else "All counters are identical."
    return TableBlock(
        "counted",
        "Which counted measures differ?",
        "Program, model and settings decide these numbers, so any difference is real. Medians over the runs of a side. "
        f"The CSV has those that are equal, too.{more}{note}",
        head,
        tuple(shown),
        "" if shown else reason,
        keep("counted", measures_table(rows)),
        answer=say.counted_amounts(comparison),
    )


def timed(comparison: Comparison, keep: Keep) -> TableBlock:
    """The timed measures: those that differ first, then key figures."""
    rows = [row for row in comparison.rows if row.kind == "timed"]
    telling = [row for row in rows if row.state in TELLING]
    also = [row for row in rows if row.by == "run" and row not in telling]
    of_numbers = number_heads("A", "B", "Change", "99 % interval", "p")
    head = (*heads("Measure", "Of"), *of_numbers, *heads("Finding"))
    shown = tuple(_timed_row(row, comparison.margin) for row in [*telling, *also][:MOST])
    pairs = {row.difference.paired for row in comparison.rows if row.difference is not None}
    how = "Pairs of runs of one round were compared (Wilcoxon). " if pairs == {True} else ""
    if pairs == {True, False}:
        how = (
            "Rows that pairs of runs of one round can tell were compared in pairs (Wilcoxon), else as independent runs "
            "(Mann-Whitney). "
        )
    how += "Medians over cells of different size are left out. " if any(row.several for row in rows) else ""
    return TableBlock(
        "timed",
        "Which timed measures differ?",
        f"Times, and whatever else differs from run to run. {' '.join(say.rule(comparison))} {how}The change is the "
        "Hodges-Lehmann shift, in per cent of the median of A as its interval is. How many runs would do assumes that "
        "shift and spread stay as they are. Shown are key figures and what differs; the CSV has all.",
        head,
        shown,
        "" if shown else "No time was recorded on either side.",
        keep("timed", measures_table(rows)),
        answer=say.timed_amounts(comparison),
    )


def operations(nodes: pd.DataFrame, keep: Keep) -> TableBlock:
    """The operations whose time in the typical runs changed most."""
    known = nodes.dropna(subset=["ns_a", "ns_b"])
    known = known.assign(change=known["ns_b"].astype(float) - known["ns_a"].astype(float))
    largest = known.reindex(known["change"].abs().sort_values(ascending=False, kind="stable").index).head(MOST_OPS)
    rows = tuple(
        cells(
            Cell(name, code=True),
            str(op),
            _known(layer),
            number(q.duration(a)),
            number(q.duration(b)),
            number(say.signed(change, "ns")),
            number(say.share(change / a if a else None)),
        )
        for name, op, layer, a, b, change in by_row(largest, "name", "op", "layer", "ns_a", "ns_b", "change")
    )
    return TableBlock(
        "operations",
        "Which operations changed most?",
        "Mean wall time of an operation in a token, in the typical run of each side (that of median speed). One run a "
        "side says nothing about noise: the largest changes are where to look, not findings. Operations are matched by "
        "name, layer and order.",
        (*heads("Operation", "Kind", "Layer"), *number_heads("A", "B", "Change", "Relative")),
        rows,
        "" if rows else "No operation with a time runs on both sides.",
        keep("operations", nodes),
    )


def graph(nodes: pd.DataFrame, keep: Keep) -> TableBlock:
    """The nodes of the graph that are new, removed, changed or moved."""
    differ = nodes[(nodes["change"] != "same").to_numpy(bool)]
    rows = tuple(
        cells(change, Cell(name, code=True), str(op), _known(layer), what)
        for change, name, op, layer, what in by_row(differ.head(MOST), "change", "name", "op", "layer", "what")
    )
    counts = [Amount(int(n), "", str(change)) for change, n in differ["change"].value_counts().items()]
    return TableBlock(
        "graph",
        GRAPH,
        "The graph that most tokens ran. Changed: another shape, type, parameter or operand. Moved: the same operation "
        "elsewhere in the order.",
        heads("Change", "Operation", "Kind", "Layer", "What"),
        rows,
        "" if rows else f"Nothing: all {len(nodes)} operations of a token are the same, in the same order.",
        keep("graph", differ),
        answer=(Amount(len(nodes) - len(differ), "", f"of {len(nodes)} operations the same"), *counts) if rows else (),
    )


def experts(comparison: Comparison, keep: Keep) -> TableBlock:
    """How far apart the choices of experts are, by layer."""
    rows = comparison.of("counted", "expert")
    distances = expert_distances(rows)
    same = bool(rows) and all(row.state == "equal" for row in rows)
    shown = tuple(
        cells(
            f"{layer}",
            number(q.count(a)),
            number(q.count(b)),
            Cell(q.percent(part), number=True, bar=part),
            number(str(most_a)),
            number(str(most_b)),
        )
        for layer, a, b, part, most_a, most_b in by_row(distances, *distances.columns)
    )
    reason = "Both sides chose each expert equally often in every layer." if same else ""
    reason = reason or ("" if shown else "At least one side chose no expert in a generate pass.")
    return TableBlock(
        "experts",
        "Did tokens choose other experts?",
        "Generate passes. The distance is the share of a layer's choices that would have to go to another expert for "
        "both sides to choose alike (total variation); short texts differ by chance too.",
        (*heads("Layer"), *number_heads("Choices A", "Choices B", "Distance", "Most chosen A", "Most chosen B")),
        () if reason else shown,
        reason,
        keep("experts", distances),
        answer=() if reason else (Amount(float(distances["distance"].max()), "share", "at most, in a layer"),),
    )


def measures_table(rows: Iterable[Compared]) -> pd.DataFrame:
    """Every measure as a row of a CSV: exact numbers, empty where there is none."""
    table = []
    for row in rows:
        d = row.difference
        sure = {name: getattr(d, name) for name in (*_SURE, *_LIMITS)} if d else {}
        ends = (d.ends or (None, None)) if d else (None, None)
        table.append(
            {name: getattr(row, name) for name in _OF_ROW}
            | sure
            | {"n_a": len(row.values_a), "n_b": len(row.values_b), "relative_low": ends[0], "relative_high": ends[1]}
        )
    columns = [*_OF_ROW[:-1], *_SURE, "n_a", "n_b", "state", "relative_low", "relative_high", *_LIMITS]
    return pd.DataFrame(table, columns=columns).astype({"runs_needed": "Int64"})


_SURE = ("low", "high", "p", "p_adjusted")
_LIMITS = ("margin", "runs_needed")
_OF_ROW = ("key", "phase", "by", "item", "label", "unit", "a", "b", "change", "relative", "state")


def _timed_row(row: Compared, margin: float) -> tuple[Cell, ...]:
    d, (shift, ends) = row.difference, say.effect(row)
    return cells(
        *_named(row),
        *([number("")] * 2 if row.several else [_value(row.a, row), _value(row.b, row)]),
        number(shift),
        number(ends),
        number(q.p_value(d.p_adjusted) if d is not None and ends else ""),
        say.state(row, margin),
    )


def _named(row: Compared) -> tuple[Cell, Cell]:
    """What is measured, and of what."""
    phase = say.PHASES[row.phase] if row.item else ""
    return Cell(f"{phase}: {row.label}" if phase else row.label), Cell(row.item or "all")


def _value(known: float | None, row: Compared) -> Cell:
    exact = "" if known is None else f"{known:,.10g} {row.unit}".strip()
    return Cell(say.value(known, row.unit), number=True, exact=exact)


def _known(layer: Any) -> str:
    return "" if pd.isna(layer) else str(int(layer))
