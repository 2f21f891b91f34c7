"""A matrix as a report: its cells on one scale, the effect of each factor, and a page for each effect."""

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from statistics import median
from typing import Any

import pandas as pd

from tracegen.analysis.measures import BY_KEY
from tracegen.analysis.significance import MARGIN
from tracegen.charts import compared as charts
from tracegen.charts import theme
from tracegen.comparing import sentences as say
from tracegen.comparing.answer import answer
from tracegen.comparing.comparison import Compared, evenly, of_ratios
from tracegen.comparing.effects import Effect, effects, factors_of
from tracegen.comparing.matrix_map import map_of_cells
from tracegen.comparing.page import PageFigures, comparison_page, rendered, report
from tracegen.comparing.tables import heads, number_heads
from tracegen.contract import quantities as q
from tracegen.contract.tables import small_tables
from tracegen.publishing.side import Measured, Side
from tracegen.report.document.amount import Amount
from tracegen.report.document.assets import Assets
from tracegen.report.document.blocks import FigureBlock, TableBlock
from tracegen.report.document.cells import Cell, Head, cells, number
from tracegen.report.document.page import Page, Report

SUMMARY = "Every cell of the matrix on one scale, and what each factor changes."
SPEED = "tokens_per_second_generate"
# Measures of the table of cells.
SHOWN = (
    *(SPEED, "tokens_per_second_prompt", "ttft_ns", "disk_read_bytes", "mapped_bytes_per_token"),
    *("peak_buffer_bytes", "peak_resident_bytes"),
)


@small_tables
def render_matrix(
    name: str,
    sides: Sequence[Side],
    links: Mapping[str, str] | None = None,
    margin: float = MARGIN,
    *,
    found: Sequence[Effect] | None = None,
    executor: Executor | None = None,
) -> Report:
    """The pages of a matrix; `sides` are its cells, at least two. The same runs give the same bytes.

    `links`: where the pages of a cell are, by its name. `found`: the result of `effects`, if the caller has it.
    `executor`, if given, draws charts in another process meanwhile.
    """
    assets = Assets(executor=executor)
    drawn = PageFigures(assets, "overview")
    changed = effects(sides, margin) if found is None else found
    pages = [
        comparison_page(assets, effect.comparison, f"effect-{n}", effect.name) for n, effect in enumerate(changed, 1)
    ]
    view = {
        "effects": [
            {
                "name": effect.name,
                "href": page.path,
                "answer": answer(effect.comparison, effect),
            }
            for effect, page in zip(changed, pages, strict=True)
        ],
        "factors": [f"{factor}: {', '.join(values)}" for factor, values in factors_of(sides).items()],
        "made": _when_and_where(sides),
        "checks": sorted(
            {check.title for side in sides for run in side.runs for check in run.checks if check.state == "warning"}
        ),
        "machines": _machines([run for side in sides for run in side.runs]),
        "n": f"{q.counted(len(sides), 'cell')}, {q.counted(sum(len(s.runs) for s in sides), 'usable run')}",
        "left_out": [f"{run} is left out: {why}" for side in sides for run, why in side.left_out],
        "cells": _cells(sides, assets, links or {}),
        "figure": _figure(sides, drawn),
        "map": map_of_cells(sides, drawn),
        "within": _within(changed, assets),
        "random": _random(sides),
    }
    overview = rendered(Page("overview", name, SUMMARY, ""), "matrix.html", view)
    return report(assets, name, (overview, *pages))


def _when_and_where(sides: Sequence[Side]) -> str:
    """When the runs were made, and on which processor, if there is one."""
    runs = [run for side in sides for run in side.runs]
    days = sorted({run.created[:10] for run in runs})
    hosts = {(run.facts.host.cpu, run.facts.host.cores) for run in runs}
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    ((cpu, cores),) = hosts if len(hosts) == 1 else ((None, None),)
    on = f" on {cpu}, {q.counted(int(cores), 'core')}" if cpu and cores else ""
    return f"Made {when}{on}."


def _random(sides: Sequence[Side]) -> str:
    """What random weights mean for the page; empty if no model has them."""
    n = sum(side.typical.facts.model.random_weights is True for side in sides)
    if not n:
        return ""
    some = "" if n == len(sides) else f" of {n} of {q.counted(len(sides), 'cell')}"
    return f"The model{some} was never trained: bytes and times are real, the text it writes is not."


def _machines(runs: Sequence[Measured]) -> str:
    """On which machines the runs were made, if there are several; a machine is named by its id and its processor."""
    counts = Counter((run.facts.host.id, run.facts.host.cpu) for run in runs)
    if len(counts) < 2:
        return ""
    named = [f"{id or q.UNKNOWN} ({cpu or q.UNKNOWN}): {q.counted(n, 'run')}" for (id, cpu), n in counts.items()]
    return f"{len(counts)} machines: {'; '.join(named)}. Times are compared between runs of one machine."


def _values(runs: Sequence[Measured], key: str) -> list[float]:
    """The values of a measure in the order of the runs; runs without it are left out."""
    return [value for run in runs if (value := run.value(key)) is not None]


def _cells(sides: Sequence[Side], assets: Assets, links: Mapping[str, str]) -> TableBlock:
    """Median and range of some key figures of each cell; each column has one unit."""
    measured, columns, data = [], [], []
    for key in SHOWN:
        of, measure = [_values(side.runs, key) for side in sides], BY_KEY[key]
        size, name = charts.scaled([value for values in of for value in values], measure.unit if any(of) else "")
        measured.append(Head(measure.label, name, number=True))
        columns.append([_range([value / size for value in values]) for values in of])
        data += [
            (side.name, key, measure.unit, value) for side, found in zip(sides, of, strict=True) for value in found
        ]
    factors = factors_of(sides)
    rows = []
    for i, side in enumerate(sides):
        values = [side.runs[0].factors.get(factor, "") for factor in factors]
        version = [Cell(links[side.name].split("/")[1], href=links[side.name])] if links else []
        rows.append(cells(*version, *values, number(str(len(side.runs))), *(column[i] for column in columns)))
    names = heads(*["Version"] * bool(links), *factors)
    csv = assets.csv("cells", pd.DataFrame(data, columns=["cell", "measure", "unit", "value"]))
    caption = (
        "Median over the runs of a cell, and its range where runs differ. The time to first token includes loading "
        "and warm-up, which are left out of the others. The CSV has every run."
    )
    return TableBlock(
        "cells",
        "What did each cell measure?",
        caption,
        (*names, *number_heads("Runs"), *measured),
        tuple(rows),
        "",
        csv,
    )


def _range(values: Sequence[float]) -> Cell:
    if not values:
        return number(q.UNKNOWN)
    middle, least, most = (q.three(value) for value in (median(values), min(values), max(values)))
    return number(middle if least == most else f"{middle} ({least} to {most})")


def _figure(sides: Sequence[Side], drawn: PageFigures) -> FigureBlock:
    key = SPEED if any(_values(side.runs, SPEED) for side in sides) else "tokens_per_second_prompt"
    rows = [(side.name, value) for side in sides for value in _values(side.runs, key)]
    data = pd.DataFrame(rows, columns=["cell", "value"])
    title = f"How far apart are the cells in {BY_KEY[key].label}?"
    if data.empty:
        return drawn.nothing("cells", title, "No run has a time.")
    caption = "Each dot is a run, the line is the median of a cell; all cells have one scale."

    def chart(width: int) -> Any:
        rows = data.assign(cell=data["cell"].map(say.short_cell)) if theme.narrow(width) else data
        return charts.cells(rows, "tokens/s", width=width)

    medians = data.groupby("cell")["value"].median()
    answer = (
        Amount(float(medians.min()), "tokens/s", "in the slowest cell"),
        Amount(float(medians.max()), "tokens/s", "in the fastest"),
    )
    return drawn.figure("cells", title, caption, data, chart, file="cells-speed", answer=answer)


def _within(found: Sequence[Effect], assets: Assets) -> TableBlock:
    """The effect of each factor at each value of the others, on the speed of generation."""
    rows, data = [], []
    for effect in found:
        for others, comparison in (("all together", effect.comparison), *effect.within):
            row = comparison.named(SPEED)
            if row is None:
                continue
            row = _by_ratio(row)
            of, finding = row.difference, say.state(row, comparison.margin)
            p = q.p_value(of.p_adjusted) if of and of.low is not None else ""
            values = [number("" if row.several else say.value(side, row.unit)) for side in (row.a, row.b)]
            rows.append(cells(effect.name, others, *values, number(say.share(row.relative)), number(p), finding))
            data.append((effect.factor, effect.a, effect.b, others, row.a, row.b, row.relative, row.state))
    columns = ["factor", "from", "to", "where", "a", "b", "relative", "state"]
    csv = assets.csv("effects", pd.DataFrame(data, columns=columns))
    of_numbers = number_heads("From", "To", "Shift", "p")
    head = (*heads("Factor", "Where the others are"), *of_numbers, *heads("Finding"))
    caption = (
        "How many times as fast generation is, as a change: the median ratio of runs. All together: every pair of runs "
        "of one round that differ in this factor alone (Wilcoxon), or all runs with each value (Mann-Whitney) where "
        "pairs are too few to tell. If the shift is another for other values of the other factors, the factors "
        "interact: then the rows below count, not the mean. p and finding are those of the comparison of all measures; "
        "the page of each factor prints the rule."
    )
    reason = "" if rows else "No two cells differ in one factor alone, or no run has a speed."
    return TableBlock(
        "effects", "What does each factor change with the others fixed?", caption, head, tuple(rows), reason, csv
    )


def _by_ratio(row: Compared) -> Compared:
    """The same measure with its shift as a ratio, as that of all pairs together: only then they can be compared.

    p and finding stay those of the comparison.
    """
    of = row.difference
    if of is None or row.several or min(*row.values_a, *row.values_b) <= 0:
        return row
    found = of_ratios(evenly(row.values_a), evenly(row.values_b), paired=of.paired, margin=of.margin)
    return replace(row, difference=replace(of, relative=found.relative))
