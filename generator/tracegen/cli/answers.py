"""`tracegen show RUN QUESTION`: answers the questions of the pages, with the data behind each answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracegen.cli.columns import aligned
from tracegen.contract.errors import SettingsError
from tracegen.contract.tables import records
from tracegen.contract.text import visible, without_controls
from tracegen.report.document.page import OUTLINE
from tracegen.report.figures.answers import Answer, answers, questions
from tracegen.report.figures.context import Context

if TYPE_CHECKING:
    from tracegen.report.figures.figure import Figure, Table

ALL = "all"  # the word that asks every question
LIMIT = 40


def by_key() -> Mapping[str, Figure | Table]:
    """The questions by key, in the order of the pages."""
    order = [key for key, *_ in OUTLINE]
    return {part.key: part for part in sorted(questions(), key=lambda part: order.index(part.page))}


def print_answers(read: Callable[[], Context], question: str, *, as_csv: bool, as_json: bool) -> None:
    """Print the answer to a question with its data, or a line for each; `read` is called once the question is known.

    Raises SettingsError for a question that is unknown, or not asked of the run.
    """
    parts = by_key()
    if question == ALL and as_csv:
        raise SettingsError("--csv: prints the data of one answer; name its QUESTION")
    if question == ALL:
        every = answers(read(), list(parts.values()))
        return print(_as_json([_described(answer) for answer in every]) if as_json else _listing(every))
    if question not in parts:
        raise SettingsError(f"{question}: is not a question; there are: {', '.join((ALL, *parts))}")
    found = answers(read(), [parts[question]])
    if not found:
        raise SettingsError(f"{question}: is asked of {parts[question].when.words} only")
    answer = found[0]
    if as_json:
        print(_as_json(_described(answer) | {"data": None if answer.data is None else records(answer.data)}))
    elif as_csv:
        if answer.data is None:
            raise SettingsError(f"{question}: {answer.reason or 'has no data of its own'}")
        print(without_controls(answer.data.to_csv(index=False, lineterminator="\n")), end="")
    else:
        _print_answer(answer)


def _listing(found: Sequence[Answer]) -> str:
    """A line for each answer, under the name of its page."""
    titles = {key: title for key, title, _ in OUTLINE}
    width = max(len(answer.key) for answer in found)
    lines: list[str] = []
    page = ""
    for answer in found:
        if answer.page != page:
            page = answer.page
            lines += ["", titles[page]]
        lines.append(f"  {answer.key:{width}}  {visible(answer.reason or answer.answer or answer.question)}")
    return "\n".join(lines[1:])


def _print_answer(answer: Answer) -> None:
    """The answer, the first rows of what the page shows, and what was counted."""
    print(visible(answer.reason or answer.answer or answer.question))
    if answer.columns:
        rows = [(visible(name), [visible(text) for text in texts[:LIMIT]]) for name, texts in answer.columns]
        n = len(answer.columns[0][1])
        print()
        print("\n".join(aligned(rows, [name for name, texts in rows if _is_of_numbers(texts)])))
        print(f"{LIMIT:,} of {n:,} rows; --csv prints all\n" if n > LIMIT else "")
    print(visible(answer.counts))


def _is_of_numbers(texts: Sequence[str]) -> bool:
    number = re.compile(r"[<>−+-]?\s?[\d.,\s\u202f]*\s?%?")
    return all(number.fullmatch(text) for text in texts)


def _described(answer: Answer) -> dict[str, Any]:
    return {
        "key": answer.key,
        "page": answer.page,
        "question": answer.question,
        "answer": None if answer.reason else answer.answer,
        "reason": answer.reason or None,
        "counts": answer.counts,
    }


def _as_json(document: object) -> str:
    return json.dumps(document, indent=1, ensure_ascii=True, default=lambda value: value.item())
