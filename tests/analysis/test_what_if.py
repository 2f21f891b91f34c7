"""Other orders and sizes of memory: byte by byte in plain loops, chains by hand, and a device that is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracegen.analysis import file_order, order, read_time, what_if
from tracegen.contract.facts import Measurement

AXIS = 1000  # where the second file begins on the disk axis


def a_model() -> dict[str, pd.DataFrame]:
    """Two files: 0 holds tensors 0 (16 bytes, 4 experts), 1 (10 bytes) and 2 (24 bytes, 4 experts); 1 holds 3 (9)."""
    tensors = pd.DataFrame(
        {
            "tensor": [0, 1, 2, 3],
            "file": [0, 0, 0, 1],
            "offset": [32, 64, 96, 32],
            "size_bytes": [16, 10, 24, 9],
            "component": ["expert_up", "norm", "expert_down", "output"],
            "layer": pd.array([0, 0, 0, None], dtype="Int32"),
            "n_experts": pd.array([4, None, 4, None], dtype="Int32"),
        }
    )
    files = pd.DataFrame({"file": [0, 1], "axis_begin": [0, AXIS], "size_bytes": [200, 100]})
    routing = pd.DataFrame({"pass_id": [], "row": [], "layer": [], "rank": [], "expert": []}, dtype="int64")
    return {"tensors": tensors, "files": files, "routing": routing}


STARTS = {0: 32, 1: 64, 2: 96, 3: AXIS + 32}
SIZES = {0: 16, 1: 10, 2: 24, 3: 9}
touches = st.lists(st.tuples(*map(st.integers, (0, 0, 1), (3, 23, 24)), st.booleans()), min_size=1, max_size=40)


def accesses(rows: list[tuple[int, int, int, bool]]) -> pd.DataFrame:
    """Accesses (tensor, begin, length, whether a new pass begins), cut to the tensor."""
    records, pass_id = [], 0
    for node, (tensor, begin, length, new) in enumerate(rows):
        pass_id += new
        begin %= SIZES[tensor]
        end = min(begin + length, SIZES[tensor])
        records.append((pass_id, node, "src0", tensor, begin + STARTS[tensor], end + STARTS[tensor]))
    table = pd.DataFrame(records, columns=["pass_id", "node", "slot", "tensor", "begin", "end"])
    layer = pd.array([None if tensor == 3 else 0 for tensor in table["tensor"]], dtype="Int32")
    return table.assign(layer=layer, component="other", file=(table["tensor"] == 3).astype(int))


@given(touches)
def test_parts_are_what_was_touched(rows: list[tuple[int, int, int, bool]]) -> None:
    """The parts of an access are its bytes, in order; two parts are equal or share no byte."""
    touched = accesses(rows)
    used = what_if.parts(a_model(), touched)
    for operand, of in used.groupby("operand"):
        bytes_ = [b for part in of.to_dict("records") for b in range(part["begin"], part["end"])]
        row = touched.iloc[int(operand) - 1]
        assert bytes_ == list(range(row["begin"], row["end"]))
    stretches = used[["part", "begin", "end"]].drop_duplicates()
    assert stretches["part"].is_unique
    inner = stretches.sort_values("begin")
    assert (inner["begin"].to_numpy()[1:] >= inner["end"].to_numpy()[:-1]).all()


@settings(max_examples=40)
@given(touches)
def test_without_memory_all_accesses_are_read_as_they_are_joined(rows: list[tuple[int, int, int, bool]]) -> None:
    touched = accesses(rows)
    tables = a_model()
    passes = frozenset(touched["pass_id"])
    used = what_if.parts(tables, touched)
    found = what_if.simulated(used, what_if.shifts(tables, used, touched, passes), passes, read_time.STATED)
    none = found[found["memory_share"] == 0].set_index("order")
    assert none["read_bytes"].tolist() == pytest.approx([(touched["end"] - touched["begin"]).sum() / len(passes)] * 4)
    for name in ("today", *file_order.ORDERS):
        moved = touched
        if name != "today":
            arranged = file_order.arranged(tables["tensors"], name, touched)
            moved = file_order.moved(touched, tables["tensors"], file_order.places(arranged))
        steps = order.steps(moved).assign(same_file=True)  # the axis of the two files is one line here
        joined = order.is_sequential(steps, what_if.TOLERANCE)
        assert none.loc[name, "reads"] == pytest.approx((len(moved) - joined.sum()) / len(passes))
    whole = found[found["memory_share"] == 1]
    distinct = used.drop_duplicates("part")
    assert whole["read_bytes"].tolist() == pytest.approx([distinct.eval("end - begin").sum() / len(passes)] * 4)


def test_coarse_parts_hold_what_was_touched() -> None:
    """Rows of a tensor that is also read whole cut it finely; with too many parts, it counts as touched whole."""
    touched = accesses([*((3, row, 1, False) for row in range(9)), *[(3, 0, 9, True)] * 4])
    assert len(what_if.parts(a_model(), touched)) == 9 + 4 * 9
    used = what_if.parts(a_model(), touched, most=44)
    assert len(used) == 9 + 4 and set(used["part"]) == {used["part"].iloc[0]}
    size = (used["end"] - used["begin"]).groupby(used["operand"]).sum()
    assert (size.to_numpy() >= (touched["end"] - touched["begin"]).to_numpy()).all()


def routed(*tokens: tuple[int, ...]) -> pd.DataFrame:
    rows = [(p, 0, 0, rank, expert) for p, of in enumerate(tokens) for rank, expert in enumerate(of)]
    return pd.DataFrame(rows, columns=["pass_id", "row", "layer", "rank", "expert"])


def test_experts_that_are_chosen_together_stand_side_by_side() -> None:
    slots = what_if.expert_slots(routed((0, 3), (0, 3), (1, 2), (3, 1)), frozenset(range(4)))
    assert slots[0].tolist() == [1, 2, 3, 0]  # 3 is chosen most, 0 most often with it; then 1 (twice), then 2
    assert what_if.expert_slots(routed((0, 3)), frozenset([9])) == {}


def test_chosen_pairs_become_one_read() -> None:
    """Four experts of 4 bytes, tokens choose 0 and 2: two reads each today (with no tolerance), one afterwards."""
    tables = a_model() | {"routing": routed((0, 2), (0, 2))}
    touched = pd.concat([accesses([(0, 0, 4, p > 0), (0, 8, 4, False)]).assign(pass_id=p, node=p) for p in (0, 1)])
    touched = touched.reset_index(drop=True)
    used = what_if.parts(tables, touched)
    shift = what_if.shifts(tables, used, touched, frozenset([0, 1]))["co-activated"]
    assert (used["begin"] + shift).tolist() == [32, 36, 32, 36] and used["begin"].tolist() == [32, 40, 32, 40]


def test_orders_are_scored_on_other_passes_than_they_are_learned_on() -> None:
    kinds = ["warmup", "prompt", *["generate"] * 10]
    numbers = range(len(kinds))
    passes = pd.DataFrame({"pass_id": numbers, "kind": kinds, "begin_ns": numbers, "end_ns": numbers})
    found = what_if.scored({"passes": passes})
    assert found.is_apart and found.passes == {10, 11} and found.learned == set(range(1, 10))
    few = what_if.scored({"passes": passes.head(5)})
    assert not few.is_apart and few.passes == {2, 3, 4} and few.learned == {1, 2, 3, 4}
    assert what_if.scored({"passes": passes.head(2)}).passes == {1}


# The time of a read


def measured(latency: float, rate: float, sizes: list[int], noise: float = 0.0) -> list[Measurement]:
    random = np.random.default_rng(1)
    return [
        Measurement(
            pattern="random",
            queue_depth=1,
            block_bytes=size,
            bytes_per_second=size * 1e9 / ((latency + size / rate * 1e9) * (1 + noise * random.standard_normal())),
        )
        for size in sizes
    ]


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_a_known_device_is_recovered(noise: float) -> None:
    found = read_time.fitted(measured(80_000, 5e8, [4096, 16384, 131072, 2097152], noise))
    assert found.latency_ns == pytest.approx(80_000, rel=1e-6 + 3 * noise)
    assert found.bytes_per_second == pytest.approx(5e8, rel=1e-6 + 3 * noise)
    assert found.r_squared == pytest.approx(1, abs=1e-9 + noise)
    assert found.ns(2, 1e9) == pytest.approx(2 * found.latency_ns + 1e18 / found.bytes_per_second)


def test_other_patterns_and_too_few_sizes_are_no_measurement() -> None:
    deep = [replace(m, queue_depth=4) for m in measured(1e5, 1e9, [4096, 16384])]
    assert read_time.fitted(deep) is read_time.STATED
    assert read_time.fitted(measured(1e5, 1e9, [4096])) is read_time.STATED
    assert read_time.fitted([]) is read_time.STATED and read_time.STATED.r_squared is None


def test_a_latency_is_never_negative() -> None:
    bent = [replace(m, bytes_per_second=1e9 / m.block_bytes**0.2) for m in measured(0, 1, [4096, 16384, 131072])]
    found = read_time.fitted(bent)
    assert found.latency_ns == 0 and found.bytes_per_second > 0


def test_a_device_that_is_no_faster_with_small_reads() -> None:
    flat = [replace(m, bytes_per_second=m.block_bytes * 1e4) for m in measured(1, 1, [4096, 16384, 131072])]
    found = read_time.fitted(flat)
    assert found is read_time.STATED or found.ns(1, 4096) == pytest.approx(1e5, rel=0.01)
