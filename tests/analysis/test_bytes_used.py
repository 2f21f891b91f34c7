"""Which bytes count as used: not the holes of a view, not what a mask hides, not what stays inside a fused kernel."""

import pandas as pd
import pytest

from tests.builders import scaled_case
from tracegen.analysis import accesses, coverage
from tracegen.charts import theme
from tracegen.contract.tables import frame

CASE = scaled_case(4, 2)
ATTENTION = CASE["graph_nodes"].query("op == 'FLASH_ATTN_EXT'")


def changed(name: str, rows: pd.Series, **values: object) -> dict[str, pd.DataFrame]:
    return {**CASE, name: CASE[name].assign(**{k: CASE[name][k].mask(rows, v) for k, v in values.items()})}


def touched(tables: dict[str, pd.DataFrame], pass_id: int, node: int) -> dict[str, int]:
    rows = accesses.accesses(tables, [pass_id])
    rows = rows[rows["node"] == node]
    return dict(zip(rows["slot"].astype(str), rows["touched_bytes"], strict=True))


def test_a_kernel_that_computes_two_nodes_hands_the_first_result_on_inside() -> None:
    ops = CASE["ops"]
    fused = ops[(ops["pass_id"] == 3) & (ops["state"] == "fused")].iloc[0]  # the norm, in its product
    norm, product = int(fused["node"]), int(fused["fused_into"])
    assert product == norm + 1
    assert touched(CASE, 3, norm)["dst"] > 0, "the builder's kernel is that of the second node"
    first_computes = ops.copy()
    at = (ops["pass_id"] == 3) & ops["node"].isin([norm, product])
    first_computes.loc[at, "state"] = ["executed", "fused"]
    first_computes.loc[at, "fused_into"] = [None, norm]
    tables = {**CASE, "ops": first_computes}
    handed_on = [slot for slot, source in _sources(product).items() if source == norm]
    assert handed_on == ["src0"]
    before, after = (touched(CASE, 4, product), touched(tables, 3, product))
    assert touched(tables, 3, norm)["dst"] == 0 and after["src0"] == 0
    assert {k: v for k, v in after.items() if k != "src0"} == {k: v for k, v in before.items() if k != "src0"}
    assert touched(tables, 3, norm)["src0"] == touched(CASE, 4, norm)["src0"] > 0


def _sources(node: int) -> dict[str, int]:
    edges = CASE["graph_edges"]
    rows = edges[(edges["graph"] == 1) & (edges["target"] == node)]
    return dict(zip(rows["slot"].astype(str), rows["source"], strict=True))


def test_a_view_with_holes_counts_its_elements() -> None:
    node = ATTENTION[ATTENTION["graph"] == 1].iloc[0]
    values = _sources(int(node["node"]))["src2"]
    nodes = CASE["graph_nodes"]
    at = (nodes["graph"] == 1) & (nodes["node"] == values)
    one = nodes[at].iloc[0]
    tables = changed("graph_nodes", at, nb1=int(one["nb1"]) * 16, size_bytes=int(one["nb1"]) * 16 * int(one["ne1"]))
    tables = {**tables, "touches": CASE["touches"]}
    assert touched(tables, 3, int(node["node"]))["src2"] == touched(CASE, 3, int(node["node"]))["src2"]


def test_attention_counts_what_its_mask_lets_through() -> None:
    node = int(ATTENTION[ATTENTION["graph"] == 1]["node"].iloc[0])
    whole = touched(CASE, 3, node)
    keys = CASE["graph_nodes"].query("graph == 1").set_index("node").loc[_sources(node)["src1"]]
    rows = int(keys["ne1"])
    seen = [
        dict(pass_id=3, node=node, slot=slot, unit="row", first_unit=first, n_units=n, basis="measured")
        for slot in ("src1", "src2")
        for first, n in ((0, 3), (5, 2))
    ]
    touches = pd.concat([CASE["touches"], frame("touches", seen)], ignore_index=True)
    assert "src3" in _sources(node), "the builder's attention has a mask"
    masked = touched({**CASE, "touches": touches}, 3, node)
    assert masked["src1"] * rows == whole["src1"] * 5 and masked["src2"] * rows == whole["src2"] * 5
    assert masked["src0"] == whole["src0"]
    assert touched({**CASE, "touches": touches}, 4, node) == touched(CASE, 4, node)  # nobody recorded it: all rows


def test_attention_without_a_mask_uses_every_row() -> None:
    edges = CASE["graph_edges"]
    attention = edges["target"].isin(ATTENTION["node"])
    tables = {**CASE, "graph_edges": edges[~(attention & (edges["slot"] == "src3"))].reset_index(drop=True)}
    node = int(ATTENTION[ATTENTION["graph"] == 1]["node"].iloc[0])
    assert touched(tables, 3, node)["src1"] == touched(CASE, 3, node)["src1"]
    rows = accesses.operands(tables)
    assert rows.loc[(rows["op"] == "FLASH_ATTN_EXT"), "selects"].isna().all()


@pytest.mark.parametrize("n_rows", [1, 3])
def test_rows_with_holes_between_them_are_ranges_of_their_own(n_rows: int) -> None:
    """A weight of which a view skips every other row: the file is read where its rows lie."""
    nodes, weights = CASE["graph_nodes"], CASE["tensors"]
    name = "blk.0.attn_q.weight"
    at = (nodes["name"] == name) & (nodes["graph"] == 1)
    one = nodes[at].iloc[0]
    stride = 2 * int(one["nb1"])
    tables = changed(
        "graph_nodes",
        at,
        ne1=n_rows,
        nb1=stride,
        nb2=stride * n_rows,
        nb3=stride * n_rows,
        size_bytes=stride * (n_rows - 1) + int(one["nb1"]),
    )
    used = accesses.ranges(tables, [3])
    mine = used[used["source_name"] == name].drop_duplicates(["begin", "end"])
    offset = int(weights.loc[weights["name"] == name, "offset"].iloc[0])
    expected = [(offset + i * stride, offset + i * stride + int(one["nb1"])) for i in range(n_rows)]
    assert list(zip(mine["begin"], mine["end"], strict=True)) == expected


def test_rows_that_are_looked_up_in_a_view_lie_where_its_strides_say() -> None:
    nodes, name = CASE["graph_nodes"], "token_embd.weight"
    at = (nodes["name"] == name) & (nodes["graph"] == 1)
    row = int(nodes.loc[at, "nb1"].iloc[0])
    tables = changed("graph_nodes", at, nb1=3 * row)
    lookup = CASE["touches"].query("pass_id == 3 and unit == 'row'").iloc[:1].assign(first_unit=5, n_units=2)
    tables["touches"] = pd.concat([CASE["touches"].query("unit != 'row'"), lookup], ignore_index=True)
    used = accesses.ranges(tables, [3])
    mine = used[used["source_name"] == name]
    offset = int(CASE["tensors"].set_index("name")["offset"][name])
    begins = [offset + 15 * row, offset + 18 * row]
    assert list(zip(mine["begin"], mine["end"], strict=True)) == [(begin, begin + row) for begin in begins]


def test_a_type_that_nobody_knows_is_unseen_where_its_strides_leave_holes() -> None:
    nodes, name = CASE["graph_nodes"], "blk.0.attn_q.weight"
    at = (nodes["name"] == name) & (nodes["graph"] == 1)
    unknown = nodes["dtype"].astype("object").mask(at, "q9_9").astype("category")
    tables = changed("graph_nodes", at, nb1=int(nodes.loc[at, "nb1"].iloc[0]) * 2)
    tables["graph_nodes"] = tables["graph_nodes"].assign(dtype=unknown)
    missing = accesses.unseen(tables, [3])
    assert set(missing["source_name"]) == {name}
    used, read = coverage.tensors_read(tables, [3])
    number = int(CASE["tensors"].set_index("name")["tensor"][name])
    assert number in read and number not in used


def test_a_tensor_in_the_mapping_and_copied_counts_in_both() -> None:
    """Tied embeddings: rows are looked up through the mapping, the output multiplies by the repacked copy."""
    tensors = frame("tensors", [_tensor(0, 0, 1000, "embedding"), _tensor(1, 1000, 500, "norm")])
    used = pd.DataFrame(
        [
            dict(pass_id=1, tensor=0, memory="disk", begin=0, end=100),
            dict(pass_id=2, tensor=0, memory="disk", begin=50, end=150),
            dict(pass_id=2, tensor=0, memory="copied", begin=0, end=1000),
            dict(pass_id=2, tensor=1, memory="disk", begin=1000, end=1500),
        ]
    ).assign(file=0)
    nothing = used[:0][["tensor", "pass_id", "memory"]]
    use = coverage.tensor_use({"tensors": tensors}, used, nothing)
    assert use[["touched_bytes", "mapped_bytes", "copied_bytes"]].values.tolist() == [[1000, 150, 1000], [500, 500, 0]]
    groups = coverage.group_use(use, {"embedding": "embedding", "norm": "norm"}).set_index("group")
    assert groups.loc["embedding", ["touched_bytes", "mapped_bytes", "copied_bytes"]].tolist() == [1000, 150, 1000]


def _tensor(number: int, offset: int, size: int, component: str) -> dict[str, object]:
    shape = {f"ne{i}": 1 for i in range(4)}
    return dict(
        tensor=number,
        name=f"t{number}",
        file=0,
        offset=offset,
        size_bytes=size,
        dtype="F16",
        component=component,
        **shape,
    )


def test_a_group_is_unknown_where_one_of_its_tensors_is() -> None:
    columns = dict(component="ffn_up", size_bytes=8, memory="disk")
    bytes_used = ("touched_bytes", "mapped_bytes", "copied_bytes")
    use = pd.DataFrame([columns | dict.fromkeys(bytes_used, 8), columns | dict.fromkeys(bytes_used)])
    groups = coverage.group_use(use.astype(dict.fromkeys(bytes_used, "Int64")), theme.GROUP_OF)
    assert list(groups["group"]) == ["FFN"] and list(groups["size_bytes"]) == [16]
    assert groups[["touched_bytes", "mapped_bytes", "copied_bytes"]].isna().all(axis=None)


def test_warm_up_uses_nothing_that_is_measured() -> None:
    tables = scaled_case(2, 2)
    inside = [int(p) for p, k in zip(tables["passes"]["pass_id"], tables["passes"]["kind"], strict=True) if p > 1 and k]
    used = accesses.ranges(tables, inside)
    expected = coverage.tensor_use(tables, used, accesses.unseen(tables, inside))
    pd.testing.assert_frame_equal(coverage.measured_use(tables), expected)
