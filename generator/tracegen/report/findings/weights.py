"""How much of the weights tokens touch: a token, all of them together, and what lies in copies."""

from collections.abc import Iterator

from tracegen.analysis import copies, expert_cache
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.heatmap import HEATMAP
from tracegen.report.figures.tensors import TENSOR_GROUPS
from tracegen.report.findings.finding import Finding, Scope


def findings(context: Context) -> Iterator[Finding]:
    """What the median token touches of the file, what no pass touches, and how much of it lies in copies."""
    s = context.summary
    tokens = q.counted(s.n_generate_passes, "token")
    if s.weight_token_bytes and s.file_bytes and not context.refusal(needs.BYTES):
        size = Amount(s.weight_token_bytes, "bytes")
        share = Amount(min(s.weight_token_bytes / s.file_bytes, 1.0), "share")
        yield Finding(
            kind="bytes",
            text=f"A token touches {size.text} of weights, {share.text} of the file{_none_read(context)}.",
            amounts=(size, share),
            scope="generation",
            population=f"median of {tokens}",
            effect=share.value,
            part=TENSOR_GROUPS,
        )
    touched, weights = s.touched_weight_bytes, s.weight_bytes
    if touched is not None and weights and not context.refusal(needs.FILE_USE) and len(context.measured):
        unused, of = Amount(weights - touched, "bytes"), Amount((weights - touched) / weights, "share")
        text = f"No measured pass touches {unused.text}, {of.text} of the weights."
        yield Finding(
            kind="bytes",
            text=text if unused.value else "Measured passes touch all weights.",
            amounts=(unused, of),
            scope="measured passes",
            population=q.counted(len(context.measured), "pass"),
            effect=of.value,
            part=TENSOR_GROUPS,
        )
    mapped, copied = s.generate_token_bytes["disk"], s.generate_token_bytes["copied"]
    if mapped and copied and not context.refusal(needs.BYTES):
        in_copies, in_file = Amount(copied, "bytes"), Amount(mapped, "bytes")
        yield Finding(
            kind="bytes",
            text=f"A token touches {in_copies.text} of weights {_place(context)}, and {in_file.text} in the "
            "mapped file.",
            amounts=(in_copies, in_file),
            scope="generation",
            population=tokens,
            effect=copied / (mapped + copied),
            part=HEATMAP,
        )
    yield from _to_devices(context)


def _to_devices(context: Context) -> Iterator[Finding]:
    """Which weights passes copy to another backend, because it computes with them and they lie with the CPU."""
    scopes: tuple[tuple[str, Scope], ...] = (("prompt", "prompt"), ("generate", "generation"))
    for phase, scope in scopes:
        passes = context.of_kind(context.measured, phase).dropna(subset=["duration_ns"])
        time, n = float(passes["duration_ns"].sum()), len(passes) if phase == "generate" else 1
        for of in copies.weights(context.tables, phase)[:1] if time else ():
            size, took = Amount(of.n_bytes / n, "bytes"), Amount(of.took_ns / time, "share")
            of_experts = of.expert_bytes / of.n_bytes
            what = "experts" if of_experts == 1 else "weights"
            experts = f", {q.percent(of_experts)} of them experts" if 0 < of_experts < 1 else ""
            gaps = of.layers and of.layers[-1] - of.layers[0] >= len(of.layers)
            layers = f" of layers {of.layers[0]} to {of.layers[-1]}" if len(of.layers) > 1 else ""
            layers = f" of {q.counted(len(of.layers), 'layer')}" if gaps else layers
            lead = "For a token" if phase == "generate" else "For the prompt"
            how = "which takes, with waiting for both," if of.whole else "whose hand-over alone takes"
            yield Finding(
                kind="bytes",
                text=f"{lead}, {size.text} of {what}{layers} are copied to {q.printable(of.target)}{experts}, {how} "
                f"{took.text} of the time{_held(context) if phase == 'generate' else ''}.",
                amounts=(size, took),
                scope=scope,
                population=q.counted(len(passes), "pass"),
                effect=took.value,
                part=TENSOR_GROUPS,
            )


def _held(context: Context) -> str:
    """What a cache of experts on the device held already, in a run that had one."""
    share = expert_cache.held_share(context.tables)
    return "" if share is None else f"; its cache held {q.percent(share)} of the experts that tokens chose"


def _place(context: Context) -> str:
    """Where the copies of weights lie: `on Vulkan0`."""
    return f"on {context.copies_in}" if context.copies_in else "in copies made at load"


def _none_read(context: Context) -> str:
    """That tokens read nothing from the disk, where that is known and so."""
    read = context.of_kind(context.measured, "generate")["read_bytes"]
    known = len(read) and read.notna().all() and not context.refusal(needs.STORAGE)
    return "; none of it is read from the disk" if known and not read.any() else ""
