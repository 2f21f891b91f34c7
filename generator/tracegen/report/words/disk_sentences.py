"""The sentences about waiting for the disk: values in, text out; none of them reads a table."""

from collections.abc import Mapping

from tracegen.contract import quantities as q

PARTS = (
    "Waiting for the disk is the time of page faults of the model file inside operations. Other waiting at barriers "
    "is that for threads with more work, not for their page faults, and includes time without a processor. A single "
    "thread waits for no other; time between its operations is outside operations."
)
_READERS = {"generate": "generate passes", "prompt": "the prompt"}
_PHASES = {"generate": "of the time of generate passes", "prompt": "of the time of the prompt"}


def split_title(sums: Mapping[str, float], phase: str, read_bytes: float | None) -> str:
    """How much of a phase is waiting for the disk.

    `sums`: of duration and parts over its passes, ns; `read_bytes`: what they read from the disk, None if not known.
    """
    whole = sums["duration_ns"]
    if not whole:
        return "How much of each token’s time is waiting for the disk?"
    disk, behind = sums["disk_ns"] / whole, sums["behind_ns"] / whole
    if not disk:
        return f"No operation of {_READERS[phase]} has a page fault of the model file"
    if read_bytes == 0:
        return f"{q.percent(disk)} {_PHASES[phase]} is page faults that read nothing: pages in memory were mapped"
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


def tensors_title(name: str, share: float, component: str, component_share: float, op: str, op_share: float) -> str:
    """Whose bytes were waited for longest: the group and its share, then the tensor, its share and its use.

    `op`: the kind of operation with most of the waiting for the tensor (empty: between operations), `op_share` of it.
    """
    use = f"{q.percent(op_share)} of that in {op} operations" if op else "most of that between operations"
    waiting = "of the waiting of measured passes is for"
    if q.percent(component_share) == q.percent(share):
        return f"{q.percent(share)} {waiting} {name}, {use}"
    one = f"most for one tensor, {q.percent(share)}, for {name}, {use}"
    return f"{q.percent(component_share)} {waiting} {component}; {one}"


def experts_title(share: float, half: int, n_experts: int) -> str:
    """How much of the waiting is for experts, and how many of them make up half of that."""
    if not n_experts or not share:
        return "Which experts do threads wait for?"
    if n_experts == 1:
        return f"{q.percent(share)} of the waiting of measured passes is for experts, all of that for one"
    return (
        f"{q.percent(share)} of the waiting of measured passes is for experts; {q.count(half)} of "
        f"{q.counted(n_experts, 'expert')} {'is' if half == 1 else 'are'} half of that"
    )


def map_title(n_cells: int, n_all: int) -> str:
    """How much of the file was waited for: stretches with a page fault, and all stretches of the picture."""
    if not n_cells or not n_all:
        return "For which bytes of the file do tokens wait?"
    return f"Page faults of measured passes lie in {q.percent(n_cells / n_all)} of the stretches of the file"


def requests_title(sums: Mapping[str, float], phase: str) -> str:
    """What became of what the passes of a phase read; `sums`: bytes of whole pages over these passes."""
    read = sums["page_bytes_read"]
    if not read:
        return "What was read, and was it used?"
    again = f"; {q.percent(sums['again_bytes'] / read)} was read again" if sums["again_bytes"] else ""
    return (
        f"Of what {_READERS[phase]} read, {q.percent(sums['now_bytes'] / read)} was used in the same pass, "
        f"{q.percent(sums['never_bytes'] / read)} never{again}"
    )


def read_sizes_title(size: str, share: float, n_share: float) -> str:
    """The shares of bytes and of requests that the requests over this size have; half of all was read with them."""
    return f"{q.percent(n_share)} of the requests, those over {size}, bring {q.percent(share)} of what was read"


def sizes_title(rate: float, phase: str, ceiling: float) -> str:
    """How fast the device read while it was busy in a phase, beside the fastest measurement (bytes per second)."""
    if not rate:
        return "How near does the device come to what it can do?"
    beside = f": {q.percent(rate / ceiling)} of the fastest measurement" if ceiling else ""
    return f"While {_READERS[phase]} kept it busy, the device read {q.decimal(rate / 2**20, 0)} MiB/s{beside}"
