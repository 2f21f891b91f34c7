"""Small traces, cut at every byte and with every byte changed, give tables and a verdict, or a TraceFormatError."""

import random
from contextlib import suppress

import numpy as np
import pytest

from tests.native.trace_bytes import Files, Trace, chunk, read
from tracegen.contract.errors import TraceFormatError
from tracegen.measure.capture.plan import timings_in
from tracegen.measure.checks.evidence import Evidence
from tracegen.measure.checks.verdict import checks_of
from tracegen.readers.native.clock import clock_of
from tracegen.readers.native.computes import Computes
from tracegen.readers.native.events import read_events
from tracegen.readers.native.records import read_records
from tracegen.readers.native.segments import read_segment, read_segments

pytestmark = pytest.mark.native
SEED = 20261120
# Every seventh byte, one of each place in a word of eight; all of them every night.
EACH = pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.nightly)])


def _survives(files: Files) -> bool:
    """Whether the files give tables and a verdict; an error that is not a TraceFormatError fails the test."""
    try:
        trace = read(files)
    except TraceFormatError:
        return False
    return len(checks_of(Evidence(trace.tables, trace.facts, timings_in("")))) > 0


def _unsealed(data: bytes, payload: bytes) -> bytes:
    """The segment with another payload and no checksum, so that only the checks of its records can refuse it."""
    return data[:4096] + chunk(payload, sealed=0)


def _payload(data: bytes) -> bytes:
    return data[4160 : 4160 + int.from_bytes(data[4112:4120], "little")]


def _flipped(data: bytes, bit: int) -> bytes:
    return data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]


def test_a_file_cut_at_every_byte(files: Files) -> None:
    for name, data in files.items():
        whole = [n for n in range(len(data)) if _survives({**files, name: data[:n]})]
        assert whole == ([] if "main" in name else [4096])  # a thread without chunks: its spans are counted as missing


def test_a_thread_without_events_is_counted(files: Files) -> None:
    name = max(files)
    trace = read({**files, name: files[name][:4096]})
    assert trace.facts["n_ops_short_of_threads"] == trace.tables["ops"]["n_threads"].notna().sum() > 0


@EACH
def test_an_unsealed_payload_cut_at_a_byte(files: Files, step: int) -> None:
    for name, data in files.items():
        payload = _payload(data)
        whole = [n for n in range(0, len(payload), step) if _survives({**files, name: _unsealed(data, payload[:n])})]
        assert not any(n % 8 for n in whole)


@EACH
def test_flipped_bits_in_the_headers(files: Files, step: int) -> None:
    chosen = random.Random(SEED)
    for name, data in files.items():
        for byte in (*range(0, 80, step), *range(4096, 4160, step)):
            survived = _survives({**files, name: _flipped(data, 8 * byte + chosen.randrange(8))})
            # No checksum covers the counters of drops, and the reserved bytes.
            assert survived == (64 <= byte < 80 or byte >= 4128), f"{name}: byte {byte}"


@pytest.mark.parametrize("n", [100, pytest.param(1000, marks=pytest.mark.nightly)])
def test_flipped_bits_in_an_unsealed_payload(files: Files, n: int) -> None:
    survived, chosen = 0, random.Random(SEED)
    for _ in range(n):
        name = chosen.choice(sorted(files))
        payload = _payload(files[name])
        changed = _flipped(payload, chosen.randrange(8 * len(payload)))
        survived += _survives({**files, name: _unsealed(files[name], changed)})
    assert 0 < survived < n


def test_every_byte_of_a_sealed_trace(files: Files) -> None:
    """The checksums detect each change."""
    chosen = random.Random(SEED)
    for name, data in files.items():
        for byte in range(len(_payload(data))):
            with pytest.raises(TraceFormatError, match="wrong checksum"):
                read_segment(name, np.frombuffer(_flipped(data, 8 * (4160 + byte) + chosen.randrange(8)), np.uint8))


def _read_events(files: Files) -> None:
    """Reads a trace without making tables: that finds most faults in a hundredth of the time."""
    main, *threads = read_segments({name: np.frombuffer(data, np.uint8) for name, data in files.items()})
    records = read_records(main.name, main.payload)
    for pass_id, each in enumerate(records.passes.values()):
        each.pass_id = pass_id
    read_events(threads, Computes(records), clock_of(main.clock, records.moments))


@EACH
def test_every_byte_of_an_unsealed_trace(step: int) -> None:
    """Each byte of the smallest trace that has an op, changed in four ways; most changes give valid numbers.

    Tables and a verdict are made of one in `step`.
    """
    chosen, trace = random.Random(SEED), Trace(sealed=0).files()
    for name, data in trace.items():
        payload = _payload(data)
        for byte in range(len(payload)):
            for way, mask in enumerate((1, 0x80, 0xFF, chosen.randrange(2, 0x80))):
                changed = payload[:byte] + bytes([payload[byte] ^ mask]) + payload[byte + 1 :]
                files = {**trace, name: _unsealed(data, changed)}
                with suppress(TraceFormatError):
                    _read_events(files)
                if way == 3 and byte % step == 0:
                    _survives(files)
