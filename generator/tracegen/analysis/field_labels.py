"""Ways to give prompts other fields: what a permutation test of fields compares with.

Tokens of one prompt resemble each other, so they are not shuffled: a whole prompt gets another field, with all its
tokens. Each field keeps its number of prompts. If the ways are few, each of them counts once and p is exact; else
`chance.DRAWS` of them are drawn, and the observed one is added, as in `chance.p_value`.

Prompts are few, so p is coarse. A statistic that is largest for one group of n_f prompts is as large again whenever
some field of that size gets just these prompts, however strong the effect is. Of N prompts, m fields have n_f each:

    least p = m / C(N, n_f)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial, prod

import numpy as np

from tracegen.analysis import chance

MOST_EXACT = 5_000  # ways that are all tried


@dataclass(frozen=True)
class Labelings:
    """Ways to deal prompts to fields; `orders` is ways x places, the first way is the observed one.

    Places are in the order of fields: `starts` is the first place of each field, and orders[way, place] the prompt that
    stands there. `exact`: each way stands once; else the rest are drawn.
    """

    orders: np.ndarray
    starts: np.ndarray
    exact: bool

    @property
    def n(self) -> int:
        """How many ways are compared with the observed one, which is among them if they are exact."""
        return len(self.orders) if self.exact else len(self.orders) - 1


def labelings(sizes: Sequence[int]) -> Labelings:
    """Ways to deal sum(sizes) prompts, which stand in the order of their fields, to fields of these sizes (1 or
    more)."""
    n = sum(sizes)
    starts = np.cumsum([0, *sizes[:-1]])
    exact = ways(sizes) <= MOST_EXACT
    if exact:
        orders = np.array(list(_every(tuple(range(n)), tuple(sizes))), dtype=np.int64)
    else:
        random = np.random.default_rng(0)
        orders = np.array([np.arange(n), *(random.permutation(n) for _ in range(chance.DRAWS))], dtype=np.int64)
    return Labelings(orders, starts, exact)


def ways(sizes: Sequence[int]) -> int:
    """How many ways there are to deal the prompts to named fields of these sizes."""
    return factorial(sum(sizes)) // prod(factorial(size) for size in sizes)


def least_p(sizes: Sequence[int], size: int, *, n_tested: int) -> float:
    """The least p of a field of `size` prompts, if `n_tested` fields of this size are tested together."""
    return countable(n_tested / comb(sum(sizes), size), sizes)


def countable(least: float, sizes: Sequence[int]) -> float:
    """The least p that the ways to deal prompts to fields of these sizes can show, where all ways have this one."""
    return least if ways(sizes) <= MOST_EXACT else max(least, 1 / (1 + chance.DRAWS))


def prompts_needed(n_fields: int) -> int | None:
    """The least number of prompts in each of so many fields with which a p can be below chance.LEVEL; None for one."""
    if n_fields < 2:
        return None
    size = 2
    while n_fields / comb(n_fields * size, size) >= chance.LEVEL:
        size += 1
    return size


def _every(prompts: tuple[int, ...], sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every way, the one in the given order first."""
    if not sizes:
        yield ()
        return
    for chosen in combinations(prompts, sizes[0]):
        rest = tuple(prompt for prompt in prompts if prompt not in chosen)
        for others in _every(rest, sizes[1:]):
            yield (*chosen, *others)
