"""Page faults as a trace holds them, byte by byte: which pass, operation, thread and file each belongs to."""

import pandas as pd
import pytest

from tests.native.trace_bytes import RUN, Trace, chunk, end, fault, file_map, header, info, part, read
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.trace import NativeTrace

FAULTS = f"{RUN.hex()}.f000.tt"
MINOR, MAJOR, OPEN, ELSEWHERE, LOST, UNSEEN = range(1, 7)
BARRIER, OFF_CPU = 8, 9
NO_COMPUTE = 0xFFFFFFFFFFFFFFFF
# The pass lasts from 3,000 to 9,000 ns, its only op from 4,000 to 5,000 ns on thread 0.
RECORDED = [*info(8, "faults.ring_bytes", "524288"), file_map()]


def with_faults(*records: bytes) -> NativeTrace:
    trace = Trace(after=[end(n_segments=3)])
    trace.before = [*trace.before, *RECORDED]
    return read(trace.files() | {FAULTS: header(2, 2) + chunk(b"".join(records))})


def rows(trace: NativeTrace) -> list[dict[str, object]]:
    table = trace.tables["faults"]
    return [{str(k): None if pd.isna(v) else v for k, v in row.items()} for row in table.to_dict("records")]


def test_a_fault_lies_in_the_op_that_its_thread_ran_then() -> None:
    trace = with_faults(
        part(),
        fault(MAJOR, begin=4_100, took=300, address=(1 << 20) + 5_000),
        fault(MINOR, begin=4_900, took=50),
        fault(MINOR, begin=5_200, took=10),
    )
    in_no_model = dict(pass_id=0, thread=0, file=None, offset=None)
    assert rows(trace) == [
        in_no_model | dict(fault=0, node=0, kind="major", begin_ns=4_100, duration_ns=300),
        in_no_model | dict(fault=1, node=0, kind="minor", begin_ns=4_900, duration_ns=50),
        in_no_model | dict(fault=2, node=None, kind="minor", begin_ns=5_200, duration_ns=10),
    ]
    assert trace.tables["spans"]["fault_ns"].tolist() == [350]
    assert trace.tables["passes"][["other_faults", "other_fault_ns", "lost_faults"]].to_numpy().tolist() == [[0, 0, 0]]


def test_a_fault_whose_end_was_not_seen_has_neither_kind_nor_duration() -> None:
    trace = with_faults(part(), fault(OPEN, begin=4_100, took=0))
    (row,) = rows(trace)
    assert row["kind"] is None and row["duration_ns"] is None and row["node"] == 0
    assert trace.tables["spans"]["fault_ns"].tolist() == [0]


@pytest.mark.parametrize(("begin", "pass_id"), [(2_999, None), (3_000, 0), (8_999, 0), (9_000, None)])
def test_a_fault_in_no_compute_belongs_to_the_pass_of_its_time(begin: int, pass_id: int | None) -> None:
    (row,) = rows(with_faults(part(NO_COMPUTE), fault(MINOR, begin=begin, took=10)))
    assert (row["pass_id"], row["node"], row["thread"]) == (pass_id, None, None)


def test_faults_are_in_order_of_begin() -> None:
    trace = with_faults(part(), fault(MINOR, begin=4_300), fault(MINOR, begin=4_100), fault(MAJOR, begin=4_200))
    assert trace.tables["faults"]["begin_ns"].tolist() == [4_100, 4_200, 4_300]
    assert trace.tables["faults"]["kind"].tolist() == ["minor", "major", "minor"]


def test_faults_of_other_memory_and_lost_ones_are_counted_for_their_pass() -> None:
    trace = with_faults(
        part(),
        fault(ELSEWHERE, begin=4_000, took=700, address=3),
        fault(LOST, took=0, address=11),
        part(NO_COMPUTE),
        fault(ELSEWHERE, begin=8_000, took=30, address=2),
        fault(ELSEWHERE, begin=2_000, took=9, address=40),
        fault(LOST, begin=9_500, took=0, address=5),
        fault(UNSEEN, took=0, address=24),
    )
    assert trace.tables["passes"][["other_faults", "other_fault_ns", "lost_faults"]].values.tolist() == [[5, 730, 11]]
    assert trace.facts["faults_lost"] == 16
    assert trace.facts["threads_without_faults"] == 1 and trace.tables["faults"].empty


def test_waits_at_barriers_inside_operations_are_numbered_in_order() -> None:
    trace = with_faults(
        part(),
        fault(BARRIER, begin=4_600, took=100, address=0),
        fault(MINOR, begin=4_400, took=50),
        fault(BARRIER, begin=4_200, took=30, address=0),
    )
    rows = trace.tables["barriers"].to_dict("records")
    of_op = dict(pass_id=0, node=0, thread=0)
    assert rows == [
        of_op | dict(barrier=0, begin_ns=4_200, duration_ns=30),
        of_op | dict(barrier=1, begin_ns=4_600, duration_ns=100),
    ]
    assert len(trace.tables["faults"]) == 1


def test_without_the_right_nothing_is_recorded_and_the_reason_is_known() -> None:
    trace = Trace()
    trace.before += info(8, "faults.refused", "Operation not permitted")
    native = read(trace.files())
    assert native.facts["faults_refused"] == "Operation not permitted" and native.facts["faults_recorded"] is False
    assert native.tables["spans"]["fault_ns"].isna().all() and native.tables["passes"]["other_faults"].isna().all()


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ([fault(0)], "f000.tt: record 0 has kind 0"),
        ([part(), fault(10)], "f000.tt: record 1 has kind 10"),
        ([part(), fault(MINOR)[:31]], "f000.tt: 63 bytes of records of 32"),
        ([part(5), fault(MINOR)], "compute 5, which the main segment does not know"),
        ([part(), fault(MINOR, address=4096)], "address 0x1000 is told of, where no file was mapped"),
        ([part(), fault(MINOR, took=1 << 60)], "record 1 holds a number that cannot be"),
        ([part(), fault(MINOR, begin=1 << 63)], "record 1 holds a number that cannot be"),
        ([part(), fault(LOST, address=1 << 60)], "record 1 holds a number that cannot be"),
        ([part(5), fault(BARRIER, address=0)], "node 0 of compute 5, which the main segment does not know"),
        ([fault(BARRIER, address=0)], "a wait belongs to no compute"),
        ([part(NO_COMPUTE), fault(BARRIER, address=0)], "a wait belongs to no compute"),
        ([part(), fault(BARRIER, address=1)], "a wait of node 1 of compute 0, which the main segment does not know"),
        ([part(), fault(BARRIER, address=1 << 63)], "record 1 holds a number that cannot be"),
        ([fault(OFF_CPU, address=0)], "a time without a processor belongs to no compute"),
        ([part(NO_COMPUTE), fault(OFF_CPU, address=0)], "a time without a processor belongs to no compute"),
        ([part(5), fault(OFF_CPU, address=0)], "compute 5, which the main segment does not know"),
        ([part(), fault(OFF_CPU, begin=1 << 63, address=0)], "record 1 holds a number that cannot be"),
        ([part(), fault(OFF_CPU, took=1 << 60, address=0)], "record 1 holds a number that cannot be"),
        ([part(), fault(OFF_CPU, address=1 << 60)], "record 1 holds a number that cannot be"),
    ],
)
def test_records_that_cannot_be_are_refused(records: list[bytes], says: str) -> None:
    with pytest.raises(TraceFormatError) as caught:
        with_faults(*records)
    assert says in str(caught.value)
