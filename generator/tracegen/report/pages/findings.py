"""The first sentences of the overview: what ran, and one sentence per finding."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import backends, chance, order, routing, timing, waiting
from tracegen.charts import theme
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, what_if
from tracegen.report.figures.access_order import ACCESS_READS
from tracegen.report.figures.caches import MIDDLE, WORKING_SET
from tracegen.report.figures.disk import DISK
from tracegen.report.figures.disk_reads import DISK_REQUESTS
from tracegen.report.figures.disk_waits import DISK_SPLIT
from tracegen.report.figures.expert_chance import EXPERTS_NEXT, EXPERTS_STICKY
from tracegen.report.figures.expert_shares import EXPERTS_LOAD
from tracegen.report.figures.heatmap import HEATMAP
from tracegen.report.figures.hot import HOT_EXPERTS
from tracegen.report.figures.shared_access import of_phase
from tracegen.report.figures.shared_disk import read_bytes
from tracegen.report.figures.shared_experts import no_choice
from tracegen.report.figures.shared_times import component_groups
from tracegen.report.figures.tensors import TENSOR_GROUPS
from tracegen.report.figures.times import COMPONENTS
from tracegen.report.figures.waiting import WAITING_KINDS
from tracegen.report.figures.what_if import WHAT_IF_ORDERS
from tracegen.report.pages.collector import Collector
from tracegen.report.pages.ranking import Finding
from tracegen.report.words import (
    access_sentences,
    cache_sentences,
    disk_sentences,
    expert_chance_sentences,
    expert_sentences,
    sentences,
    what_if_sentences,
)


def what_ran(context: Collector) -> str:
    """What llama.cpp did in this run, and what statistics leave out."""
    s = context.summary
    model = context.fact("model", "name") or context.fact("model", "file")
    more = len(context.fact("more_models") or [])
    beside = f" and {q.counted(more, 'more model')}" if more else ""
    first = f"llama.cpp ran “{q.printable(model)}”{_shape(context)}{beside}." if model else "llama.cpp ran a model."
    if context.fact("imported", "format"):
        first = sentences.imported(q.printable(model) if model else "")
    elif not model and context.tables["contexts"].empty:
        first = "A program ran graphs of ggml without llama.cpp; what they compute is not recorded."
    first += sentences.origin(context.fact("model", "origin"), context.fact("model", "licence"))
    second = " " + sentences.read_and_wrote(
        s.prompt_tokens, s.n_prompt_passes, s.generated_tokens, s.n_generate_passes, s.n_other_passes
    )
    if reused := sentences.reused_prefix(s.prompt_tokens, context.reused_tokens):
        second += f" {reused}."
    skipped = context.fact("trace", "skipped_passes")
    if context.flag("stopped"):
        second += " The program was interrupted after its trace was closed."
    elif skipped:
        second += (
            f" Only a window of the run was recorded: {q.counted(skipped, 'pass')} outside it left out. Tokens are "
            "counted from the begin of the window."
        )
    return f"{first}{second}{_other_backends(context)}{ATTACHED if context.flag('trace', 'attached') else ''}"


ATTACHED = (
    " The tracer was attached, without hooks: the work buffer, the types of the KV cache and the sampler’s choices are "
    "not recorded, and a warm-up is known only by what followed it."
)


def _other_backends(context: Collector) -> str:
    """The operations that ran on other backends than the CPU and have no times of their own; empty without any."""
    ops, splits = context.tables["ops"], context.tables["splits"]
    by_split = ops["time_basis"].eq("split")
    if not by_split.any():
        return ""
    handed = backends.submitted(splits)
    of = sentences.of_other_backends
    return f" {q.counted(int(by_split.sum()), 'operation')} of all passes ran on {context.untimed}." + of(
        *_number_and_time(splits[~splits["by_op"].to_numpy(bool) & ~handed]), *_number_and_time(splits[handed])
    )


def _number_and_time(splits: pd.DataFrame) -> tuple[int, float]:
    """How many splits there are, and their times together, ns."""
    return len(splits), float((splits["end_ns"] - splits["begin_ns"]).sum())


def _shape(context: Collector) -> str:
    """The model's architecture, layers and experts as an apposition; empty if nothing is known."""
    kind, layers = context.fact("model", "architecture"), context.fact("model", "n_layers")
    experts, used = context.fact("model", "n_experts"), context.fact("model", "n_experts_used")
    parts = [q.counted(layers, "layer")] if isinstance(layers, int) else []
    if isinstance(experts, int):
        parts.append(q.counted(experts, "expert") + (f", {used} of them per token" if isinstance(used, int) else ""))
    named = f", a model of the {q.printable(kind)} architecture" if kind else ", a model" if parts else ""
    return f"{named}{' with ' if parts else ''}{' and '.join(parts)}"


def findings(context: Collector) -> list[Finding]:
    """One-sentence findings, each with its number and its figure; only what the trace supports."""

    def found() -> list[Finding]:
        times = _of_times(context, context.phase)
        bytes_ = [*_of_bytes(context), *_of_order(context)]
        return [f for f in [*bytes_, *times, *_of_experts(context), *_of_storage(context)] if f.text]

    return context.once("findings", found)


def _of_bytes(context: Collector) -> list[Finding]:
    """How much a token touches of the weights, where they lay, and how many of all weights no pass touched."""
    s, found = context.summary, []
    if s.weight_token_bytes and s.file_bytes and not context.refusal(needs.BYTES):
        share = s.weight_token_bytes / s.file_bytes
        text = sentences.weights_of_token(s.weight_token_bytes, share, s.n_generate_passes)
        found.append(Finding(text, TENSOR_GROUPS, "bytes", min(share, 1.0)))
    touched, weights = s.touched_weight_bytes, s.weight_bytes
    if touched is not None and weights and not context.refusal(needs.FILE_USE) and len(context.measured):
        unused = weights - touched
        text = sentences.unused_weights(unused, weights, len(context.measured))
        found.append(Finding(text, HEATMAP, "bytes", unused / weights))
    disk, copied = s.generate_token_bytes["disk"], s.generate_token_bytes["copied"]
    if disk is not None and copied is not None and not context.refusal(needs.BYTES):
        share = copied / (disk + copied) if disk + copied else 0.0
        found.append(Finding(sentences.copied_weights(disk, copied), HEATMAP, "bytes", share))
    return found


def _of_order(context: Collector) -> list[Finding]:
    """In which order generated tokens go through the mapped file, and what those in a row need."""
    rows = of_phase(context, "generate")
    if rows.empty or context.refusal(ACCESS_READS.needs):
        return []
    n = {kind: int(rows[f"n_{kind}"].sum()) for kind in order.KINDS}
    tolerance = order.TOLERANCES[-1]
    reads, touched = (float(rows[name].median()) for name in (f"reads_{tolerance}", "touched_bytes"))
    text = access_sentences.finding(n, reads, tolerance, touched)
    found = [Finding(text, ACCESS_READS, "bytes", n["contiguous"] / max(sum(n.values()), 1))]
    one, new, several = (context.windows.of(*of) for of in ((1, "bytes"), (1, "new_bytes"), (MIDDLE, "bytes")))
    if one and new is not None and several and not context.refusal(WORKING_SET.needs):
        text = cache_sentences.working_set_finding(context.granule_bytes, one, new, several, MIDDLE)
        found.append(Finding(text, WORKING_SET, "the size of memory", new / one))
    if context.scored.is_apart and not context.refusal(WHAT_IF_ORDERS.needs):
        saved, memory = what_if.saved(context.what_if, what_if.HALF)
        held = what_if.held(context, memory)
        simulated = what_if_sentences.finding(*what_if.best(context.what_if), saved, memory, held)
        found.append(Finding(simulated, WHAT_IF_ORDERS, "the size of memory", max(saved, held)))
    return found


def _of_times(context: Collector, phase: str) -> list[Finding]:
    """What took the time of a phase, and how much its threads worked and waited."""
    found = []
    by = timing.by(
        context.timed.assign(group=component_groups(context.timed)), "group", context.tokens, context.outside_ops
    )
    by = by[by["phase"] == phase]
    groups = by[by["group"].isin(list(theme.GROUPS))]
    partial = context.gap_times or context.submitted  # what took the time may be what has no times
    if len(groups) and not partial and not context.refusal(COMPONENTS.needs):
        top, outside = groups.iloc[0], 1 - float(groups["share"].sum())
        outside = 0.0 if by["n_ops"].ne(0).all() else outside
        share = float(top["share"])
        text = sentences.time_goes_to(phase, str(top["group"]), share, outside)
        found.append(Finding(text, COMPONENTS, "time", share))
    rows = context.timed[context.timed["phase"] == phase].dropna(subset=["work_ns"])
    whole, n_threads = waiting.thread_time(rows, context.measured)
    if whole and not context.refusal(needs.TIMES):
        work, inside, after = (float(rows[name].sum()) / whole for name in ("work_ns", "barrier_ns", "wait_ns"))
        text = sentences.threads_work(phase, work, inside + after, n_threads)
        found.append(Finding(text, WAITING_KINDS, "time", inside + after))
    return found


def _of_storage(context: Collector) -> list[Finding]:
    """How much measured passes made the kernel read, and their page faults."""
    s, passes = context.summary, context.measured
    if context.refusal(needs.STORAGE):
        return []
    found = []
    generate = passes[(passes["kind"] == "generate").to_numpy(bool)]
    if s.read_bytes is not None:
        rest = passes[~passes["pass_id"].isin(generate["pass_id"])]
        others = int(rest["read_bytes"].sum()) if len(rest) else None
        each = [int(read) for read in generate["read_bytes"]]
        only_prompt = bool((rest["kind"] == "prompt").all())
        whose = "the prompt" if only_prompt else "other passes"
        text = sentences.read_from_storage(others, each, s.file_bytes, whose)
        share = min(((others or 0) + sum(each)) / s.file_bytes, 1.0) if s.file_bytes else 0.0
        found.append(Finding(text, DISK, "the disk", share))
    split_known = context.run.has_faults and not context.refusal(DISK_SPLIT.needs)
    if split_known:
        found.append(_of_disk_waits(context))
    if context.run.has_requests and not context.refusal(DISK_REQUESTS.needs):
        use = context.of_kind(context.disk_requests, "generate")
        became = {name: float(use[name].sum()) for name in ("page_bytes_read", "again_bytes", "never_bytes")}
        read = became["page_bytes_read"]
        share = max(became["again_bytes"], became["never_bytes"]) / read if read else 0.0
        found.append(Finding(disk_sentences.requests_overview(became), DISK_REQUESTS, "the disk", share))
    if s.major_faults is not None and not split_known:
        text = sentences.page_faults(s.major_faults, int(passes["minor_faults"].sum()))
        found.append(Finding(text, DISK, "the disk", 0.0))
    return found


def _of_disk_waits(context: Collector) -> Finding:
    """How long generate passes waited for the disk."""
    split = context.of_kind(context.disk_split, "generate")
    sums = {part: float(split[part].sum()) for part in ("duration_ns", "disk_ns", "behind_ns")}
    read = read_bytes(context, split["pass_id"])
    text = disk_sentences.overview(sums, len(split), int(split["n_faults"].sum()), read)
    whole = sums["duration_ns"]
    share = (sums["disk_ns"] + sums["behind_ns"]) / whole if whole else 0.0
    return Finding(text, DISK_SPLIT, "waiting", share)


def _of_next(context: Collector) -> list[Finding]:
    """That the experts of a layer tell those of the next, if they do so more than chance and than the most chosen."""
    table = context.experts_next
    if table.empty:
        return []
    share, most, before, effect, p = (float(table[name].iloc[0]) for name in ("share", "most", "before", "effect", "p"))
    if p >= chance.LEVEL or effect <= 0 or share <= max(most, before):
        return []
    said = expert_chance_sentences.next_finding(share=share, most=most, before=before, p=p)
    return [Finding(said, EXPERTS_NEXT, "experts", share)]


def _of_experts(context: Collector) -> list[Finding]:
    """How many experts no token chose, and how evenly the others were chosen."""
    if not context.run.has_experts or no_choice(context) or context.refusal(needs.CHOICES):
        return []
    counts = context.choice.counts
    found = []
    if (hot := context.hot_set) is not None:
        held = hot.n_held / hot.n_experts
        said = cache_sentences.hot_finding(hot.static, hot.recent, held)
        found.append(Finding(said, HOT_EXPERTS, "experts", hot.static.served))
    sticky = context.stickiness
    if len(sticky) and (p := float(sticky["p"].iloc[0])) < chance.LEVEL:
        again, shuffled, by_chance = (float(sticky[name].iloc[0]) for name in ("share", "shuffled", "even"))
        said = expert_chance_sentences.sticky_finding(share=again, shuffled=shuffled, even=by_chance, p=p)
        found.append(Finding(said, EXPERTS_STICKY, "experts", again))
    found += _of_next(context)
    share, even = routing.most_chosen(routing.ranked(counts))
    n_never, n_pairs = int((counts["n_tokens"] == 0).sum()), len(counts)
    text = expert_sentences.overview(
        n_never=n_never,
        n_pairs=n_pairs,
        share=share,
        even=even,
        layers=[int(layer) for layer in context.expert_layers["layer"]],
        chance=context.choice_by_chance,
    )
    return [Finding(text, EXPERTS_LOAD, "experts", max(share, n_never / n_pairs if n_pairs else 0.0)), *found]
