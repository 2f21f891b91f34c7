"""llama.cpp's cache of experts on a device, against the same rule played with plain lists."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import scaled_case
from tracegen.analysis import expert_cache
from tracegen.analysis.expert_cache import Group
from tracegen.contract.tables import frame

N_EXPERTS, MIB = 6, 1 << 20


def tables(passes: list[tuple[str, int, list[list[int]]]], *, other_type: bool = False) -> dict[str, pd.DataFrame]:
    """Two layers of experts of 1 MiB; a pass has a kind, a number of tokens, and what each layer chooses, by rank."""
    components = ("expert_gate", "expert_up", "expert_down")
    tensors = [
        dict(tensor=3 * layer + i, name=f"blk.{layer}.{component}", file=0, offset=0, layer=layer, component=component)
        | dict(dtype="Q8_0" if layer and other_type else "Q4_0", ne0=32, ne1=32, ne2=N_EXPERTS, n_experts=N_EXPERTS)
        | dict(size_bytes=N_EXPERTS * (MIB // 4 if i else MIB // 2))
        for layer in range(2)
        for i, component in enumerate(components)
    ]
    routing = [
        dict(pass_id=p, layer=layer, row=i // 2, rank=i % 2, expert=expert)
        for p, (_, _, chosen) in enumerate(passes)
        for layer, experts in enumerate(chosen)
        for i, expert in enumerate(experts)
    ]
    rows = [dict(pass_id=p, kind=kind, n_tokens=n, begin_ns=p) for p, (kind, n, _) in enumerate(passes)]
    return {
        "tensors": frame("tensors", tensors),
        "routing": frame("routing", routing),
        "passes": frame("passes", rows),
    }


def played(passes: list[tuple[str, int, list[list[int]]]], n_slots: int, *, shared: bool) -> tuple[int, int]:
    """Hits and misses of generate passes. `shared`: both layers have one list, the oldest first."""
    lists: list[list[tuple[int, int]]] = [[], []]
    hits = misses = 0
    for kind, _, chosen in passes:
        for layer, experts in enumerate(chosen):
            held = lists[0 if shared else layer]
            unique = [(layer, e) for e in dict.fromkeys(experts)]
            found = [e for e in unique if e in held]
            if (len(experts) + 1) // 2 > 32 or len(unique) > n_slots:
                found = []
            else:
                for e in found:
                    held.remove(e)
                held += found
                for e in sorted(set(unique) - set(found)):
                    if len(held) == n_slots:
                        del held[0]
                    held.append(e)
            if kind == "generate":
                hits, misses = hits + len(found), misses + len(unique) - len(found)
    return hits, misses


CHOSEN = st.lists(st.permutations(range(N_EXPERTS)).map(lambda order: order[:2]), min_size=2, max_size=2)
ROWS = st.one_of(*(st.lists(st.integers(0, N_EXPERTS - 1), min_size=n, max_size=n) for n in (2, 3, 9, 64, 66)))
LARGE = st.lists(ROWS, min_size=2, max_size=2)  # of so many numbers, two for each row
PASSES = st.lists(
    st.one_of(
        st.tuples(st.just("generate"), st.just(1), CHOSEN),
        st.tuples(st.just("prompt"), st.just(33), LARGE),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60)
@given(PASSES, st.booleans())
def test_hits_are_those_of_the_rule_played_with_lists(
    passes: list[tuple[str, int, list[list[int]]]], other_type: bool
) -> None:
    of = tables(passes, other_type=other_type)
    found = expert_cache.table(of)
    assert len(found) and found["n_slots"].iloc[-1] == 2 * N_EXPERTS
    for row in found.itertuples():
        n_slots = row.n_slots // (2 if other_type else 1)
        expected = played(passes, n_slots, shared=not other_type)
        assert (row.n_hits, row.n_misses) == expected, row
        n = sum(kind == "generate" for kind, _, _ in passes)
        assert np.isnan(row.uploaded_bytes) if not n else row.uploaded_bytes == expected[1] * MIB / n


def test_slots_are_those_that_the_memory_holds_with_one_more_behind_them() -> None:
    group = Group((0, 1), 4, (MIB, MIB // 2))
    assert group.slots(3 * 3 * MIB // 2 - 1, 2) == 0  # two slots and the one behind them do not fit: 4.5 MiB
    assert group.slots(3 * 3 * MIB // 2, 2) == 2
    assert group.slots(1 << 40, 2) == 8 and group.allocated(8) == 9 * 3 * MIB // 2
    assert group.slots(3 * 3 * MIB // 2, 3) == 0  # too few for a token


def test_layers_of_equal_types_and_shapes_share_slots() -> None:
    passes = [("generate", 1, [[0, 1], [0, 1]])]
    assert [of.layers for of in expert_cache.groups(tables(passes))] == [(0, 1)]
    assert [of.layers for of in expert_cache.groups(tables(passes, other_type=True))] == [(0,), (1,)]


@pytest.mark.parametrize("moe", [True, False])
def test_a_whole_cache_misses_each_expert_once(moe: bool) -> None:
    found = expert_cache.table(scaled_case(2, 4, moe=moe))
    if not moe:
        assert found.empty
        return
    last = found.iloc[-1]
    assert last["held_share"] == 1 and 0 < last["n_misses"] <= last["n_slots"]
    assert found["hit_rate"].is_monotonic_increasing


def test_what_was_copied_into_slots_had_not_been_held() -> None:
    """Six choices of generated tokens, of which two experts were copied: in a whole and in parts of banks."""
    of = tables([("prompt", 40, [[0, 1], [2, 3]]), ("generate", 1, [[0, 1], [2, 3]]), ("generate", 1, [[0], [1]])])
    sizes = {"moe_cache.0.blk.0.expert_gate": 2 * MIB // 2, "moe_cache.0.blk.0.expert_up": 2 * MIB // 4}
    sizes["moe_cache.0.blk.0.expert_down"] = 2 * MIB // 4
    rows = [
        dict(pass_id=pass_id, copy=i, split=0, tensor=name, source="CPU", target="GPU0", size_bytes=size)
        | dict(begin_ns=0, end_ns=1, proof="none")
        for pass_id in (0, 2)
        for i, (name, size) in enumerate({**sizes, "moe_cache.slot_map-0": 64}.items())
    ]
    assert expert_cache.held_share({**of, "copies": frame("copies", rows)}) == pytest.approx(4 / 6)
    assert expert_cache.held_share({**of, "copies": frame("copies")}) is None
    other = [row | {"tensor": "moe_cache.7.blk.0.expert_up"} for row in rows if row["pass_id"] == 2]
    assert expert_cache.held_share({**of, "copies": frame("copies", other[:1])}) is None


def test_only_layers_whose_choice_is_known_have_slots() -> None:
    """Where some layers lie on a device for good, what they choose is not recorded, and no cache holds them."""
    passes: list[tuple[str, int, list[list[int]]]] = [("generate", 1, [[0, 1], [2, 3]])] * 3
    both = tables(passes)
    one = {**both, "routing": both["routing"][both["routing"]["layer"].eq(0).to_numpy(bool)]}
    assert [of.layers for of in expert_cache.groups(one)] == [(0,)]
    assert expert_cache.table(one)["n_slots"].iloc[-1] == N_EXPERTS
