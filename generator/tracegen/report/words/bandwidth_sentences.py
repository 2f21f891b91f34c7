"""The sentences about rates of operations and of memory: values in, text out."""

from collections.abc import Hashable, Mapping
from typing import Any

from tracegen.analysis.bandwidth import MOSTLY, NEAR
from tracegen.contract import quantities as q

RATE = (
    "Rate: the bytes that operations touched, over the time in which their threads worked, in the mean over threads; "
    "without page faults of model files and without waiting for each other. Bytes in the caches of processors come "
    "faster than memory can give them."
)
BOUND = (
    "Bound by waiting: threads surely wait for at least half of their time. Else caches: the rate is above memory’s, "
    "or all that a pass touches has room in the last-level caches of processors, which then serve it. Else memory: "
    f"what surely came from it, weights of a pass beyond the size of these caches, has at least {q.percent(NEAR)} of "
    "its rate. Else it is not determined: neither memory is shown to bound the operation, nor computing."
)
NOTHING = "The trace does not hold both bytes and times of any operation."
NOT_SHOWN, WITHHELD = "not shown", "withheld"
_BOUND = {"memory": "bound by memory", "caches": "served by the processor’s caches"}


def title(row: Mapping[Hashable, Any], memory: float | None, *, withheld: bool = False) -> str:
    """What bounds the operations that take most time; `memory`: its rate in bytes per second."""
    weight = f" with weights of type {q.printable(row['dtype'])}" if q.known(row["dtype"]) else ""
    what = f"{q.printable(row['op'])}{weight}"
    rate, bound = row["bytes_per_second"], row["bound"]
    if bound == "waiting" and not withheld:
        return f"{what} takes most time, and is bound by waiting"
    if not q.known(rate):
        return f"{what} takes most time; what bounds it is not known"
    touched = f"{what} takes most time, touches {q.size(rate)}/s"
    touched += "" if memory is None else f", {q.percent(rate / memory)} of what memory gives"
    if q.known(bound) and not withheld:
        return f"{touched}: {_BOUND[str(bound)]}"
    waited = row["waiting_ns"] / (row["working_ns"] + row["waiting_ns"])
    if waited >= MOSTLY and not withheld:  # but not surely
        return f"{what} takes most time, and waits for {q.percent(waited)} of it, in part maybe for a processor"
    return f"{touched}; what bounds it is {'withheld' if withheld else 'not determined'}"


def bound(delayed_ns: float | None) -> str:
    """How it is decided what bounds operations; `delayed_ns`: see `bandwidth.Machine`, None: nothing is decided."""
    if delayed_ns is None:
        return "What bounds operations is withheld: how long threads waited for a processor is not known."
    if not delayed_ns:
        return BOUND
    return (
        f"{BOUND} In these passes a thread waited {q.duration(delayed_ns)} for a processor; waiting is named only "
        "where it would be without that time, too."
    )


def caches(size: int | None, touched: float | None, phase: str) -> str:
    """How large the last-level caches are, beside what the timed operations of a pass touch at most."""
    if size is None:
        return (
            "How large the last-level caches of processors are is not known, so whether bytes came from memory is not "
            "either."
        )
    beside = (
        ""
        if touched is None
        else (f"; the timed operations of a {phase} pass touch {q.size(touched)} at most, each counted by itself")
    )
    return f"The last-level caches of processors hold {q.size(size)}{beside}."


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
