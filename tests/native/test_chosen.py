"""Experts that llama.cpp fetched from a device: who chose them, and which tensors the copies there are of."""

import struct

import numpy as np
import pandas as pd
import pytest

from tests.native.trace_bytes import (
    Trace,
    chosen,
    graph,
    load_begin,
    node,
    pass_begin,
    pass_end,
    placement,
    record,
    string,
)
from tracegen.contract.tables import frame
from tracegen.readers.native.placement_table import copied_name
from tracegen.readers.native.trace import ModelTables, NativeTrace, read_trace

pytestmark = pytest.mark.native

NAMES = {
    20: "MUL_MAT_ID",
    21: "ffn_moe_up-5",
    22: "Vulkan0#blk.5.ffn_up_exps.weight#0",
    23: "ffn_norm-5",
    24: "ffn_moe_topk-5",
    25: "ffn_moe_topk-5 (reshaped)",
    26: "ffn_moe_topk-9",
}
CONTEXT = record(8, struct.pack("<8I", 0, 0, 64, 64, 64, 1, 0, 0))


def trace(*run: bytes, name: str = NAMES[22]) -> NativeTrace:
    """A product with four experts for one token: of a copy of the weights, with numbers that lie on the device."""
    nodes = node(20, 21, computes=1, sources=(1, 2, 3)) + node(4, 22) + node(4, 23) + node(4, 24, rows=1)
    names = [string(number, text) for number, text in {**NAMES, 22: name}.items()]
    before = [*names, graph(nodes=nodes, n_leafs=3), placement(n=4)]
    files = Trace(run=[pass_begin(context=0), *run, pass_end()], events=[])
    files.before = [files.before[0], load_begin(), CONTEXT, *before]
    size = dict(size_bytes=640, sha256=None)
    known = frame("files", [dict(file=0, model=0, split_index=0, path="a.gguf", axis_begin=0) | size])
    tensor = dict(tensor=7, name="blk.5.ffn_up_exps.weight", file=0, offset=128, size_bytes=512, layer=5, n_experts=8)
    tensors = frame("tensors", [tensor | dict(component="expert_up")])
    content = {path: np.frombuffer(data, np.uint8) for path, data in files.files().items()}
    return read_trace(content, ModelTables(known, tensors))


@pytest.mark.parametrize("tensor, n_rows", [(24, 1), (25, 1), (24, 4)])
def test_what_was_fetched_is_what_the_token_chose(tensor: int, n_rows: int) -> None:
    """Whatever the shape in which it was fetched: the product says how many a row has."""
    tables = trace(chosen(3, 1, 0, 2, tensor=tensor, n_rows=n_rows)).tables
    routing = tables["routing"]
    assert routing["expert"].tolist() == [3, 1, 0, 2] and routing["rank"].tolist() == [0, 1, 2, 3]
    assert set(routing["layer"]) == {5} and set(routing["row"]) == {0}
    touched = tables["touches"]
    assert touched[["node", "first_unit", "n_units"]].to_numpy().tolist() == [[0, 0, 4]]
    assert touched["slot"].tolist() == ["src0"] and touched["unit"].tolist() == ["expert"]


def test_the_first_fetch_of_a_layer_counts() -> None:
    again = (chosen(3, 1, 0, 2, tensor=24), chosen(0, 0, 0, 0, tensor=24))
    assert trace(*again).tables["routing"]["expert"].tolist() == [3, 1, 0, 2]


@pytest.mark.parametrize("fetched", [chosen(3, 1, tensor=24), chosen(3, 1, 0, 2, tensor=26)])
def test_other_numbers_of_experts_or_layers_say_nothing(fetched: bytes) -> None:
    assert trace(fetched).tables["routing"].empty


@pytest.mark.parametrize(
    "name, of",
    [
        ("Vulkan0#blk.5.ffn_up_exps.weight#0", "blk.5.ffn_up_exps.weight"),
        ("RPC0[127.0.0.1:50052]#output.weight#3", "output.weight"),
        ("moe_cache.blk.5.ffn_up_exps.weight", "blk.5.ffn_up_exps.weight"),
        ("moe_cache.0.blk.5.ffn_up_exps.weight", None),  # the slots of a group of layers
        ("moe_cache.slot_map-5", "slot_map-5"),  # no tensor of a model has this name
        ("blk.5.ffn_up_exps.weight", None),
        ("Vulkan0#x", None),
        ("", None),
    ],
)
def test_names_of_copies(name: str, of: str | None) -> None:
    assert copied_name(name) == of


@pytest.mark.parametrize("name", [NAMES[22], "moe_cache.blk.5.ffn_up_exps.weight", "another"])
def test_a_copy_lies_where_its_tensor_lies_in_the_file(name: str) -> None:
    place = trace(name=name).tables["placements"].set_index("node").loc[1]
    if name == "another":
        assert pd.isna(place["tensor"]) and place["memory"] == "buffer"
        return
    assert (place["tensor"], place["file"], place["origin_offset"], place["size_bytes"]) == (7, 0, 128, 512)
    assert place["memory"] == "copied" and place["buffer_id"] == 0
