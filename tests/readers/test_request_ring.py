"""Pages of the kernel's ring buffer, written by the test from events and read back."""

import struct
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ring_pages import FORMATS, ISSUE, Event, Page, ring
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.requests.ring import RingEvents, read_layout, read_ring

SOON = st.integers(0, (1 << 27) - 1)  # gaps that fit in the head of an entry
PAYLOAD = st.tuples(st.binary(min_size=4, max_size=4), st.integers(1, 40)).map(lambda parts: parts[0] * parts[1])
ENTRIES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("small", "large")), SOON, PAYLOAD),
        st.tuples(st.just("discarded"), SOON.filter(bool), st.integers(1, 20)),
        st.tuples(st.sampled_from(("later", "absolute")), st.integers(0, 1 << 55), st.none()),
    ),
    max_size=8,
)
PAGES = st.lists(st.tuples(st.integers(0, 1 << 57), ENTRIES, st.booleans(), st.booleans()), max_size=4)
TEXT = """name: an_event
ID: 513
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int count;	offset:4;	size:4;	signed:1;

	field:u64 place;	offset:8;	size:8;	signed:0;
	field:char name[4];	offset:16;	size:4;	signed:0;
	field:unsigned char flag;	offset:20;	size:1;	signed:0;
	field:unsigned long words[2];	offset:24;	size:16;	signed:0;

print fmt: "field of no event;"
"""


def listed(events: RingEvents) -> list[tuple[int, bytes]]:
    """Time and payload of each event."""
    rows = zip(events.time_ns.tolist(), events.begin.tolist(), events.size.tolist(), strict=True)
    return [(time, bytes(events.data[begin : begin + size])) for time, begin, size in rows]


@given(PAGES)
def test_pages_of_every_kind_of_entry_are_read_back(pages: list[Any]) -> None:
    content, expected, n_lost = b"", [], 0
    for begin, entries, ends_in_padding, lost in pages:
        page = Page(begin, lost)
        for kind, gap, more in entries:
            if kind in ("small", "large"):
                page.event(page.now + gap, more, large=kind == "large")
                expected.append((page.now, more))
            elif kind == "discarded":
                page.discarded(page.now + gap, 4 * more)
            else:
                getattr(page, kind)(page.now + gap)
        if ends_in_padding:
            page.padding(20)
        content += bytes(page)
        n_lost += lost
    events, missing = read_ring("cpu0.ring", content)
    assert listed(events) == expected
    assert missing == n_lost


def test_an_absolute_time_keeps_the_uppermost_bits_of_the_last() -> None:
    page = Page((3 << 59) + 5)
    page.absolute((3 << 59) + 1_000)
    page.event((3 << 59) + 1_001, b"past")
    assert listed(read_ring("cpu0.ring", bytes(page))[0]) == [((3 << 59) + 1_001, b"past")]


def test_each_cut_within_a_page_is_refused_and_each_between_pages_is_read() -> None:
    pages = [ring([Event(1_000 * i + j, ISSUE, (8, 0), j, 8) for j in range(3)]) for i in range(3)]
    content = b"".join(pages)
    between = {0, len(pages[0]), len(pages[0]) * 2, len(content)}
    for n in range(len(content) + 1):
        if n in between:
            assert len(read_ring("cpu3.ring", content[:n])[0].time_ns) == 3 * n // len(pages[0])
        else:
            with pytest.raises(TraceFormatError, match=r"requests/cpu3\.ring: .* cut"):
                read_ring("cpu3.ring", content[:n])


@given(st.binary(max_size=600))
def test_random_bytes_are_refused_or_read(content: bytes) -> None:
    read_or_refused(content)


@given(PAGES, st.lists(st.tuples(st.integers(0), st.integers(0, 255)), min_size=1, max_size=8), st.integers(0, 64))
def test_changed_pages_are_refused_or_read(pages: list[Any], changes: list[tuple[int, int]], cut: int) -> None:
    content = bytearray(b"".join(bytes(page_of(begin, entries)) for begin, entries, *_ in pages))
    for place, value in changes if content else ():
        content[place % len(content)] = value
    read_or_refused(bytes(content[: len(content) - cut]))


def page_of(begin: int, entries: list[Any]) -> Page:
    """A page with the events among the entries."""
    page = Page(begin)
    for kind, gap, more in entries:
        if kind in ("small", "large"):
            page.event(page.now + gap, more, large=kind == "large")
    return page


def read_or_refused(content: bytes) -> None:
    """Nothing but TraceFormatError is raised, and no event lies outside the content."""
    try:
        events, lost = read_ring("cpu0.ring", content)
    except TraceFormatError:
        return
    assert 0 <= lost <= len(content) // 16 and len(events.begin) <= len(content) // 4
    if len(events.begin):
        assert events.begin.min() >= 16 and events.size.min() >= 0
        assert (events.begin + events.size).max() <= len(content)


def test_the_smallest_events_take_little_memory() -> None:
    content = (struct.pack("<QQ", 7, 32_000) + struct.pack("<II", 1, 0) * 4_000) * 20
    tracemalloc.start()
    events, _ = read_ring("cpu0.ring", content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(events.time_ns) == 80_000
    assert peak < 10 * len(content)


def test_a_layout_is_what_the_format_says() -> None:
    layout = read_layout("issue.format", TEXT)
    assert layout.number == 513
    assert dict(layout.fields) == {
        "common_type": (0, "<u2"),
        "count": (4, "<i4"),
        "place": (8, "<u8"),
        "name": (16, "S4"),
        "flag": (20, "u1"),
    }


def test_fields_of_events_are_read_by_their_layout() -> None:
    values = [(1, -5, 1 << 63, b"ab", 7), (2, 9, 12, b"wxyz", 255)]
    page = Page(50)
    for time, *fields in values:
        page.event(50 + time, struct.pack("<HxxiQ4sBxxx", 513, *fields))
        page.event(50 + time, struct.pack("<HxxiQ4sBxxx", 514, *fields))  # an event of another kind
    events, _ = read_ring("cpu0.ring", bytes(page))
    columns = events.of(read_layout("issue.format", TEXT), "count", "place", "name", "flag")
    assert [column.tolist() for column in columns] == [
        [51, 52],
        [-5, 9],
        [1 << 63, 12],
        [b"ab", b"wxyz"],
        [7, 255],
    ]


def test_an_event_shorter_than_its_layout_is_refused() -> None:
    page = Page(50)
    page.event(50, struct.pack("<HxxiQ", 513, 1, 2))
    events, _ = read_ring("cpu0.ring", bytes(page))
    with pytest.raises(TraceFormatError, match="shorter than its format says"):
        events.of(read_layout("issue.format", TEXT), "name")


@pytest.mark.parametrize("text", ["", "name: x\nformat:\n", "ID: \n", "ID: " + "9" * 5_000, "ID: -4\n"])
def test_a_format_without_a_number_is_refused(text: str) -> None:
    with pytest.raises(TraceFormatError, match=r"requests/issue\.format: holds no ID"):
        read_layout("issue.format", text)


@pytest.mark.parametrize(
    "field",
    [
        "field:[a];\toffset:0;\tsize:4;\tsigned:0;",
        "field: ;\toffset:0;\tsize:4;\tsigned:0;",
        "field:int a;\toffset:" + "9" * 5_000 + ";\tsize:4;\tsigned:0;",
        "field:int a;\toffset:4;\tsize:" + "9" * 5_000 + ";\tsigned:0;",
        "field:char a[8];\toffset:4;\tsize:0;\tsigned:0;",
        "field:char a[8];\toffset:4;\tsize:999999999;\tsigned:0;",
        "field:int a;\toffset:4;\tsize:3;\tsigned:0;",
    ],
)
def test_a_field_that_cannot_be_is_no_field(field: str) -> None:
    fields = read_layout("issue.format", f"ID: 4\nformat:\n\t{field}\n").fields
    assert set(fields) <= {""}


@given(st.one_of(st.text(), st.lists(st.sampled_from(FORMATS["issue.format"].split(" "))).map(" ".join)))
def test_a_format_of_any_text_is_refused_or_read(text: str) -> None:
    try:
        layout = read_layout("issue.format", text)
    except TraceFormatError:
        return
    assert all(isinstance(offset, int) and kind for offset, kind in layout.fields.values())
