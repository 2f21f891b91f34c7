"""Which options use a device's memory best: every pair is tried by adding up layers one by one."""

import numpy as np
import pytest

from tests.builders import scaled_case
from tests.builders.runs import a_moe_run, a_run
from tracegen.analysis import device_place
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.device_place import Model, model_of, placed, sizes_of, table

N_LAYERS = 5


def model(seed: int, *, experts: bool = True) -> Model:
    random = np.random.default_rng(seed)
    rest = random.integers(1, 40, (3, N_LAYERS + 1)).astype(float) * [[1 << 20], [1 << 19], [1_000]]
    of_experts = random.integers(0, 400, (3, N_LAYERS + 1)).astype(float) * [[1 << 20], [1 << 18], [3_000]] * experts
    of_experts[:, -1] = 0
    whole = rest[2].sum() + of_experts[2].sum() + 5_000
    return Model(rest, of_experts, int(random.integers(0, 5)) << 20, 3 << 20, float(whole))


def by_hand(of: Model, n_gpu_layers: int, n_cpu_moe: int) -> tuple[float, float]:
    """What a device needs with these options, and the time that it takes over."""
    bytes_, ns = float(of.compute_bytes), 0.0
    for layer in range(N_LAYERS + 1):  # the last is the output
        if layer >= N_LAYERS + 1 - n_gpu_layers:
            bytes_ += of.rest[0, layer] + (of.kv_bytes if layer < N_LAYERS else 0)
            ns += of.rest[2, layer]
            if layer >= n_cpu_moe:
                bytes_ += of.experts[0, layer]
                ns += of.experts[2, layer]
    return bytes_, ns


@pytest.mark.parametrize("experts", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_no_other_pair_that_fits_leaves_the_cpu_less(seed: int, experts: bool) -> None:
    of = model(seed, experts=experts)
    pairs = {
        (n, moe): by_hand(of, n, moe)
        for n in range(1, N_LAYERS + 2)
        for moe in (range(N_LAYERS + 1) if experts else (0,))
    }
    for memory in np.linspace(0, 1.1 * of.whole_bytes, 40).astype(int):
        fitting = {pair: ns for pair, (needed, ns) in pairs.items() if needed <= memory}
        found = placed(of, int(memory))
        if not fitting:
            assert found is None
            continue
        assert found is not None and found.needed_bytes <= memory
        needed, ns = by_hand(of, found.n_gpu_layers, found.n_cpu_moe)
        assert found.needed_bytes == needed and found.kept_ns == pytest.approx(of.token_ns - ns)
        assert ns == pytest.approx(max(fitting.values()))


@pytest.mark.parametrize(
    "memory, options",
    [
        (10, None),
        (11, "-ngl 1"),
        (28, "-ngl 2 --cpu-moe"),
        (41, "-ngl 99 --cpu-moe"),
        (141, "-ngl 99 --n-cpu-moe 2"),
        (241, "-ngl 99 --n-cpu-moe 1"),
        (341, "-ngl 99"),
    ],
)
def test_options_are_those_of_llama_cpp(memory: int, options: str | None) -> None:
    """Three layers of 10 bytes with 100 of experts each, an output of 10, one byte of intermediate results."""
    rest, experts = np.full((3, 4), 10.0), np.array([[100.0, 100, 100, 0]] * 3)
    found = placed(Model(rest, experts, 0, 1, 400.0), memory)
    assert (found and found.options) == options


@pytest.mark.parametrize("n_layers, options", [(98, "-ngl 99"), (99, "-ngl 100"), (126, "-ngl 127")])
def test_all_layers_of_a_deep_model_are_asked_for_by_number(n_layers: int, options: str) -> None:
    rest = np.ones((3, n_layers + 1))
    found = placed(Model(rest, np.zeros_like(rest), 0, 0, 400.0), 1 << 20)
    assert found is not None and found.options == options


def test_a_whole_layer_is_taken_where_its_experts_save_more() -> None:
    """With 111 bytes: the output and one layer whole, as its experts take 100 of 400, all without experts 40."""
    rest, experts = np.full((3, 4), 10.0), np.array([[100.0, 100, 100, 0]] * 3)
    found = placed(Model(rest, experts, 0, 1, 400.0), 121)
    assert found is not None and found.options == "-ngl 2" and found.kept_ns == 400 - 120


def test_sizes_go_from_what_holds_something_to_what_holds_all() -> None:
    of = model(3)
    sizes = sizes_of(of, 20)
    assert sizes == sorted(sizes) and all(placed(of, size) for size in sizes)
    assert sizes[-2] < of.whole_bytes <= sizes[-1]
    rows = table(of, 3)
    assert len(rows) == 3 and rows["options"].iloc[-1] == "-ngl 99" and rows["kept_ns"].is_monotonic_decreasing


@pytest.mark.parametrize("moe", [False, True])
def test_a_run_is_added_up_by_layer(moe: bool) -> None:
    tables = scaled_case(4, 3, moe=moe)
    of = Analyses(a_moe_run() if moe else a_run(), tables)
    n = of.tokens["generate"]
    timed = of.timed[of.timed["phase"].eq("generate").to_numpy(bool)]
    used = of.of_kind(of.used, "generate")
    made = model_of(tables, timed, used, {"KV cache": 30, "compute": 7}, n)
    tensors = tables["tensors"]
    assert (made.n_layers, made.kv_bytes, made.compute_bytes) == (3, 10, 7)
    has_output = tensors["name"].eq("output.weight").any()
    names = tensors["name"].astype(str)
    left = tensors[~names.eq("token_embd.weight").to_numpy(bool)] if has_output else tensors
    assert made.rest[0].sum() + made.experts[0].sum() == left["size_bytes"].sum()
    exps = tensors[names.str.contains("_exps").to_numpy(bool)]
    for layer in range(3):
        assert made.experts[0, layer] == exps.loc[exps["layer"].eq(layer).to_numpy(bool), "size_bytes"].sum()
        rows = timed[timed["layer"].eq(layer).fillna(False).to_numpy(bool)]
        assert made.rest[2, layer] + made.experts[2, layer] == pytest.approx(float(rows["duration_ns"].sum()) / n)
    assert bool(made.experts[0].any()) == moe
    of_embedding = timed["component"].eq("embedding").to_numpy(bool)
    moved = made.rest[2].sum() + made.experts[2].sum()
    assert moved == pytest.approx(float(timed.loc[~of_embedding, "duration_ns"].sum()) / n)
    assert made.token_ns >= moved and placed(made, 1 << 50) is not None


def test_experts_are_found_by_the_names_that_llama_cpp_looks_for() -> None:
    for name in ("blk.0.ffn_up_exps.weight", "blk.11.ffn_gate_up_exps.weight", "blk.2.ffn_down_chexps.weight"):
        assert device_place.is_of_experts(name), name
    for name in ("blk.0.ffn_up_shexp.weight", "blk.0.ffn_gate_inp.weight", "blk.0.ffn_up.weight", "output.weight"):
        assert not device_place.is_of_experts(name), name
