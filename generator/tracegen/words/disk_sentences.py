"""The sentences about waiting for the disk: values in, text out; none of them reads a table."""

from __future__ import annotations

from collections.abc import Mapping

from tracegen.words import quantities as q

PARTS = (
    "Waiting for the disk is the time of page faults of the model file inside operations. Other waiting at barriers "
    "includes threads with less work. A single thread waits for no other; time between its operations is outside "
    "operations."
)
_PHASES = {"generate": "of the time of generate passes", "prompt": "of the time of the prompt"}


def split_title(sums: Mapping[str, float], phase: str) -> str:
    """How much of a phase is waiting for the disk; `sums`: of duration and parts over its passes, ns."""
    whole = sums["duration_ns"]
    if not whole:
        return "How much of each token’s time is waiting for the disk?"
    disk, behind = sums["disk_ns"] / whole, sums["behind_ns"] / whole
    beside = f", and {q.percent(behind)} waiting for a thread that does" if behind >= 0.001 else ""
    return f"{q.percent(disk)} {_PHASES[phase]} is waiting for the disk{beside}"


def prompt(sums: Mapping[str, float]) -> str:
    """What the prompt waited; empty when there was none."""
    if not sums["duration_ns"]:
        return ""
    return (
        f" The prompt, which is not drawn, took {q.duration(sums['duration_ns'])}; "
        f"{q.duration(sums['disk_ns'])} of it was waiting for the disk."
    )


def overview(sums: Mapping[str, float], n_passes: int, n_faults: int) -> str:
    """The finding of the overview: `sums` over the generate passes, ns, and the page faults in them."""
    whole = sums["duration_ns"]
    if not whole or not n_passes:
        return ""
    share = (sums["disk_ns"] + sums["behind_ns"]) / whole
    if not n_faults:
        return "No generate pass had a page fault of the model file: none waited for the disk."
    each = q.duration(sums["disk_ns"] / n_passes)
    return (
        f"A generated token waits {each} for the disk in the mean over threads, in "
        f"{q.count(round(n_faults / n_passes))} page faults; together with waiting for threads that wait for the disk, "
        f"that is {q.percent(share)} of its time."
    )


def tensors_title(name: str, share: float, component: str, component_share: float) -> str:
    """Whose bytes were waited for longest: the component and its share, then the tensor and its share."""
    return (
        f"{q.percent(component_share)} of the waiting is for bytes of {component}; the longest for one tensor, "
        f"{q.percent(share)}, for {name}"
    )


def map_title(n_cells: int, n_all: int) -> str:
    """How much of the file was waited for: stretches with a page fault, and all stretches of the picture."""
    if not n_cells or not n_all:
        return "For which bytes of the file do tokens wait?"
    return f"Page faults lie in {q.percent(n_cells / n_all)} of the stretches of the file"
