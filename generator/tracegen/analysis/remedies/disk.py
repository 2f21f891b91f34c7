"""What would make threads wait less for the disk: another read-ahead, more memory, reading the model at load."""

from collections.abc import Iterator, Mapping

from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import Cause, Phase
from tracegen.analysis.pin_list import patterns
from tracegen.analysis.remedies.reading import CALMER, FASTER, Reading, reading
from tracegen.analysis.remedies.remedy import Remedy, narrowed, remedy

GIB, KIB = 1 << 30, 1 << 10
SWEEP = (64, 256, 1024)  # KiB
# A part of so many of the memory for pages of the model stays for those that are not pinned, and so many times the
# read-ahead for each thread: with less, windows evicted each other before they were used, and runs read more.
UNPINNED, WINDOWS = 8, 2


def remedies(of: Analyses, phase: Phase, causes: Mapping[str, Cause]) -> Iterator[Remedy]:
    """Remedies of the waiting of a phase."""
    yield from _prefault(of, phase, causes)
    if not {"unused-reads", "evicted", "first-reads"} & set(causes):
        return
    model = reading(of, phase)
    if model is None:
        return
    numbers = {"factor": model.factor}
    smaller = [kib for kib in SWEEP if kib * KIB * 4 <= model.ahead]
    if "unused-reads" in causes and smaller:
        times = {kib: narrowed(*model.phase_ns(model.simulated(model.room, kib * KIB), kib * KIB)) for kib in smaller}
        best = min(times, key=lambda kib: sum(times[kib]))
        sweep = tuple({"read_ahead_kib": kib} for kib in smaller)
        now = {**numbers, "now_kib": model.ahead / KIB, "kib": float(best)}
        yield remedy(phase, "read-ahead", times[best], sweep, now)
    if "evicted" in causes and model.touched > model.room:
        yield from _pin(of, phase, model)
    limit = of.facts.conditions.memory_limit
    if limit is not None and limit.limit_bytes is not None and "evicted" in causes and model.touched > model.room:
        more = model.wanted - model.room
        _, *ends = model.with_room(model.wanted)
        measured = {"unlimited_ns": model.unlimited_ns / phase.n_said} if model.unlimited_ns else {}
        known = {**numbers, "limit_gb": limit.limit_bytes / GIB, **measured}
        settings = {"memory_limit_gb": _gib(limit.limit_bytes + more)}
        yield remedy(phase, "memory", (ends[0], ends[1]), (settings,), known)


def _pin(of: Analyses, phase: Phase, model: Reading) -> Iterator[Remedy]:
    """Keep in memory what tokens wait for longest, by kinds of tensors or by layers, whichever reads less.

    Of a model that is read in circles, a page is evicted before it is touched again, unless it cannot be evicted.
    """
    left = max(model.room // UNPINNED, WINDOWS * phase.n_threads * model.ahead)
    read = {}
    for table in (of.pin_list, of.pin_list_by_layer):
        chosen = table[(table["n_bytes"] <= model.room - left).to_numpy(bool)]
        size = int(chosen["size_bytes"].sum())
        places = chosen[["file", "offset", "size_bytes"]].itertuples(index=False, name=None)
        if size:
            read[model.simulated(model.room - size, model.ahead, places)] = chosen
    if not read:
        return
    chosen = read[min(read)]
    ends = narrowed(*model.phase_ns(min(read), model.ahead))
    names = patterns(chosen["name"].astype(str).tolist(), of.tables["tensors"]["name"].astype(str).tolist())
    numbers = {"n_tensors": float(len(chosen)), "pinned_bytes": float(chosen["size_bytes"].sum())}
    yield remedy(phase, "pin", ends, ({"pin": names},), {"factor": model.factor, **numbers})


def _prefault(of: Analyses, phase: Phase, causes: Mapping[str, Cause]) -> Iterator[Remedy]:
    """Read the model whole at load, where passes read parts of it for the first time and nothing was evicted.

    At best no waiting is left, for the disk, at barriers or for the processor of another thread, and computing is
    faster by `CALMER`; at worst that at barriers is left, and half of page faults.
    """
    settings, conditions = of.facts.settings, of.facts.conditions
    short = conditions.memory_limit is not None or conditions.mlock is not None
    cold = settings.get("prefault") is False and settings.get("mmap") is not False
    if not cold or short or "evicted" in causes or not {"first-reads", "unused-reads", "reads"} & set(causes):
        return
    whole, parts = phase.whole_ns, phase.parts
    left = whole - phase.waiting_ns - parts["paging_ns"]
    size = float(of.tables["files"]["size_bytes"].sum())
    calm = parts["computing_ns"] * CALMER * phase.waiting_ns / whole
    low = (left - parts["barrier_ns"] - phase.shared_ns - calm) / FASTER
    ends = narrowed(low, left + parts["paging_ns"] / 2, fast=True)
    numbers = {"file_bytes": size, "load_ns": size / of.read_time.bytes_per_second * 1e9}
    yield remedy(phase, "prefault", ends, ({"prefault": True},), numbers)


def _gib(size: int) -> float:
    """GiB with three digits, rounded up."""
    return -(-size * 1000 // GIB) / 1000
