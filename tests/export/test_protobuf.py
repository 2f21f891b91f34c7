"""The encoder against protobuf's own: the same bytes for one row, the same messages for many."""

import numpy as np
from google.protobuf.internal.encoder import _VarintBytes  # type: ignore[attr-defined]
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent

from tracegen.export import protobuf
from tracegen.export.protobuf import Column, chosen, woven

UINT64 = st.integers(0, 2**64 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
ROWS = st.lists(
    st.tuples(UINT64, INT64, st.text(max_size=300), st.lists(UINT64, max_size=4), st.booleans()), max_size=9
)


def encoded(rows: list[tuple[int, int, str, list[int], bool]], place: np.ndarray) -> bytes:
    """TracePackets with a TrackEvent each: track, counter value (if the last is true), name and flows."""
    tracks = np.array([row[0] for row in rows], np.uint64)
    known = np.array([row[4] for row in rows], bool)
    values = np.array([row[1] if row[4] else 0 for row in rows], np.int64)
    flows = [(i, flow) for i, row in enumerate(rows) for flow in row[3]]
    event: list[Column] = [
        protobuf.number(9, 1),
        *protobuf.numbers(11, tracks),
        chosen([protobuf.text(23, row[2]) for row in rows], np.arange(len(rows))),
        protobuf.some(protobuf.numbers(30, values), known),
        protobuf.fixed64s(
            np.full(len(flows), 47),
            np.array([flow for _, flow in flows], np.uint64),
            np.array([row for row, _ in flows], np.int64),
            len(rows),
        ),
    ]
    return bytes(woven((place, protobuf.messages(1, protobuf.messages(11, event)))))


def expected(row: tuple[int, int, str, list[int], bool]) -> TracePacket:
    event = TrackEvent(type=1, track_uuid=row[0], name=row[2], flow_ids=row[3])
    if row[4]:
        event.counter_value = row[1]
    return TracePacket(track_event=event)


def packets(data: bytes) -> list[bytes]:
    """The messages in fields 1."""
    found, at = [], 0
    while at < len(data):
        assert data[at] == 1 << 3 | 2
        size, shift, at = 0, 0, at + 1
        while True:
            size |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                break
        found.append(data[at : at + size])
        at += size
    assert at == len(data)
    return found


@given(UINT64 | INT64)
def test_a_varint_is_that_of_protobuf(value: int) -> None:
    assert protobuf.varint(value) == _VarintBytes(value % 2**64)


@given(ROWS, st.randoms())
def test_many_rows_are_the_messages_in_their_places(rows: list[tuple[int, int, str, list[int], bool]], random) -> None:  # type: ignore[no-untyped-def]
    place = list(range(len(rows)))
    random.shuffle(place)
    messages = packets(encoded(rows, np.array(place, np.int64)))
    assert len(messages) == len(rows)
    for row, at in zip(rows, place, strict=True):
        assert TracePacket.FromString(messages[at]) == expected(row)


@given(ROWS)
def test_one_row_has_the_very_bytes(rows: list[tuple[int, int, str, list[int], bool]]) -> None:
    for row in rows:
        (packet,) = packets(encoded([row], np.zeros(1, np.int64)))
        fields = TracePacket.FromString(packet)
        assert fields == expected(row) and len(packet) == len(fields.SerializeToString())


@given(st.lists(INT64, min_size=1, max_size=30))
def test_varints_of_many_rows_have_one_length_and_their_values(values: list[int]) -> None:
    data = protobuf.varints(np.array(values, np.int64))
    assert data.shape == (len(values), max(len(protobuf.varint(value)) for value in values))
    for row, value in zip(data, values, strict=True):
        packet = TracePacket.FromString(b"\x40" + row.tobytes())
        assert packet.timestamp == value % 2**64


def test_blocks_of_different_rows_are_woven_into_one_order() -> None:
    long = chosen([b"aaa", b"", b"b"], np.array([2, 0, 1]))
    two = np.frombuffer(b"xyxY", np.uint8).reshape(2, 2)
    assert woven((np.array([4, 0, 2]), [long, b"."]), (np.array([1, 4]), [b"(", two, b")"])) == b"aaa.(xy).b.(xY)"
    assert woven((np.array([], np.int64), [two[:0]])) == b""


def test_half_a_surrogate_pair_becomes_its_escape() -> None:
    assert TrackEvent.FromString(protobuf.text(23, "a\ud800\0b")).name == "a\\ud800\0b"
