"""Time stamps of a device: labels joined to nodes in their order, and records that cannot be."""

import struct

import pandas as pd
import pytest

from tests.native.trace_bytes import (
    MAIN,
    Trace,
    buffer,
    graph,
    node,
    pass_begin,
    pass_end,
    placement,
    read,
    record,
    split,
    string,
)
from tracegen.contract.errors import TraceFormatError

# The nodes of the graph, in order: operation, name, whether it computes.
NODES = (
    ("RMS_NORM", "norm-0", 1),
    ("MUL", "attn_norm-0", 1),
    ("MUL_MAT", "x", 1),
    ("RESHAPE", "x (reshaped)", 0),
    ("ADD", "x", 1),
    ("SWIGLU", "ffn-0", 1),
    ("MUL_MAT", "x", 1),
    ("MUL_MAT", "y", 1),
    ("MUL_MAT", "y", 1),
)


def device_op(label: int, begin: int, end: int, *, order: int = 0, of_pass: int = 0, of_split: int = 0) -> bytes:
    return record(31, struct.pack("<QQ6I", begin, end, of_pass, of_split, label, order, 1, 0), 6_500)


def table(*labels: str, with_split: bool = True) -> pd.DataFrame:
    """The table of a pass whose device was given operations of these labels, written in the opposite order."""
    texts = [text for op, name, _ in NODES for text in (op, name)] + list(labels)
    strings = tuple(string(20 + i, text) for i, text in enumerate(texts))
    nodes = b"".join(node(20 + 2 * i, 21 + 2 * i, computes=computes) for i, (_, _, computes) in enumerate(NODES))
    first = 20 + 2 * len(NODES)
    stamps = [device_op(first + i, 100 * i + 10, 100 * i + 90, order=5 + i) for i in range(len(labels))]
    run = [pass_begin(), *reversed(stamps), *([split(backend=2, n_nodes=len(NODES))] if with_split else []), pass_end()]
    before = [*strings, buffer(), graph(n_nodes=len(NODES), n_leafs=0, nodes=nodes), placement(n=len(NODES))]
    return read(Trace(before=before, run=run, events=[]).files()).tables["device_ops"]


@pytest.mark.parametrize(
    "labels, nodes",
    [
        (("RMS_NORM+MUL norm-0", "MUL_MAT x", "ADD x", "GLU ffn-0"), (0, 2, 4, 5)),
        (("MUL_MAT x", "MUL_MAT x"), (2, 2)),  # opened again after a submit: other operations lie between the two of x
        (("MUL_MAT x", "ADD x", "GLU ffn-0", "MUL_MAT x"), (2, 4, 5, 6)),
        (("MUL_MAT y", "MUL_MAT y"), (7, 8)),
        (("MUL_MAT y", "MUL_MAT y", "MUL_MAT y"), (7, 8, 8)),
        (("RMS_NORM+MUL norm-0", "RMS_NORM+MUL norm-0", "MUL_MAT x"), (0, 0, 2)),
        (("CPY z", "MUL_MAT x"), (None, 2)),
        (("", "MUL_MAT", "MUL_MAT  x"), (None, None, None)),
    ],
)
def test_labels_name_the_nodes_of_their_split_in_order(labels: tuple[str, ...], nodes: tuple[int | None, ...]) -> None:
    rows = table(*labels)
    assert rows["label"].tolist() == list(labels) and rows["part"].tolist() == list(range(len(labels)))
    assert [None if pd.isna(n) else int(n) for n in rows["node"]] == list(nodes)
    assert set(rows["device"]) == {"inp_embd"} and rows["exact"].all()
    assert (rows["end_ns"] - rows["begin_ns"]).eq(80).all() and rows["begin_ns"].is_monotonic_increasing


@pytest.mark.parametrize(
    "kernels, nodes",
    [  # of NODES four are MUL_MAT, one is ADD
        (("rms_norm_f32", "mmq", "k_add", "unary_gated_op_kernel", "mmq", "mmq", "mmq"), (0, 2, 4, 5, 6, 7, 8)),
        (("rms_norm_f32", "quantize_q8_1", "mmq", "mmq_fixup", "k_add"), (0, 2, 2, 2, 4)),
        (("mystery", "k_add"), (None, 4)),
        (("mul_mat_id", "k_add", "mmq"), (2, 4, 8)),  # two of three after ADD are in no kernel, or in this one
        (("k_add", "rms_norm_f32", "soft_max", "rope_norm"), (None, None, None, None)),  # of another graph
    ],
)
def test_kernels_belong_to_nodes_in_their_order(kernels: tuple[str, ...], nodes: tuple[int | None, ...]) -> None:
    rows = table(*(f"kernel _Z{len(kernel)}{kernel}v" for kernel in kernels))
    assert [None if pd.isna(n) else int(n) for n in rows["node"]] == list(nodes)
    assert [label.split()[1] for label in rows["label"]] == list(kernels)


def test_each_device_counts_for_itself() -> None:
    """Two splits on two devices, whose numbers of labels lie between one another."""
    names = tuple(string(20 + i, text) for i, text in enumerate(("MUL_MAT", "x", "ADD", "MUL_MAT x", "ADD x")))
    nodes = node(20, 21, computes=1) + node(22, 21, computes=1) + node(20, 21, computes=1)
    stamps = [
        device_op(23 + (i == 1), 100 * i + 10 + of_split, 100 * i + 50, order=i, of_split=of_split)
        for i in range(3)
        for of_split in (0, 1)
    ]
    splits = [split(backend=2, n_nodes=3), split(backend=6, n_nodes=3, number=1)]
    before = [*names, buffer(), graph(n_nodes=3, n_leafs=0, nodes=nodes), placement(n=3)]
    run = [pass_begin(), *stamps, *splits, pass_end()]
    rows = read(Trace(before=before, run=run, events=[]).files()).tables["device_ops"]
    assert rows["split"].tolist() == [0, 0, 0, 1, 1, 1] and rows["node"].tolist() == [0, 1, 2] * 2
    assert rows["device"].tolist() == ["inp_embd"] * 3 + ["CPU"] * 3


def test_stamps_of_a_split_that_was_not_recorded_have_no_node() -> None:
    rows = table("MUL_MAT x", with_split=False)
    assert rows["node"].isna().all() and rows["device"].isna().all()


@pytest.mark.parametrize(
    "damaged, why",
    [
        (device_op(2, 10, 20, of_pass=9), "pass 9 was not written"),
        (device_op(2, 30, 20), "begin_ns is 30"),
        (device_op(2, 10, 7_000), "end_ns is 7000"),
        (device_op(99, 10, 20), "string 99"),
        (record(31, struct.pack("<QQ6I", 1, 2, 0, 0, 2, 0, 2, 0), 6_500), "exact is 2"),
        (record(31, bytes(16), 6_500), MAIN),
    ],
)
def test_records_that_cannot_be(damaged: bytes, why: str) -> None:
    with pytest.raises(TraceFormatError, match=why):
        read(Trace(run=[pass_begin(), damaged, pass_end()]).files())
