"""The sentences of a report that depend on measured values: values in, text out; none of them reads a table."""

from collections.abc import Mapping, Sequence

from tracegen.contract import quantities as q
from tracegen.contract.model import Check

OUTSIDE = "Load and warm-up are left out of every statistic."
EVEN = 1.2  # token times within this factor of their median are called about the same


def read_and_wrote(
    prompt_tokens: int | None, n_prompt: int, generated: int | None, n_generate: int, n_other: int
) -> str:
    """What the measured passes did: tokens in and out (None: not known), and passes by kind."""
    if not n_prompt + n_generate + n_other:
        return "No pass was measured."
    if not n_prompt + n_generate:
        none = "not of prompt or generate" if n_other == 1 else "none of them prompt or generate"
        return f"{q.counted(n_other, 'pass')}, {none}."
    read = "a prompt of unknown length" if prompt_tokens is None else q.counted(prompt_tokens, "prompt token")
    wrote = "tokens of unknown number" if generated is None else q.counted(generated, "token")
    others = f"; {q.counted(n_other, 'pass')} {'is' if n_other == 1 else 'are'} of other kinds" if n_other else ""
    of_prompt = f"It read {read} in {q.counted(n_prompt, 'pass')}" if n_prompt else "No prompt pass was recorded; it"
    joint = " and" if n_prompt else ""
    return f"{of_prompt}{joint} wrote {wrote}, with {q.counted(n_generate, 'generate pass')}{others}."


def header(header_bytes: int | None, file_bytes: int) -> str:
    """Which part of the files is not a weight; empty where that is not known, or nothing."""
    if not header_bytes:
        return ""
    share = q.percent(header_bytes / file_bytes)
    return (
        f" Header and padding, {q.size(header_bytes)} ({share} of the file), are no weights: no operation reads them."
    )


def verdict_line(verdict: str, checks: Sequence[Check]) -> str:
    """The verdict with the checks that decided it: `complete with warnings: interference 12 % (limit: 5 %)`."""
    state = {"complete with warnings": "warning", "not usable": "failed"}.get(verdict, "")
    deciding = [c for c in checks if c.state == state]
    named = [f"{c.key.replace('_', ' ')} {c.found} (limit: {c.limit})" for c in deciding[:2]]
    named = [text if len(text) <= 120 else f"{text[:119]}…" for text in named]
    more = [f"{q.count(len(deciding) - 2)} more"] if len(deciding) > 2 else []
    return f"{verdict}: {'; '.join(named + more)}" if named else verdict


def of_other_backends(n_timed: int, timed_ns: float, n_submitted: int, submitted_ns: float, waited: str = "") -> str:
    """What is known of the time of splits on other backends: those that were computed, and those handed over.

    `waited`: who waited for them, `the tracer` or `llama.cpp`; empty where nobody had to.
    """
    text = ""
    if n_timed:
        those = "that holds them was" if n_timed == 1 else "that hold them were"
        until = f", until {waited} had waited for {'it' if n_timed == 1 else 'each'}" if waited else ""
        text += f" Only the {q.counted(n_timed, 'split')} {those} timed ({q.duration(timed_ns)} in all{until})."
    if n_submitted:
        text += (
            f" {q.counted(n_submitted, 'split')} {'was' if n_submitted == 1 else 'were'} submitted "
            f"({q.duration(submitted_ns)} in all for handing over); how long computing took is not recorded."
        )
    return f"{text} Times of operations, layers and components leave them out."


def imported(model: str) -> str:
    """What the overview of an imported run says first; `model` is empty where unknown."""
    of = f" of a run of “{model}”" if model else ""
    return f"A trace{of} was imported; it was not measured here. What follows is inferred from it."


CARE = {
    "op_times": "Not all operations have times of their own",
    "interference": "Threads that could run waited for a processor",
    "not_stopped": "Some passes stalled",
    "even_tokens": "Mean and median of the token times differ",
    "tracing_cost": "Tracing took part of the passes’ time",
    "observer": "The same program is faster untraced",
}

RUN_ALONE = "If other programs ran, run it again without them."
ADVICE = {
    "op_times": "Read the times of passes, not of single operations.",
    "interference": RUN_ALONE,
    "not_stopped": RUN_ALONE,
    "even_tokens": "Read the median, and the time of each token.",
    "tracing_cost": "Tracing takes less of a longer prompt or a larger model, or with fewer kinds of records: faults "
    "or requests off.",
    "observer": "Compare this run with traced runs only.",
}

DISTURBED = ("interference", "not_stopped")  # checks that find that threads did not run when they could
_FOUND = (*DISTURBED, "op_times")  # of which it is said what was found


def what_to_do(checks: Sequence[Check]) -> str:
    """What a reader of times can do. `checks`: those of times that did not pass; empty without any."""
    counted = [] if any(c.key == "op_times" for c in checks) else ["Touched bytes are not affected."]
    return " ".join([*counted, *dict.fromkeys(ADVICE[c.key] for c in checks)]) if checks else ""


def with_care(checks: Sequence[Check]) -> str:
    """`Read these times with care: threads that could run waited for a processor (8 % of thread time).`; or empty."""
    found = {c.key: f" ({c.found.partition(',')[0]})" for c in checks if c.key in _FOUND and c.found}
    reasons = "; ".join(f"{CARE[c.key][:1].lower()}{CARE[c.key][1:]}{found.get(c.key, '')}" for c in checks)
    return f"Read these times with care: {reasons}." if checks else ""


def outside_statistics(kinds: Mapping[str, int]) -> str:
    """The loads and warm-up passes that statistics leave out; `kinds` has the number of each. Empty without any."""
    named = {"load": ("load", "loads"), "warmup": ("warm-up pass", "warm-up passes")}
    left_out = [q.counted(n, *named[kind]) for kind, n in kinds.items() if n]
    return f"Statistics leave out {' and '.join(left_out)}." if left_out else ""


def reused_prefix(tokens: tuple[int, int] | None, n_other_passes: int) -> str:
    """How much of the prompts passes computed, where the KV cache had the rest; empty where it had nothing.

    Passes of other kinds than prompt and generate may have computed a part of it.
    """
    computed, reused = tokens or (0, 0)
    if not reused:
        return ""
    others = " in passes of all kinds" if n_other_passes else ""
    whole = q.count(computed + reused)
    return f"{q.count(computed)} of {whole} prompt tokens computed{others}, {q.count(reused)} reused"


def even_rate(rate: float | None, median_ns: float | None) -> str:
    """The rate of the median pass, where it differs from the mean `rate`; empty where they agree."""
    if not rate or not median_ns:
        return ""
    usual = 1e9 / median_ns
    return "" if 1 / EVEN <= usual / rate <= EVEN else f"the median pass alone would give {q.rate(usual)}"
