"""What tracing changed: a traced execution compared with untraced ones under the same conditions."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tracegen.contract.facts import Control, Execution

SEVERAL = 3  # untraced executions, whose times say what others did to them
# Student's t: 97.5 % lie below it, by degrees of freedom from 1; beyond the last one it falls to 1.96
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_PHASES: Mapping[str, Callable[[Execution], tuple[float | None, int | None]]] = {  # ms, tokens
    "prompt": lambda of: (of.prompt_ms, of.prompt_tokens),
    "generation": lambda of: (of.eval_ms, of.eval_runs),
}


@dataclass(frozen=True)
class Effect:
    """How a phase went traced and untraced: tokens/s (untraced: the median of `n`), and how much slower it was traced.

    `slower` and its uncertainty `noise` are shares of the untraced time of a token; of the seconds of the whole
    program where llama.cpp's counters are not known: then the speeds are executions per second. Tracing makes nothing
    faster: where the traced execution was, the noise is at least that large.
    """

    phase: str
    traced: float
    untraced: float
    n: int
    slower: float
    noise: float

    def surely_over(self, share: float) -> bool:
        """Whether tracing took more than this share for certain: a single untraced execution never says so."""
        return self.n > 1 and self.slower - self.noise > share

    def surely_within(self, share: float) -> bool:
        """Whether tracing took at most this share for certain."""
        return abs(self.slower) + self.noise <= share


def effects(control: Control, token_ns: Sequence[float]) -> tuple[Effect, ...]:
    """The effect of tracing on prompt and generation, or on the whole program; empty where no control ended in order.

    `token_ns`: the durations of the traced generate passes.
    """
    untraced = [execution for execution in control.untraced if not execution.failure]
    found = []
    for phase, counters in _PHASES.items():
        pairs = [_per_token(*counters(execution)) for execution in (control.traced, *untraced)]
        traced, *others = [pair for pair in pairs if pair is not None] if pairs[0] is not None else [math.nan]
        if others:
            found.append(_effect(phase, traced, others, _known_noise(control, untraced, token_ns)))
    if untraced and not found:
        seconds = [execution.seconds for execution in untraced]
        if min(*seconds, control.traced.seconds) > 0:
            noise = _known_noise(control, untraced, token_ns)
            found.append(_effect("whole program", control.traced.seconds, seconds, noise))
    return tuple(found)


def _per_token(ms: float | None, n: int | None) -> float | None:
    """Seconds per token by llama.cpp's counters; None where they are not known, or 0."""
    return ms / n / 1e3 if ms and n else None


def _effect(phase: str, traced: float, untraced: Sequence[float], known: float) -> Effect:
    middle = statistics.median(untraced)
    slower = traced / middle - 1
    return Effect(phase, 1 / traced, 1 / middle, len(untraced), slower, max(known, _spread(untraced), -slower))


def _spread(untraced: Sequence[float]) -> float:
    """Half the interval in which 95 % of further executions would lie, as a share of the median; 0 for a single one.

    It is that of a normal distribution whose mean and variance are those of these executions (Student's t).
    """
    n = len(untraced)
    if n < 2:
        return 0.0
    t = _T[n - 2] if n - 2 < len(_T) else 1.96
    return t * statistics.stdev(untraced) * math.sqrt(1 + 1 / n) / statistics.median(untraced)


def _known_noise(control: Control, untraced: Sequence[Execution], token_ns: Sequence[float]) -> float:
    """What is known of the noise without what executions themselves differ by, as a share: neighbours, and tokens.

    Neighbours: the share of the processors that others had, in the traced and in the untraced execution. What they had
    in all of several executions alike, as a server does that computes for them, slows all alike: then the difference.
    Tokens: twice the standard error of the mean time of a token, for the difference of two such means.
    """
    taken, traced = [execution.others_share or 0.0 for execution in untraced], control.traced.others_share or 0.0
    neighbours = traced + statistics.median(taken)
    if len(taken) >= SEVERAL:
        neighbours = max(abs(traced - share) for share in taken)
    if len(token_ns) < 2:
        return neighbours
    error = statistics.stdev(token_ns) / math.sqrt(len(token_ns)) / statistics.fmean(token_ns)
    return float(neighbours + 2 * math.sqrt(2) * error)
