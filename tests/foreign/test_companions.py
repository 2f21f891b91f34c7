"""Dumps of graphs, lists of tensors and logs of buffers, against the samples and against broken bytes."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.foreign.samples import sample
from tracegen.contract.errors import TraceFormatError
from tracegen.foreign import buffer_log, dot, memory_map, older_json
from tracegen.foreign.json_text import parse_json
from tracegen.foreign.memory_map import MapTensor

Read = Callable[[bytes], object]


def of_json(is_one: Callable[[object], bool], read: Callable[[str, Any], object]) -> Read:
    """Reads a document that may be of the kind."""

    def read_it(data: bytes) -> object:
        document = parse_json("a.json", data)
        if not is_one(document):
            raise TraceFormatError("a.json: another document")
        return read("a.json", document)

    return read_it


MAP = {
    "model_name": "m",
    "total_size_bytes": 999,
    "tensors": [
        {"name": "blk.0.ffn_up_exps.weight[1]", "offset_start": 64, "size_bytes": 32, "shape": [4, 2]},
        {"name": "blk.0.ffn_up_exps.weight[0]", "offset_start": 32, "size_bytes": 32, "shape": [4, 2]},
        {"name": "output.weight", "offset_start": 96, "size_bytes": 16, "shape": [4]},
    ],
}
CSV = b"""free line
tensor_name,file_offset,size_bytes,layer_id,component_type,n_dims,dim0,dim1,dim2,dim3
token_embd.weight,0,4096,-1,Token Embeddings,2,32,32,0,0
output.weight,1088,4096,-1,Output Projection,2,32,32,0,0
"""
LOG = (
    b'{"timestamp_ms":12.345,"event":"alloc","buffer_id":18446744073709551615,"buffer_ptr":7,"size":64,'
    b'"name":"KV "x"","backend":"CPU","usage":2,"layer":65535}\n'
    b'{"timestamp_ms":13.000,"event":"dealloc","buffer_id":18446744073709551615}\n'
)
TRACE = {
    "token_id": 0,
    "metadata": {},
    "entries": [
        {
            "entry_id": 0,
            "timestamp_ns": 5,
            "token_id": 0,
            "layer_id": None,
            "thread_id": 1,
            "phase": "PROMPT",
            "operation_type": "GET_ROWS",
            "dst_name": "inp_embd",
            "num_sources": 1,
            "sources": [
                {
                    "name": "token_embd.weight",
                    "tensor_ptr": "0x10",
                    "size_bytes": 64,
                    "layer_id": None,
                    "memory_source": "DISK",
                    "disk_offset": 4,
                }
            ],
            "expert_ids": [3, 1],
            "num_experts": 2,
        },
    ],
}
GRAPH = {
    "token_id": 0,
    "metadata": {},
    "nodes": [
        {"id": "node_0", "label": "Qcur-0", "operation": "X*Y", "shape": [4, 2], "dtype": "f32"},
        {"id": "node_1", "label": "Qcur-0", "operation": "reshape(x)", "shape": [2, 2, 2], "dtype": "reshaped"},
        {"id": "node_2", "label": "blk.0.attn_q.weight", "operation": "CONST", "shape": [4, 4], "dtype": "q8_0"},
    ],
    "edges": [
        {"source": "node_2", "target": "node_0", "label": "src 0"},
        {"source": "node_0", "target": "node_1", "label": "src 0"},
    ],
}
DOT = b"""digraph G {
  "0x1" [ style = filled; fillcolor = white; shape = record; label="Qcur-0 (view) (f32)|0 [4, 2] | <x>X*Y"; ]
  "0x2" [ style = filled; fillcolor = pink; shape = record; label="<x>blk.0.w (a) (q8_0)|CONST 0 [4, 4]"; ]
  "0x2" -> "0x1" [ arrowhead = vee; style = solid; label = "src 0"; ]
  "0x1":x -> "0x1":g [ arrowhead = empty; style = dashed; label = "src 9"; ]
}
"""
WHOLE: dict[str, tuple[Read, bytes]] = {
    "dot": (partial(dot.read_dot, "a.dot"), DOT),
    "csv": (partial(memory_map.read_csv, "a.csv"), CSV),
    "log": (partial(buffer_log.read_buffers, "a.jsonl"), LOG),
    "map": (of_json(memory_map.is_map, memory_map.read_json_map), json.dumps(MAP).encode()),
    "trace": (lambda data: older_json.read_traces({"a.json": data}), json.dumps(TRACE).encode()),
    "graph": (of_json(older_json.is_graph, older_json.read_graph), json.dumps(GRAPH).encode()),
}


def refused(kind: str, data: bytes) -> bool:
    """Whether the bytes are refused with the name of the file; any other error fails."""
    try:
        WHOLE[kind][0](data)
    except TraceFormatError as error:
        assert str(error).startswith("a.")
        return True
    return False


@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_cut_at_any_byte_is_read_or_refused(kind: str) -> None:
    data = WHOLE[kind][1]
    assert not refused(kind, data) and sum(refused(kind, data[:n]) for n in range(len(data))) > 20


@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_with_any_byte_flipped_is_read_or_refused(kind: str) -> None:
    data = WHOLE[kind][1]
    for at in range(len(data)):
        for bit in (1, 0x80):
            refused(kind, data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :])


@settings(max_examples=150)
@given(st.sampled_from(sorted(WHOLE)), st.binary(max_size=2048))
def test_random_bytes_are_read_or_refused(kind: str, data: bytes) -> None:
    refused(kind, data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "token_id",
                    "entries",
                    "tensors",
                    "total_size_bytes",
                    "nodes",
                    "edges",
                    "timeline",
                    "name",
                    "sources",
                    "id",
                    "shape",
                    "size_bytes",
                    "offset_start",
                    "timestamp_ns",
                    "tensor_ptr",
                    "event",
                    "buffer_id",
                    "timestamp_ms",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=30,
)


@settings(max_examples=300)
@given(
    st.sampled_from(["map", "trace", "graph", "log"]),
    JSON,
    st.sampled_from(["entries", "tensors", "nodes", "timeline"]),
)
def test_any_json_is_read_or_refused(kind: str, document: object, key: str) -> None:
    base = {"token_id": 1, "total_size_bytes": 5, "edges": [], "entries": [], "nodes": [], "timeline": []}
    refused(kind, json.dumps(base | {key: [document]}).encode())


def test_a_dump_has_names_with_parentheses_types_shapes_and_slots() -> None:
    graph = dot.read_dot("a.dot", DOT)
    assert graph.n_nodes == 1 and [node.name for node in graph.nodes] == ["Qcur-0 (view)", "blk.0.w (a)"]
    assert [(node.op, node.dtype, node.shape) for node in graph.nodes] == [
        ("MUL_MAT", "F32", (4, 2)),
        ("NONE", "Q8_0", (4, 4)),
    ]
    assert [dict(of) for of in graph.operands] == [{0: 1, 9: 0}, {}]


def test_the_dumps_of_the_samples_are_whole() -> None:
    for path in sorted(sample("v3-256-tinyllama-shape").rglob("*.dot")):
        graph = dot.read_dot(path.name, path.read_bytes())
        text = path.read_text()
        assert graph.n_nodes == 689 and len(graph.nodes) - graph.n_nodes == text.count("fillcolor = pink") == 251
        assert sum(map(len, graph.operands)) == text.count(" -> ")


def test_sizes_that_reach_into_the_next_tensor_are_those_that_fit() -> None:
    listed = memory_map.read_csv("a.csv", CSV)
    assert listed.n_inflated == 1
    assert listed.tensors[0] == MapTensor("token_embd.weight", 0, 1088, (32, 32))  # Q8_0: 32 rows of 34 bytes


def test_the_sizes_of_the_sample_are_those_of_its_dump() -> None:
    """An oracle of another kind: types and shapes of the weights stand in the dump of the graph."""
    import gguf

    folder = sample("v3-256-tinyllama-shape")
    listed = memory_map.read_csv("model.csv", (folder / "model.csv").read_bytes())
    leaves = {node.name: node for node in dot.read_dot("d", (folder / "graphs/token_00000.dot").read_bytes()).nodes}
    checked = 0
    for tensor in listed.tensors[:-1]:  # the size of the last one is not known from its neighbours
        node = leaves[tensor.name]
        block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[node.dtype]]
        assert tensor.size_bytes == node.shape[0] * node.shape[1] // block * size, tensor.name
        checked += 1
    assert checked == 200


def test_experts_of_a_stack_are_one_tensor() -> None:
    listed = memory_map.read_json_map("m", MAP)
    assert listed.tensors[0] == MapTensor("blk.0.ffn_up_exps.weight", 32, 64, (4, 2, 2), 2)
    assert listed.size_bytes == 999 and listed.model == "m"


def test_a_log_keeps_numbers_beyond_a_float_and_names_with_quotes() -> None:
    log = buffer_log.read_buffers("a", LOG)
    assert log.table["event"].tolist() == ["alloc", "free"] and log.table["name"].tolist() == ['KV "x"'] * 2
    assert log.table["time_ns"].tolist() == [12_345_000, 13_000_000] and log.numbers == {(1 << 64) - 1: 0}
    assert [check.state for check in log.checks] == ["passed", "passed"]


def test_buffers_freed_twice_or_allocated_again_are_reported() -> None:
    first, last = LOG.splitlines()
    again = first.replace(b"12.345", b"12.9")
    log = buffer_log.read_buffers("a", b"\n".join([first, again, last, last]))
    assert log.table["event"].tolist() == ["alloc", "free", "alloc", "free"]  # a new allocation ends the former one
    assert log.checks[0].state == "failed" and log.checks[0].found == "2 allocated, 2 freed"
    assert log.checks[0].detail.startswith(
        "1 free of memory that was not allocated in this trace; 1 allocation of a live"
    )


def test_the_older_log_is_one_object() -> None:
    rows = [{"timestamp_ms": 1.5, "event": "alloc", "id": 9, "name": "KVCache_CPU", "size": 10, "layer": 65535}]
    log = buffer_log.read_buffers("a", json.dumps({"timeline": rows}).encode())
    row = log.table.iloc[0]
    assert (row["time_ns"], row["size_bytes"], row["name"]) == (1_500_000, 10, "KVCache_CPU")
    assert log.checks[1].found == "only buffers of the KV cache, 0 frees" and log.checks[1].state == "warning"


def test_an_exported_graph_has_its_views_and_leaves() -> None:
    graph = older_json.read_graph("g", GRAPH)
    assert [node.name for node in graph.nodes] == ["Qcur-0", "Qcur-0 (reshaped)", "blk.0.attn_q.weight"]
    assert graph.n_nodes == 2 and [node.computes for node in graph.nodes] == [True, False, False]
    assert [dict(of) for of in graph.operands] == [{0: 2}, {0: 0}, {}]


def test_an_exported_trace_has_every_field() -> None:
    trace = older_json.read_traces({"a": json.dumps(TRACE).encode()})
    each = trace.described[0]
    assert (each.op, each.name, each.claimed_layer) == ("GET_ROWS", "inp_embd", None)
    assert each.operands == (older_json.Operand("token_embd.weight", 16, 64, "disk", 4),)
    assert trace.experts.tolist() == [[3, 1]] and trace.n_experts.tolist() == [2] and trace.time_ns.tolist() == [5]
