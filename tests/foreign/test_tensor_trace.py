"""tensor_trace.bin: every field of the samples, against a second decoder and the exports of the older tools."""

import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.foreign.decoded import Op, Source, single_operands, whole_ops
from tests.foreign.samples import PACKED, SAMPLES, sample
from tracegen.contract.errors import TraceFormatError
from tracegen.foreign.ops import Described, OpTrace
from tracegen.foreign.source import opened
from tracegen.foreign.tensor_trace import records as reading
from tracegen.foreign.tensor_trace.layouts import LAYOUTS, OPS
from tracegen.foreign.tensor_trace.ops import ops_of
from tracegen.foreign.tensor_trace.records import Records, read_records

SIZES = {"v1-64": 64, "v2-128": 128, "v3-256-moe": 256, "v3-256-tinyllama-shape": 256, "v4b-1024-gpt-oss": 1024}


def records_of(path: Path) -> Records:
    with opened(path) as file:
        return read_records(file)


def trace_of(path: Path) -> OpTrace:
    return ops_of(path.name, records_of(path))


def as_decoded(trace: OpTrace, i: int) -> Op:
    """What was read of an operation, in the form of the second decoder."""
    each = trace.described[trace.which[i]]
    sources = tuple(Source(o.name, o.address, o.size_bytes, str(o.memory), o.place or 0) for o in each.operands)
    at = np.flatnonzero(trace.expert_at == i)
    experts = tuple(trace.experts[at[0]][: trace.n_experts[at[0]]].tolist()) if len(at) else ()
    layer = 65535 if each.claimed_layer is None else each.claimed_layer
    return Op(
        int(trace.time_ns[i]),
        int(trace.token[i]),
        layer,
        int(trace.thread[i]),
        OPS.index(each.op),
        int(trace.phase[i]),
        each.name,
        sources,
        experts,
    )


@pytest.mark.parametrize("name", [name for name in SAMPLES if SIZES[name] >= 256])
def test_every_field_is_that_of_a_second_decoder(name: str) -> None:
    path = sample(name) / "tensor_trace.bin"
    expected = whole_ops(path, SIZES[name])
    trace = trace_of(path)
    assert len(trace) == len(expected) > 500 and [as_decoded(trace, i) for i in range(len(trace))] == expected


@pytest.mark.parametrize("name", ["v1-64", "v2-128"])
def test_pairs_of_operands_are_operations(name: str) -> None:
    path = sample(name) / "tensor_trace.bin"
    rows = single_operands(path, SIZES[name])
    trace = trace_of(path)
    assert 2 * len(trace) == len(rows) == 210
    for i in range(len(trace)):
        each = trace.described[trace.which[i]]
        assert each.op == "MUL_MAT" and trace.time_ns[i] == rows[2 * i][0]
        assert [(o.address, o.name, o.size_bytes) for o in each.operands] == [
            row[1:] for row in rows[2 * i : 2 * i + 2]
        ]


def test_the_records_are_those_of_the_exported_json() -> None:
    folder = sample("v4b-1024-gpt-oss")
    entries = json.loads((folder / "trace-token-00000.json").read_text())["entries"]
    trace = trace_of(folder / "tensor_trace.bin")
    assert len(entries) == len(trace) == 1696
    for i, entry in enumerate(entries):
        each = trace.described[trace.which[i]]
        assert (each.op, each.name, int(trace.time_ns[i])) == (
            entry["operation_type"],
            entry["dst_name"],
            entry["timestamp_ns"],
        )
        assert each.claimed_layer == entry["layer_id"] and trace.thread[i] == entry["thread_id"]
        assert ("PROMPT", "GENERATE")[trace.phase[i]] == entry["phase"] and trace.token[i] == entry["token_id"]
        for operand, source in zip(each.operands, entry["sources"], strict=True):
            place = source.get("disk_offset", source.get("buffer_id"))
            assert (operand.name, hex(operand.address), operand.size_bytes, operand.memory, operand.place) == (
                source["name"],
                source["tensor_ptr"],
                source["size_bytes"],
                source["memory_source"].lower(),
                place,
            )


def test_a_sparse_tail_is_not_read_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (sample("v4b-1024-gpt-oss") / "tensor_trace.bin").read_bytes()
    path = tmp_path / "tensor_trace.bin"
    path.write_bytes(data)
    os.truncate(path, 2 << 30)
    read = 0
    real = os.preadv

    def counted(fd: int, buffers: list[memoryview], offset: int) -> int:
        nonlocal read
        n = real(fd, buffers, offset)
        read += n
        return n

    monkeypatch.setattr(os, "preadv", counted)
    records = records_of(path)
    assert len(records.time_ns) == 1696 and records.n_later == 0 and records.cut_at is None
    assert read < 2 * len(data) + (1 << 20)


def test_records_behind_an_empty_one_are_counted_and_not_read(tmp_path: Path) -> None:
    data = bytearray((sample("v3-256-moe") / "tensor_trace.bin").read_bytes())
    data[256 * 100 : 256 * 101] = bytes(256)
    path = tmp_path / "gap.bin"
    path.write_bytes(data)
    records = records_of(path)
    assert len(records.time_ns) == 100 and records.n_later == 595 - 101


def test_pieces_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    path = sample("v3-256-moe") / "tensor_trace.bin"
    whole = trace_of(path)
    monkeypatch.setattr(reading, "PIECE", 4096)
    pieces = trace_of(path)
    assert [as_decoded(pieces, i) for i in range(len(pieces))] == [as_decoded(whole, i) for i in range(len(whole))]


@pytest.mark.parametrize("name", SAMPLES)
def test_cut_at_every_byte_of_three_records(name: str, tmp_path: Path) -> None:
    size = SIZES[name]
    data = (sample(name) / "tensor_trace.bin").read_bytes()[: 3 * size]
    path = tmp_path / "cut.bin"
    for n in range(len(data)):
        path.write_bytes(data[:n])
        try:
            records = records_of(path)
        except TraceFormatError as error:
            assert n < size and "cut.bin" in str(error)
            continue
        if name == "v2-128" and n < size:  # the first half of one record is a record of 64 bytes
            assert records.layout.size_bytes == 64
            continue
        assert records.layout.size_bytes == size and len(records.time_ns) == n // size
        assert records.cut_at == (n // size * size if n % size else None)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_flipped_byte_gives_a_trace_or_a_refusal(name: str, tmp_path: Path) -> None:
    size = SIZES[name]
    data = (sample(name) / "tensor_trace.bin").read_bytes()[: 4 * size]
    path, outcomes = tmp_path / "flipped.bin", Counter[bool]()
    for at in range(0, len(data), 1 if size < 1024 else 3):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            trace = trace_of(path)
        except TraceFormatError as error:
            assert "flipped.bin" in str(error)
            outcomes[False] += 1
        else:
            assert all(isinstance(each, Described) for each in trace.description(0, len(trace)))
            outcomes[True] += 1
    assert outcomes[True] and outcomes[False]


@pytest.mark.parametrize("name", [name for name in SAMPLES if SIZES[name] >= 256])
@pytest.mark.parametrize(
    ("what", "found"),
    [("operation", 255), ("memory", 2), ("place in the model file", 1 << 63)],
    ids=lambda each: str(each),
)
def test_a_late_impossible_record_is_refused_with_its_place(name: str, what: str, found: int, tmp_path: Path) -> None:
    """Behind the records that tell the layout: nothing looked at it there."""
    layout = next(each for each in LAYOUTS if each.size_bytes == SIZES[name])
    data = (sample(name) / "tensor_trace.bin").read_bytes()[: SIZES[name]] * 400
    records = np.frombuffer(bytearray(data), layout.record)
    late, first = records[333:334], records["operands"][333:334, 0]
    assert late["n"][0] > 0
    if what == "operation":
        late["op"] = found
    else:
        first["memory"] = 2 if what == "memory" else 0
        first["place"] = found
    path = tmp_path / "late.bin"
    path.write_bytes(records.tobytes())
    with pytest.raises(TraceFormatError, match=rf"late\.bin: record at offset {333 * SIZES[name]:,}: .* {what} below"):
        records_of(path)


def test_operations_that_differ_in_the_last_letters_of_two_names_stay_apart(tmp_path: Path) -> None:
    """A sum of products of words is the same for one pair of them in 256, whatever its factors."""
    layout = next(each for each in LAYOUTS if each.size_bytes == 256)
    letters = [(a, b) for a in range(64, 96) for b in range(64, 96)]
    data = (sample("v3-256-moe") / "tensor_trace.bin").read_bytes()[:256] * len(letters)
    records = np.frombuffer(bytearray(data), layout.record)
    words = records.view("u1").reshape(len(records), 256)
    names = [layout.record.fields["name"][1], layout.record.fields["operands"][1]]
    for place, column in zip((names[0] + 7, names[1] + 7), zip(*letters, strict=True), strict=True):
        words[:, place - place % 8 + 7] = column
    path = tmp_path / "letters.bin"
    path.write_bytes(records.tobytes())
    assert len(records_of(path).distinct) == len(letters)


@settings(max_examples=200)
@given(st.binary(max_size=4096))
def test_random_bytes_are_refused_or_read(data: bytes) -> None:
    path = PACKED.parent / f".random-{os.getpid()}"
    try:
        path.write_bytes(data)
        trace_of(path)
    except TraceFormatError as error:
        assert path.name in str(error)
    finally:
        path.unlink(missing_ok=True)


def test_what_two_layouts_fit_is_refused_with_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracegen.foreign.tensor_trace import layouts

    monkeypatch.setattr(layouts, "LAYOUTS", (*LAYOUTS, LAYOUTS[2].__class__("twin", LAYOUTS[2].record, 256)))
    with pytest.raises(TraceFormatError, match=r"several layouts .* fit.*twin: 100% of the first records fit"):
        records_of(sample("v3-256-moe") / "tensor_trace.bin")


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "growing.bin"
    path.write_bytes((sample("v3-256-moe") / "tensor_trace.bin").read_bytes())
    with opened(path) as file:
        with path.open("ab") as more:
            more.write(bytes(256))
        with pytest.raises(TraceFormatError, match=r"growing.bin: changed while it was read; wait until"):
            read_records(file)
