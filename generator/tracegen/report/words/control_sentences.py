"""What is said of the control: the same program, untraced under the same conditions."""

from collections.abc import Sequence

from tracegen.analysis.observer import Effect, effects
from tracegen.contract import quantities as q
from tracegen.contract.check_keys import Key
from tracegen.contract.facts import Control, Execution
from tracegen.contract.model import Check


def untraced(control: Control | None, checks: Sequence[Check]) -> str:
    """`Untraced, under the same conditions: 11.3 tokens/s; traced 10.9.`, and what lifting the limit gave; or empty.

    `checks` are those of the run: whether the difference is decided. Speeds are those of generation, by llama.cpp's
    counters; without one, of the prompt.
    """
    found = effects(control, ()) if control else ()
    if control is None or not found:
        return ""
    is_open = any(check.key == Key.OBSERVER and check.state == "not checked" for check in checks)
    decided = " Whether tracing made that difference is not decided." if is_open else ""
    return f"Untraced, under the same conditions: {_speeds(found[-1])}.{decided}{_lifted(control)}"


def _speeds(effect: Effect) -> str:
    """`11.3 tokens/s; traced 10.9`; of several untraced runs the median."""
    of = f" (median of {q.count(effect.n)} runs)" if effect.n > 1 else ""
    if effect.phase == "whole program":
        return f"{1 / effect.untraced:.3g} s{of}; traced {1 / effect.traced:.3g} s"
    what = " of the prompt" if effect.phase == "prompt" else ""
    return f"{q.three(effect.untraced)} tokens/s{what}{of}; traced {q.three(effect.traced)}, by llama.cpp’s counters"


def _lifted(control: Control) -> str:
    """What the program takes without its memory limit, and how fast it is then; empty where that was not tried."""
    more = more_memory(control)
    whole = control.without_limit
    if more is None or whole is None or not whole.eval_ms or not whole.eval_runs:
        return ""
    rate = q.three(1e3 * whole.eval_runs / whole.eval_ms)
    return f" With {q.size(more)} more memory the limit would not have been reached: untraced, {rate} tokens/s."


def more_memory(control: Control | None) -> int | None:
    """By how many bytes the peak without the memory limit exceeds the limit; None where that was not tried, or not so.

    The limit is the largest peak of the executions under it, as they reached it.
    """
    whole = control and control.without_limit
    if not control or not whole or whole.failure or whole.peak_bytes is None:
        return None
    under = [execution.peak_bytes for execution in (control.traced, *control.untraced)]
    known = [peak for peak in under if peak is not None]
    more = whole.peak_bytes - max(known) if known else 0
    return more if more > 0 else None


def execution(of: Execution) -> str:
    """What is known of one execution, in a line: `23 tokens in 2.13 s; read 1.96 GiB; …`."""
    runs, prompts = of.eval_runs, of.prompt_tokens
    parts = [
        f"{q.counted(runs, 'token')} in {q.duration(of.eval_ms * 1e6)}" if runs and of.eval_ms else "",
        f"prompt of {q.count(prompts)} in {q.duration(of.prompt_ms * 1e6)}" if prompts and of.prompt_ms else "",
        f"{q.duration(of.seconds * 1e9)} in all",
        f"read {q.size(of.read_bytes)}" if of.read_bytes is not None else "",
        f"{q.counted(of.major_faults, 'major page fault')}" if of.major_faults is not None else "",
        f"peak of memory {q.size(of.peak_bytes)}" if of.peak_bytes is not None else "",
        f"limit reached {q.counted(of.times_reached, 'time')}" if of.times_reached is not None else "",
        f"others had {q.percent(of.others_share)} of the processors" if of.others_share is not None else "",
        f"{q.size(of.written_bytes)} written to the model’s device, by anyone" if of.written_bytes is not None else "",
        of.failure or "",
    ]
    return "; ".join(filter(None, parts))
