"""How long a token takes with other layers on a device: every choice is added up layer by layer."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tracegen.analysis.device_place import Model
from tracegen.analysis.device_speed import SPREAD, Mixed, of_device, of_held, table
from tracegen.analysis.remedies.device import without
from tracegen.analysis.remedies.remedy import WIDEST

N_LAYERS = 5
NS = 1e6  # of what stays, as copies and time outside operations


def mixed(seed: int, held: int, *, n_cpu_moe: int = 0, experts: bool = True, unknown: bool = False) -> Mixed:
    """A device with the output and the last `held` - 1 layers, without the experts of the first `n_cpu_moe` ones.

    `unknown`: how long the CPU takes for experts is not known.
    """
    random = np.random.default_rng(seed)
    rest, of_experts = (random.integers(1, most, (3, N_LAYERS + 1)).astype(float) for most in (40, 400))
    of_experts = of_experts * experts
    of_experts[:, -1] = 0
    for of in (rest, of_experts):
        of *= [[1 << 20], [1 << 18], [1_000]]
    layer = np.arange(N_LAYERS + 1)
    has = layer >= N_LAYERS + 1 - held
    on_device = np.stack([has, has & (layer >= n_cpu_moe) & (of_experts[0] > 0)])
    took = np.where(on_device, 0, np.stack([rest[2], of_experts[2]]))
    rest[2], of_experts[2] = took
    there, here = (np.sort(random.integers(1, 9, (2, 2, N_LAYERS + 1)) * 1e4, axis=0) for _ in range(2))
    there, here = (of * (np.stack([rest[0], of_experts[0]]) > 0) for of in (there, here))  # nothing takes no time
    here = np.where(on_device, here, took)
    if unknown:
        here[:, 1] = np.where(on_device[1], np.nan, here[:, 1])
    token_ns = took.sum() + there[1][on_device].sum() + NS
    return Mixed(Model(rest, of_experts, 3 << 20, 5 << 20, token_ns), "GPU0[a]", "GPU0", on_device, there, here, NS, {})


def by_hand(of: Mixed, n_gpu_layers: int, n_cpu_moe: int) -> tuple[float, float] | None:
    """Between which times a token takes with this choice; None where that is not known."""
    low = high = of.model.token_ns
    for k, i in product((0, 1), range(N_LAYERS + 1)):
        gets = i >= N_LAYERS + 1 - n_gpu_layers and (k == 0 or i >= n_cpu_moe)
        there, here = of.there[:, k, i], of.here[:, k, i]
        if gets and not of.on_device[k, i]:
            low, high = low + there[0] - here[1], high + there[1] - here[0]
        elif not gets and of.on_device[k, i]:
            low, high = low + here[0] - there[1], high + here[1] - there[0]
    layers = range(N_LAYERS + 1 - n_gpu_layers, N_LAYERS + 1)
    turns = sum(i < n_cpu_moe and of.model.experts[0, i] > 0 for i in layers) + (n_gpu_layers > 0)
    now = 1 + sum(of.on_device[0, i] and of.model.experts[0, i] > 0 and not of.on_device[1, i] for i in range(N_LAYERS))
    more = (turns - now) * NS / now
    return None if np.isnan(low + high) else (low + min(more, 0), high + max(more, 0))


def widened(low: float, high: float) -> tuple[float, float]:
    """What is said: equal runs differ."""
    return max(low / SPREAD, 1), max(high * SPREAD, 1)


def needed(of: Mixed, n_gpu_layers: int, n_cpu_moe: int) -> float:
    layers = range(N_LAYERS + 1 - n_gpu_layers, N_LAYERS + 1)
    held = sum(of.model.rest[0, i] + of.model.experts[0, i] * (i >= n_cpu_moe) for i in layers)
    return float(held + (len(layers) - 1) * of.model.kv_bytes + of.model.compute_bytes if n_gpu_layers else 0)


@pytest.mark.parametrize("kind", [{}, {"experts": False}, {"unknown": True}])
@pytest.mark.parametrize("held, n_cpu_moe", [(1, 0), (3, 0), (3, 4), (N_LAYERS, 2), (N_LAYERS + 1, N_LAYERS)])
@pytest.mark.parametrize("seed", range(6))
def test_no_other_choice_that_fits_is_faster(seed: int, held: int, n_cpu_moe: int, kind: dict[str, bool]) -> None:
    of = mixed(seed, held, n_cpu_moe=n_cpu_moe, **kind)
    choices = list(product(range(N_LAYERS + 2), range(N_LAYERS + 1)))
    times = {choice: by_hand(of, *choice) for choice in choices}
    for memory in (0, 50 << 20, 200 << 20, 900 << 20, None):
        fitting = {c: t for c, t in times.items() if t and (memory is None or needed(of, *c) <= memory)}
        found = of.fastest(memory)
        if not fitting:
            assert found is None
            continue
        assert found is not None
        chosen = found.n_gpu_layers, found.n_cpu_moe
        fitting = {choice: widened(*ends) for choice, ends in fitting.items()}
        assert fitting[chosen][1] == pytest.approx(min(high for _, high in fitting.values()))
        assert (found.low_ns, found.high_ns) == pytest.approx(fitting[chosen])
        assert found.needed_bytes == needed(of, *chosen)
        assert found.more_bytes == needed(of, *chosen) - of.held_bytes


@pytest.mark.parametrize("held, n_cpu_moe", [(1, 0), (4, 0), (4, 3), (N_LAYERS + 1, N_LAYERS)])
def test_what_a_run_has_takes_what_it_took(held: int, n_cpu_moe: int) -> None:
    of = mixed(7, held, n_cpu_moe=n_cpu_moe)
    assert of._times[:, held, n_cpu_moe] == pytest.approx([of.model.token_ns] * 2)
    assert of.held_bytes == needed(of, held, n_cpu_moe)


@pytest.mark.parametrize("seed", range(6))
def test_a_device_without_experts_may_get_some_and_how_long_they_take_is_cut(seed: int) -> None:
    of = mixed(seed, N_LAYERS + 1, n_cpu_moe=N_LAYERS)
    assert not of.on_device[1].any()
    found = of.with_experts(None)
    lows = {c: by_hand(of, *c) for c in product(range(N_LAYERS + 2), range(N_LAYERS + 1))}
    least = min(widened(*ends)[0] for ends in lows.values() if ends)
    assert found is not None and found.low_ns == pytest.approx(least) and found.high_ns <= WIDEST * found.low_ns
    assert mixed(seed, N_LAYERS + 1).with_experts(None) is None
    assert mixed(seed, N_LAYERS + 1, n_cpu_moe=N_LAYERS, experts=False).with_experts(None) is None


def test_a_fast_device_gets_all_and_a_slow_one_nothing() -> None:
    of = mixed(3, 3)
    best, worst = (replace(of, there=of.there * times).fastest(None) for times in (1e-3, 1e3))
    assert best is not None and best.options == "-ngl 99" and best.more_bytes > 0
    assert worst is not None and worst.options == "-ngl 0" and worst.more_bytes < 0


def test_a_side_takes_for_others_between_its_fastest_and_its_slowest_layer() -> None:
    """Layers of 10, 20, 30 and 40 bytes, an output of 100; the first two took 10 and 40 ns."""
    touched, took = np.array([[10.0, 20, 30, 40, 100]]), np.array([[10.0, 40, 0, 0, 0]])
    held = np.array([[True, True, False, False, False]])
    assert of_held(touched, took, held).tolist() == [[[10, 40, 30, 40, 100]], [[10, 40, 60, 80, 200]]]
    assert of_held(touched, took, held, 0.5)[0].tolist() == [[10, 40, 30, 40, 50]]
    assert np.isnan(of_held(touched, took, ~held & (touched < 0))).all()


def test_what_a_device_computed_for_is_of_all_its_bytes_or_of_layers_alone() -> None:
    touched, held = np.array([[10.0, 10, 20], [0, 0, 0]]), np.array([[False, True, True], [False] * 3])
    least, most = of_device(touched, held, None, (30.0, 60.0))
    assert least[0].tolist() == [10, 10, 20] and most[0].tolist() == [60, 60, 0]
    assert least[0][held[0]].sum() == 30 and most[0][held[0]].sum() == 60
    assert of_device(touched, held, None, (0.0, 60.0))[0, 0].tolist() == [20, 20, 40]


def test_stamps_say_what_each_layer_took() -> None:
    touched, held = np.array([[10.0, 10, 20], [0, 0, 0]]), np.array([[False, True, True], [False] * 3])
    found = of_device(touched, held, np.array([[0.0, 7, 9], [0, 0, 0]]), (16.0, 16.0))
    assert found[:, 0].tolist() == [[7, 7, 9], [7, 7, 9]]


def test_experts_that_a_device_never_had_take_as_long_as_other_weights_at_most() -> None:
    touched, held = np.array([[10.0, 10, 20], [8, 8, 0]]), np.array([[True] * 3, [False] * 3])
    least, most = of_device(touched, held, None, (30.0, 60.0))
    assert least[1].tolist() == [0, 0, 0] and most[1].tolist() == [24, 24, 0]


def test_sizes_that_change_nothing_have_no_row() -> None:
    of = mixed(3, 3)
    rows = table(replace(of, there=of.there / 1e3), 8)
    assert len(rows) == rows["options"].nunique() > 1
    assert (rows["needed_bytes"] <= rows["memory_bytes"]).all()


@pytest.mark.parametrize(
    "flags, left",
    [
        (["-ngl", "20", "--temp", "0"], ["--temp", "0"]),
        (["--rpc", "127.0.0.1:1", "--n-gpu-layers=20", "-cmoe"], ["--rpc", "127.0.0.1:1"]),
        (["--n-cpu-moe", "4", "-ot", "exps=CPU", "-fa"], ["-fa"]),
        ([], []),
    ],
)
def test_flags_keep_what_places_nothing(flags: list[str], left: list[str]) -> None:
    assert without(flags) == left
