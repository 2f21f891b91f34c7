"""What the overview says first: what ran, the key figures, and the findings in one sentence each."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import buffers, routing, timing
from tracegen.charts import theme
from tracegen.pages import quantities as q
from tracegen.pages.context import OUTSIDE, Context
from tracegen.pages.expert_tokens import no_choice
from tracegen.pages.page import has_experts
from tracegen.pages.views import KeyFigure

# Key figures over the generate passes: a run that made one token has none.
PER_TOKEN = ("tokens_per_second_generate", "weight_bytes_per_token", "bytes_touched_per_token", "ops_per_token")


def component_groups(rows: pd.DataFrame) -> pd.Series:
    """The component group of each row."""
    component = rows["component"].astype("category")
    groups = pd.array([theme.group(name) for name in (*component.cat.categories, None)], dtype="object")
    return pd.Series(groups[component.cat.codes.to_numpy()], rows.index, name="component")  # -1, none: the last


def what_ran(context: Context) -> str:
    """What llama.cpp did in this run, and what is left out."""
    s = context.summary
    model = context.fact("model", "name") or context.fact("model", "file")
    more = len(context.fact("more_models") or [])
    beside = f" and {q.counted(more, 'more model')} beside it" if more else ""
    first = f"llama.cpp ran “{q.printable(model)}”{_shape(context)}{beside}." if model else "llama.cpp ran a model."
    if not model and context.tables["contexts"].empty:
        first = "A program ran graphs of ggml, without llama.cpp: what they were for is not recorded."
    if s.n_generate_passes or s.n_prompt_passes:
        read = "a prompt of unknown length" if s.prompt_tokens is None else q.counted(s.prompt_tokens, "prompt token")
        wrote = "tokens of unknown number" if s.generated_tokens is None else q.counted(s.generated_tokens, "token")
        second = (
            f" It read {read} in {q.counted(s.n_prompt_passes, 'pass')} and wrote "
            f"{wrote}, with {q.counted(s.n_generate_passes, 'generate pass')}"
        )
        second += f"; {q.counted(s.n_other_passes, 'pass')} are of other kinds." if s.n_other_passes else "."
    elif s.n_other_passes:
        second = f" {q.counted(s.n_other_passes, 'pass')}, none of them prompt or generate."
    else:
        second = " No pass was measured."
    skipped = context.fact("trace", "skipped_passes")
    if context.flag("stopped"):
        second += " The program was interrupted after its trace was closed."
    elif skipped:
        second += (
            f" Only a window was recorded: {q.counted(skipped, 'pass')} outside it left out, tokens counted from its "
            "begin."
        )
    if s.n_outside:
        stand = "stands" if s.n_outside == 1 else "stand"
        second += f" {q.counted(s.n_outside, 'load or warm-up pass')} {stand} outside every statistic."
    return f"{first}{second}{_other_backends(context)}{ATTACHED if context.flag('trace', 'attached') else ''}"


ATTACHED = (
    " It was traced attached, without hooks: the work buffer, the types of the KV cache and the sampler’s choices are "
    "not recorded, and a warm-up is known only by what followed it."
)


def _other_backends(context: Context) -> str:
    """What ran elsewhere than on the CPU: ops that have no times of their own."""
    ops, splits = context.tables["ops"], context.tables["splits"]
    by_split = ops["time_basis"].eq("split")
    if not by_split.any():
        return ""
    others = splits[~splits["by_op"]]
    took = float((others["end_ns"] - others["begin_ns"]).sum())
    return (
        f" {q.counted(int(by_split.sum()), 'operation')} of all passes ran on {context.untimed}; only the "
        f"{q.counted(len(others), 'split')} that hold them were timed ({q.duration(took)} in all), so no time of an "
        "operation, layer or component counts them."
    )


def _amount(context: Context, value: int | None) -> str:
    """A size; what a private run does not tell is withheld, not unknown."""
    return "withheld" if value is None and context.private else q.size(value)


def _shape(context: Context) -> str:
    """What is known of the model's shape, as an apposition."""
    kind, layers = context.fact("model", "architecture"), context.fact("model", "n_layers")
    experts, used = context.fact("model", "n_experts"), context.fact("model", "n_experts_used")
    parts = [q.counted(layers, "layer")] if isinstance(layers, int) else []
    if isinstance(experts, int):
        parts.append(q.counted(experts, "expert") + (f", {used} of them per token" if isinstance(used, int) else ""))
    named = f", a model of the {q.printable(kind)} architecture" if kind else ", a model" if parts else ""
    return f"{named}{' with ' if parts else ''}{' and '.join(parts)}"


def key_figures(context: Context) -> list[KeyFigure]:
    """The key figures; each is published as a value under its key."""
    s = context.summary
    rates, sizes = context.refusal("rates"), context.refusal("bytes")
    total = None if None in s.generate_token_bytes.values() else sum(v or 0 for v in s.generate_token_bytes.values())
    weights = None
    if s.generate_token_bytes["disk"] is not None and s.generate_token_bytes["copied"] is not None:
        weights = s.generate_token_bytes["disk"] + s.generate_token_bytes["copied"]
    peak = buffers.total_peak(context.tables)
    n = f"n = {q.counted(s.n_generate_passes, 'generate pass')}"
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
            f"{q.count(s.prompt_tokens)} token rows over the summed time of {q.counted(s.n_prompt_passes, 'pass')}",
            rates,
        ),
        (
            "weight_bytes_per_token",
            weights,
            "bytes",
            _amount(context, weights),
            "of weights used per token",
            f"median, {n}: {_amount(context, s.generate_token_bytes['disk'])} mapped, "
            f"{_amount(context, s.generate_token_bytes['copied'])} copied",
            sizes,
        ),
        (
            "bytes_touched_per_token",
            total,
            "bytes",
            _amount(context, total),
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
            f"by {q.counted(len(context.measured), 'measured pass')}; "
            f"each byte counts once{f'. {context.gaps}' if context.gaps else ''}",
            sizes,
        ),
        (
            "n_tensors_never_touched",
            s.n_never_touched,
            "1",
            q.count(s.n_never_touched),
            "tensors never touched" if s.n_never_touched != 1 else "tensor never touched",
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
        if key in PER_TOKEN and not s.n_generate_passes:
            text, note = q.NONE, "there was no generate pass to count"
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


def findings(context: Context, phase: str) -> list[str]:
    """One-sentence findings, each with its number; only what the trace supports."""
    s, made = context.summary, []
    if s.touched_share is not None and not context.refusal("bytes") and len(context.measured):
        unused = 1 - s.touched_share
        made.append(
            "Every byte of the file was used by some operation."
            if unused == 0
            else f"{q.percent(unused)} of the file ({q.size(s.file_bytes - (s.touched_bytes or 0))}) was used in no "
            f"measured pass."
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
        made.append(
            f"{q.percent(top['share'])} of the wall time of executed operations in {name} goes to {top['group']}."
        )
    made += _of_experts(context)
    threads = {name: float(context.timed[name].sum()) for name in ("work_ns", "barrier_ns", "wait_ns")}
    whole = sum(threads.values())
    if whole and not context.refusal("timeline"):
        made.append(
            f"Threads spend {q.percent(threads['work_ns'] / whole)} of the time in operations working; the rest is "
            f"waiting at barriers."
        )
    if context.refusal("storage"):
        return made
    if s.read_bytes is not None:
        made.append(
            "No measured pass made the kernel read from storage."
            if s.read_bytes == 0
            else f"Measured passes made the kernel read {q.size(s.read_bytes)} from storage, read-ahead included."
        )
    if s.major_faults is not None:
        made.append(
            "No measured pass had a page fault that read the disk."
            if s.major_faults == 0
            else f"Measured passes had {q.counted(s.major_faults, 'page fault')} that read the disk."
        )
    return made


def _of_experts(context: Context) -> list[str]:
    """How many experts were chosen by nobody, and how evenly the others were."""
    if not has_experts(context.run) or no_choice(context) or context.refusal("experts"):
        return []
    counts = context.choice.counts
    ranked = routing.ranked(counts)
    most = float(ranked.loc[ranked["place"] == 1, "share"].median())
    return [
        f"{q.count((counts['n_tokens'] == 0).sum())} of {q.counted(len(counts), 'expert')} were chosen by no generated "
        f"token; the most chosen of a layer got {q.percent(most)} of its choices in the median layer, where an even "
        f"choice would give {q.percent(float(ranked['even'].median()))}."
    ]
