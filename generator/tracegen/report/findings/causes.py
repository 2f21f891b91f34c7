"""The causes of a phase in sentences: why it takes its time."""

from collections.abc import Iterator, Mapping, Sequence

from tracegen.analysis.causes.cause import Cause, Phase
from tracegen.analysis.fallen import fallen
from tracegen.analysis.measures import value
from tracegen.contract import quantities as q
from tracegen.report.figures.context import Context
from tracegen.report.findings.computing import for_processor, too_many

ALONE = "fewer bytes alone would not help"
NAMED = 0.1  # of the time: a cause that takes less is not named in an answer
BOUND = "memory bandwidth bounds it: fewer bytes would help, more threads would not"
COMPUTING = f"computing bounds it, not memory bandwidth: {ALONE}"
GROWN = 0.1  # of the time of a token: less growth is not said
NEARLY = 0.9  # of what all passes touch: tokens read the file in circles
HALF = 0.5  # of memory bandwidth: less does not bound; of the time outside operations: less copying is not said
DELAYED = 0.05  # of the time: less waiting for a processor is not said
OF: Mapping[str, str] = {"generate": "generation", "prompt": "the prompt"}


def sentences(context: Context, phase: Phase, causes: Sequence[Cause]) -> list[str]:
    """Why, of the causes of one phase that take at least `NAMED` of its time, the most expensive first."""
    named = [cause for cause in causes if cause.share >= NAMED]
    by_key: dict[str, Cause] = {cause.key: cause for cause in reversed(named)}
    computing = [*_fallen(context, phase), *_computing(context, named), *_growth(context, phase)]
    return [*_reading(context, phase, by_key), *computing, *_threads(phase, by_key)]


def _reading(context: Context, phase: Phase, causes: Mapping[str, Cause]) -> Iterator[str]:
    """What became of the bytes that were read, and what they had room in."""
    found = [causes[key] for key in ("evicted", "unused-reads", "first-reads") if key in causes]
    if found:
        read = q.size(found[0].numbers["read_bytes"])
        parts = [f"{q.percent(_of_bytes(cause))} {WHAT[cause.key]}" for cause in found[:2]]
        ahead = context.facts.conditions.read_ahead_bytes
        by = f", as the device reads {q.size(ahead)} ahead" if "unused-reads" in causes and ahead else ""
        yield f"Of the {read} that {OF[found[0].phase]} read, {' and '.join(parts)}{by}."
        yield from _room(context, causes)
        if phase.name == "prompt" and phase.n_passes > 1:
            yield f"The prompt was computed in {q.count(phase.n_passes)} passes, each of which needs the model again."
    elif "reads" in causes:
        yield "What became of the bytes that were read was not recorded: record it with `disk = true`."


WHAT: Mapping[str, str] = {
    "evicted": "was needed again after it had been evicted",
    "unused-reads": "was never used",
    "first-reads": "was read for the first time",
}


def _of_bytes(cause: Cause) -> float:
    return cause.numbers["cause_bytes"] / cause.numbers["read_bytes"]


def _room(context: Context, causes: Mapping[str, Cause]) -> Iterator[str]:
    """What all passes touch, or what was read at load, beside the memory that held pages of the model."""
    cache, touched = context.facts.conditions.page_cache, context.summary.touched_disk_bytes
    if cache is None or not cache.after_bytes or not touched or not {"evicted", "unused-reads"} & set(causes):
        return
    held = q.size(cache.after_bytes)
    if touched <= cache.after_bytes:
        yield f"All that the passes touch, {q.size(touched)}, would fit into the {held} that held pages of the model."
    elif "evicted" not in causes:
        return
    elif context.facts.settings.get("prefault") and (loaded := _loaded(context)) > cache.after_bytes:
        yield f"The load had read {q.size(loaded)} already, and {held} of memory held pages of the model."
    elif (experts := _experts(context)) > cache.after_bytes:
        yield f"The experts that were chosen come to {q.size(experts)}, and {held} of memory held pages of the model."
    else:
        yield f"The passes touch {q.size(touched)}, and {held} of memory held pages of the model."
        if (context.summary.weight_token_bytes or 0) >= NEARLY * touched:
            yield "Each token needs nearly all of that in the same order: pages are evicted before their next use."


def _loaded(context: Context) -> float:
    """Bytes that were read while the model was loaded; 0 where that is not known."""
    found = value("disk_read_bytes_load", context).value
    return 0.0 if found is None else float(found)


def _experts(context: Context) -> float:
    """Bytes of experts in mapped files that measured passes touched; 0 where that is not known."""
    use = context.tensor_use
    return float(use.loc[use["n_experts"].notna(), "mapped_bytes"].fillna(0).sum())


def _computing(context: Context, causes: Sequence[Cause]) -> Iterator[str]:
    """How fast the operation that computes longest takes its bytes."""
    cause = next((cause for cause in causes if cause.key in ("memory-bandwidth", "kernel")), None)
    if cause is None or "of_memory" not in cause.numbers or cause.phase != "generate":
        return
    share, rate = q.percent(cause.numbers["of_memory"]), q.size(cause.numbers["bytes_per_second"])
    with_ = f" with {q.printable(cause.names['dtype'])} weights" if "dtype" in cause.names else ""
    name = f"{q.printable(cause.names['op'])}{with_}"
    if cause.key == "memory-bandwidth":
        yield f"{name} takes its bytes at {share} of memory bandwidth; {BOUND}."
    elif "faster" in cause.names:
        other, faster = q.printable(cause.names["faster"]), q.size(cause.numbers["faster_bytes_per_second"])
        yield f"{name} takes its bytes at {rate}/s, with {other} weights at {faster}/s; {COMPUTING}."
    elif cause.numbers["of_memory"] < HALF:
        yield f"{name} takes its bytes at {share} of memory bandwidth, which does not bound it: {ALONE}."
    else:
        yield f"{name} takes its bytes at {share} of memory bandwidth."


def _fallen(context: Context, phase: Phase) -> Iterator[str]:
    """The operation that costs most of those that the CPU computes in layers of a device."""
    if not phase.parts["elsewhere_ns"]:
        return
    rows = fallen(context.tables, context.timed[context.timed["phase"].eq(phase.name).to_numpy(bool)])
    for row in rows.head(1).to_dict("records"):
        types = ", ".join(q.printable(str(name)) for name in row["types"])
        lie = "lies" if row["n_layers"] == 1 else "lie"
        of_layers = f"in {q.counted(row['n_layers'], 'layer')} that {lie} on {context.others}"
        more = f", and {q.counted(len(rows) - 1, 'other operation')}" if len(rows) > 1 else ""
        yield f"The CPU computes {q.printable(row['op'])} ({types}) {of_layers}{more}."
        yield "llama.cpp does so where a backend does not support an operation’s types or shape."


def _growth(context: Context, phase: Phase) -> Iterator[str]:
    """How much longer attention makes each token, and what that comes to at the end of the context."""
    found = context.context_growth if phase.name == "generate" else None
    if found is not None and found.full_ns >= (1 + GROWN) * found.token_ns:
        yield (
            f"Attention makes a token {q.duration(found.slope)} longer for each token of context "
            f"({q.duration(found.low)} to {q.duration(found.high)})."
        )
        yield (
            f"Where all {q.count(found.size)} are used, a token would take {q.duration(found.full_ns)}, not "
            f"{q.duration(found.token_ns)} as in the median here."
        )


def delayed(phase: Phase) -> bool:
    """Whether it is said that threads waited for a processor."""
    return (phase.delayed_share or 0.0) >= DELAYED


def _threads(phase: Phase, named: Mapping[str, Cause]) -> Iterator[str]:
    """More threads than processors, other programs, and time outside operations."""
    if delayed(phase) and not phase.is_apart:
        yield f"Of all this time, threads waited for a processor for {q.percent(phase.delayed_share)}{too_many(phase)}."
    elif delayed(phase):
        yield for_processor(phase, phase.delayed_share or 0.0)
    if "outside" in named:
        share, copied = named["outside"].share, named["outside"].numbers.get("copying_ns", 0.0) / phase.whole_ns
        copying = f", {q.percent(copied)} for copying between backends" if copied >= HALF * share else ""
        yield f"{q.percent(share)} of the time is outside operations{copying}."
