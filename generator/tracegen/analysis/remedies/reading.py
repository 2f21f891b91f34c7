"""How much a run would read with other memory or another read-ahead, and how long threads would wait for it.

The page cache is simulated (`page_cache`). First the run itself: of multiples of the device's read-ahead, the one with
which the simulation reads most nearly what the run read is taken. By how much it is still off (`factor`) is corrected
at one end of each interval, and not at the other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from tracegen.analysis import requests
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import Phase
from tracegen.analysis.page_cache import PageCache, Touched, simulated
from tracegen.analysis.read_time import ReadTime
from tracegen.analysis.remedies.remedy import narrowed
from tracegen.contract.facts import Measurement

GRANULES = 1 << 16  # pages are simulated in groups, so many at most if the group is not over MOST_BYTES
MOST_BYTES = 1 << 16
MULTIPLES = (0.25, 0.5, 1.0, 2.0)  # of the device's read-ahead: llama.cpp doubles it, misses make the kernel reduce it
# What is left of the time of page faults with no read under way, by the square root of the share of bytes that is left,
# at least and at most. An envelope: of four changes of memory and read-ahead that left 2 to 35 % of the bytes, 15 to
# 85 % of that time was left.
FAULTS_LEFT = (1.0, 2.0)
MOST = 0.8  # of the model
# Of what is computed: page faults take the caches of processors. Without them SmolLM2 computed 8 instead of 11 ms.
CALMER = 0.3
# Where all is in memory, runs were faster than the least time that their parts come to: on one machine, nine of eleven
# runs of a dense model, by 1.2 to 1.55 times (journal, 2026-11-28).
FASTER = 1.35
CLOSE, CLOSER = 1.25, 3  # a factor that is close enough, and how often a closer one is looked for
MOST_OFF = 2.0  # factor by which a simulation may be off, that predictions rest on


@dataclass(frozen=True)
class Reading:
    """What is known of how a run read its model; sizes in bytes, of the passes of one phase.

    `first_unit`: of each file, the number of its first unit, of `n_units` of all files, each of `unit` bytes.
    `room`: memory for pages of the model; `ahead`: the device's read-ahead; `multiple`: of it, in the simulation.
    `read`: what the run read, `factor`: that over what the simulation reads. `touched`: what all passes touch.
    `unlimited_ns`: what the phase took untraced and without its memory limit; None where that was not run.
    """

    phase: Phase
    passes: Touched
    of_phase: frozenset[int]
    unit: int
    n_units: int
    first_unit: Mapping[int, int]
    room: int
    ahead: int
    multiple: float
    read: float
    factor: float
    touched: int
    device: ReadTime
    measured: Sequence[Measurement]
    unlimited_ns: float | None = None

    @property
    def wanted(self) -> int:
        """Memory that evicts nothing: for all that passes touch; for the whole model where that is most of it."""
        whole = self.n_units * self.unit
        return whole if self.touched >= MOST * whole else self.touched + round(2 * self.ahead * self.multiple)

    def simulated(self, room: int, ahead: int, pinned: Iterable[tuple[int, int, int]] = ()) -> float:
        """Bytes that the simulation reads in the phase; `pinned`: in memory beside `room`: file, first byte, size."""
        places = ((self.first_unit[file] * self.unit + begin, size) for file, begin, size in pinned)
        pages = [(begin // self.unit, -(-(begin + size) // self.unit)) for begin, size in places]
        cache = PageCache(self.n_units, room // self.unit, round(ahead * self.multiple) // self.unit, pages)
        reads = simulated(self.passes, cache)
        return float(sum(n for pass_id, n in reads.items() if pass_id in self.of_phase) * self.unit)

    def phase_ns(self, size: float, ahead: int) -> tuple[float, float]:
        """The least and the most time that the passes of the phase would take; `size`: the result of `simulated`.

        The least: the smaller number of bytes, half at the highest rate of the device and half in windows one after the
        other, or all as this run waited for a byte if that was shorter; waiting at barriers for computing in proportion
        to bytes; computing faster by `CALMER`, and no processor shared (threads are woken where the read ended), in
        proportion to the bytes that are not read. The most: the larger
        number of bytes, in windows one after the other, or as this run waited for a byte if that was longer; waiting at
        barriers half as it was, half in proportion. Page faults with no read under way: by `FAULTS_LEFT`. Where nothing
        is read, the untraced run without a memory limit may be faster still.
        """
        parts = self.phase.parts
        few, many = sorted((size, size * self.factor))
        own = self.phase.waiting_ns / self.read
        slow, slow_now = (self._ns_per_byte(self._window(of)) for of in (ahead, self.ahead))
        best = max((m.bytes_per_second for m in self.measured if m.block_bytes <= self._window(ahead)), default=0.0)
        fast = 1e9 / best if best else slow
        least, most = (min(of / self.read, 1.0) for of in (few, many))
        paging, barrier = parts["paging_ns"], parts["barrier_ns"]
        fewest, most_faults = (
            paging * min(1.0, by * sqrt(of)) for by, of in zip(FAULTS_LEFT, (least, most), strict=True)
        )
        left = self.phase.whole_ns - self.phase.waiting_ns - paging - barrier
        calm = (parts["computing_ns"] * CALMER + self.phase.shared_ns) * (1 - least)
        low = left - calm + few * min((fast + slow) / 2, own) + fewest + barrier * least
        if not size and self.unlimited_ns:
            low = min(low, self.unlimited_ns)
        return low, left + many * max(slow, own * slow / slow_now) + most_faults + barrier * (1 + most) / 2

    def with_room(self, room: int, left: float = 1.0) -> tuple[float, float, float]:
        """Bytes that the simulation reads with so much memory, and the least and most time that the phase would take.

        `left`: how much of each tensor is left, of 1. Where nothing is evicted, the interval starts at the fast end
        (see FASTER); else it is `narrowed`.
        """
        read = self.simulated(round(room / left), round(self.ahead / left)) * left
        low, high = self.phase_ns(read, self.ahead)
        return read, *(narrowed(low / FASTER, high, fast=True) if room >= self.wanted * left else narrowed(low, high))

    def _window(self, ahead: int) -> int:
        return max(round(ahead * self.multiple), self.unit)

    def _ns_per_byte(self, window: int) -> float:
        return self.device.ns(1, window) / window


def reading(of: Analyses, phase: Phase) -> Reading | None:
    """How a run read its model in a phase; None where that was not recorded, or cannot be simulated well enough.

    That takes requests, page faults, the size of the read-ahead, an empty page cache (or a model read whole) at the
    start, and no program that read parts of the model besides.
    """
    return of.once(f"reading of {phase.name}", lambda: _reading(of, phase))


def _reading(of: Analyses, phase: Phase) -> Reading | None:
    facts = of.facts
    cache, ahead = facts.conditions.page_cache, facts.conditions.read_ahead_bytes
    known = of.run.has_requests and of.run.has_faults and cache is not None and len(of.unseen) == 0
    if not known or cache is None or cache.before_bytes or not cache.after_bytes or ahead is None:
        return None
    use = of.of_kind(of.disk_requests, phase.name)
    read = float(use["page_bytes_read"].sum())
    if not read or facts.settings.get("prefault"):
        return None
    size = int(of.tables["files"]["size_bytes"].sum())
    page = facts.host.page_bytes or 4096
    unit = page
    while size // unit > GRANULES and unit < MOST_BYTES:
        unit *= 2
    passes, n_units = requests.touched_by_pass(of.tables, unit, of.used)
    touched = _distinct(passes, n_units) * unit
    found = Reading(
        phase=phase,
        passes=passes,
        of_phase=frozenset(int(number) for number in use["pass_id"]),
        unit=unit,
        n_units=n_units,
        first_unit=requests.first_pages(of.tables, unit)[0],
        room=max(cache.after_bytes, unit),
        ahead=ahead,
        multiple=1.0,
        read=read,
        factor=1.0,
        touched=touched,
        device=of.read_time,
        measured=facts.device.measurements if facts.device else (),
        unlimited_ns=_unlimited_ns(of, phase),
    )
    return _fitted(found)


def _unlimited_ns(of: Analyses, phase: Phase) -> float | None:
    lifted = of.facts.control.without_limit if of.facts.control else None
    if lifted is None or lifted.failure or phase.name != "generate" or not lifted.eval_ms or not lifted.eval_runs:
        return None
    return lifted.eval_ms / lifted.eval_runs * 1e6 * phase.n_passes


def _fitted(found: Reading) -> Reading | None:
    """With the multiple whose simulation reads what the run read, and the factor that is left; None: none does.

    Between the multiples that read too little and too much it is looked for more closely.
    """
    tried: dict[float, Reading] = {}
    for multiple in MULTIPLES:
        _try(found, multiple, tried)
    for _ in range(CLOSER):
        less, more = ([m for m, of in tried.items() if (of.factor > 1) == few] for few in (True, False))
        if not less or not more or max(less) >= min(more) or _off(_best(tried)) <= CLOSE:
            break
        _try(found, sqrt(max(less) * min(more)), tried)
    return best if tried and _off(best := _best(tried)) <= MOST_OFF else None


def _try(found: Reading, multiple: float, tried: dict[float, Reading]) -> None:
    model = replace(found, multiple=multiple)
    size = model.simulated(found.room, found.ahead)
    if size:
        tried[multiple] = replace(model, factor=found.read / size)


def _best(tried: dict[float, Reading]) -> Reading:
    return min(tried.values(), key=_off)


def _off(model: Reading) -> float:
    return max(model.factor, 1 / model.factor)


def _distinct(passes: Touched, n_units: int) -> int:
    seen = np.zeros(n_units, bool)
    for _, ranges in passes:
        for begin, end in ranges:
            seen[begin:end] = True
    return int(np.count_nonzero(seen))
