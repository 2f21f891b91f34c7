"""What devices and the kernel's cache recorded of a load and a pass, byte by byte."""

import numpy as np
import pandas as pd
import pytest

from tests.native.trace_bytes import (
    MAIN,
    NONE,
    Trace,
    cache,
    device,
    file_map,
    info,
    load_begin,
    nodes,
    read,
    record,
    string,
)
from tracegen.contract import tables as contract
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.trace import ModelTables, NativeTrace, read_trace

BIG = 1 << 62
VDB = string(8, "vdb")  # the name of the device is otherwise that of string 5, token_embd.weight


def with_records(*after: bytes, before: tuple[bytes, ...] = ()) -> Trace:
    trace = Trace()
    trace.before = [VDB, load_begin(), file_map(), *before, *trace.before]
    trace.after = [*after, *trace.after]
    return trace


def read_with_model(trace: Trace, *paths: str) -> NativeTrace:
    """As if the model had files of these names."""
    rows = [dict(file=i, model=0, split_index=i, path=p, size_bytes=1 << 16, axis_begin=0) for i, p in enumerate(paths)]
    model = ModelTables(contract.frame("files", rows), contract.frame("tensors"))
    return read_trace({name: np.frombuffer(data, np.uint8) for name, data in trace.files().items()}, model)


def test_a_device_did_the_difference_of_its_counters() -> None:
    trace = read(with_records(device(name=8), device(of_pass=NONE, name=8, begin_ns=9_000)).files())
    row = dict(
        device="vdb",
        n_reads=1,
        read_bytes=200 * 512,
        read_ns=2_000_000,
        n_writes=2,
        written_bytes=16 * 512,
        busy_ns=1_000_000,
        in_flight=3,
    )
    assert trace.tables["device"].to_dict("records") == [
        row | {"pass_id": 0, "counted_ns": 400},  # the load
        row | {"pass_id": 1, "counted_ns": 6_500},
    ]


def test_each_device_has_a_row_in_order_of_its_name() -> None:
    trace = read(with_records(device(), device(name=8, end=(5, 100, 7, 2, 8, 0, 40))).files())
    assert trace.tables["device"][["device", "read_bytes"]].values.tolist() == [
        ["token_embd.weight", 102_400],
        ["vdb", 0],
    ]


def test_milliseconds_that_the_kernel_prints_with_32_bits_wrap_round() -> None:
    begin, end = (5, 100, NONE - 4, 2, 8, 0, NONE), (6, 300, 5, 4, 24, 3, 0)
    (row,) = read(with_records(device(begin, end)).files()).tables["device"].to_dict("records")
    assert (row["read_ns"], row["busy_ns"]) == (10_000_000, 1_000_000)


def test_the_cache_of_each_model_file() -> None:
    trace = with_records(
        cache(),
        cache((2, 0, 0, 7, 0), path=7),
        cache((1, 0, 0, 0, 0), path=1),
        cache((3, 0, 9, 0, 0), of_pass=NONE),
        before=(file_map(address=2 << 20, path=7), file_map(address=3 << 20, path=1)),
    )
    table = read_with_model(trace, "token_embd.weight", "inp_tokens").tables["cache"]
    assert table.to_numpy().tolist() == [[0, 0, 3, 0, 0, 0], [1, 0, 9, 1, 5, 4], [1, 1, 2, 0, 7, 0]]
    assert read(trace.files()).tables["cache"].empty, "of files that no model lists nothing is said"


def test_copies_of_a_file_are_summed_up() -> None:
    trace = with_records(
        cache(),
        cache((2, 0, 0, 7, 3), path=9),
        before=(string(9, "/copy/token_embd.weight"), file_map(address=2 << 20, path=9)),
    )
    table = read_with_model(trace, "token_embd.weight").tables["cache"]
    assert table.to_numpy().tolist() == [[1, 0, 11, 1, 12, 7]]


def test_a_trace_of_before_has_none_and_a_refusal_has_its_reason() -> None:
    trace = read(Trace().files())
    assert trace.tables["device"].empty and trace.tables["cache"].empty
    assert trace.facts["device_refused"] is None and trace.facts["cache_refused"] is None
    refusals = *info(9, "device.refused", "no block device"), *info(11, "cache.refused", "Function not implemented")
    facts = read(with_records(before=refusals).files()).facts
    assert facts["device_refused"] == "no block device" and facts["cache_refused"] == "Function not implemented"


def test_pages_of_a_file_on_nodes_are_stretches_of_it() -> None:
    trace = with_records(nodes((1, 16, 0), (2, 3, 4), size=(3 << 16) - 4096), nodes((3, 0, 0), of_pass=NONE))
    rows = read_with_model(trace, "token_embd.weight").tables["nodes"]
    columns = ["pass_id", "part", "file", "offset", "size_bytes", "node", "resident_bytes"]
    assert rows[columns].to_numpy().tolist() == [
        [1, 0, 0, 0, 1 << 16, 0, 1 << 16],
        [1, 1, 0, 1 << 16, (2 << 16) - 4096, 0, 6 * 4096],
        [1, 2, 0, 1 << 16, (2 << 16) - 4096, 1, 8 * 4096],
    ]
    assert rows["buffer_id"].isna().all()


def test_how_many_nodes_there_are_and_the_processors_of_each() -> None:
    several = *info(9, "nodes.memory", "0,2-3"), *info(11, "nodes.processors", "4 0 4 8")
    facts = read(with_records(before=several).files()).facts
    assert facts["numa_nodes"] == 3 and facts["numa_processors"] == [4, 0, 4, 8]
    facts = read(with_records(before=tuple(info(9, "nodes.memory", "0"))).files()).facts
    assert facts["numa_nodes"] == 1 and facts["numa_processors"] is None
    assert read(Trace().files()).facts["numa_nodes"] is None
    with pytest.raises(TraceFormatError, match="'0 to 3' are the NUMA nodes with memory; the trace was changed"):
        read(with_records(before=tuple(info(9, "nodes.memory", "0 to 3"))).files())


GOOD_END = (6, 300, 9, 4, 24, 3, 41)


def _end(place: int, value: int) -> bytes:
    return device(end=(*GOOD_END[:place], value, *GOOD_END[place + 1 :]))


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ([record(28, bytes(128))], "requires a buffer of at least 136 bytes"),
        ([device(of_pass=7)], "pass 7 was not written before"),
        ([device(of_pass=NONE, load=3)], "load 3 was not written before"),
        ([device(name=88)], "string 88 was not written before"),
        ([device(name=0)], "device '' has no name"),
        ([device(), device()], "device 'token_embd.weight' has no name, or its counters are there already"),
        ([device(begin_ns=9_401)], "begin_ns is 9401, but must be below"),
        ([_end(0, 4)], "n_reads went from 5 back to 4"),
        ([_end(1, 99)], "read_sectors went from 100 back to 99"),
        ([_end(3, 1)], "n_writes went from 2 back to 1"),
        ([_end(4, 7)], "written_sectors went from 8 back to 7"),
        ([_end(0, BIG)], f"count is {BIG}, but must be below"),
        ([_end(1, BIG // 512)], f"read_sectors is {BIG // 512}, but must be below"),
        ([_end(4, BIG // 512)], f"written_sectors is {BIG // 512}, but must be below"),
        ([_end(2, 1 << 32)], "read_ms is 4294967296, but must be below"),
        ([_end(5, BIG)], f"count is {BIG}, but must be below"),
        ([_end(6, 1 << 32)], "busy_ms is 4294967296, but must be below"),
        ([record(29, bytes(48))], "requires a buffer of at least 56 bytes"),
        ([cache(of_pass=7)], "pass 7 was not written before"),
        ([cache(of_pass=NONE, load=3)], "load 3 was not written before"),
        ([cache(path=88)], "string 88 was not written before"),
        ([cache(path=7)], "file 'inp_tokens' was not mapped before"),
        ([cache(page=0)], "pages of 0 bytes"),
        ([cache(page=5000)], "pages of 5000 bytes"),
        ([cache((9, 1, 0, 5, BIG // 4096))], "pages is .*, but must be below"),
        ([record(37, bytes(40))], "requires a buffer of at least 48 bytes"),
        ([nodes((3, 1), of_pass=7)], "pass 7 was not written before"),
        ([nodes((3, 1), buffer=77)], "buffer 77 was not written before"),
        ([nodes((3, 1), page=5000)], "pages of 5000 bytes"),
        ([nodes((3, 1), granule=0)], "granules of 0 bytes"),
        ([nodes((3, 1), granule=6000)], "granules of 6000 bytes"),
        ([nodes((2, 1))], "do not cover the memory"),
        ([nodes((4, 1))], "do not cover the memory"),
        ([nodes((3, 1), (0, 1))], "runs of granules are empty"),
        ([nodes((3, 9, 9))], "more pages lie on nodes than a granule has"),
        ([nodes((3, *[0] * 65))], "n_nodes is 65, but must be below"),
        ([record(37, nodes((3, 1, 1))[16:-8])], "runs of 2 nodes, .* bytes are left"),
        ([nodes((1, 1), size=BIG)], "size_bytes is .*, but must be below"),
    ],
)
def test_records_that_cannot_be_are_refused(records: list[bytes], says: str) -> None:
    with pytest.raises(TraceFormatError, match=f"^{MAIN}: record of type (28|29|37) at byte .*{says}"):
        read(with_records(*records).files())


def test_tables_without_rows_have_their_types() -> None:
    tables = read(Trace().files()).tables
    for name in ("device", "cache", "nodes"):
        pd.testing.assert_frame_equal(tables[name], contract.frame(name))
