"""Reuse against a list of items by last use, samples of granules against all of them, and known traces."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis import reuse

SIZES = [3, 10, 1, 6, 4]
TOUCHED = [min(size, 2) for size in SIZES]  # by `accesses`
ENDS = np.cumsum(SIZES)
CUT = pd.DataFrame(
    {
        "tensor": [0, 0, 1, 2, 2],
        "expert": pd.array([0, 1, None, 0, 1], dtype="Int64"),
        "begin": ENDS - SIZES,
        "end": ENDS,
    }
)
# Operations: number of the pass less that of the one before, the item
OPS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, len(SIZES) - 1)), max_size=30)


def accesses(ops: list[tuple[int, int]]) -> pd.DataFrame:
    """One access for each operation, of one byte of its item; of the first and the last byte where there are two."""
    rows, pass_id = [], 7
    for node, (step, item) in enumerate(ops):
        pass_id += step
        begin, end = int(ENDS[item] - SIZES[item]), int(ENDS[item])
        rows += [(pass_id, node, begin, begin + 1)] + [(pass_id, node, end - 1, end)] * (end - begin > 1)
    return pd.DataFrame(rows, columns=["pass_id", "node", "begin", "end"]).astype("int64")


@given(OPS)
def test_pieces_against_a_list_by_last_use(ops: list[tuple[int, int]]) -> None:
    found = reuse.of_pieces(accesses(ops), CUT)
    used = np.unique(np.cumsum([step for step, _ in ops])).tolist()
    recent: list[int] = []
    last: dict[int, int] = {}
    expected, at = [], 0
    for step, item in ops:
        at += step
        if item in last:
            upto = recent.index(item) + 1
            expected.append((item, used.index(at) - used.index(last[item]), sum(TOUCHED[x] for x in recent[:upto])))
            recent.remove(item)
        recent.insert(0, item)
        last[item] = at
    assert [tuple(row) for row in found.again.to_numpy().tolist()] == expected
    assert found.items.tolist() == sorted(last) and found.n_uses == len(ops) and (found.sampled, found.error) == (1, 0)


def test_a_loop_needs_all_of_it_and_comes_back_in_the_next_pass() -> None:
    found = reuse.of_pieces(accesses([(int(i == 0), i) for _ in range(10) for i in range(5)]), CUT)
    assert set(found.again["lru_bytes"]) == {sum(TOUCHED)} and set(found.again["n_passes"]) == {1}
    table = reuse.by_item(found)
    assert table["n_again"].tolist() == [9] * 5 and table["lru_bytes_most"].tolist() == [sum(TOUCHED)] * 5


def test_an_embedding_counts_the_rows_that_were_looked_up() -> None:
    """A table of 1000 bytes of which each token looks up 10, and a tensor of 50 bytes that each token reads whole."""
    cut = pd.DataFrame({"begin": [0, 1000], "end": [1000, 1050]})
    rows = [(n, 0, 10 * (n % 3), 10 * (n % 3) + 10) for n in range(6)] + [(n, 1, 1000, 1050) for n in range(6)]
    used = pd.DataFrame(sorted(rows), columns=["pass_id", "node", "begin", "end"])
    assert set(reuse.of_pieces(used, cut).again["lru_bytes"]) == {3 * 10 + 50}


def test_kinds_of_items() -> None:
    ops = [(1, 0), (0, 2), (1, 1), (0, 2), (1, 0), (0, 4)]
    of = reuse.by_kind(accesses(ops), CUT)
    assert list(of) == list(reuse.KINDS)
    table = reuse.table(of).set_index("kind")
    assert table["n_items"].tolist()[:3] == [3, 1, 3] and table["n_again"].tolist()[:3] == [1, 1, 3]
    assert table.loc["expert", "passes_50"] == 2 and table.loc["expert", "lru_bytes_99"] == 2 + 1 + 2
    assert table.loc["tensor", "passes_50"] == 1 and table.loc["tensor", "lru_bytes_50"] == 1 + 2
    assert table.loc["whole tensor", "lru_bytes_99"] == 4 + 1 and table.loc["4096 bytes", "n_items"] == 1
    dense = reuse.by_kind(accesses(ops), CUT.assign(tensor=range(5), expert=pd.array([None] * 5, dtype="Int64")))
    assert list(dense) == ["tensor", *reuse.KINDS[-2:]]


def test_nothing_and_a_single_use() -> None:
    for ops in ([], [(1, 2)]):
        of = reuse.by_kind(accesses(ops), CUT)
        assert reuse.table(of)["n_again"].tolist() == [0] * 5 and reuse.table(of)["lru_bytes_50"].isna().all()


def test_a_granule_larger_than_all_that_was_used() -> None:
    found = reuse.of_granules(accesses([(1, 0), (1, 4)]), 1 << 30)
    assert found.again[["item", "n_passes", "lru_bytes"]].values.tolist() == [[0, 1, 1 << 30]]


def a_granule_at_a_time(chosen: np.ndarray) -> pd.DataFrame:
    n = np.arange(len(chosen))
    return pd.DataFrame({"pass_id": n // 500, "node": n % 500, "begin": 64 * chosen, "end": 64 * chosen + 9})


def random_granules(n_uses: int, n_granules: int, seed: int) -> pd.DataFrame:
    """One granule of 64 bytes at a time, the popular ones (Zipf, s = 1.1) most often."""
    weight = 1 / np.arange(1, n_granules + 1) ** 1.1
    random = np.random.default_rng(seed)
    chosen = random.permutation(n_granules)[random.choice(n_granules, n_uses, p=weight / weight.sum())]
    return a_granule_at_a_time(chosen)


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_of_granules_stands_for_all(seed: int) -> None:
    """Of evenly used granules the sample finds each size within the error that it states, and states a small one."""
    rows = a_granule_at_a_time(np.random.default_rng(seed).integers(0, 20_000, 200_000))
    every, some = reuse.of_granules(rows, 64), reuse.of_granules(rows, 64, most=20_000)
    assert every.sampled == 1 and 0.08 < some.sampled < 0.12 and 0 < some.error < 0.15
    for target in reuse.TARGETS:
        exact, scaled = every.lru_bytes(target), some.lru_bytes(target)
        assert exact is not None and scaled == pytest.approx(exact, rel=some.error)
        assert some.passes(target) == pytest.approx(every.passes(target), rel=0.1)


def test_a_sample_of_a_few_popular_granules_owns_up_to_its_error() -> None:
    rows = random_granules(100_000, 2_000, 4)
    every, some = reuse.of_granules(rows, 64), reuse.of_granules(rows, 64, most=5_000)
    off = max(abs((some.lru_bytes(t) or 0) / (every.lru_bytes(t) or 1) - 1) for t in reuse.TARGETS)
    assert off > 0.1 and some.error > 0.1
