"""The table of requests against its evidence, byte by byte and event by event."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ring_pages import COMPLETE, FORMATS, ISSUE, Event, files_of, passes_of, placed, ring, write_requests
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.requests.table import read_requests
from tracegen.storing import store

DISK, OTHER = (254, 0), (8, 16)
SECTOR = 512


def read(folder: Path, *events: Event, places: Any = (), sizes: Any = (), spans: Any = ()) -> pd.DataFrame:
    """The table `requests` of these events on one processor."""
    write_requests(folder, [ring(events)], places)
    return read_requests(folder, passes_of(*spans), files_of(*sizes))[0]


def at(time_ns: int, number: int, sector: int = 80, device: tuple[int, int] = DISK) -> Event:
    return Event(time_ns, number, device, sector, 8)


ONE_FILE: dict[str, Any] = {"places": [placed(DISK, (0, 0, 1 << 30))], "sizes": [1 << 30]}


def times(table: pd.DataFrame) -> list[tuple[int, int | None]]:
    """When each request was issued, and how long it took."""
    durations = table["duration_ns"].astype("object").where(table["duration_ns"].notna(), None)
    return list(zip(table["issue_ns"].tolist(), durations.tolist(), strict=True))


def test_events_of_several_processors_belong_together(tmp_path: Path) -> None:
    rings = [ring([at(1, ISSUE), at(30, COMPLETE, 160)]), ring([at(9, COMPLETE), at(20, ISSUE, 160)], lost=True)]
    write_requests(tmp_path, rings, ONE_FILE["places"])
    table, facts = read_requests(tmp_path, passes_of(), files_of(1 << 30))
    assert times(table) == [(1, 8), (20, 10)]
    assert facts["requests_recorded"] and facts["requests_lost"] == 1


def test_events_lost_are_not_counted_twice(tmp_path: Path) -> None:
    write_requests(tmp_path, [ring([at(1, ISSUE)], lost=True)], ONE_FILE["places"], lost=40)
    assert read_requests(tmp_path, passes_of(), files_of(1 << 30))[1]["requests_lost"] == 40


def test_what_no_file_can_hold_is_no_request(tmp_path: Path) -> None:
    nowhere = Event(1, ISSUE, DISK, (1 << 64) - 1, 8)
    assert read(tmp_path, nowhere, Event(2, ISSUE, DISK, 80, 0), Event(3, ISSUE, DISK, 1 << 60, 8), **ONE_FILE).empty


SPANS = st.lists(st.tuples(st.integers(0, 300), st.one_of(st.none(), st.integers(1, 120))), max_size=6)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from((ISSUE, COMPLETE)),
        st.sampled_from((DISK, OTHER)),
        st.integers(0, 60),
        st.integers(1, 24),
        st.sampled_from(("R", "RA", "RSM")),
    ),
    min_size=4,
    max_size=40,
)
EXTENTS = st.lists(st.tuples(*map(st.integers, (0, 1, 1, 1), (2, 10, 8, 5))), min_size=2, max_size=8)


def extents_from(drawn: list[tuple[int, int, int, int]]) -> dict[int, list[tuple[int, int, int]]]:
    """Extents by file, with gaps on the device and in the file: files 0 and 1 on DISK, file 2 on OTHER."""
    extents: dict[int, list[tuple[int, int, int]]] = {0: [], 1: [], 2: []}
    place, end_of = {DISK: 0, OTHER: 0}, dict.fromkeys(extents, 0)
    for file, gap, n, hole in drawn:
        device = OTHER if file == 2 else DISK
        place[device] += gap * SECTOR
        extents[file].append(((end_of[file] + hole) * SECTOR, place[device], n * SECTOR))
        place[device] += n * SECTOR
        end_of[file] += hole + n
    return extents


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(EVENTS, EXTENTS, st.tuples(*[st.integers(1, 40 * SECTOR)] * 3), SPANS, st.lists(st.integers(0, 3), max_size=40))
def test_the_table_is_what_counting_single_bytes_and_events_gives(
    tmp_path: Path, drawn: Any, pieces: Any, sizes: tuple[int, ...], spans: Any, processors: list[int]
) -> None:
    extents = extents_from(pieces)
    events = [Event(11 * i, *event) for i, event in enumerate(drawn)]
    rings = [
        ring(e for i, e in enumerate(events) if (processors[i] if i < len(processors) else 0) == n) for n in range(4)
    ]
    places = [placed(OTHER if file == 2 else DISK, *extents[file]) for file in range(3)]
    ended = [(begin, None if length is None else begin + length) for begin, length in spans]
    write_requests(tmp_path, rings, places)
    table, facts = read_requests(tmp_path, passes_of(*ended), files_of(*sizes))

    expected = list(requests_by_hand(events, bytes_by_hand(extents, sizes), ended))
    of_models = {device for device, *_ in bytes_by_hand(extents, sizes)}
    columns = ["issue_ns", "device", "place", "size_bytes", "kind", "duration_ns", "file", "offset", "file_bytes"]
    rows = table[[*columns, "pass_id"]].astype("object")
    assert rows.where(rows.notna(), None).values.tolist() == [row[1:] for row in expected if row[0] in of_models]
    elsewhere = [row[4] for row in expected if row[0] not in of_models]
    assert (facts["requests_elsewhere"], facts["requests_elsewhere_bytes"]) == (len(elsewhere), sum(elsewhere))


Bytes = dict[tuple[tuple[int, int], int], tuple[int, int, int]]


def bytes_by_hand(extents: dict[int, list[tuple[int, int, int]]], sizes: tuple[int, ...]) -> Bytes:
    """(File, offset, number of the extent) of each byte of a device that belongs to a file."""
    return {
        (OTHER if file == 2 else DISK, place + i): (file, offset + i, number)
        for file, pieces in extents.items()
        for number, (offset, place, size) in enumerate(pieces)
        for i in range(size)
        if offset + i < sizes[file]
    }


def requests_by_hand(events: list[Event], owners: Bytes, spans: list[Any]) -> Iterator[list[Any]]:
    """Each request: its device, and the columns of the table."""
    for i, event in enumerate(events):
        following = [e for e in events[i + 1 :] if (e.device, e.sector) == (event.device, event.sector)]
        if event.number == COMPLETE or (following and following[0].number == ISSUE):
            continue
        duration = following[0].time_ns - event.time_ns if following else None
        place, size = event.sector * SECTOR, event.n_sectors * SECTOR
        first = owners.get((event.device, place))
        n = 0
        while first and n < size and owners.get((event.device, place + n)) == (first[0], first[1] + n, first[2]):
            n += 1
        running = [10 + k for k, (b, e) in enumerate(spans) if e is not None and b <= event.time_ns < e]
        yield [
            event.device,
            event.time_ns,
            "{}:{}".format(*event.device),
            place,
            size,
            "ahead" if "A" in event.flags else "read",
            duration,
            first and first[0],
            first and first[1],
            n,
            running[0] if len(running) == 1 else None,
        ]


def test_a_run_without_the_folder_recorded_none(tmp_path: Path) -> None:
    table, facts = read_requests(tmp_path / "requests", passes_of(), files_of(4096))
    assert table.empty and facts["requests_recorded"] is False and facts["requests_refused"] is None


def test_a_run_that_was_refused_says_why(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text(json.dumps({"refused": "only root may", "lost": 0, "files": []}))
    table, facts = read_requests(tmp_path, passes_of(), files_of(4096))
    assert table.empty and facts["requests_recorded"] is False and facts["requests_refused"] == "only root may"


def test_a_file_without_places_is_named_and_the_others_are_placed(tmp_path: Path) -> None:
    places = [{"refused": "on a tmpfs"}, placed(DISK, (0, 80 * SECTOR, 4096))]
    write_requests(tmp_path, [ring([at(1, ISSUE)])], places)
    table, facts = read_requests(tmp_path, passes_of(), files_of(4096, 4096))
    assert facts["requests_unplaced"] == "on a tmpfs" and table["file"].tolist() == [1]


def test_places_of_other_files_than_the_run_has_are_refused(tmp_path: Path) -> None:
    write_requests(tmp_path, [], [placed(DISK)] * 2)
    with pytest.raises(TraceFormatError, match="places of 2 files, the run 1; the file was changed"):
        read_requests(tmp_path, passes_of(), files_of(4096))


GOOD: dict[str, Any] = {"refused": None, "lost": 0, "files": [placed(DISK, (0, 4096, 4096))]}
WRONG: tuple[Any, ...] = (
    None,
    -1,
    1.5,
    1 << 63,
    10**400,
    "x",
    "7",
    True,
    [],
    {},
    [[1]],
    [1, 2, 3],
    ["a", "b"],
    [254, 0],
    [[0, 1, 2.5]],
)


def hostile_states() -> Iterator[Any]:
    yield from ([], "text", 5, None, {}, {**GOOD, "files": [GOOD]})
    for value in WRONG:
        yield from ({**GOOD, name: value} for name in GOOD if value is not None)
        yield from ({**GOOD, "files": [{**GOOD["files"][0], name: value}]} for name in GOOD["files"][0])
    for name in GOOD:
        yield {key: value for key, value in GOOD.items() if key != name}
    for name in GOOD["files"][0]:
        yield {**GOOD, "files": [{key: value for key, value in GOOD["files"][0].items() if key != name}]}


@pytest.mark.parametrize("state", list(hostile_states()))
def test_a_state_of_any_kind_is_refused_or_read(tmp_path: Path, state: Any) -> None:
    write_requests(tmp_path, [ring([at(1, ISSUE)])], [])
    (tmp_path / "state.json").write_text(json.dumps(state))
    try:
        _, facts = read_requests(tmp_path, passes_of(), files_of(4096))
    except TraceFormatError as error:
        assert "requests/state.json: " in str(error)
    else:
        assert facts["requests_lost"] >= 0 and isinstance(facts["requests_unplaced"], str | None)
        assert facts["requests_recorded"] is not isinstance(facts["requests_refused"], str)


@pytest.mark.parametrize(
    "state",
    [
        {**GOOD, "lost": -1},
        {**GOOD, "lost": "7"},
        {**GOOD, "refused": 5},
        {**GOOD, "files": [placed((1 << 40, 0), (0, 0, 1))]},
        {**GOOD, "files": [{**placed(DISK), "device": ["a", "b"]}]},
        {**GOOD, "files": [placed(DISK, (0, -4096, 4096))]},
        {**GOOD, "files": [placed(DISK, (0, 1 << 62, 4096))]},
        {**GOOD, "files": [placed(DISK, (0, 4096))]},
    ],
    ids=repr,
)
def test_a_state_that_cannot_be_is_refused(tmp_path: Path, state: Any) -> None:
    write_requests(tmp_path, [], [])
    (tmp_path / "state.json").write_text(json.dumps(state))
    with pytest.raises(TraceFormatError, match="the file was changed"):
        read_requests(tmp_path, passes_of(), files_of(4096))


@pytest.mark.parametrize(
    "text", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"lost": ' + b"9" * 9_999 + b"}", b'"\\ud800"']
)
def test_a_state_that_is_no_json_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "state.json").write_bytes(text)
    with pytest.raises(TraceFormatError, match="restore it from a copy"):
        read_requests(tmp_path, passes_of(), files_of(4096))


def test_extents_at_the_ends_of_their_ranges_are_read(tmp_path: Path) -> None:
    table = read(
        tmp_path, at(1, ISSUE, 8), places=[placed(DISK, (1 << 60, 0, 1 << 60), (0, 4096, 1 << 60))], sizes=[1 << 40]
    )
    assert table[["file", "offset", "file_bytes"]].values.tolist() == [[0, 0, 4096]]


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_that_is_missing_damaged_or_of_another_kernel_is_refused(tmp_path: Path, name: str) -> None:
    write_requests(tmp_path, [ring([at(1, ISSUE)])], ONE_FILE["places"])
    good = (tmp_path / name).read_text()
    for text in (good.replace("sector_t sector", "sector_t place"), good.replace("dev_t dev;", "char dev[4];"), ""):
        (tmp_path / name).write_text(text)
        with pytest.raises(TraceFormatError, match=f"requests/{name}: "):
            read_requests(tmp_path, passes_of(), files_of(1 << 30))
    (tmp_path / name).write_bytes(b"ID: 4\n\xff\xfe")
    with pytest.raises(TraceFormatError, match=f"requests/{name}: cannot be read"):
        read_requests(tmp_path, passes_of(), files_of(1 << 30))
    (tmp_path / name).unlink()
    with pytest.raises(TraceFormatError, match=f"requests/{name}: cannot be read: .*; restore it"):
        read_requests(tmp_path, passes_of(), files_of(1 << 30))


def packed_requests(folder: Path) -> Path:
    """The packed ring of 300 events."""
    write_requests(folder, [ring(at(i, ISSUE, 80 + 8 * i) for i in range(300))], ONE_FILE["places"])
    store.compress(folder / "cpu0.ring")
    return folder / "cpu0.ring.zst"


def test_a_packed_ring_is_read_like_a_plain_one(tmp_path: Path) -> None:
    plain = read(tmp_path / "plain", *(at(i, ISSUE, 80 + 8 * i) for i in range(300)), **ONE_FILE)
    (tmp_path / "packed").mkdir()
    packed_requests(tmp_path / "packed")
    packed, _ = read_requests(tmp_path / "packed", passes_of(), files_of(1 << 30))
    pd.testing.assert_frame_equal(packed, plain)


def test_a_packed_ring_that_was_cut_is_refused(tmp_path: Path) -> None:
    path = packed_requests(tmp_path)
    content = path.read_bytes()
    for n in (1, 5, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:n])
        with pytest.raises(TraceFormatError, match=r"requests/cpu0\.ring\.zst: "):
            read_requests(tmp_path, passes_of(), files_of(1 << 30))


def test_a_packed_ring_with_other_bytes_is_refused_or_read(tmp_path: Path) -> None:
    path = packed_requests(tmp_path)
    content = path.read_bytes()
    n_refused = 0
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xA5]) + content[place + 1 :])
        try:
            read_requests(tmp_path, passes_of(), files_of(1 << 30))
        except TraceFormatError:
            n_refused += 1
    assert n_refused


def test_a_ring_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracegen.readers.requests.table._MOST_BYTES", 10_000)
    packed_requests(tmp_path)
    with pytest.raises(TraceFormatError, match="which no run records"):
        read_requests(tmp_path, passes_of(), files_of(1 << 30))
