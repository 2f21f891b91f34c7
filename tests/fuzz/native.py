"""Bytes as the segments of a native trace: their checksums are right, so that what lies behind them is reached.

The first byte says how the segments are written, the rest is the payload of the main segment and,
behind each seam, of one thread.
"""

from collections.abc import Iterator

import numpy as np

from tests.golden.hard_case import hard_case
from tests.native.test_corruptions import RECORDS
from tests.native.trace_bytes import Trace, chunk, clock, header
from tracegen.contract.errors import TraceFormatError
from tracegen.measure.capture.plan import timings_in
from tracegen.measure.checks.evidence import Evidence
from tracegen.measure.checks.verdict import checks_of
from tracegen.readers.native.trace import ModelTables, read_trace

SEAM = b"\n-- a thread --\n"
UNSEALED, TICKS, WITH_MODEL = 1, 2, 4
LONGEST = 1 << 14
MODEL = ModelTables(hard_case()["files"], hard_case()["tensors"])


def seeds() -> Iterator[bytes]:
    """Traces, good and broken, each written in every way."""
    two_moments = [clock(1, 1), *Trace().before, clock(1 << 40, 1 << 40)]
    traces = [Trace(), Trace(before=two_moments), *(make() for make, _ in RECORDS.values())]
    for way in (0, UNSEALED, TICKS, WITH_MODEL):
        for trace in traces:
            yield bytes([way]) + trace.main + SEAM + b"".join(trace.events)


def check(data: bytes) -> None:
    """Read the trace that `data` spells: tables and a verdict, or TraceFormatError."""
    way, (main, *threads) = data[0] if data else 0, data[1:].split(SEAM)
    sealed, ticks = int(not way & UNSEALED), int(bool(way & TICKS))
    segments = [header(clock=ticks) + chunk(main, sealed=sealed)]
    segments += [header(1, i, clock=ticks) + chunk(part, sealed=sealed) for i, part in enumerate(threads, 1)]
    files = {f"{i}.tt": np.frombuffer(segment, np.uint8) for i, segment in enumerate(segments)}
    try:
        trace = read_trace(files, MODEL if way & WITH_MODEL else None)
    except TraceFormatError:
        return
    checks_of(Evidence(trace.tables, trace.facts, timings_in("")))
