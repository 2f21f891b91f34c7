"""What of the process's memory grows while it computes, and which setting bounds it."""

from collections.abc import Iterator
from pathlib import PurePath

from tracegen.analysis import allocations, footprint
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.footprint import FOOTPRINT
from tracegen.report.findings.finding import Finding

SERVER = "llama-server"
MOSTLY = 0.5  # of what grew: so much is due to saved states
SLOW = 0.05  # s: saving a state that takes longer is said
BOUND = "`--cache-ram N` bounds them, in MiB; with 0 none is saved."
CHECKPOINTS = "`--ctx-checkpoints N` bounds how many it keeps for each slot."


def is_llama_server(context: Context) -> bool:
    """Whether the program that was run is llama.cpp's own server, whose options can be named."""
    return PurePath(next(iter(context.facts.command or ()), "")).name == SERVER


def findings(context: Context) -> Iterator[Finding]:
    """The memory that grows from the first generated token to the last sample; nothing where little does."""
    found = context.once("growth", lambda: footprint.growth(context.tables))
    if found is None or context.refusal(FOOTPRINT.needs):
        return
    size = Amount(found.group_bytes, "bytes")
    states = found.states
    if states is not None and found.group == "saved states" and found.group_bytes >= MOSTLY * found.grown_bytes:
        each, together = Amount(states.each_bytes, "bytes"), Amount(states.all_bytes, "bytes")
        text, amounts = _of_states(context, states, each, together), (each, together)
    else:
        whole = Amount(found.end_bytes, "bytes")
        text = (
            f"Memory outside of ggml’s buffers grows by {size.text} in {q.counted(found.n_passes, 'pass')}; without "
            f"the model file the process then holds {whole.text}. {_by_whom(context)}"
        )
        amounts = (size, whole)
    yield Finding(
        kind="memory",
        text=text,
        amounts=amounts,
        scope="measured passes",
        population=f"{q.counted(found.n_passes, 'pass')}, {q.counted(found.n_samples, 'sample')}",
        effect=min(found.grown_bytes / found.end_bytes, 1.0),
        part=FOOTPRINT,
    )


def _by_whom(context: Context) -> str:
    """`Most that is new was asked for by `f`, called by `g`: 40 blocks, 160 MiB more than before.`"""
    if context.tables["allocations"].empty:
        return "What allocates it was not recorded (`--allocations` does)."
    table = allocations.by_calls(context.tables)
    grown = table[(table["grown_bytes"] > 0).to_numpy(bool)].sort_values("grown_bytes", ascending=False, kind="stable")
    if grown.empty:
        return "No calls for blocks of 64 KiB or more hold more than before."
    most = grown.iloc[0]
    who = allocations.asked(str(most["calls"]))
    caller = f", called by `{q.printable(who.called_by)}`" if who.called_by else ""
    return (
        f"Most of what is new was asked for by `{q.printable(who.function)}`{caller}: "
        f"{q.counted(int(most['n_live']), 'block')} now, {q.size(int(most['grown_bytes']))} more than before."
    )


def _of_states(context: Context, states: footprint.States, each: Amount, together: Amount) -> str:
    """`Memory grows by 2.57 MiB with each finished request: llama-server keeps the KV state of 117 tokens. …`"""
    server = is_llama_server(context)
    who, when = (SERVER, "finished request") if server else ("the program", "saved state")
    size = each.text if states.alike else f"{each.text} (median)"
    tokens = "" if states.n_tokens is None else f" of {q.counted(states.n_tokens, 'token')}"
    kept, name, bound = f"the KV state{tokens}", "state", BOUND
    if states.partial:
        when, name, bound = "checkpoint", "checkpoint", CHECKPOINTS
        kept = "what cannot be cut back to fewer tokens"
    slow = f" Saving one takes {q.duration(states.save_ns)}." if states.save_ns >= SLOW * 1e9 else ""
    take = "takes" if states.n == 1 else "take"
    return (
        f"Memory grows by {size} with each {when}: {who} keeps {kept}. "
        f"{q.counted(states.n, name)} {take} {together.text}.{slow}{f' {bound}' if server else ''}"
    )
