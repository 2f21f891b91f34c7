"""The sentences about rates of operations and of memory: values in, text out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from tracegen.analysis.bandwidth import BEYOND
from tracegen.words import quantities as q

RATE = (
    "Rate: the bytes that operations touched, over the time in which their threads worked, in the mean over threads; "
    "without page faults of model files and without waiting for each other. Bytes in the caches of processors come "
    "faster than memory can give them."
)
BOUND = (
    "Bound by waiting: threads wait for at least half of their time. Else by memory: at least half of its rate. Else "
    f"by computing. Not known above {BEYOND:g} times memory’s rate: the bytes came out of caches of processors, or "
    "other programs slowed memory down while it was measured."
)
NOTHING = "The trace does not hold both bytes and times of any operation."
_BOUND = {"memory": "bound by memory", "computing": "bound by computing", "waiting": "bound by waiting"}


def title(row: Mapping[Hashable, Any], memory: float | None) -> str:
    """What bounds the operations that take most time; `memory`: its rate in bytes per second."""
    weight = f" with weights of type {q.printable(row['dtype'])}" if q.known(row["dtype"]) else ""
    what = f"{q.printable(row['op'])}{weight}"
    rate = row["bytes_per_second"]
    if row["bound"] == "waiting":
        return f"{what} takes most time, and is bound by waiting"
    if memory is None or not q.known(rate):
        return f"{what} takes most time; what bounds it is not known"
    if not q.known(row["bound"]):
        return f"{what} takes most time, and touches more than memory gave when it was measured: {q.size(rate)}/s"
    return (
        f"{what} takes most time, touches {q.size(rate)}/s, {q.percent(rate / memory)} of what memory gives: "
        + (_BOUND[str(row["bound"])])
    )


def measured(memory: float | None, threads: int) -> str:
    """What memory can give."""
    if memory is None:
        return (
            "The rate of memory was not measured: too little of it was free, or other programs took the processors "
            "(record a run anew)."
        )
    return f"Memory was read with {q.size(memory)}/s by up to {q.counted(threads, 'thread')}, once on this machine."


def faults(*, known: bool) -> str:
    """A sentence where page faults count as work; empty where they were recorded."""
    return "" if known else "Page faults were not recorded: waiting for pages counts as work here. "
