"""`.ggmlviz` traces against what two other decoders say of real captures, and against files made by hand."""

import json
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.foreign.ggmlviz_bytes import (
    HEADER,
    SAMPLES,
    Plain,
    graph,
    memory,
    op,
    plain,
    record,
    sample,
    two_ops,
)
from tracegen.contract.errors import SettingsError, TraceFormatError
from tracegen.contract.model import Check
from tracegen.contract.tables import check
from tracegen.foreign import ggmlviz
from tracegen.foreign.ggmlviz.events import VizEvents, decode
from tracegen.foreign.ggmlviz.graphs import graph_records
from tracegen.foreign.trace import ForeignTrace

EXPECTED: dict[str, dict[str, Any]] = json.loads((SAMPLES / "expected.json").read_text())
WHOLE = ("01", "02", "03", "06", "07", "10")
NAMES = (
    "GRAPH_COMPUTE_BEGIN",
    "GRAPH_COMPUTE_END",
    "OP_COMPUTE_BEGIN",
    "OP_COMPUTE_END",
    "TENSOR_ALLOC",
    "TENSOR_FREE",
)


def expected(number: str) -> dict[str, Any]:
    return next(values for name, values in EXPECTED.items() if name.startswith(f"{number}-"))


def read(data: bytes, **more: Any) -> ForeignTrace:
    """The trace; each of its tables keeps the contract."""
    trace = ggmlviz.read("it.ggmlviz", data, **more)
    for name, table in trace.tables.items():
        check(name, table)
    return trace


def checks(trace: ForeignTrace) -> dict[str, Check]:
    return {each.key: each for each in trace.checks}


def traced(*records: bytes | list[bytes]) -> bytes:
    return HEADER + b"".join(part if isinstance(part, bytes) else b"".join(part) for part in records)


def refused(data: bytes, **more: Any) -> str:
    with pytest.raises(TraceFormatError) as raised:
        ggmlviz.read("it.ggmlviz", data, **more)
    assert str(raised.value).startswith("it.ggmlviz: ")
    return str(raised.value)


def as_event(events: VizEvents, i: int) -> dict[str, Any]:
    """An event in the words of expected.json."""
    kind, label = int(events.type[i]), int(events.label[i])
    event: dict[str, Any] = dict(
        i=i,
        off=int(events.offset[i]),
        type=kind,
        name=NAMES[kind],
        ts=int(events.time_ns[i]),
        tid=int(events.thread[i]),
        label=events.labels[label] if label >= 0 else None,
    )
    pointer, backend, size = hex(events.pointer[i]), hex(events.backend[i]), int(events.size[i])
    if kind < 2:
        n_nodes, n_threads = int(events.n_nodes[i]), int(events.n_threads[i])
        return event | dict(graph_ptr=pointer, n_nodes=n_nodes, n_threads=n_threads, backend_ptr=backend, pad=0)
    if kind < 4:
        return event | dict(tensor_ptr=pointer, op_type=int(events.op[i]), op_size=size, backend_ptr=backend, pad=0)
    return event | dict(ptr=pointer, size=size)


@pytest.mark.parametrize("number", WHOLE)
def test_events_are_those_that_other_decoders_find(number: str) -> None:
    wanted, events = expected(number), decode("it", sample(number))
    n = len(events.type)
    assert n == wanted["events"] and events.truncated_at == wanted["truncated_at"]
    assert [as_event(events, i) for i in range(len(wanted["first_events"]))] == wanted["first_events"]
    assert as_event(events, n - 1) == wanted["last_event"]
    assert Counter(NAMES[kind] for kind in events.type.tolist()) == wanted["counts"]
    assert int(events.time_ns[-1] - events.time_ns[0]) == wanted["duration_ns"]
    assert sorted(set(events.thread.tolist())) == wanted["tids"]
    is_op = (events.type == 2) | (events.type == 3)
    used = events.type < 4
    assert sorted({hex(pointer) for pointer in events.backend[used].tolist()}) == sorted(wanted["backends"])
    begins = Counter(str(number) for number in events.op[events.type == 2].tolist())
    assert begins == wanted["op_types"]
    assert len(events.labels) == wanted["labels"] and int((events.label < 0).sum()) == wanted["null_labels"]
    assert max(map(len, events.labels)) == wanted["max_label_chars"]
    assert not events.op[~is_op].any() and not events.n_nodes[~(events.type < 2)].any()


@pytest.mark.parametrize("number", WHOLE)
def test_nested_graphs_are_those_that_other_decoders_find(number: str) -> None:
    events = decode("it", sample(number))
    graphs = graph_records(events)
    found = [
        dict(
            begin_index=begin,
            end_index=end,
            depth=depth,
            n_nodes=int(events.n_nodes[begin]),
            graph_ptr=hex(events.pointer[begin]),
            backend_ptr=hex(events.backend[begin]),
            duration_ns=int(events.time_ns[end] - events.time_ns[begin]),
        )
        for begin, end, depth in zip(graphs.begin.tolist(), graphs.end.tolist(), graphs.depth.tolist(), strict=True)
        if end >= 0
    ]
    assert found == expected(number)["graphs"]


def test_the_samples_without_events_are_refused_and_say_why() -> None:
    assert refused(sample("05")) == (
        "it.ggmlviz: expected events after the header of 12 bytes, found 0 bytes and no whole record: "
        "no events were captured"
    )
    assert "byte 8: expected version 1, found 99" in refused(sample("11"))
    assert "record at byte 12: byte 58: expected a label of at most 4096 bytes" in refused(sample("13"))
    assert "found one of 4294967295 bytes" in refused(sample("13"))
    assert "byte 0: expected 12 bytes of header / magic GGMLVIZ1, found 8 bytes / b'BADMAGIC'" in refused(sample("14"))
    assert ggmlviz.looks_like(sample("06")[:16]) and not ggmlviz.looks_like(sample("14"))


@pytest.mark.parametrize("number", ["06", "07"])
def test_a_second_decoder_finds_the_same_tables(number: str) -> None:
    """Each pass of the outermost level, node by node, in plain loops."""
    data = sample(number)
    passes: list[list[Plain]] = []
    begins: list[int] = []
    ended: dict[int, int] = {}
    depth = 0
    for event in plain(data):
        if event.type == 0:
            if depth == 0:
                passes.append([])
                begins.append(event.time)
            depth += 1
        elif event.type == 1:
            depth -= 1
            if depth == 0:
                ended[len(passes) - 1] = event.time
        elif event.type == 2 and depth == 1:
            passes[-1].append(event)
    tables = read(data).tables
    assert tables["passes"]["begin_ns"].tolist() == begins
    assert tables["passes"]["end_ns"].tolist() == list(ended.values())
    named = {25: "RMS_NORM", 29: "MUL_MAT", 40: "GET_ROWS", 74: "FLASH_ATTN_EXT", 100: "GLU", 42: "SET_ROWS"}
    for pass_id, ops in enumerate(passes):
        nodes = tables["graph_nodes"][tables["graph_nodes"]["graph"] == tables["passes"]["graph"][pass_id]]
        assert nodes["name"].tolist() == [event.label for event in ops]
        assert nodes["size_bytes"].tolist() == [event.number(29, 8) for event in ops]
        for name, event in zip(nodes["op"], ops, strict=True):
            assert named.get(event.number(21, 4), name) == name
        assert (tables["ops"]["pass_id"] == pass_id).sum() == len(ops)
    assert tables["passes"]["kind"].isna().all() and tables["passes"]["placement"].isna().all()
    assert tables["graph_edges"].empty and tables["spans"].empty


def test_bracketed_operations_have_times_of_their_own() -> None:
    trace = read(sample("07"))
    ops, found = trace.tables["ops"], checks(trace)
    assert ops["time_basis"].eq("measured").all() and len(ops) == expected("07")["op_timings"]
    assert found["op_times"].state == "passed"
    assert found["op_times"].found == "390 operations, 1.90 of 2.05 ms of their graphs"
    took, sums = ops["end_ns"] - ops["begin_ns"], defaultdict[str, list[int]](list)
    begins = [event for event in plain(sample("07")) if event.type == 2]
    for event, ns in zip(begins, took, strict=True):
        sums[str(event.number(21, 4))].append(int(ns))
    by_op = {number: {"n": len(values), "sum_ns": sum(values)} for number, values in sums.items()}
    assert by_op == expected("07")["op_timing_by_op_type"]
    assert sum(each["sum_ns"] for each in by_op.values()) == 1_896_226


@pytest.mark.parametrize("number", ["01", "02", "06"])
def test_operations_that_all_begin_before_the_first_ends_have_no_times(number: str) -> None:
    trace = read(sample(number))
    ops, found = trace.tables["ops"], checks(trace)["op_times"]
    assert ops[["begin_ns", "end_ns", "time_basis"]].isna().all(axis=None)
    assert ops["state"].isin(["executed", "noop"]).all() and (ops["state"] == "executed").any()
    assert found.state == "failed" and found.detail == (
        "all operations of a graph begin before the first one ends: the recorder saw the graph's begin and end only"
    )


def test_a_decode_that_was_recorded_at_three_levels_counts_once() -> None:
    trace = read(sample("06"))
    once = checks(trace)["recorded_once"]
    assert once.state == "warning"
    assert once.found == "12 graph records are 4 passes, each recorded at 3 nested levels; counted once"
    assert len(trace.tables["passes"]) == 4 and len(trace.tables["ops"]) == 4 * 130
    durations = trace.tables["passes"]["end_ns"] - trace.tables["passes"]["begin_ns"]
    outer = [each["duration_ns"] for each in expected("06")["graphs"] if each["depth"] == 0]
    assert durations.tolist() == outer
    assert checks(trace)["nodes_accounted"].found == "520 of 520"


def test_layers_and_components_come_from_names() -> None:
    nodes = read(sample("06")).tables["graph_nodes"]
    first = nodes[nodes["graph"] == 0].set_index("node")
    assert first.loc[0, ["op", "name", "component"]].tolist() == ["GET_ROWS", "embd", "embedding"]
    assert first.loc[21, ["op", "name", "component", "layer"]].tolist() == ["FLASH_ATTN_EXT", "node_21", "attention", 0]
    assert first.loc[11, ["op", "name", "kind"]].tolist() == ["VIEW", "Kcur-0 (view)", "noop"]
    assert first.loc[129, ["name", "component"]].tolist() == ["result_output", "output"]
    assert sorted(first["layer"].dropna().unique()) == [0, 1, 2, 3]


def test_passes_with_the_same_sequence_share_a_graph() -> None:
    tables = read(sample("01")).tables
    assert tables["passes"]["graph"].tolist() == [0] * 10 and len(tables["graph_nodes"]) == 2
    tables = read(sample("06")).tables
    graphs = tables["graphs"]
    assert tables["passes"]["graph"].tolist() == [0, 1, 1, 1] and graphs["topology"].nunique() == 1
    assert graphs["n_nodes"].tolist() == [130, 130]  # the prompt's results are larger


def test_tables_of_operations_are_decided_by_names() -> None:
    for number, key, count in (("01", "2025-07", "2 of 2"), ("06", "2026-11", "120 of 120")):
        trace = read(sample(number))
        assert trace.facts["op_table"] == key
        assert checks(trace)["op_names"].found == f"table {key}: {count} names of nodes agree"
        assert checks(trace)["op_names"].state == "passed"
    assert read(sample("01")).tables["graph_nodes"]["op"].tolist() == ["MUL_MAT", "ADD"]


def test_numbers_that_no_table_explains_are_refused_with_the_candidates() -> None:
    message = refused(sample("03"))  # a product of matrices that is number 26: L2_NORM, or RMS_NORM_BACK
    assert "2025-07: 0 of 1 names of nodes agree; 2026-01: 0 of 1" in message and "--op-table KEY" in message
    trace = read(sample("03"), op_table="2025-07")
    assert checks(trace)["op_names"].state == "failed"
    assert trace.tables["graph_nodes"]["op"].tolist() == ["L2_NORM", "ADD", "RMS_NORM"]
    assert checks(trace)["nodes_accounted"].state == "failed" and checks(trace)["nodes_accounted"].found == "3 of 10"
    with pytest.raises(SettingsError, match="'2024-01' is not a known table"):
        read(sample("03"), op_table="2024-01")
    assert "below 86, as the table 2025-07 has no more, found 100" in refused(sample("06"), op_table="2025-07")


def test_tables_that_give_the_same_names_are_equal() -> None:
    """Without an operation after number 54, nothing tells 2026-01 from 2026-11, and nothing needs to."""
    trace = read(traced(two_ops(100)))
    assert trace.facts["op_table"] == "2026-11"
    assert trace.tables["graph_nodes"]["op"].tolist() == ["GET_ROWS", "MUL_MAT"]
    flash = [graph(0, 1, 2), op(2, 2, "ffn_up-0", 29, 1), op(2, 3, "node_7", 74, 2), graph(1, 9, 2)]
    assert "none that the names of the nodes decide for" in refused(traced(flash))  # FLASH_ATTN_BACK, or FLASH_ATTN_EXT
    flash[2] = op(2, 3, "__fattn__-0", 74, 2)
    assert read(traced(flash)).facts["op_table"] == "2026-11"
    flash[2] = op(2, 3, "__fattn__-0", 73, 2)
    assert read(traced(flash)).facts["op_table"] == "2026-01"


def test_a_trace_of_unnamed_operations_is_refused_until_a_table_is_chosen() -> None:
    data = traced(graph(0, 1, 1), op(2, 2, None, 29, 1), op(3, 8, None, 29, 1), graph(1, 9, 1))
    assert "2026-11: 0 of 0 names of nodes agree" in refused(data)
    trace = read(data, op_table="2026-11")
    assert trace.tables["graph_nodes"]["op"].tolist() == ["MUL_MAT"] and checks(trace)["op_names"].state == "warning"


def test_live_memory_is_the_set_of_live_pointers() -> None:
    """The table adds up to what a plain loop counts."""
    trace = read(sample("07"))
    live: dict[int, int] = {}
    steps, unknown, replaced = [], 0, 0
    for event in plain(sample("07")):
        if event.type == 4:
            replaced += event.pointer in live
            live[event.pointer] = event.number(21, 8)
        elif event.type == 5:
            unknown += live.pop(event.pointer, None) is None
        if event.type in (4, 5):
            steps.append((event.time, sum(live.values())))
    buffers = trace.tables["buffers"]
    signed = np.where(buffers["event"] == "alloc", 1, -1) * buffers["size_bytes"]
    at_time = pd.Series(signed.cumsum().to_numpy(), buffers["time_ns"]).groupby(level=0).last()
    assert at_time.to_dict() == {time: bytes_ for time, bytes_ in dict(steps).items() if time in at_time.index}
    assert signed.sum() == 5_253_660 and at_time.max() == 6_478_460
    balance = checks(trace)["buffers_balance"]
    assert (unknown, replaced) == (130, 54) and balance.state == "failed"
    assert balance.found == "368 allocated, 390 freed"
    assert balance.detail.startswith("130 frees of memory that was not allocated") and "; 54 alloc" in balance.detail
    assert buffers["address"].isna().all()
    by_name = buffers.set_index("name")["layer"]
    assert by_name["blk.1.attn_q.weight"].iloc[0] == 1 and by_name["token_embd.weight"].isna().all()


def test_a_pointer_that_is_allocated_again_ends_the_buffer_before() -> None:
    trace = read(traced(memory(4, 10, 0xA, 100, "a"), memory(4, 20, 0xA, 50, "b"), memory(5, 30, 0xA, 0)))
    rows = trace.tables["buffers"][["time_ns", "event", "buffer_id", "name", "size_bytes"]]
    assert rows.to_numpy().tolist() == [
        [10, "alloc", 0, "a", 100],
        [20, "free", 0, "a", 100],
        [20, "alloc", 1, "b", 50],
        [30, "free", 1, "b", 50],
    ]
    assert checks(trace)["buffers_balance"].state == "warning"
    assert trace.tables["passes"].empty and "op_names" not in checks(trace)


def test_the_branch_memory_visualization_is_recognised_by_its_records() -> None:
    tensors = [memory(4, 1, 0xA, 8, "a"), memory(5, 2, 0xA, 8)]
    buffers = [memory(6, 3, 0xB, 4096, "CPU"), memory(7, 90, 0xB, 4096)]
    others = [record(8, 91, 7, b""), record(9, 92, 8, b""), record(10, 93, 8, b"")]
    trace = read(traced(tensors, buffers[:1], two_ops(10), buffers[1:], others))
    assert trace.facts["dialect"] == "memory-visualization"
    assert trace.facts["counts"] == dict(
        graph_begin=1,
        graph_end=1,
        op_begin=2,
        op_end=2,
        tensor_alloc=1,
        tensor_free=1,
        buffer_alloc=1,
        buffer_free=1,
        barrier=1,
        thread_begin=1,
        thread_free=1,
    )
    rows = trace.tables["buffers"][["time_ns", "event", "name", "size_bytes"]].to_numpy().tolist()
    assert rows == [[3, "alloc", "CPU", 4096], [90, "free", "CPU", 4096]]
    assert checks(trace)["buffers_whole"].found == "2 events of tensors are left out"
    assert read(traced(tensors, others[1:])).facts["dialect"] == "memory-visualization"


def test_the_main_branch_has_barriers_without_a_pointer() -> None:
    trace = read(traced(two_ops(10), record(6, 60, 7, b""), record(7, 61, 8, b""), record(8, 62, 8, b"")))
    assert trace.facts["dialect"] == "main" and trace.tables["buffers"].empty
    counts = trace.facts["counts"]
    assert isinstance(counts, dict) and [counts[key] for key in ("barrier", "thread_begin", "thread_free")] == [1, 1, 1]
    assert read(traced(two_ops(10))).facts["dialect"] == "main or memory-visualization"


def test_a_dialect_that_nothing_decides_is_refused_with_the_candidates() -> None:
    both = refused(traced(two_ops(10), record(6, 60, 7, b""), memory(7, 61, 0xB, 8)))
    assert "signs of both: main (1 records of type 6 or 7 without a pointer); memory-visualization (1 records" in both
    assert "record at byte" in both
    assert "signs of neither" in refused(traced(two_ops(10), record(8, 60, 7, b"")))


def test_times_of_two_threads_do_not_mix() -> None:
    """Two contexts that run at once: their records alternate, and each operation is in its own graph."""
    one, two = two_ops(100, thread=1), two_ops(105, thread=2, graph_pointer=0x2000)
    trace = read(traced([part for pair in zip(one, two, strict=True) for part in pair]))
    ops = trace.tables["ops"]
    assert ops["begin_ns"].tolist() == [101, 112, 106, 117] and ops["end_ns"].tolist() == [111, 132, 116, 137]
    assert checks(trace)["op_times"].state == "passed" and checks(trace)["monotone_time"].state == "passed"


def test_a_thread_without_graphs_works_for_the_one_that_has_one() -> None:
    trace = read(sample("03"), op_table="2025-07")  # its last operation is another thread's
    assert len(trace.tables["ops"]) == 3 and trace.tables["ops"]["begin_ns"].tolist()[2] == 1_000_060_000


def test_an_operation_outside_all_graphs_is_in_no_pass_and_is_reported() -> None:
    trace = read(traced(op(2, 1, "ffn_up-0", 29, 1), two_ops(10), op(3, 90, "ffn_up-0", 29, 1)))
    nodes = checks(trace)["nodes_accounted"]
    assert nodes.state == "failed" and nodes.detail == "2 records of operations outside all graphs"
    assert len(trace.tables["ops"]) == 2


def test_a_graph_whose_end_is_lost_does_not_swallow_the_ones_after_it() -> None:
    lost = two_ops(10)[:-1]
    trace = read(traced(lost, two_ops(100), two_ops(200, graph_pointer=0x3000)))
    assert trace.tables["passes"]["begin_ns"].tolist() == [10, 100, 200]
    assert trace.tables["passes"]["end_ns"].isna().tolist() == [True, False, False]
    found = checks(trace)
    assert found["trace_complete"].found == "1 graph record without an end" and found["recorded_once"].state == "passed"


def test_parts_of_a_graph_inside_it_are_not_passes() -> None:
    """The scheduler's graph has no operations of its own; those of its two splits are the pass's."""
    outer, parts = graph(0, 5, 4, 0x9000, 0xF), [two_ops(10), two_ops(60, graph_pointer=0x2000)]
    trace = read(traced(outer, *parts, graph(1, 120, 4, 0x9000, 0xF)))
    assert len(trace.tables["passes"]) == 1 and trace.tables["graph_nodes"]["node"].tolist() == [0, 1, 2, 3]
    assert checks(trace)["nodes_accounted"].state == "passed"
    assert checks(trace)["recorded_once"].found.startswith("3 graph records are 1 pass, each recorded at 2 nested")


def test_an_operation_that_never_ends_has_no_state_and_no_time() -> None:
    records = two_ops(10)
    del records[4]
    trace = read(traced(records))
    assert trace.tables["ops"]["state"].isna().tolist() == [False, True]
    assert trace.tables["ops"]["begin_ns"].isna().tolist() == [False, True]
    found = checks(trace)
    assert found["op_times"].state == "warning" and found["op_times"].detail == "1 operation without a time of its own"
    assert found["nodes_accounted"].state == "failed" and found["nodes_accounted"].found == "1 of 2"


def test_ends_in_another_order_than_begins_are_matched_by_pointer() -> None:
    records = [graph(0, 1, 2), op(2, 2, "inp_embd", 40, 1), op(2, 3, "ffn_up-0", 29, 2)]
    trace = read(traced(records, op(3, 8, "", 29, 2), op(3, 9, "", 40, 1), graph(1, 10, 2)))
    assert trace.tables["ops"]["state"].eq("executed").all()
    assert trace.tables["ops"]["begin_ns"].isna().all() and checks(trace)["op_times"].state == "failed"


def test_one_operation_has_no_time_where_those_of_other_graphs_have_none() -> None:
    both = [graph(0, 1, 2), op(2, 2, "inp_embd", 40, 1), op(2, 3, "ffn_up-0", 29, 2)]
    both += [op(3, 8, None, 40, 1), op(3, 9, None, 29, 2), graph(1, 10, 2)]
    alone = [graph(0, 20, 1), op(2, 21, "ffn_up-0", 29, 2), op(3, 25, "ffn_up-0", 29, 2), graph(1, 26, 1)]
    assert read(traced(both, alone)).tables["ops"]["begin_ns"].isna().all()
    assert read(traced(alone)).tables["ops"]["begin_ns"].tolist() == [21]
    mixed = read(traced(both, two_ops(30, graph_pointer=0x2000)))
    assert mixed.tables["ops"]["begin_ns"].isna().tolist() == [True, True, False, False]
    assert checks(mixed)["op_times"].detail == "in 1 of 2 passes operations begin before others end"


def test_time_that_runs_back_is_counted_by_thread() -> None:
    trace = read(traced(two_ops(100), two_ops(50), two_ops(10, thread=9)))
    assert checks(trace)["monotone_time"].found == "1 step back"
    assert trace.tables["passes"]["begin_ns"].tolist() == [10, 50, 100]
    assert checks(read(traced(two_ops(0))))["zero_records"].state == "failed"


def test_names_as_long_as_the_field_are_reported() -> None:
    assert checks(read(traced(two_ops(1))))["names_whole"].state == "passed"
    longest = op(2, 60, "x" * 63, 29, 1)
    trace = read(traced(two_ops(1), graph(0, 59, 1), longest, op(3, 61, None, 29, 1), graph(1, 62, 1)))
    assert checks(trace)["names_whole"].found == "1 name of 63 bytes"
    assert "x" * 63 in set(trace.tables["graph_nodes"]["name"])


def test_a_pass_that_does_not_begin_with_the_lookup_is_reported() -> None:
    assert checks(read(sample("07")))["first_op"].state == "passed"
    assert checks(read(sample("01")))["first_op"].state == "warning"
