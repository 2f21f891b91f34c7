"""Stack distances against a list of items by last use, on small random sequences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis.stack_distance import previous_use, stack_distances


def by_list(items: list[int], sizes: list[int] | None = None) -> list[int]:
    """The distances as the definition says: the sum over the different items since the last use."""
    distances = []
    for at, item in enumerate(items):
        before = [i for i in range(at) if items[i] == item]
        others = set(items[before[-1] + 1 : at]) if before else set()
        distances.append(sum(1 if sizes is None else sizes[other] for other in others) if before else -1)
    return distances


@given(st.lists(st.integers(0, 9), max_size=40), st.lists(st.integers(0, 2**40), min_size=10, max_size=10))
def test_distances_are_those_of_the_definition(items: list[int], sizes: list[int]) -> None:
    numbers = np.array(items, dtype=np.int64)
    weights = np.array([sizes[item] for item in items], dtype=np.int64)
    assert stack_distances(numbers).tolist() == by_list(items)
    assert stack_distances(numbers, weights).tolist() == by_list(items, sizes)


@pytest.mark.parametrize("n", [1, 2, 3, 255, 256, 257, 1023, 1024, 1025])
def test_lengths_around_powers_of_two(n: int) -> None:
    items = np.random.default_rng(n).integers(0, max(n // 3, 1), n)
    assert stack_distances(items).tolist() == by_list(items.tolist())


def test_items_may_be_any_integers() -> None:
    assert stack_distances(np.array([2**40, -5, 2**40])).tolist() == [-1, -1, 1]
    assert previous_use(np.array([4, 4, 2, 4])).tolist() == [-1, 0, -1, 1]
