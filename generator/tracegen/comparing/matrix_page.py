"""A matrix as a report: its cells on one scale, the effect of each factor, and a page for each effect."""

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from statistics import median
from typing import Any

import pandas as pd

from tracegen.analysis.chance import with_older_name
from tracegen.analysis.significance import MARGIN, Difference
from tracegen.charts import compared as charts
from tracegen.charts import theme
from tracegen.comparing import sentences as say
from tracegen.comparing.answer import answer
from tracegen.comparing.comparison import Compared, evenly, of_ratios
from tracegen.comparing.effects import Effect, factors_of
from tracegen.comparing.field_tables import findings, specialists_table
from tracegen.comparing.fields import Fields, effects_and_fields
from tracegen.comparing.interactions import Interaction, interactions
from tracegen.comparing.matrix_map import map_of_cells
from tracegen.comparing.measures import AFTER_LOADING, UNTIL_FIRST_TOKEN
from tracegen.comparing.page import PageFigures, collector_of, comparison_page, rendered, report
from tracegen.comparing.side import Measured, Side
from tracegen.contract import quantities as q
from tracegen.contract.tables import small_tables
from tracegen.report.figures.cells import Cell, Head, cells, number
from tracegen.report.pages.collector import Collector
from tracegen.report.pages.page import Page, Report
from tracegen.report.pages.views import FigureView, TableView

SUMMARY = "Every cell of the matrix on one scale, and what each factor changes."
# Measures of the table of cells: phase, what, head, unit
SHOWN = (
    ("generate", "speed", "Generation", "tokens/s"),
    ("prompt", "speed", "Prompt", "tokens/s"),
    ("", UNTIL_FIRST_TOKEN, "To the first token", "ns"),
    ("", AFTER_LOADING, "From the disk", "bytes"),
    ("generate", "weights touched by a token, mapped", "Mapped, by a token", "bytes"),
    ("", "most that buffers held", "In buffers", "bytes"),
)


@small_tables
def render_matrix(
    name: str,
    sides: Sequence[Side],
    links: Mapping[str, str] | None = None,
    margin: float = MARGIN,
    *,
    found: tuple[Sequence[Effect], Fields | None] | None = None,
    executor: Executor | None = None,
) -> Report:
    """The pages of a matrix; `sides` are its cells, at least two. The same runs give the same bytes.

    `links`: where the pages of a cell are, by its name. `found`: the result of `effects_and_fields`, if the caller
    has it already.
    `executor`, if given, draws charts in another process meanwhile.
    """
    collector = collector_of(sides, executor)
    drawn = PageFigures(collector, "overview")
    changed, fields = effects_and_fields(sides, margin) if found is None else found
    pages = [
        comparison_page(collector, effect.comparison, f"effect-{n}", effect.name) for n, effect in enumerate(changed, 1)
    ]
    factors, joint = factors_of(sides), interactions(sides, margin)
    view = {
        "effects": [
            {
                "name": effect.name,
                "href": page.path,
                "brief": say.in_brief(effect.comparison),
                "answer": answer(effect.comparison),
                "answers": say.answers(effect.comparison),
            }
            for effect, page in zip(changed, pages, strict=True)
        ],
        "factors": [f"{factor}: {', '.join(values)}" for factor, values in factors.items()],
        "made": _when_and_where(sides),
        "checks": sorted(
            {check.title for side in sides for run in side.runs for check in run.checks if check.state == "warning"}
        ),
        "machines": _machines([run for side in sides for run in side.runs]),
        "n": f"{q.counted(len(sides), 'cell')}, {q.counted(sum(len(s.runs) for s in sides), 'usable run')}",
        "left_out": [f"{run} is left out: {why}" for side in sides for run, why in side.left_out],
        "cells": _cells(sides, collector, links or {}),
        "figure": _figure(sides, drawn),
        "map": map_of_cells(sides, drawn),
        "within": _within(changed, collector),
        "interactions": _interactions(joint, collector),
        "fields": findings(fields) if fields and fields.named else [],
        "specialists": specialists_table(fields, collector.csv) if fields else None,
        "random": _random(sides, has_experts=fields is not None),
        "interacting": [_interacting(row) for row in joint if row.difference.verdict == "different"],
    }
    overview = rendered(Page("overview", name, SUMMARY, ""), "matrix.html", view)
    return report(collector, name, (overview, *pages))


def _when_and_where(sides: Sequence[Side]) -> str:
    """When the runs were made, and on which processor, if there is one."""
    runs = [run for side in sides for run in side.runs]
    days = sorted({run.created[:10] for run in runs})
    hosts = {(run.fact("host", "cpu"), run.fact("host", "cores")) for run in runs}
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    ((cpu, cores),) = hosts if len(hosts) == 1 else ((None, None),)
    on = f" on {cpu}, {q.counted(int(cores), 'core')}" if cpu and cores else ""
    return f"Made {when}{on}."


def _random(sides: Sequence[Side], *, has_experts: bool) -> str:
    """What random weights mean for the page; empty if no model has them."""
    n = sum(side.typical.fact("model", "random_weights") is True for side in sides)
    if not n:
        return ""
    some = "" if n == len(sides) else f" of {n} of {q.counted(len(sides), 'cell')}"
    experts = " What a text means plays no part in which experts its tokens choose." if has_experts else ""
    return f"The model{some} was never trained: bytes and times are real, the text it writes is not.{experts}"


def _machines(runs: Sequence[Measured]) -> str:
    """On which machines the runs were made, if there are several; a machine is named by its id and its processor."""
    counts = Counter((run.fact("host", "id"), run.fact("host", "cpu")) for run in runs)
    if len(counts) < 2:
        return ""
    named = [f"{id or q.UNKNOWN} ({cpu or q.UNKNOWN}): {q.counted(n, 'run')}" for (id, cpu), n in counts.items()]
    return f"{len(counts)} machines: {'; '.join(named)}. Times are compared between runs of one machine."


def _values(runs: Sequence[Measured], phase: str, what: str) -> list[float]:
    """The values of a key figure in the order of the runs; runs without it are left out."""
    return [value for run in runs if (value := run.value(phase, what)) is not None]


def _cells(sides: Sequence[Side], collector: Collector, links: Mapping[str, str]) -> TableView:
    """Median and range of some key figures of each cell; each column has one unit."""
    heads, columns, data = [], [], []
    for phase, what, label, unit in SHOWN:
        of = [_values(side.runs, phase, what) for side in sides]
        size, name = charts.scaled([value for values in of for value in values], unit if any(of) else "")
        heads.append(Head(label, name, number=True))
        columns.append([_range([value / size for value in values]) for values in of])
        data += [
            (side.name, phase, what, unit, value) for side, values in zip(sides, of, strict=True) for value in values
        ]
    factors = factors_of(sides)
    rows = []
    for i, side in enumerate(sides):
        values = [side.runs[0].factors.get(factor, "") for factor in factors]
        version = [Cell(links[side.name].split("/")[1], href=links[side.name])] if links else []
        rows.append(cells(*version, *values, number(str(len(side.runs))), *(column[i] for column in columns)))
    names = [*([Head("Version")] if links else []), *(Head(factor) for factor in factors)]
    csv = collector.csv("cells", pd.DataFrame(data, columns=["cell", "phase", "what", "unit", "value"]))
    caption = (
        "Median over the runs of a cell, and its range where runs differ: speeds, bytes read, weights that a token "
        "touched in the mapped file, the most that buffers held. The time to the first token holds loading and "
        "warm-up, which are left out of the others. The CSV has every run."
    )
    return TableView("cells", "The cells", caption, (*names, Head("Runs", number=True), *heads), tuple(rows), "", csv)


def _range(values: Sequence[float]) -> Cell:
    if not values:
        return number(q.UNKNOWN)
    middle, least, most = (q.three(value) for value in (median(values), min(values), max(values)))
    return number(middle if least == most else f"{middle} ({least} to {most})")


def _figure(sides: Sequence[Side], drawn: PageFigures) -> FigureView:
    phase = "generate" if any(_values(side.runs, "generate", "speed") for side in sides) else "prompt"
    rows = [(side.name, value) for side in sides for value in _values(side.runs, phase, "speed")]
    data = pd.DataFrame(rows, columns=["cell", "value"])
    title = f"Speed of every run, {say.PHASES[phase]}"
    if data.empty:
        return drawn.nothing("cells", title, "No run has a time.")
    caption = "Each dot is a run, the line is the median of a cell; all cells have one scale."

    def chart(width: int) -> Any:
        rows = data.assign(cell=data["cell"].map(say.short_cell)) if theme.narrow(width) else data
        return charts.cells(rows, "tokens/s", width=width)

    return drawn.figure("cells", title, caption, data, chart, file="cells-speed")


def _within(found: Sequence[Effect], collector: Collector) -> TableView:
    """The effect of each factor at each value of the others, on the speed of generation."""
    rows, data = [], []
    for effect in found:
        for others, comparison in (("all together", effect.comparison), *effect.within):
            row = comparison.named("generate", "speed")
            if row is None:
                continue
            row = _by_ratio(row)
            finding = say.state(row, comparison.margin)
            of = row.difference
            p = q.p_value(of.p_adjusted) if of and of.low is not None else ""
            values = [number("" if row.several else say.value(side, row.unit)) for side in (row.a, row.b)]
            rows.append(cells(effect.name, others, *values, number(say.share(row.relative)), number(p), finding))
            data.append((effect.factor, effect.a, effect.b, others, row.a, row.b, row.relative, row.state))
    columns = ["factor", "from", "to", "where", "a", "b", "relative", "state"]
    csv = collector.csv("effects", pd.DataFrame(data, columns=columns))
    head = (
        Head("Factor"),
        Head("Where the others are"),
        Head("From", number=True),
        Head("To", number=True),
        Head("Shift", number=True),
        Head("p", number=True),
        Head("Finding"),
    )
    caption = (
        "How many times as fast generation is, as a change: the median ratio of runs. All together: every pair of runs "
        "of one round that differ in this factor alone (Wilcoxon), or all runs with each value (Mann-Whitney) where "
        "pairs are too few to tell. If the shift is another for other values of the other factors, the factors "
        "interact: then the rows below count, not the mean. p and finding are those of the comparison of all measures; "
        "the page of each factor prints the rule."
    )
    reason = "" if rows else "No two cells differ in one factor alone, or no run has a speed."
    return TableView("effects", "What each factor changes", caption, head, tuple(rows), reason, csv)


def _interacting(row: Interaction) -> str:
    before, after = (
        say.times(ratio).removeprefix("× ") for ratio in (row.difference.median_a, row.difference.median_b)
    )
    what = f"{row.factor}, {row.a} → {row.b} multiplies the speed of {say.SPEED_OF[row.phase]}"
    return f"{what} by {before} where {row.other}={row.c}, and by {after} where {row.other}={row.d}."


def _interactions(found: Sequence[Interaction], collector: Collector) -> TableView:
    """Whether the effect of a factor on speed depends on another factor."""
    rows, data = [], []
    for row in found:
        of = row.difference
        ends = of.ends or (None, None)
        shift, within = say.effect(of, "")
        rows.append(
            cells(
                f"{row.factor}, {row.a} → {row.b}",
                f"{row.other}, {row.c} → {row.d}",
                say.PHASES[row.phase],
                number(say.times(of.median_a)),
                number(say.times(of.median_b)),
                number(shift),
                number(within),
                number(q.p_value(of.p_adjusted) if within else ""),
                _joint_finding(of),
            )
        )
        data.append(
            (
                row.phase,
                row.factor,
                row.a,
                row.b,
                row.other,
                row.c,
                row.d,
                of.n_a,
                of.median_a,
                of.median_b,
                of.relative,
                *ends,
                of.p,
                of.p_adjusted,
                of.verdict,
            )
        )
    columns = [
        "phase",
        "factor",
        "from",
        "to",
        "other",
        "other_from",
        "other_to",
        "n",
        "ratio_from",
        "ratio_to",
        "relative",
        "low",
        "high",
        "p",
        "p_adjusted",
        "verdict",
    ]
    csv = collector.csv("interactions", with_older_name(pd.DataFrame(data, columns=columns)))
    head = (
        Head("Factor"),
        Head("Other factor"),
        Head("Speed of"),
        Head("Before", number=True),
        Head("After", number=True),
        Head("Shift", number=True),
        Head("99 % interval", number=True),
        Head("p", number=True),
        Head("Finding"),
    )
    caption = (
        "What a factor multiplies the speed by, before and after another factor changes: medians over the rounds and "
        "over the other factors. If the two differ (Wilcoxon, in pairs of one round; all rows of a speed are adjusted "
        "together), the factors interact, and the effect of one must be told with the value of the other."
    )
    reason = "" if rows else "The matrix has one factor, or no round has the four runs that this takes."
    return TableView("interactions", "Do factors interact?", caption, head, tuple(rows), reason, csv)


def _joint_finding(of: Difference) -> str:
    """Whether the effect of a factor is another where the other factor is."""
    if of.verdict == "different":
        return "interact"
    return f"{'effect the ' if of.verdict == 'same within the margin' else ''}{say.verdict(of, of.margin)}"


def _by_ratio(row: Compared) -> Compared:
    """The same measure with its shift as a ratio, as that of all pairs together: only then they can be compared.

    p and finding stay those of the comparison.
    """
    of = row.difference
    if of is None or row.several or min(*row.values_a, *row.values_b) <= 0:
        return row
    found = of_ratios(evenly(row.values_a), evenly(row.values_b), paired=of.paired, margin=of.margin)
    return replace(row, difference=replace(of, relative=found.relative))
