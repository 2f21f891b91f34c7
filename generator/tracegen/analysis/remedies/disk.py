"""What would make threads wait less for the disk: another read-ahead, more memory, reading the model at load."""

from collections.abc import Iterator, Mapping

from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import Cause, Phase
from tracegen.analysis.pin_list import patterns
from tracegen.analysis.remedies.reading import CALMER, FASTER, Reading, reading
from tracegen.analysis.remedies.remedy import Remedy, narrowed

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
    n, now = phase.n_passes, phase.whole_ns
    numbers = {"factor": model.factor}
    smaller = [kib for kib in SWEEP if kib * KIB * 4 <= model.ahead]
    if "unused-reads" in causes and smaller:
        times = {kib: narrowed(*model.phase_ns(model.simulated(model.room, kib * KIB), kib * KIB)) for kib in smaller}
        best = min(times, key=lambda kib: sum(times[kib]))
        yield Remedy(
            key="read-ahead",
            settings=tuple({"read_ahead_kib": kib} for kib in smaller),
            now_ns=now / n,
            low_ns=times[best][0] / n,
            high_ns=times[best][1] / n,
            numbers={**numbers, "now_kib": model.ahead / KIB, "kib": float(best)},
        )
    if "evicted" in causes and model.touched > model.room:
        yield from _pin(of, phase, model)
    limit = of.facts.conditions.memory_limit
    if limit is not None and limit.limit_bytes is not None and "evicted" in causes and model.touched > model.room:
        more = model.wanted - model.room
        _, low, high = model.with_room(model.wanted)
        yield Remedy(
            key="memory",
            settings=({"memory_limit_gb": _gib(limit.limit_bytes + more)},),
            now_ns=now / n,
            low_ns=low / n,
            high_ns=high / n,
            numbers={
                **numbers,
                "limit_gb": limit.limit_bytes / GIB,
                **({"unlimited_ns": model.unlimited_ns / n} if model.unlimited_ns else {}),
            },
        )


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
    low, high = narrowed(*model.phase_ns(min(read), model.ahead))
    names = patterns(chosen["name"].astype(str).tolist(), of.tables["tensors"]["name"].astype(str).tolist())
    yield Remedy(
        key="pin",
        settings=({"pin": names},),
        now_ns=phase.whole_ns / phase.n_passes,
        low_ns=low / phase.n_passes,
        high_ns=high / phase.n_passes,
        numbers={
            "factor": model.factor,
            "n_tensors": float(len(chosen)),
            "pinned_bytes": float(chosen["size_bytes"].sum()),
        },
    )


def _prefault(of: Analyses, phase: Phase, causes: Mapping[str, Cause]) -> Iterator[Remedy]:
    """Read the model whole at load, where passes read parts of it for the first time and nothing was evicted.

    At best no waiting is left, for the disk or at barriers, and computing is faster by `CALMER`; at worst that at
    barriers is left, and half of page faults.
    """
    settings, conditions = of.facts.settings, of.facts.conditions
    short = conditions.memory_limit is not None or conditions.mlock is not None
    cold = settings.get("prefault") is False and settings.get("mmap") is not False
    if not cold or short or "evicted" in causes or not {"first-reads", "unused-reads", "reads"} & set(causes):
        return
    n, whole, parts = phase.n_passes, phase.whole_ns, phase.parts
    left = whole - phase.waiting_ns - parts["paging_ns"]
    size = float(of.tables["files"]["size_bytes"].sum())
    calm = parts["computing_ns"] * CALMER * phase.waiting_ns / whole
    low = (left - parts["barrier_ns"] - calm) / FASTER
    low, high = narrowed(low, left + parts["paging_ns"] / 2, fast=True)
    yield Remedy(
        key="prefault",
        settings=({"prefault": True},),
        now_ns=whole / n,
        low_ns=low / n,
        high_ns=high / n,
        numbers={"file_bytes": size, "load_ns": size / of.read_time.bytes_per_second * 1e9},
    )


def _gib(size: int) -> float:
    """GiB with three digits, rounded up."""
    return -(-size * 1000 // GIB) / 1000
