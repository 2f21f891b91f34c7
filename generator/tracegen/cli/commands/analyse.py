"""`tracegen analyse`: answers the questions of the pages on the terminal, with the data behind each answer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tracegen.cli.arguments import Verb, run_names
from tracegen.cli.columns import aligned
from tracegen.contract.errors import SettingsError
from tracegen.contract.text import visible, without_controls

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from tracegen.report.figures.answers import Answer

LIMIT = 40


@click.command("analyse", cls=Verb, exclusive=(("as_csv", "as_json"),))
@click.argument("run", metavar="RUN", shell_complete=run_names)
@click.argument("question", metavar="[QUESTION]", required=False)
@click.option("--csv", "as_csv", is_flag=True)
@click.option("--json", "as_json", is_flag=True)
def command(run: str, question: str | None, as_csv: bool, as_json: bool) -> int:
    """Print the answer to one question with its data, or the answers to all."""
    if as_csv and question is None:
        raise SettingsError("--csv: prints the data of one answer; name its QUESTION (tracegen analyse RUN lists them)")
    found = _answers(run, question)
    if question is None:
        print(_as_json([_described(answer) for answer in found]) if as_json else _listing(found))
        return 0
    answer = found[0]
    if as_json:
        from tracegen.contract.tables import records

        print(_as_json(_described(answer) | {"data": None if answer.data is None else records(answer.data)}))
    elif as_csv:
        if answer.data is None:
            raise SettingsError(f"{question}: {answer.reason or 'has no data of its own'}")
        print(without_controls(answer.data.to_csv(index=False, lineterminator="\n")), end="")
    else:
        _print_answer(answer)
    return 0


def _answers(named: str, question: str | None) -> list[Answer]:
    """The answers of a run or version. Raises SettingsError for a question that is unknown, or not asked of it."""
    from tracegen.report import drawing

    if question is None:
        with drawing.process(simulates=True) as executor:  # it loads what it needs meanwhile
            return _found(named, None, executor)
    return _found(named, question)


def _found(named: str, question: str | None, executor: Executor | None = None) -> list[Answer]:
    from tracegen.reading.notebook.loaded import load
    from tracegen.report.figures.answers import answers, questions
    from tracegen.report.figures.caches import begin
    from tracegen.report.figures.context import Context
    from tracegen.report.pages.page import OUTLINE

    order = [key for key, *_ in OUTLINE]
    parts = {part.key: part for part in sorted(questions(), key=lambda part: order.index(part.page))}
    if question is not None and question not in parts:
        raise SettingsError(f"{question}: is no question; there are: {', '.join(parts)}")
    loaded = load(named)
    context = Context(loaded.measured, loaded.tables)
    if executor is not None:
        begin(context, executor, with_reuse=False)
    found = answers(context, list(parts.values()) if question is None else [parts[question]])
    if not found and question is not None:
        raise SettingsError(f"{question}: is asked of {parts[question].when.words} only")
    return found


def _listing(found: Sequence[Answer]) -> str:
    """A line for each answer, under the name of its page."""
    from tracegen.report.pages.page import OUTLINE

    titles = {key: title for key, title, _ in OUTLINE}
    width = max(len(answer.key) for answer in found)
    lines: list[str] = []
    page = ""
    for answer in found:
        if answer.page != page:
            page = answer.page
            lines += ["", titles[page]]
        lines.append(f"  {answer.key:{width}}  {visible(answer.reason or answer.answer)}")
    return "\n".join(lines[1:])


def _print_answer(answer: Answer) -> None:
    """The answer, the first rows of what the page shows, and what was counted."""
    print(visible(answer.reason or answer.answer))
    if answer.columns:
        rows = [(visible(name), [visible(text) for text in texts[:LIMIT]]) for name, texts in answer.columns]
        n = len(answer.columns[0][1])
        print()
        print("\n".join(aligned(rows, [_is_of_numbers(texts) for _, texts in rows])))
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
