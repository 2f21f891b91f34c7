"""Why the program failed, and what would fit."""

from collections.abc import Iterator
from itertools import pairwise

from tracegen.contract import quantities as q
from tracegen.contract.facts import Failure
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.explorers import CHECKS
from tracegen.report.findings.finding import Finding

CONTEXT_FLAGS = ("-c", "--ctx-size")
PADDED = 256  # tokens: llama.cpp makes a context a multiple of this
SPARE = 0.8  # of the memory: the rest is for compute buffers, and for what else runs
KILLED = {
    "SIGKILL": "The kernel kills a program so when memory runs out; another program may have done it, too.",
    "SIGBUS": "A page of a mapped file could not be read, as where the file was cut meanwhile, or the disk failed.",
}


def findings(context: Context) -> Iterator[Finding]:
    """Why the program failed; nothing where it did not."""
    failure = context.facts.failure
    if failure is None:
        return
    amounts: tuple[Amount, ...] = ()
    if failure.limit_s is not None:
        text = _too_long(context, failure.limit_s)
    elif failure.wanted_bytes is not None:
        amounts = (Amount(failure.wanted_bytes, "bytes"),)
        text = _allocation(context, failure, amounts[0])
    elif failure.signal is not None and (limit := _exceeded(context)) is not None:
        amounts = (Amount(limit, "bytes"),)
        text = f"The program needed more memory than the {amounts[0].text} of its limit, and the kernel killed it."
    elif failure.signal == "SIGABRT" and failure.words:
        text = f"The program stopped itself: “{q.printable(_asserted(failure))}”."
    elif failure.signal is not None:
        why = [KILLED.get(failure.signal, "")]
        if failure.signal == "SIGKILL" and context.facts.conditions.mlock:
            why.append("Less locked memory (`mlock_gb`) leaves more.")
        text = " ".join(filter(None, (f"The program was killed by {failure.signal}.", *why)))
    elif failure.words:
        text = f"The program ended with an error: “{q.printable(failure.words[0])}”."
    else:
        text = f"The program ended with exit status {context.facts.exit_status}, and said nothing."
    yield Finding(
        kind="memory",
        text=text,
        amounts=amounts,
        scope="measured passes",
        population="the whole run",
        effect=1.0,
        part=CHECKS,
    )


def _too_long(context: Context, limit_s: int) -> str:
    """`The program was stopped after 60 s, its time limit (`timeout_s`): it had generated 12 of 400 tokens.`"""
    asked, done = context.facts.settings.get("tokens"), context.tokens.get("generate", 0)
    if not done:
        far = "it had not generated a token"
    elif isinstance(asked, int):
        far = f"it had generated {q.count(done)} of {q.count(asked)} tokens"
    else:
        far = f"it had generated {q.counted(done, 'token')}"
    return f"The program was stopped after {q.count(limit_s)} s, its time limit (`timeout_s`): {far}."


def _asserted(failure: Failure) -> str:
    """The line of a program that stopped itself that says why; after it a debugger may list calls (`#2 0x…`)."""
    own = [line for line in failure.words if not line.startswith("#")] or list(failure.words)
    return next((line for line in own if "GGML_ASSERT" in line or "what():" in line), own[-1])


def _exceeded(context: Context) -> int | None:
    """The limit of memory for which the kernel killed the program, bytes; None where it did not."""
    limit = context.facts.conditions.memory_limit
    return limit.limit_bytes if limit and limit.processes_killed else None


def _allocation(context: Context, failure: Failure, wanted: Amount) -> str:
    """`2.10 TiB for the KV cache could not be allocated; the machine has 23.5 GiB. …`"""
    place = q.printable(failure.place or "")
    of_cpu = place.startswith("CPU")
    whole = context.facts.host.memory_bytes if of_cpu else None
    has = f"; the machine has {q.size(whole)}" if whole else ""
    what = f" for the {failure.what}" if failure.what else ""
    where = "" if of_cpu else f" in the memory of {place}"
    text = f"{wanted.text}{what} could not be allocated{where}{has}."
    if failure.what == "KV cache":
        return f"{text} {_shorter(context, wanted.value, whole)}"
    return text if of_cpu else f"{text} Fewer layers there (`-ngl`, `--n-cpu-moe`) take less."


def _shorter(context: Context, wanted: float, whole: int | None) -> str:
    """Which context would fit into `whole` bytes, or else what takes less."""
    n_ctx = next((int(n) for flag, n in pairwise(context.facts.command) if flag in CONTEXT_FLAGS and n.isdigit()), 0)
    if not n_ctx or not whole:
        return "A shorter context (`-c`) takes less, and so do smaller types (`-ctk q8_0 -ctv q8_0`)."
    fits = int(SPARE * whole / (wanted / n_ctx)) // PADDED * PADDED
    asked = f"A context of {q.count(n_ctx)} tokens was asked for"
    return f"{asked}; one of {q.count(fits)} takes {q.percent(SPARE)} of the machine’s memory (`-c {fits}`)."
