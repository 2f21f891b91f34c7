"""The sentences about other orders of the file and other sizes of memory: values in, text out."""

from collections.abc import Sequence

from tracegen.contract import quantities as q

LEAST_GAIN = 0.01  # a smaller gain is none worth to tell
SIMULATION = (
    "A simulation, not a prediction of speed: a program that reads only what operations touch, one read after the "
    "other, and drops from memory what was not used for longest. A mapped file does not profit from an order by itself."
)
ORDERS = {
    "today": "as the file is",
    "layer": "embeddings, then layer by layer, then the rest",
    "first-touch": "in the order in which tokens first touch the tensors",
    "hot": "the most touched bytes per byte of the tensor first",
    "co-activated": "tensors as they are; inside of each, experts that are chosen together side by side",
}


def device(latency_ns: float, rate: float, r_squared: float | None, n: int) -> str:
    """What the estimate of times stands on; `rate` in bytes per second."""
    speed = f"{q.duration(latency_ns)} a read and {q.size(rate)}/s"
    if r_squared is None:
        return f"Time: {speed}, stated values, since the run did not measure its device."
    return (
        f"Time: {speed}, fitted to {q.counted(n, 'size')} of random reads, one at a time, on the run’s device "
        f"(R² = {q.decimal(r_squared, 2)})."
    )


def population(n_scored: int, n_learned: int, *, apart: bool, phase: str) -> str:
    """Which passes were learned on and which were scored."""
    scored = q.counted(n_scored, f"{phase} pass" if phase else "pass")
    if apart:
        last = "the last one" if n_scored == 1 else "the last ones"
        return f"n = {scored}, {last}; orders were learned on the {q.counted(n_learned, 'pass')} before."
    return (
        f"n = {scored}, too few to learn an order on some and score it on others: each order knows what it is scored "
        "on."
    )


def orders_title(name: str, gain: float) -> str:
    """By which share of today's time (`gain`) the best order (`name`) would shorten reading, without memory."""
    if name == "today" or gain < LEAST_GAIN:
        least = q.percent(LEAST_GAIN)
        return f"No other order of the file would shorten reading by {least} or more, with nothing in memory"
    return f"The order “{name}” would shorten reading by {q.percent(gain)}, with nothing in memory"


def alike(orders: Sequence[str]) -> str:
    """A sentence about orders that have no line of their own; empty without any."""
    if not orders:
        return ""
    names, least = ", ".join(f"“{name}”" for name in orders), q.percent(LEAST_GAIN)
    return f"Not drawn, because nowhere {least} of the longest time from today’s order: {names}. "


def memory_title(half: float, memory: float, kept_share: float) -> str:
    """What memory for half of what was touched is worth.

    `half` is the share of the time that LRU saves, `kept_share` that of the touches which the most used bytes serve.
    """
    by = f"shorten reading of the scored passes by {q.percent(half)}" if half > 0 else "not shorten reading"
    return (
        f"{q.size(memory)} of memory, half of what was touched of the mapped file, would {by} with LRU; holding the "
        f"most used bytes in it would serve {q.percent(kept_share)} of what is touched there"
    )
