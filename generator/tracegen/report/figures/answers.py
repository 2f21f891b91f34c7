"""The questions that the figures and tables of pages ask, and what a run answers: words and data, nothing drawn."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegen.contract.components import GROUP_OF
from tracegen.contract.quantities import decimal, known
from tracegen.report.document.amount import in_words
from tracegen.report.figures.catalogue import FIGURES
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Explorer, Figure, Rows, Table


@dataclass(frozen=True)
class Answer:
    """What a run answers to the question of a figure or table.

    `answer` are the amounts that answer `question`, in words; empty where only the data does. `counts` says what was
    counted, `reason` why there is no answer (empty: there is one). `columns` are the texts that a page shows as a
    table, each with its head, of which some may be alike; of a figure, its data. `data` is what the page offers as CSV,
    None if it offers none.
    """

    key: str
    page: str
    question: str
    answer: str
    counts: str
    reason: str
    columns: Sequence[tuple[str, Sequence[str]]]
    data: pd.DataFrame | None


_TIMES = (("s", 10**9), ("ms", 10**6), ("µs", 10**3), ("ns", 1))
_SIZES = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))
_UNITS = (re.compile("(^|_)ns(_|$)"), _TIMES), (re.compile("(^|_)bytes(_|$)"), _SIZES)
_GROUPS = frozenset(GROUP_OF.values())
LISTS = ("model-files", "generated-tokens", "downloads")


def questions() -> tuple[Figure | Table, ...]:
    """The figures and tables of all pages in their order; explorers ask nothing, and lists of what was used neither."""
    return tuple(part for part in FIGURES if not isinstance(part, Explorer) and part.key not in LISTS)


def answers(context: Context, parts: Sequence[Figure | Table]) -> list[Answer]:
    """What the run answers to the questions of `parts`; parts that such a run does not have are left out."""
    return [_answer(context, part) for part in parts if part.when.holds(context)]


def _answer(context: Context, part: Figure | Table) -> Answer:
    refused = context.refusal(part.needs)
    if refused:
        return Answer(part.key, part.page, part.title, "", part.counts, refused, (), None)
    content = part.content(context)
    counts = content.caption + context.noted(part.needs)
    if isinstance(content, Rows):
        reason = "" if content.rows else content.empty or "There are no rows."
        heads = [f"{head.label}{head.unit and f' ({head.unit})'}" for head in content.head]
        columns = [(head, [row[at].text for row in content.rows]) for at, head in enumerate(heads)]
    else:
        reason, columns = content.empty, [] if content.empty else _texts(content.data)
    data = None if reason else content.data
    question, answer = content.title or part.title, in_words(content.answer)
    return Answer(part.key, part.page, question, answer, counts, reason, columns, data)


def _texts(data: pd.DataFrame) -> list[tuple[str, list[str]]]:
    return [_in_one_unit(str(name), data[name]) for name in data]


def _in_one_unit(name: str, values: pd.Series) -> tuple[str, list[str]]:
    """The head and the texts of a column: times and sizes in the unit that fits the largest, which the head names."""
    units = next((units for of, units in _UNITS if of.search(name)), None)
    if name in _GROUPS:  # the time of a group of components in a pass
        units = _TIMES
    if units is None or not pd.api.types.is_numeric_dtype(values):
        return name, [_text(value) for value in values]
    top = values.abs().max()
    unit, scale = next((of for of in units if known(top) and top >= of[1]), units[-1])
    head = re.sub("^ns_", "time_", name.removesuffix("_ns"))
    return f"{head} ({unit})", [_scaled(value, scale) for value in values]


def _scaled(value: Any, scale: int) -> str:
    if not known(value):
        return ""
    if scale == 1:
        return decimal(value, 0)
    least = 0.001
    return f"< {least}" if 0 < abs(value / scale) < least / 2 else decimal(value / scale, 3)


def _text(value: Any) -> str:
    if not known(value):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
