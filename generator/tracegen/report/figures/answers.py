"""The questions that the figures and tables of pages ask, and what a run answers: words and data, nothing drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegen.contract.quantities import known
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
    return [(str(name), [_text(value) for value in data[name]]) for name in data]


def _text(value: Any) -> str:
    if not known(value):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
