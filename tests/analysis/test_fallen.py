"""Operations that the CPU computes although their layer lies on a device: planted ones are found, others are not."""

from typing import Any

import pandas as pd
import pytest

from tracegen.analysis.fallen import fallen

GPU, CPU, SCRATCH = 1, 2, 3  # numbers of buffers


def planted(cache: int = GPU, weights: int = GPU) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """A graph of two layers on a device: its CPU computes the attention of the second, and looks up the input.

    `cache` and `weights` are the buffers of the second layer.
    """
    of_layer = {0: (GPU, GPU), 1: (cache, weights)}
    nodes: list[dict[str, Any]] = [dict(node=0, name="inp_embd", op="GET_ROWS", layer=None, dtype="F32")]
    place: list[dict[str, Any]] = [dict(node=0, tensor=None, buffer_id=SCRATCH)]
    edges: list[dict[str, Any]] = []
    for layer, (in_cache, in_weights) in of_layer.items():
        first = 1 + 5 * layer
        names = [f"blk.{layer}.attn_q.weight", f"cache_k_l{layer}", f"CPU#cache_k_l{layer} (view)#0", "Qcur", "kqv"]
        buffers = (in_weights, in_cache, SCRATCH, SCRATCH, SCRATCH)
        for i, (name, buffer) in enumerate(zip(names, buffers, strict=True)):
            op = {3: "MUL_MAT", 4: "FLASH_ATTN_EXT"}.get(i, "NONE")
            dtype = {0: "Q4_1", 1: "Q8_0", 2: "Q8_0"}.get(i, "F32")
            nodes.append(dict(node=first + i, name=name, op=op, layer=layer, dtype=dtype))
            place.append(dict(node=first + i, tensor=layer if i == 0 else None, buffer_id=buffer))
        edges.append(dict(source=first + 3, target=first + 4, slot="src0"))
        edges.append(dict(source=first + 2, target=first + 4, slot="src1"))
    buffers_of = [
        dict(buffer_id=GPU, name="CUDA0", backend="CUDA0", usage="weights"),
        dict(buffer_id=CPU, name="CPU", backend="CPU", usage="weights"),
        dict(buffer_id=SCRATCH, name="CUDA0", backend="CUDA0", usage="compute"),
    ]
    tables = {
        "graph_nodes": pd.DataFrame(nodes).assign(graph=0).astype({"layer": "Int32"}),
        "placements": pd.DataFrame(place).assign(graph=0).astype({"tensor": "Int32"}),
        "graph_edges": pd.DataFrame(edges).assign(graph=0),
        "buffers": pd.DataFrame(buffers_of),
        "tensors": pd.DataFrame({"tensor": [0, 1], "layer": pd.array([0, 1], "Int32")}),
        "passes": pd.DataFrame({"pass_id": [5, 6], "graph": pd.array([0, 0], "Int32")}),
    }
    ran = [
        (pass_id, node, layer, op)
        for pass_id in (5, 6)
        for node, layer, op in ((0, None, "GET_ROWS"), (10, 1, "FLASH_ATTN_EXT"))
    ]
    timed = pd.DataFrame(ran, columns=["pass_id", "node", "layer", "op"]).astype({"layer": "Int32"})
    return tables, timed.assign(duration_ns=pd.array([10, 20, 30, 40], "Int64"))


def test_an_operation_of_a_layer_on_the_device_is_found_with_its_types() -> None:
    tables, timed = planted()
    (row,) = fallen(tables, timed).to_dict("records")
    expected = {"op": "FLASH_ATTN_EXT", "types": ("F32", "Q8_0"), "layers": (1,), "n_layers": 1, "duration_ns": 60}
    assert row == expected


@pytest.mark.parametrize("kept", [dict(cache=CPU), dict(weights=CPU)])
def test_where_the_cpu_has_the_cache_or_the_weights_its_operations_are_its_own(kept: dict[str, int]) -> None:
    assert fallen(*planted(**kept)).empty


def test_what_the_device_computed_has_no_time_of_threads() -> None:
    tables, timed = planted()
    assert fallen(tables, timed.assign(duration_ns=pd.array([pd.NA] * 4, "Int64"))).empty
