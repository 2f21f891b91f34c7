"""The key figures of the overview; each is also published as a value under its key."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tracegen.analysis import buffers
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.buffers import BUFFERS
from tracegen.report.figures.context import Context
from tracegen.report.figures.needs import Need
from tracegen.report.pages.collector import Collector
from tracegen.report.words import sentences

NOT_SHOWN = "not shown"


@dataclass(frozen=True)
class Value:
    """A published value: exact number, unit and text.

    One that the overview shows also has a `label` and a `note` on how it was counted. `per_token`: it is taken over
    generate passes, so that a run without them has none. If one of the checks that `needed` names failed, it is not
    shown.
    """

    key: str
    exact: object
    unit: str
    text: str
    needed: Sequence[Need] = ()
    label: str = ""
    note: str = ""
    per_token: bool = False


def key_figures(collector: Collector) -> list[Value]:
    """The key figures that the overview shows; these and some more are published."""
    return collector.once("key figures", lambda: _key_figures(collector))


def _key_figures(collector: Collector) -> list[Value]:
    figures = []
    for value in (*_speeds(collector), *_bytes(collector), *_of_the_file(collector)):
        if collector.embeddings and _is_of_text(value):
            value = replace(value, text=q.NOT_APPLICABLE, note="the passes give embeddings, and no token")
        elif value.per_token and not collector.summary.n_generate_passes:
            value = replace(value, text=q.NONE, note="the run has no generate pass")
        reason = collector.refusal(value.needed)
        text = _publish(collector, value)
        figures.append(replace(value, text=text, note=reason or value.note))
    for value in _published_only(collector):
        of_text = collector.embeddings and _is_of_text(value)
        _publish(collector, replace(value, text=q.NOT_APPLICABLE) if of_text else value)
    return figures


def _is_of_text(value: Value) -> bool:
    """Whether it is a value of a prompt or of generated tokens, and the run has none."""
    per_token = value.key.endswith("_per_token") or value.key.startswith("tokens_per_second_")
    return value.exact is None and (per_token or value.key in ("prompt_tokens", "generated_tokens"))


def _publish(collector: Collector, value: Value) -> str:
    """Publish a value, as null where a failed check makes it false, and return its text."""
    refused = bool(collector.refusal(value.needed))
    exact, text = (None, NOT_SHOWN) if refused else (value.exact, value.text)
    return collector.value(value.key, exact, value.unit, text)


def _population(context: Context) -> str:
    return f"n = {q.counted(context.summary.n_generate_passes, 'generate pass')}"


def _speeds(context: Context) -> list[Value]:
    s = context.summary
    notes = (
        f"{_population(context)} over their summed pass time",
        sentences.even_rate(s.generate_rate, _median_ns(context)),
        "sampling between passes is left out",
    )
    prompt = f"{q.count(s.prompt_tokens)} token rows over the summed time of {q.counted(s.n_prompt_passes, 'pass')}"
    prompt = "" if s.prompt_rate is None else prompt
    prompt = "; ".join(filter(None, (prompt, sentences.reused_prefix(s.prompt_tokens, context.reused_tokens))))
    return [
        Value(
            "tokens_per_second_generate",
            s.generate_rate,
            "1/s",
            q.rate(s.generate_rate),
            needs.RATES,
            "generation speed",
            "; ".join(filter(None, notes)),
            per_token=True,
        ),
        Value(
            "tokens_per_second_prompt", s.prompt_rate, "1/s", q.rate(s.prompt_rate), needs.RATES, "prompt speed", prompt
        ),
    ]


def _bytes(context: Context) -> list[Value]:
    """The bytes of a token, and those of a pass where passes give embeddings."""
    s, found = context.summary, context.embeddings
    mapped, copied = (amount(context, s.generate_token_bytes[memory]) for memory in ("disk", "copied"))
    of_token = Value(
        "weight_bytes_per_token",
        s.weight_token_bytes,
        "bytes",
        amount(context, s.weight_token_bytes),
        needs.BYTES,
        "of weights touched per token",
        f"median, {_population(context)}: {mapped} mapped, {copied} copied",
        per_token=True,
    )
    if found is None:
        return [of_token]
    n = f"median, n = {q.counted(found.n_passes, 'measured pass')}"
    return [
        of_token,
        Value(
            "weight_bytes_per_pass",
            found.weight_bytes,
            "bytes",
            amount(context, found.weight_bytes),
            needs.BYTES,
            "of weights touched per pass",
            n,
        ),
        Value(
            "bytes_touched_per_pass",
            found.touched_bytes,
            "bytes",
            amount(context, found.touched_bytes),
            needs.BYTES,
            "touched per pass in total",
            f"{n}; weights, KV cache and intermediate results; a byte that two operations touch counts twice",
        ),
    ]


def _of_the_file(context: Context) -> list[Value]:
    """How much of the file was touched, and what was in buffers beside it."""
    s = context.summary
    withheld = s.touched_share is None and context.private
    gaps = f". {context.gaps}" if context.gaps else ""
    passes, peak = q.counted(len(context.measured), "measured pass"), buffers.total_peak(context.tables)
    beside = f"; {q.size(s.header_bytes)} of the file are header and padding" if s.header_bytes else ""
    return [
        Value(
            "touched_share",
            s.touched_share,
            "1",
            "withheld" if withheld else q.percent(s.touched_share),
            needs.FILE_USE,
            "of the file touched at least once",
            f"{amount(context, s.touched_bytes)} of {q.size(s.file_bytes)}, by {passes}; each byte counts once{beside}"
            f"{gaps}",
        ),
        Value(
            "n_tensors_never_touched",
            s.n_never_touched,
            "1",
            q.count(s.n_never_touched),
            needs.FILE_USE,
            "tensors never touched" if s.n_never_touched != 1 else "tensor never touched",
            f"of {q.count(len(context.tables['tensors']))} in the file",
        ),
        Value(
            "peak_buffer_bytes",
            peak,
            "bytes",
            q.size(peak),
            BUFFERS.needs,
            "in buffers at their peak",
            "sum of all runtime allocations, copied weights included",
        ),
    ]


def _published_only(context: Context) -> list[Value]:
    """Values that the overview does not show but a journal can quote."""
    s = context.summary
    mapped, touched = s.generate_token_bytes.get("disk"), s.touched_token_bytes
    share = s.touched_disk_bytes / s.file_bytes if s.touched_disk_bytes is not None and s.file_bytes else None
    return [
        Value("bytes_touched_per_token", touched, "bytes", amount(context, touched), needs.BYTES),
        Value("ops_per_token", s.ops_per_token, "1", q.count(s.ops_per_token), needs.RATES),
        Value("touched_share_mapped", share, "1", q.percent(share), needs.FILE_USE),
        Value("touched_weight_share", s.touched_weight_share, "1", q.percent(s.touched_weight_share), needs.FILE_USE),
        Value("header_bytes", s.header_bytes, "bytes", q.size(s.header_bytes)),
        *(
            Value(f"{memory}_bytes_per_token", size, "bytes", q.size(size), needs.BYTES)
            for memory, size in s.generate_token_bytes.items()
        ),
        # The same number as `disk_bytes_per_token`, by a name that claims no reads from the disk.
        Value("mapped_bytes_per_token", mapped, "bytes", q.size(mapped), needs.BYTES),
        Value("prompt_tokens", s.prompt_tokens, "1", q.count(s.prompt_tokens)),
        Value("generated_tokens", s.generated_tokens, "1", q.count(s.generated_tokens)),
    ]


def amount(context: Context, value: int | None) -> str:
    """A size as text; an unknown one of a private run is called withheld."""
    return "withheld" if value is None and context.private else q.size(value)


def _median_ns(context: Context) -> float | None:
    """Duration of the median generate pass."""
    times = context.of_kind(context.measured, "generate")["duration_ns"].dropna()
    return float(times.median()) if len(times) else None
