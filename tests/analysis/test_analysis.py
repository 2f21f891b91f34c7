"""Every analysis against a count by hand or by brute force."""

import pandas as pd
import pytest

from tests.builders import scaled_case, without
from tests.golden.hard_case import hard_case
from tracegen.analysis import accesses, blocks, buffers, coverage, heatmap, operations, passes, summary

CASE = scaled_case(5, 4, moe=True, splits=2)
HARD = hard_case()


def measured_ranges(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return accesses.ranges(tables, passes.measured(tables)["pass_id"])


def measured_unseen(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return accesses.unseen(tables, passes.measured(tables)["pass_id"])


def summarised(tables: dict[str, pd.DataFrame]) -> summary.Summary:
    return summary.summarise(tables, operations.op_rows(tables), measured_ranges(tables), measured_unseen(tables))


def test_load_and_warmup_are_not_measured() -> None:
    assert list(passes.measured(CASE)["kind"]) == ["prompt", *["generate"] * 5]
    assert passes.labels(CASE) == {
        0: "load",
        1: "warm-up",
        2: "prompt → token 0",
        **{k + 2: f"token {k}" for k in range(1, 6)},
    }


def test_touched_bytes_equal_a_count_of_single_bytes() -> None:
    touched = {(r["file"], at) for r in measured_ranges(HARD).to_dict("records") for at in range(r["begin"], r["end"])}
    assert coverage.touched_file_bytes(measured_ranges(HARD)) == len(touched) == 512 + 1024 + 4608
    use = coverage.tensor_use(HARD, measured_ranges(HARD), measured_unseen(HARD)).set_index("name")
    assert use["touched_bytes"].to_dict() == {
        "token_embd.weight": 4 * 128,
        "blk.0.ffn_gate_inp.weight": 1024,
        "blk.0.ffn_gate_exps.weight": 4608,
    }
    assert use["memory"].to_dict()["blk.0.ffn_gate_exps.weight"] == "copied"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([(0, 4), (4, 8)], [(0, 8)]),
        ([(0, 9), (1, 2), (3, 4)], [(0, 9)]),
        ([(5, 6), (0, 1)], [(0, 1), (5, 6)]),
        ([(3, 3)], []),
    ],
)
def test_ranges_that_touch_or_overlap_are_joined(given: list[tuple[int, int]], expected: list[tuple[int, int]]) -> None:
    used = pd.DataFrame({"file": 0, "begin": [a for a, _ in given], "end": [b for _, b in given]})
    joined = coverage.union(used, "file")
    assert list(zip(joined["begin"], joined["end"], strict=True)) == expected


def test_what_nobody_saw_is_unknown_and_not_unused() -> None:
    """The hard case without the touches of its experts: used in both prompt passes, how much of it is not known."""
    touches = HARD["touches"]
    tables = {**HARD, "touches": touches[touches["unit"] != "expert"].reset_index(drop=True)}
    assert measured_unseen(HARD).empty
    missing = measured_unseen(tables)
    assert set(missing["source_name"]) == {"blk.0.ffn_gate_exps.weight"} and set(missing["pass_id"]) == {1, 2}
    use = coverage.tensor_use(tables, measured_ranges(tables), missing).set_index("name")
    experts = use.loc["blk.0.ffn_gate_exps.weight"]
    assert experts["touched_bytes"] is pd.NA and experts["n_passes"] == 2 and experts["memory"] == "copied"
    assert use["touched_bytes"].notna().sum() == len(use) - 1
    s = summarised(tables)
    assert s.touched_bytes is None and s.touched_share is None and s.n_never_touched == 0


@pytest.mark.parametrize("kept", ["all", "no experts", "no touches", "one pass", "no pass"])
@pytest.mark.parametrize("case", [CASE, HARD, scaled_case(3, 2, moe=False)])
def test_tensors_read_are_those_of_all_ranges(case: dict[str, pd.DataFrame], kept: str) -> None:
    """One pass of each graph stands for all of them, and yet nothing is missed."""
    touches, ids = case["touches"], passes.measured(case)["pass_id"]
    if kept == "no experts":
        touches = touches[touches["unit"] != "expert"].reset_index(drop=True)
    elif kept == "no touches":
        touches = touches[:0]
    tables, ids = {**case, "touches": touches}, {"one pass": ids[-1:], "no pass": ids[:0]}.get(kept, ids)
    used = accesses.ranges(tables, ids)
    tensors = set(used.loc[used["end"] > used["begin"], "tensor"].dropna())
    assert coverage.tensors_read(tables, ids) == (tensors, set(accesses.unseen(tables, ids)["tensor"]))
    assert bool(tensors) is (kept != "no pass")


def test_summary_of_the_hard_case() -> None:
    s = summarised(HARD)
    assert (s.n_prompt_passes, s.n_generate_passes, s.n_outside) == (2, 0, 1)
    assert (s.prompt_tokens, s.generated_tokens, s.prompt_ns) == (5, 1, 10_000)
    assert s.prompt_rate == pytest.approx(5 / 10e-6)
    assert s.generate_rate is None and s.generate_token_bytes["disk"] is None
    assert s.touched_share == pytest.approx(6144 / 7680)
    weights = int(HARD["tensors"]["size_bytes"].sum())
    assert (s.weight_bytes, s.header_bytes) == (weights, 7680 - weights)
    assert s.touched_weight_share == pytest.approx(6144 / weights)


def test_a_header_is_no_untouched_weight() -> None:
    """Each byte of each tensor is touched; the file is larger by its header and by the padding between tensors."""
    used = HARD["tensors"].assign(pass_id=1, memory="disk", begin=HARD["tensors"]["offset"])
    used = used.assign(end=used["begin"] + used["size_bytes"])
    s = summary.summarise(HARD, operations.op_rows(HARD), used, accesses.unseen(HARD, []))
    assert s.touched_weight_share == 1 and s.touched_share is not None and s.touched_share < 1
    assert s.header_bytes == s.file_bytes - s.touched_weight_bytes > 0
    unknown = HARD | {
        "tensors": HARD["tensors"].assign(
            size_bytes=HARD["tensors"]["size_bytes"].astype("Int64").mask(lambda n: n == n.max())
        )
    }
    assert coverage.tensor_bytes(unknown) is None


def test_tokens_of_passes_that_may_give_several_are_not_counted() -> None:
    passes = HARD["passes"].assign(kind=HARD["passes"]["kind"].astype(object).replace("prompt", "mixed"))
    assert summarised({**HARD, "passes": passes}).generated_tokens is None


def test_an_unknown_touch_makes_the_pass_unknown_not_smaller() -> None:
    tables = without(CASE, "touches")
    s = summarised(tables)
    assert s.generate_token_bytes["copied"] is None


def test_destinations_of_writes_are_not_read() -> None:
    rows = accesses.accesses(CASE, [3])
    written = rows[(rows["op"] == "SET_ROWS")].groupby("slot", observed=True)["touched_bytes"].max()
    assert written.to_dict() == {"dst": 256 * 2, "src0": 256 * 4, "src1": 8, "src2": 0}


def test_the_cache_is_known_by_its_tensors() -> None:
    assert buffers.buffer_groups(CASE) == {1: "copied weights", 2: "KV cache", 3: "compute"}


def test_equal_layers_fold_and_the_others_do_not() -> None:
    folded = blocks.fold(CASE, 1)
    assert [b.title for b in folded] == ["input", "layers 0–3", "output"]
    nodes = CASE["graph_nodes"]
    computing = nodes[(nodes["graph"] == 1) & (nodes["kind"] != "leaf")]["node"]
    assert sorted(n for b in folded for m in b.members for n in m) == sorted(computing)
    changed = dict(CASE)
    odd = (nodes["name"] == "ffn_moe_probs-2").to_numpy()
    changed["graph_nodes"] = nodes.assign(op=nodes["op"].astype("object").mask(odd, "SIGMOID").astype("category"))
    assert [b.title for b in blocks.fold(changed, 1)] == ["input", "layers 0–1", "layer 2", "layer 3", "output"]


def test_a_graph_without_layers_is_one_block() -> None:
    nodes = CASE["graph_nodes"]
    bare = dict(CASE, graph_nodes=nodes.assign(layer=pd.array([None] * len(nodes), dtype="Int32")))
    assert [b.kind for b in blocks.fold(bare, 0)] == ["graph"]


def test_rows_of_the_heatmap_keep_warmup_apart_and_join_tokens() -> None:
    tables = scaled_case(100, 2)
    rows = heatmap.display_rows(tables, max_rows=30)
    assert rows["row"].nunique() <= 30 and rows["label"].iloc[0] == "warm-up" and rows["outside"].sum() == 1
    assert rows.iloc[2]["label"] == "token 1–4" and rows.iloc[2]["n_passes"] == 4


def test_bands_tile_the_tensors() -> None:
    bands = heatmap.bands(CASE, "component")
    assert bands["n_tensors"].sum() == len(CASE["tensors"])
    assert list(heatmap.bands(HARD, "layer")["layer"]) == [None, 0, 0]


def test_a_median_of_sums_is_not_a_sum_of_medians() -> None:
    """Two kinds of memory that are each largest in another pass; and medians of an even number of passes."""
    ops = operations.op_rows(CASE)
    generate = [3, 4, 5, 6]
    tables = {**CASE, "passes": CASE["passes"][CASE["passes"]["pass_id"] != 7].reset_index(drop=True)}
    first = ops.drop_duplicates("pass_id").index
    for pass_id, (disk, buffer) in zip(generate, [(10, 0), (0, 10), (0, 10), (10, 0)], strict=True):
        at = first[ops.loc[first, "pass_id"] == pass_id]
        mine = ops["pass_id"] == pass_id
        ops.loc[mine, ["disk_bytes", "copied_bytes", "buffer_bytes"]] = 0
        ops.loc[at, ["disk_bytes", "buffer_bytes"]] = [disk, buffer]
    used, unseen = measured_ranges(tables), measured_unseen(tables)
    s = summary.summarise(tables, ops, used, unseen)
    assert s.generate_token_bytes == {"disk": 5, "copied": 0, "buffer": 5}
    assert (s.weight_token_bytes, s.touched_token_bytes) == (5, 10)
    executed = (ops["state"] == "executed").to_numpy(bool)
    fewer = ops.drop(index=[ops.index[executed & (ops["pass_id"] == number).to_numpy(bool)][0] for number in (3, 4)])
    whole = int((executed & (ops["pass_id"] == 5).to_numpy(bool)).sum())
    assert summary.summarise(tables, fewer, used, unseen).ops_per_token == whole - 1, (
        "the lower of the two in the middle"
    )
