"""Places of tensors: an address counts in its buffer only, as those of other devices are made up and repeat."""

import numpy as np
import pandas as pd
import pytest

from tracegen.readers.native import recorded
from tracegen.readers.native.placement_table import named_weights, placement_table
from tracegen.readers.native.recorded import NONE, Buffer, Mapping, Records, Weight
from tracegen.readers.native.trace import _usage

MADE_UP, MAPPED = 0x1000, 0x7F0000000000
FILE, GPU, KV, OTHER = range(4)
NAMES = ("embd.weight", "a.weight", "cache_k", "a.weight", "x")


def model() -> dict[str, pd.DataFrame]:
    """A model of two tensors of 256 bytes in one file."""
    file = dict(file=0, model=0, path="m.gguf", split_index=0)
    rows = [
        dict(tensor=i, file=0, name=name, offset=1024 + 256 * i, size_bytes=256) for i, name in enumerate(NAMES[:2])
    ]
    return {"files": pd.DataFrame([file]), "tensors": pd.DataFrame(rows)}


def records(*, known: bool) -> Records:
    """A mapped weight, and its neighbour on a device whose KV cache and other buffer have the same addresses."""
    found = Records()
    found.mappings.append(Mapping(MAPPED, 4096, 0, "m.gguf", 0))
    bases = {FILE: MAPPED + 1024, GPU: MADE_UP, KV: MADE_UP, OTHER: MAPPED}
    for number, base in bases.items():
        buffer = Buffer(number, 0, 1024, base, usage=1 if number == GPU else 0)
        found.buffers[number] = buffer
    buffer_of = {"embd.weight": FILE, "a.weight": GPU}
    places = {"embd.weight": (True, 1024, MAPPED + 1024), "a.weight": (False, 1280, MADE_UP)}
    for name, (mapped, offset, address) in places.items():
        buffer = buffer_of[name] if known else NONE
        found.weights.append(Weight(0, name, 0, mapped, offset, 256, address, buffer))
    found.strings = dict(enumerate(("", *NAMES)))
    nodes = np.zeros(len(NAMES), recorded.NODE)
    nodes["name"], nodes["size_bytes"] = np.arange(1, len(NAMES) + 1), 256
    at = [(MAPPED + 1024, FILE), (MADE_UP, GPU), (MADE_UP, KV), (MADE_UP + 64, GPU), (MAPPED + 1024, OTHER)]
    found.graphs[0] = (0, nodes)
    found.placements[0] = (0, np.array([(address, number, 0) for address, number in at], recorded.PLACE), 1)
    return found


def test_a_place_is_found_by_its_buffer() -> None:
    """What has the address of a weight in another buffer is no weight, nor what has one of the file's mapping."""
    found = placement_table(records(known=True), **model())
    assert found["memory"].tolist() == ["disk", "copied", "buffer", "copied", "buffer"]
    assert found["tensor"].fillna(-1).tolist() == [0, 1, -1, 1, -1]
    assert found["origin_offset"].fillna(-1).tolist() == [1024, 1280, -1, 1280 + 64, -1]
    assert found["buffer_id"].fillna(-1).tolist() == [-1, GPU, KV, GPU, OTHER]
    assert found["buffer_offset"].fillna(-1).tolist() == [-1, 0, 0, 64, 1024]


def test_without_buffers_of_weights_addresses_decide() -> None:
    found = placement_table(records(known=False), **model())
    assert found["memory"].tolist() == ["disk", "copied", "copied", "copied", "disk"]


@pytest.mark.parametrize("known", [True, False])
def test_a_weight_that_was_read_into_memory_is_found_by_its_name_and_buffer(known: bool) -> None:
    """Two devices hold two parts of a model at the same address: each is found once."""
    traced = records(known=known)
    del traced.weights[1]
    traced.buffers[KV].usage = 1
    nodes = traced.graphs[0][1]
    nodes["name"][2] = 1 + NAMES.index("embd.weight")
    traced.contexts.append({"context": 0, "model": 0})
    traced.passes[0] = recorded.Pass(0, 1, (0, 0, 0, 0, 0), context=0, placement=0)
    tables = model()
    found = named_weights(traced, tables["files"], tables["tensors"])
    assert {(weight.name, weight.buffer, weight.address) for weight in found} >= {
        ("a.weight", GPU, MADE_UP),
        ("embd.weight", KV, MADE_UP),
    }


@pytest.mark.parametrize(
    ("begin_ns", "usage"), [(4, "compute"), (5, "mapped"), (8, "mapped"), (9, "compute"), (12, "compute")]
)
def test_a_buffer_views_a_file_only_while_that_is_mapped(begin_ns: int, usage: str) -> None:
    """Once llama.cpp has unmapped a part of the file, CUDA's driver may put a buffer of the device at its addresses."""
    records = Records(mappings=[Mapping(4096, 8192, 0, "/m.gguf", 5, 9), Mapping(4096, 100, 0, "/m.gguf", 9)])
    assert _usage(Buffer(1, begin_ns, 64, 5000, usage=2), records) == usage
    assert _usage(Buffer(1, begin_ns, 64, 0, usage=2), records) == "compute"
