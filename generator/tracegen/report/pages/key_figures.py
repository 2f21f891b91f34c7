"""The published values of a run, and the key figures of the first page, which are some of them with a note."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tracegen.analysis import measures
from tracegen.analysis.measures import Value
from tracegen.contract import quantities as q
from tracegen.report.figures.context import Context
from tracegen.report.words import sentences

NOT_SHOWN = "not shown"
AVERAGED = {measure.key for measure in measures.MEASURES if measure.average}


@dataclass(frozen=True)
class KeyFigure:
    """A measure as the first page shows it; `note`: how it was counted, or why it is not shown."""

    key: str
    label: str
    text: str
    note: str


def published_values(context: Context) -> dict[str, dict[str, object]]:
    """Each measure that a version publishes; the result of `described`."""
    return described(context, measures.published(context))


def described(context: Context, values_of: Iterable[Value]) -> dict[str, dict[str, object]]:
    """By key the value, unit, text and label of these measures; null where a failed check makes the value false.

    `average`: of those of many passes mean or median.
    """
    values: dict[str, dict[str, object]] = {}
    for found in values_of:
        if found.value is None and found.key in measures.OF_SOME_RUNS:
            continue
        exact = None if context.refusal(found.needs) else found.value
        if exact is not None and found.unit in ("bytes", "") and float(exact).is_integer():
            exact = int(exact)
        values[found.key] = {
            "value": exact,
            "unit": found.unit,
            "text": text_of(context, found),
            "label": ", ".join(filter(None, (found.label, found.item))),
            **({"average": measures.BY_KEY[found.key].average} if found.key in AVERAGED else {}),
        }
    return values


def text_of(context: Context, found: Value) -> str:
    """The value in words, or the word for why there is none."""
    if context.refusal(found.needs):
        return NOT_SHOWN
    if found.value is None and found.phase and context.embeddings:
        return q.NOT_APPLICABLE
    if found.value is None and found.phase == "generate" and not context.summary.n_generate_passes:
        return q.NONE
    if found.value is None and context.private and found.unit in ("bytes", "share"):
        return "withheld"
    return q.amount(found.value, found.unit)


def key_figures(context: Context) -> list[KeyFigure]:
    """The key figures of the first page."""
    figures = []
    drafted = measures.value("drafted_token_ns", context).value is not None
    for key, note_of in _SHOWN.items():
        found = measures.value(key, context)
        if key.endswith("_per_pass") and context.embeddings is None:
            continue
        if found.value is None and (key == "drafted_token_ns" or (found.phase == "generate" and drafted)):
            continue
        text = text_of(context, found)
        note = _refused(context, found) or _WHY_NONE.get(text) or note_of(context)
        figures.append(KeyFigure(key, found.label, text, note))
    return figures


def _refused(context: Context, found: Value) -> str:
    """Why a measure is not shown: the verdict beside it says more; empty if it is."""
    broken = context.broken(found.needs)
    if len(broken) > 1:
        return f"{q.count(len(broken))} checks that it needs failed"
    return f"the check “{broken[0].title}” {'failed' if broken[0].state == 'failed' else 'warned'}" if broken else ""


_WHY_NONE = {
    q.NOT_APPLICABLE: "the passes give embeddings, and no token",
    q.NONE: "the run has no generate pass",
}


def _generate_passes(context: Context) -> str:
    return q.counted(context.summary.n_generate_passes, "generate pass")


def _of_speed(context: Context) -> str:
    median_ns = measures.value("token_ns_median", context).value
    even = sentences.even_rate(context.summary.generate_rate, median_ns)
    parts = (f"{_generate_passes(context)}, without sampling between them", even)
    return "; ".join(filter(None, parts))


def _of_drafts(context: Context) -> str:
    accepted = text_of(context, measures.value("accepted_share", context))
    n = int(context.rounds["n_gained"].notna().sum())
    return f"{q.counted(n, 'verified batch', 'verified batches')}; {accepted} of drafted tokens accepted"


def _of_prompt(context: Context) -> str:
    s = context.summary
    rows = f"{q.counted(s.prompt_tokens, 'token')} in {q.counted(s.n_prompt_passes, 'pass')}"
    reused = sentences.reused_prefix(context.prompt_tokens, s.n_other_passes)
    ttft = measures.value("ttft_ns", context)
    first = "" if ttft.value is None else f"first token after {text_of(context, ttft)}, loading included"
    return "; ".join(filter(None, ("" if s.prompt_rate is None else rows, first, reused)))


def _of_weights(context: Context) -> str:
    mapped, copied = (measures.value(f"{memory}_bytes_per_token", context) for memory in ("mapped", "copied"))
    if copied.value == 0:
        return "median; all of it mapped"
    return f"median: {text_of(context, mapped)} mapped, {text_of(context, copied)} {context.copied}"


def _of_pass(context: Context) -> str:
    return (
        "" if context.embeddings is None else f"median, n = {q.counted(context.embeddings.n_passes, 'measured pass')}"
    )


def _of_all(context: Context) -> str:
    more = "weights, KV cache and intermediate results; a byte that two operations touch counts twice"
    return f"{_of_pass(context)}; {more}"


def _of_file(context: Context) -> str:
    s = context.summary
    touched = text_of(context, measures.value("touched_bytes", context))
    beside = f"; {q.size(s.header_bytes)} are header and padding" if s.header_bytes else ""
    gaps = f". {context.gaps}" if context.gaps else ""
    return f"{touched} of {q.size(s.file_bytes)}{beside}{gaps}"


def _of_tensors(context: Context) -> str:
    return f"of {q.count(len(context.tables['tensors']))} in the file"


def _of_buffers(context: Context) -> str:
    return "all runtime allocations, with copied weights"


_SHOWN: Mapping[str, Callable[[Context], str]] = {
    "tokens_per_second_generate": _of_speed,
    "drafted_token_ns": _of_drafts,
    "tokens_per_second_prompt": _of_prompt,
    "weight_bytes_per_token": _of_weights,
    "weight_bytes_per_pass": _of_pass,
    "bytes_touched_per_pass": _of_all,
    "touched_share": _of_file,
    "n_tensors_never_touched": _of_tensors,
    "peak_buffer_bytes": _of_buffers,
}
