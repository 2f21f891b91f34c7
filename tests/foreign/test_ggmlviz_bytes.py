"""Bytes that are no good trace: what comes back is a trace or TraceFormatError, soon and in bounded memory."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.foreign.ggmlviz_bytes import HEADER, graph, memory, op, plain, record, sample, two_ops
from tracegen.contract import tables
from tracegen.contract.errors import TraceFormatError
from tracegen.foreign import ggmlviz
from tracegen.foreign.trace import ForeignTrace

SMALL = HEADER + b"".join([memory(4, 5, 0xA, 8, "w"), *two_ops(10)[:3], graph(1, 50, 2)])
EMPTY = tables.empty()


@pytest.fixture(autouse=True)
def _empty_tables_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of the time of a small trace goes into its empty tables."""
    monkeypatch.setattr(tables, "empty", lambda: dict(EMPTY))


def read(data: bytes) -> ForeignTrace | str:
    """The trace, whose tables keep the contract, or what is wrong."""
    try:
        trace = ggmlviz.read("it", data, op_table="2026-11")
    except TraceFormatError as error:
        return str(error)
    for name, table in trace.tables.items():
        if len(table):
            tables.check(name, table)
    return trace


def test_a_file_cut_at_any_byte_keeps_the_records_before() -> None:
    whole = [event.offset for event in plain(SMALL)]
    ends = [*whole[1:], len(SMALL)]
    for length in range(len(SMALL)):
        n = sum(end <= length for end in ends)
        found = read(SMALL[:length])
        if n == 0:
            assert isinstance(found, str), length
            continue
        assert isinstance(found, ForeignTrace), (length, found)
        assert found.facts["n_events"] == n
        cut = None if length in ends else ends[n - 1]
        assert found.facts["truncated_at"] == cut, length
        complete = next(each for each in found.checks if each.key == "trace_complete")
        if cut is not None:
            assert complete.state == "failed"
            assert complete.found == f"cut at byte {cut}: {length - cut} bytes of a record are left over"


def test_a_file_with_any_byte_flipped_is_a_trace_or_refused() -> None:
    data = sample("03")
    kinds = set()
    for at in range(len(data)):
        flipped = bytearray(data)
        flipped[at] ^= (0xFF, 0x01, 0x80)[at % 3]
        kinds.add(type(read(bytes(flipped))))
    assert kinds == {ForeignTrace, str}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (record(11, 1, 7, b""), "record at byte 58: expected type 0 to 10, found 11"),
        (record(0, 1 << 63, 7, b""), "record at byte 58: expected a time below 2^63, found 9223372036854775808"),
        (
            op(2, 1, "x", 29, 1, size=1 << 63),
            "record at byte 58: expected a size below 2^63, found 9223372036854775808",
        ),
        (record(0, 1, 7, b"")[:-1] + b"\2", "byte 103: expected 0 or 1 (whether it has a label), found 2"),
        (record(0, 1, 7, b"")[:-1] + b"\1\x40\0\0\0label", "expected a label of at most 5 bytes, which are all that"),
    ],
)
def test_what_is_wrong_is_named_with_its_byte(wrong: bytes, message: str) -> None:
    found = read(HEADER + record(1, 1, 7, b"") + wrong)
    assert isinstance(found, str) and found.startswith("it: ") and message in found


def test_the_first_fault_is_named() -> None:
    """A record of unknown type may have any length: what follows it is not a finding."""
    found = read(HEADER + record(99, 1, 7, b"") + record(0, 1, 7, b"")[:-1] + b"\7")
    assert found == "it: record at byte 12: expected type 0 to 10, found 99"


@settings(max_examples=150)
@given(st.binary(max_size=400))
def test_random_bytes_after_a_header(data: bytes) -> None:
    read(HEADER + data)


@settings(max_examples=150)
@given(
    st.lists(
        st.builds(
            record,
            st.integers(0, 10),
            st.sampled_from([0, 1, 2, 5, (1 << 63) - 1]),
            st.integers(0, 2),
            st.lists(st.sampled_from([0, 1, 2, 29]), min_size=32, max_size=32).map(bytes),
            st.sampled_from([None, "", "ffn_up-0", "\0", "é" * 31 + "x"]),
        ),
        max_size=12,
    )
)
def test_random_records(records: list[bytes]) -> None:
    read(HEADER + b"".join(records))


def test_a_label_is_text_whatever_its_bytes_are() -> None:
    broken = bytearray(HEADER + b"".join(two_ops(10)))
    broken = broken.replace(b"ffn_up-0", b"ffn_up\xff0")
    found = read(bytes(broken))
    assert isinstance(found, ForeignTrace) and found.tables["graph_nodes"]["name"].tolist()[1] == "ffn_up\ufffd0"


def test_memory_stays_within_four_times_the_file() -> None:
    data = sample("07")
    big = data[:12] + data[12:] * 60
    tracemalloc.start()
    try:
        read(big)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * len(big)
