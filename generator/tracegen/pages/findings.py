"""What the overview says first: what ran, the key figures, and the findings in one sentence each."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import buffers, timing
from tracegen.charts import theme
from tracegen.pages import quantities as q
from tracegen.pages.context import OUTSIDE, Context
from tracegen.pages.views import KeyFigure


def component_groups(rows: pd.DataFrame) -> pd.Series:
    """The component group of each row."""
    return rows["component"].astype("object").map(theme.group)


def what_ran(context: Context) -> str:
    """One or two sentences: what llama.cpp did in this run, and what is left out."""
    s = context.summary
    model = context.fact("model", "name") or context.fact("model", "file") or "a model"
    kind = context.fact("model", "architecture")
    prompt = (
        "a prompt of unknown length" if s.prompt_tokens is None else f"a prompt of {counted(s.prompt_tokens, 'token')}"
    )
    wrote = f"wrote {counted(s.generated_tokens, 'token')}"
    passes = f"{counted(s.n_prompt_passes, 'prompt pass')} and {counted(s.n_generate_passes, 'generate pass')}"
    first = (
        f"llama.cpp ran {q.printable(model)}{f' ({q.printable(kind)})' if kind else ''}: it read {prompt} and "
        f"{wrote}, in {passes}"
    )
    other = f" and {s.n_other_passes} of other kinds" if s.n_other_passes else ""
    if not len(context.measured):
        first, other = f"llama.cpp loaded {q.printable(model)}; no pass was measured", ""
    return (
        f"{first}{other}. {counted(s.n_outside, 'load or warm-up pass')} stand{'s' if s.n_outside == 1 else ''} "
        "outside every statistic."
    )


def counted(count: int, noun: str) -> str:
    """`1 pass`, `3 passes`."""
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{q.count(count)} {noun if count == 1 else plural}"


def key_figures(context: Context) -> list[KeyFigure]:
    """The key figures; each is published as a value under its key."""
    s = context.summary
    rates, sizes = context.refusal("rates"), context.refusal("bytes")
    total = None if None in s.generate_token_bytes.values() else sum(v or 0 for v in s.generate_token_bytes.values())
    weights = None
    if s.generate_token_bytes["disk"] is not None and s.generate_token_bytes["copied"] is not None:
        weights = s.generate_token_bytes["disk"] + s.generate_token_bytes["copied"]
    peak = buffers.total_peak(context.tables)
    never = len(_never(context)) if s.touched_bytes is not None else None
    n = f"n = {s.n_generate_passes} generate passes"
    rows = [
        (
            "tokens_per_second_generate",
            s.generate_rate,
            "1/s",
            q.rate(s.generate_rate),
            "generation",
            f"{n} over their summed pass time; sampling between passes is not in it",
            rates,
        ),
        (
            "tokens_per_second_prompt",
            s.prompt_rate,
            "1/s",
            q.rate(s.prompt_rate),
            "prompt",
            f"{q.count(s.prompt_tokens)} token rows over the summed time of {counted(s.n_prompt_passes, 'pass')}",
            rates,
        ),
        (
            "weight_bytes_per_token",
            weights,
            "bytes",
            q.size(weights),
            "of weights used per token",
            f"median, {n}: {q.size(s.generate_token_bytes['disk'])} mapped, "
            f"{q.size(s.generate_token_bytes['copied'])} copied",
            sizes,
        ),
        (
            "bytes_touched_per_token",
            total,
            "bytes",
            q.size(total),
            "touched per token in all",
            f"median, {n}; weights, KV cache and intermediate results; a byte used by two operations counts twice",
            sizes,
        ),
        (
            "touched_share",
            s.touched_share,
            "1",
            q.percent(s.touched_share),
            "of the file used at least once",
            f"{q.size(s.touched_bytes)} of {q.size(s.file_bytes)}, "
            f"by {counted(len(context.measured), 'measured pass')}; "
            f"each byte counts once",
            sizes,
        ),
        (
            "n_tensors_never_touched",
            never,
            "1",
            q.count(never),
            "tensors never touched" if never != 1 else "tensor never touched",
            f"of {q.count(len(context.tables['tensors']))} in the file; {OUTSIDE.lower()[:-1]}",
            sizes,
        ),
        (
            "peak_buffer_bytes",
            peak,
            "bytes",
            q.size(peak),
            "in buffers at the peak",
            "all runtime allocations together, copied weights included",
            context.refusal("buffers"),
        ),
        (
            "ops_per_token",
            s.ops_per_token,
            "1",
            q.count(s.ops_per_token),
            "operations per token",
            f"median of executed operations, {n}",
            rates,
        ),
    ]
    made = []
    for key, value, unit, text, label, note, reason in rows:
        context.value(key, None if reason else value, unit, "not shown" if reason else text)
        made.append(KeyFigure(key, "not shown" if reason else text, label, reason or note))
    share = s.touched_disk_bytes / s.file_bytes if s.touched_disk_bytes is not None and s.file_bytes else None
    context.value("touched_share_mapped", None if sizes else share, "1", "not shown" if sizes else q.percent(share))
    for memory, amount in s.generate_token_bytes.items():
        context.value(
            f"{memory}_bytes_per_token", None if sizes else amount, "bytes", "not shown" if sizes else q.size(amount)
        )
    context.value("prompt_tokens", s.prompt_tokens, "1", q.count(s.prompt_tokens))
    context.value("generated_tokens", s.generated_tokens, "1", q.count(s.generated_tokens))
    return made


def _never(context: Context) -> pd.DataFrame:
    return context.tensor_use[context.tensor_use["n_passes"] == 0]


def findings(context: Context, phase: str) -> list[str]:
    """One-sentence findings, each with its number; only what the trace supports."""
    s, made = context.summary, []
    if s.touched_share is not None and not context.refusal("bytes") and len(context.measured):
        unused = 1 - s.touched_share
        made.append(
            "Every byte of the file was used by some operation."
            if unused == 0
            else f"{q.percent(unused)} of the file ({q.size(s.file_bytes - (s.touched_bytes or 0))}) was used by no "
            f"operation."
        )
    disk, copied = s.generate_token_bytes["disk"], s.generate_token_bytes["copied"]
    if disk is not None and copied is not None and disk + copied and not context.refusal("bytes"):
        share = copied / (disk + copied)
        made.append(
            f"{q.percent(share)} of the weight bytes a token uses were copied out of the file at load; they are read "
            f"from memory, never from disk."
            if copied
            else "All weights a token uses are read through the file mapping."
        )
    by = timing.by(context.timed.assign(group=component_groups(context.timed)), "group", context.tokens)
    by = by[by["phase"] == phase]
    if len(by) and not context.refusal("components"):
        top = by.iloc[0]
        name = {"generate": "generation", "prompt": "the prompt"}[phase]
        made.append(f"{q.percent(top['share'])} of the operation time of {name} goes to {top['group']}.")
    threads = {name: float(context.timed[name].sum()) for name in ("work_ns", "barrier_ns", "wait_ns")}
    whole = sum(threads.values())
    if whole and not context.refusal("timeline"):
        made.append(
            f"Threads spend {q.percent(threads['work_ns'] / whole)} of the time in operations working; the rest is "
            f"waiting at barriers."
        )
    if s.major_faults is not None:
        made.append(
            "No measured pass had a page fault that read the disk."
            if s.major_faults == 0
            else f"Measured passes had {q.count(s.major_faults)} page faults that read the disk."
        )
    return made
