"""What trying a remedy showed, in sentences."""

from tracegen.contract import quantities as q
from tracegen.contract.facts import Tried


def measured(tried: Tried) -> str:
    """`measured 1.72 times as fast (99 %: 1.65 to 1.79; 6 pairs of runs)`."""
    ends = "" if tried.low is None or tried.high is None else f"99 %: {_times(tried.low)} to {_times(tried.high)}; "
    pairs = q.counted(tried.pairs, "pair of runs", "pairs of runs")
    return f"measured {_times(tried.measured)} times as fast ({ends}{pairs})"


def sentence(tried: Tried) -> str:
    """`Predicted 1.50 to 1.90, measured 1.72 times as fast (99 %: 1.65 to 1.79; 6 pairs of runs): as predicted.`"""
    low, high = (_times(of) for of in (tried.predicted_low, tried.predicted_high))
    of = "Of the prompt predicted" if tried.phase == "prompt" else "Predicted"
    return f"{of} {low} to {high}, {measured(tried)}: {tried.outcome}."


def instead(tried: Tried) -> list[str]:
    """Where the time of a token went before and after, a line for each part that was measured."""
    return [
        f"{label}: {q.duration(before)} before, {q.duration(after)} with the remedy"
        for label, (before, after) in (tried.parts or {}).items()
        if before or after
    ]


def _times(factor: float) -> str:
    return q.decimal(factor, 2 if factor < 10 else 1)
