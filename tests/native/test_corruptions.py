"""Broken traces by name: the reader raises a TraceFormatError with file, place and fault for each."""

import struct
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from tests.native.trace_bytes import (
    MAIN,
    NONE,
    ROW,
    STRINGS,
    THREAD,
    Files,
    Trace,
    buffer,
    chosen,
    chunk,
    clock,
    compute,
    copy,
    done,
    end,
    graph,
    header,
    index,
    info,
    node,
    op,
    pass_begin,
    pass_end,
    placement,
    read,
    record,
    residency,
    short_op,
    split,
    string,
    thread_begin,
    thread_end,
)
from tracegen.contract.errors import EnvironmentFailure, TraceFormatError
from tracegen.readers.native.segments import segment_files

GOOD = Trace().files()
GOOD_BEFORE = Trace().before


def _main(data: bytes) -> dict[str, bytes]:
    return GOOD | {MAIN: data}


def _thread(data: bytes) -> dict[str, bytes]:
    return GOOD | {THREAD: data}


def _with(data: bytes, at: int, patch: bytes) -> bytes:
    return data[:at] + patch + data[at + len(patch) :]


SEGMENTS: Mapping[str, tuple[Files, str]] = {
    "EMPTY_FILE": (_main(b""), "0 bytes"),
    "CUT_IN_HEADER": (_main(GOOD[MAIN][:50]), "50 bytes, but a segment has at least 4096"),
    "BAD_MAGIC": (_main(header(magic=b"GGUF\0\0\0\0")), "begins with b'GGUF"),
    "TEXT_MODE_COPY": (_main(header(magic=b"TTRACE\n\n")), "not a tensor trace"),
    "WRONG_VERSION": (_main(header(version=1) + GOOD[MAIN][4096:]), "version 1, but this tracegen reads version 2"),
    "FLIPPED_HEADER": (_main(_with(GOOD[MAIN], 40, b"\xff")), "header at byte 0 has a wrong checksum"),
    "UNKNOWN_KIND": (_main(header(7)), "segment kind 7"),
    "UNKNOWN_CLOCK": (_main(header(clock=2)), "clock 2 at byte 56"),
    "ANOTHER_CLOCK": (_thread(header(1, 1, clock=1) + GOOD[THREAD][4096:]), "uses another clock"),
    "OTHER_RUN": (_thread(header(1, 1, run=bytes(16)) + GOOD[THREAD][4096:]), "belongs to run"),
    "MISSING_MAIN": ({THREAD: GOOD[THREAD]}, "main segment of this run is missing"),
    "NOTHING": ({}, "main segment of this run is missing"),
    "TWO_MAINS": (_thread(header(0, 1)), "second main segment"),
    "MISSING_SEGMENT": ({MAIN: GOOD[MAIN]}, "the run has 2 segments, but 1 are here"),
    "GAP_IN_SEGMENTS": (_thread(header(1, 2)), r"segments \[0, 2\]"),
    "SEGMENT_TWICE": (GOOD | {"copy.tt": GOOD[THREAD]}, r"segments \[0, 1, 1\]"),
    "CUT_IN_CHUNK_HEADER": (_main(GOOD[MAIN][: 4096 + 63]), "byte 4096: 63 bytes left"),
    "CUT_IN_CHUNK": (_main(GOOD[MAIN][:-1]), "byte 4096: chunk of 4096 bytes, but 4095 are left"),
    "BAD_CHUNK_MAGIC": (_main(_with(GOOD[MAIN], 4096, b"X")), "chunk 0 is expected here"),
    "CHUNK_OUT_OF_SEQUENCE": (_main(header() + chunk(b"", 1)), "chunk 0 is expected here"),
    "CHUNK_SIZE_ZERO": (_main(_with(GOOD[MAIN], 4104, bytes(8))), "chunk of 0 bytes"),
    "CHUNK_SIZE_HUGE": (_main(_with(GOOD[MAIN], 4104, b"\0" * 7 + b"\xff")), "are left"),
    "COMMITTED_BEYOND_CHUNK": (_main(header() + chunk(b"", sealed=0, committed=4033)), "claims to hold 4033 bytes"),
    "FLIPPED_PAYLOAD": (_main(_with(GOOD[MAIN], 4200, b"\xff")), "byte 4096: chunk 0 has a wrong checksum"),
    "SEALED_TWICE": (_main(header() + chunk(b"", sealed=2)), "wrong checksum"),
}

BIG = 1 << 63
RECORDS: Mapping[str, tuple[Callable[[], Trace], str]] = {
    "RECORD_LENGTH_ZERO": (lambda: Trace(before=[struct.pack("<IIQ", 1, 0, 1)]), "length 0"),
    "RECORD_LENGTH_ODD": (lambda: Trace(before=[struct.pack("<IIQ", 1, 17, 1) + b"x"]), "length 17"),
    "RECORD_BEYOND_CHUNK": (lambda: Trace(after=[struct.pack("<IIQ", 1, 4096, 1)]), "length 4096, 16 bytes are left"),
    "RECORD_CUT": (lambda: Trace(after=[bytes(8)]), "cut after 8 of 16 bytes"),
    "RECORD_TOO_SHORT": (lambda: Trace(before=[record(3, bytes(8))]), "type 3 .* is broken"),
    "UNKNOWN_RECORD": (lambda: Trace(before=[record(99, b"")]), "type 99 is unknown"),
    "RECORD_TIME_HUGE": (lambda: Trace(after=[record(1, bytes(8), BIG)]), "time_ns"),
    "STRING_BEYOND_RECORD": (lambda: Trace(before=[record(2, struct.pack("<II", 8, 9) + b"x")]), "string of 9 bytes"),
    "STRING_TWICE": (lambda: Trace(before=[string(3, "again")]), "string 3 was written before"),
    "STRING_MISSING": (lambda: Trace(before=[record(1, struct.pack("<II", 1, 88))]), "string 88 was not written"),
    "GRAPH_BEYOND_RECORD": (lambda: Trace(before=[graph(n_leafs=NONE)]), "graph of 4294967296 nodes"),
    "GRAPH_TWICE": (lambda: Trace(before=[graph(), graph()]), "graph 0 was written before"),
    "GRAPH_NUMBER_HUGE": (lambda: Trace(before=[graph(1 << 31)]), "graph is 2147483648"),
    "SOURCE_BEYOND_GRAPH": (lambda: _nodes(node(1, 2, computes=1, sources=(1, 3))), "src names .* not below 3"),
    "VIEW_BEYOND_GRAPH": (lambda: _nodes(node(1, 2, view_of=3)), "view_of names a node that is not below 3"),
    "NAME_MISSING": (lambda: _nodes(node(1, 99)), "name names string 99"),
    "STRIDE_HUGE": (lambda: _nodes(node(1, 2, nb=BIG)), "nb is"),
    "COMPUTES_UNKNOWN": (lambda: _nodes(node(1, 2, computes=3)), "computes is 3"),
    "PLACEMENT_OF_NO_GRAPH": (lambda: Trace(before=[placement()]), "graph 0 was not written"),
    "PLACEMENT_TOO_SHORT": (lambda: Trace(before=[graph(), placement(n=2)]), "placement of 2 tensors"),
    "PLACEMENT_IN_NO_BUFFER": (lambda: Trace(before=[graph(), placement(buffer=5)]), "buffer 5 was not written"),
    "BUFFER_TWICE": (lambda: Trace(before=[buffer(), buffer()]), "buffer 0 was written before"),
    "BUFFER_HUGE": (lambda: Trace(before=[buffer(size=BIG)]), "size_bytes"),
    "BUFFER_END_OF_NONE": (lambda: Trace(before=[buffer(3, kind=11)]), "buffer 3 was not written"),
    "FILE_BEYOND_MEMORY": (
        lambda: Trace(before=[record(3, struct.pack("<QQQII", (1 << 64) - 8, 4096, 1, 0, 0))]),
        "end is",
    ),
    "PASS_NUMBER_HUGE": (lambda: Trace(run=[pass_begin(NONE)]), "pass is 4294967295"),
    "PASS_TWICE": (lambda: Trace(run=[pass_begin(), pass_begin()]), "pass 0 was written before"),
    "PASS_OF_NO_GRAPH": (lambda: Trace(run=[pass_begin(graph=5)]), "graph 5 was not written"),
    "PASS_OF_NO_PLACEMENT": (lambda: Trace(run=[pass_begin(placement=5)]), "placement 5 was not written"),
    "TOKENS_BEYOND_RECORD": (lambda: Trace(run=[pass_begin(n_tokens=NONE)]), "4294967295 tokens"),
    "FAULTS_HUGE": (lambda: Trace(run=[pass_begin(minor_faults=BIG)]), "usage is"),
    "PASS_END_OF_NONE": (lambda: Trace(run=[pass_end(4)]), "pass 4 was not written"),
    "COMPUTE_OF_NO_PASS": (lambda: Trace(run=[compute()]), "pass 0 was not written"),
    "COMPUTE_TWICE": (lambda: Trace(run=[pass_begin(), compute(), compute()]), "compute 0 was written before"),
    "COMPUTE_BEYOND_GRAPH": (lambda: Trace(run=[pass_begin(), compute(n_nodes=2)]), "beyond the 1 nodes of its graph"),
    "COMPUTE_WITHOUT_NODES": (lambda: Trace(run=[pass_begin(), compute(first=NONE)]), "map of 0 nodes"),
    "MAP_BEYOND_RECORD": (
        lambda: Trace(run=[pass_begin(), compute(first=NONE, n_nodes=1 << 30, n_map=1 << 30)]),
        "map of 1073741824",
    ),
    "MAP_BEYOND_GRAPH": (
        lambda: Trace(run=[pass_begin(), compute(first=NONE, n_map=1, nodes=struct.pack("<I", 1))]),
        "beyond the 1 nodes of its graph",
    ),
    "SPLIT_OF_NO_PASS": (lambda: Trace(run=[split()]), "pass 0 was not written"),
    "SPLIT_TWICE": (lambda: Trace(run=[pass_begin(), split(), split()]), "split 0 of pass 0 was written before"),
    "SPLIT_BEYOND_GRAPH": (lambda: Trace(run=[pass_begin(), split(n_nodes=2)]), "beyond the 1 nodes of its graph"),
    "SPLIT_WITHOUT_NODES": (lambda: Trace(run=[pass_begin(), split(first=NONE)]), "map of 0 nodes"),
    "SPLIT_ENDS_BEFORE": (lambda: Trace(run=[pass_begin(), split(begin_ns=6_001)]), "begin_ns is 6001"),
    "SPLIT_TAKEN_BEFORE": (lambda: Trace(run=[pass_begin(), split(submitted_ns=4_999)]), "begin_ns is 5000"),
    "SPLIT_TAKEN_LATER": (lambda: Trace(run=[pass_begin(), split(submitted_ns=6_001)]), "submitted_ns is 6001"),
    "SPLIT_OF_NO_BACKEND": (lambda: Trace(run=[pass_begin(), split(backend=77)]), "string 77 was not written"),
    "DONE_OF_NO_SPLIT": (lambda: Trace(run=[pass_begin(), done((0, 0))]), "was not handed over before"),
    "DONE_TWICE": (
        lambda: Trace(run=[pass_begin(), split(proof=1), done((0, 0), (0, 0))]),
        "was not handed over before",
    ),
    "DONE_BEFORE": (lambda: Trace(run=[pass_begin(), split(proof=2), done((0, 0))]), "was not handed over before"),
    "DONE_BY_NOTHING": (lambda: Trace(run=[pass_begin(), split(proof=1), done((0, 0), proof=1)]), "does not prove"),
    "DONE_BEYOND_RECORD": (lambda: Trace(run=[pass_begin(), done((0, 0), n=1 << 30)]), "1073741824 splits"),
    "DONE_BEFORE_IT_BEGAN": (lambda: Trace(run=[pass_begin(), done(begin_ns=7_001)]), "begin_ns is 7001"),
    "CHOSEN_OF_NO_PASS": (lambda: Trace(run=[chosen(1)]), "pass 0 was not written"),
    "CHOSEN_IN_NO_LAYER": (lambda: Trace(run=[pass_begin(), chosen(1)]), "names no layer"),
    "CHOSEN_BEYOND_RECORD": (lambda: Trace(run=[pass_begin(), chosen(1, n=1 << 30)]), "1073741824 experts"),
    "CHOSEN_NONE": (lambda: Trace(run=[pass_begin(), chosen()]), "0 experts"),
    "COPY_OF_NO_PASS": (lambda: Trace(run=[copy()]), "pass 0 was not written"),
    "COPY_HUGE": (lambda: Trace(run=[pass_begin(), copy(size=BIG)]), "size_bytes is"),
    "COPY_ENDS_BEFORE": (lambda: Trace(run=[pass_begin(), copy(begin_ns=6_001)]), "begin_ns is 6001"),
    "PAGES_OF_NO_PASS": (lambda: Trace(after=[residency(of_pass=7)]), "pass 7 was not written"),
    "PAGES_OF_NO_LOAD": (lambda: Trace(after=[residency(of_pass=NONE)]), "load 0 was not written"),
    "PAGES_OF_NO_SIZE": (lambda: Trace(after=[residency(page=3000)]), "in pages of 3000"),
    "PAGES_BEYOND_RECORD": (lambda: Trace(after=[residency(n=1 << 31)]), "2147483648 runs of pages"),
    "PAGES_BEYOND_MAPPING": (lambda: Trace(after=[residency(((15, 2),))]), "end beyond the mapping"),
    "PAGES_OVERLAP": (lambda: Trace(after=[residency(((0, 4), (3, 1)))]), "overlap"),
    "PAGES_RUN_EMPTY": (lambda: Trace(after=[residency(((3, 0),))]), "are empty"),
    "PAGES_AS_NEVER_BEFORE": (lambda: Trace(after=[residency((), n=NONE)]), "were not written before"),
    "PAGES_WHERE_NOTHING_IS_MAPPED": (lambda: Trace(after=[residency()]), "where no file was mapped"),
    "PASSES_MISSING": (lambda: Trace(after=[end(n_passes=3)]), "the run has 3 passes, but 1 are here"),
    "COST_NO_NUMBER": (
        lambda: Trace(before=[*info(8, "cost.event_ns", "GET_ROWS"), *GOOD_BEFORE]),
        "cost.event_ns is 'GET_ROWS'",
    ),
    "UNITS_CUT": (lambda: Trace(events=[thread_begin(), short_op()[:15]]), "47 bytes are no multiple of a unit of 16"),
    "UNKNOWN_UNIT": (lambda: Trace(events=[thread_begin(), short_op(kind=9)]), "unit 2: its type is unknown"),
    "ZERO_UNITS": (lambda: Trace(events=[bytes(64)]), "unit 0: its type is unknown"),
    "OP_OUTSIDE_COMPUTE": (lambda: Trace(events=[short_op()]), "unit 0: .* do not begin and end"),
    "END_WITHOUT_BEGIN": (lambda: Trace(events=[thread_end()]), "unit 0: .* do not begin and end"),
    "BEGIN_TWICE": (lambda: Trace(events=[thread_begin(), thread_begin()]), "unit 2: .* do not begin and end"),
    "OP_AFTER_END": (lambda: Trace(events=[thread_begin(), thread_end(), op()]), "unit 3: .* begin and end"),
    "END_OF_ANOTHER": (lambda: Trace(events=[thread_begin(), thread_end(thread=3)]), "unit 2: it ends the part"),
    "THREAD_OUTSIDE_POOL": (lambda: Trace(events=[thread_begin(thread=1)]), "unit 0: its thread number is not below"),
    "SECOND_UNIT_MISSING": (lambda: Trace(events=[thread_begin(), op()[:16]]), "unit 2: a second unit is missing"),
    "SECOND_UNIT_ANOTHER": (lambda: Trace(events=[thread_begin(), op(more=1)]), "unit 2: a second unit is missing"),
    "SECOND_UNIT_ALONE": (lambda: Trace(events=[thread_begin(), op()[16:]]), "without a first"),
    "INDEX_CUT": (lambda: Trace(events=[thread_begin(), ROW[:16]]), "index at unit 2: .* do not fit"),
    "COMPUTE_UNKNOWN": (lambda: Trace(events=[thread_begin(BIG), op(), thread_end()]), "does not know"),
    "NODE_BEYOND_COMPUTE": (lambda: Trace(events=[thread_begin(), short_op(node=1)]), "does not know"),
    "NODE_HUGE": (lambda: Trace(events=[thread_begin(), op(node=NONE)]), "unit 2: the number of its node is not below"),
    "FUSED_BEYOND_COMPUTE": (lambda: Trace(events=[thread_begin(), short_op(n_fused=1)]), "does not know"),
    "NODE_TWICE": (lambda: Trace(events=[thread_begin(), op(), short_op(), thread_end()]), "ran a node twice"),
    "TIME_HUGE": (lambda: Trace(events=[thread_begin(), op(begin=BIG)]), "unit 2: its time is not below"),
    "TOOK_HUGE": (lambda: Trace(events=[thread_begin(), op(took=BIG)]), "unit 2: its end is not below"),
    "WAIT_BEYOND_OP": (lambda: Trace(events=[thread_begin(), short_op(barrier=1_001)]), "unit 2: an op waits longer"),
    "WAIT_BEYOND_LONG_OP": (lambda: Trace(events=[thread_begin(), op(barrier=1 << 40)]), "unit 2: an op waits longer"),
    "NO_MOMENTS": (lambda: Trace(clock=1), "holds 0 moments"),
    "ONE_MOMENT": (lambda: Trace(clock=1, before=[clock(1, 1), *GOOD_BEFORE]), "holds 1 moments"),
    "STOPPED_CLOCK": (lambda: Trace(clock=1, before=[clock(1, 9), clock(2, 9), *GOOD_BEFORE]), "2 moments"),
    "CLOCK_RAN_BACKWARDS": (
        lambda: Trace(clock=1, before=[clock(1, 10**8), clock(2, 1), clock(3, 10**9), *GOOD_BEFORE]),
        "ran backwards",
    ),
    "TICKS_HUGE": (lambda: Trace(clock=1, before=[clock(BIG, 1)]), "ticks is"),
    "EVENT_FAR_FROM_MOMENTS": (
        lambda: Trace(
            clock=1, before=[clock(1, 1), clock(2, 1 << 40), *GOOD_BEFORE], events=[thread_begin(), op(begin=1 << 61)]
        ),
        "further from every known moment",
    ),
    "INDEX_BEYOND_SEGMENT": (lambda: Trace(events=[thread_begin(), index(b"", ne0=NONE, ne1=NONE)]), "do not fit"),
    "INDEX_ELEMENT_ODD": (lambda: Trace(events=[thread_begin(), index(bytes(3), ne0=1, element=3)]), "of 3 bytes"),
    "INDEX_OF_WIDE_WEIGHTS": (
        lambda: Trace(events=[thread_begin(), index(bytes(8), ne0=1, what=5, element=8)]),
        "kind 5 do not fit",
    ),
    "INDEX_OF_WHAT": (lambda: Trace(events=[thread_begin(), index(bytes(4), ne0=1, what=7)]), "kind 7 do not fit"),
    "MASK_NOT_IN_PAIRS": (lambda: Trace(events=[thread_begin(), index(bytes(4), ne0=1, what=6)]), "kind 6 do not fit"),
    "INDEX_NEGATIVE": (lambda: Trace(events=[thread_begin(), index(b"\xff" * 4, ne0=1)]), "numbers -1 to -1 must be"),
    "INDEX_HUGE": (
        lambda: Trace(events=[thread_begin(), index(struct.pack("<q", 1 << 62), ne0=1, element=8)]),
        "must be",
    ),
    "INDEX_TWICE": (lambda: Trace(events=[thread_begin(), ROW, ROW, short_op(), thread_end()]), "copied twice"),
    "INDEX_OF_NO_NODE": (lambda: Trace(events=[thread_begin(), index(bytes(4), ne0=1, node=7)]), "does not know"),
}


def _nodes(first: bytes) -> Trace:
    return Trace(before=[buffer(), graph(nodes=first + node(4, 5) + node(4, 7)), placement()])


def test_the_trace_is_good_before_it_is_broken() -> None:
    for sealed in (0, 1):
        trace = read(Trace(sealed=sealed).files())
        assert trace.tables["ops"]["state"].tolist() == ["executed"]
        assert trace.tables["spans"][["begin_ns", "work_ns", "wait_ns"]].values.tolist() == [[4_000, 1_000, 1_000]]
        touches = trace.tables["touches"][["slot", "unit", "first_unit", "n_units"]]
        assert touches.values.tolist() == [["src0", "row", 3, 1]]
        assert trace.facts["ended"] is True and trace.facts["unsealed_chunks"] == 2 - 2 * sealed


def test_ticks_become_nanoseconds_along_a_straight_line_between_moments() -> None:
    """Two ticks a nanosecond at first, then half a tick; outside the moments the mean rate counts."""
    before = [clock(7_000, 8_000), *GOOD_BEFORE, clock(3_000, 2_000), clock(5_000, 3_000)]  # in any order
    events = [thread_begin(time=4_000), short_op(took=2_000, barrier=500), thread_end(time=8_000)]
    trace = read(Trace(clock=1, before=before, events=events).files())
    begin, end = 2_550, 3_000 + 1_100 * 5 // 2
    barrier = 500 * (end - begin) // 2_000
    wait = 8_000 + 1_000 * 6_000 // 4_000 - end
    spans = trace.tables["spans"][["begin_ns", "work_ns", "barrier_ns", "wait_ns"]]
    assert spans.values.tolist() == [[begin, end - begin - barrier, barrier, wait]]


def test_a_trace_without_events_needs_no_moments() -> None:
    assert read(Trace(clock=1, events=[]).files()).tables["spans"].empty


def test_a_long_op_is_read_as_a_short_one() -> None:
    """An op of nine hours, most of them in a barrier: its numbers need more than 32 bits."""
    hours = 9 * 3600 * 10**9
    long_op = op(begin=10_000, took=hours, barrier=hours - 7)
    trace = read(Trace(events=[thread_begin(), long_op, thread_end(time=hours + 10_005)]).files())
    spans = trace.tables["spans"][["begin_ns", "work_ns", "barrier_ns", "wait_ns"]]
    assert spans.values.tolist() == [[10_000, 7, hours - 7, 5]]


def test_an_unused_chunk_of_a_killed_process_is_no_fault() -> None:
    trace = read(GOOD | {THREAD: GOOD[THREAD] + bytes(8192)})
    assert len(trace.tables["spans"]) == 1


def test_a_map_leads_to_the_nodes_of_the_graph() -> None:
    nodes = struct.pack("<2I", NONE, 0)
    run = [pass_begin(), compute(first=NONE, n_nodes=2, n_map=2, nodes=nodes), pass_end()]
    trace = read(Trace(run=run, events=[thread_begin(), op(node=1), thread_end()]).files())
    assert trace.tables["spans"]["node"].tolist() == [0]
    with pytest.raises(TraceFormatError, match="does not know"):
        read(Trace(run=run, events=[thread_begin(), op(), thread_end()]).files())


@pytest.mark.parametrize("name", SEGMENTS)
def test_a_broken_segment(name: str) -> None:
    files, fault = SEGMENTS[name]
    with pytest.raises(TraceFormatError, match=fault):
        read(files)


@pytest.mark.parametrize("sealed", (0, 1))
@pytest.mark.parametrize("name", RECORDS)
def test_a_broken_record(name: str, sealed: int) -> None:
    make, fault = RECORDS[name]
    trace = make()
    trace.sealed = sealed
    with pytest.raises(TraceFormatError, match=fault):
        read(trace.files())


@pytest.mark.parametrize("expert", [(1 << 31) - 1, 1 << 31, (1 << 32) + 3])
def test_an_expert_with_a_number_that_no_column_holds(expert: int) -> None:
    """Its lower 32 bits would be another expert."""
    strings = [string(i, text) for i, text in enumerate((*STRINGS, "ffn_moe_gate-0"))]
    events = [thread_begin(), index(struct.pack("<q", expert), ne0=1, what=2, element=8), short_op(), thread_end()]
    nodes = node(1, len(STRINGS), computes=1, sources=(1, 2)) + node(4, 5) + node(4, 7)
    trace = Trace(strings=strings, before=[buffer(), graph(nodes=nodes), placement()], events=events)
    if expert < 1 << 31:
        assert read(trace.files()).tables["routing"]["expert"].tolist() == [expert]
        return
    with pytest.raises(TraceFormatError, match=f"expert {expert}"):
        read(trace.files())


def test_a_folder_of_compressed_segments(tmp_path: Path) -> None:
    for name, data in GOOD.items():
        with pa.output_stream(str(tmp_path / f"{name}.zst"), compression="zstd") as stream:
            stream.write(data)
    whole = segment_files(tmp_path)
    assert {name: bytes(data) for name, data in whole.items()} == GOOD
    packed = tmp_path / f"{THREAD}.zst"
    packed.write_bytes(packed.read_bytes()[:-3])
    with pytest.raises(TraceFormatError, match=f"{THREAD}.zst: cannot be unpacked"):
        segment_files(tmp_path)
    packed.unlink()
    packed.symlink_to("nowhere")
    with pytest.raises(EnvironmentFailure, match="cannot be read"):
        segment_files(tmp_path)


def test_a_folder_without_a_trace(tmp_path: Path) -> None:
    with pytest.raises(TraceFormatError, match="holds no trace"):
        segment_files(tmp_path)
