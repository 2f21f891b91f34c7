"""How alike prompts choose: distances and p by plain counting; what is planted is found, and chance is not."""

from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest

from tests.analysis.prompted import by_hand, made, planted
from tracegen.analysis import chance
from tracegen.analysis.prompt_likeness import likeness


def distance(choices: pd.DataFrame, a: str, b: str) -> float:
    of = []
    for layer in sorted(set(choices["layer"])):
        rows = choices[choices["layer"] == layer]
        one, other = (Counter(rows.loc[rows["prompt"] == name, "expert"].tolist()) for name in (a, b))
        of.append(sum(abs(one[e] / one.total() - other[e] / other.total()) for e in one | other) / 2)
    return float(np.mean(of))


@pytest.mark.parametrize("sizes", [(2, 3), (2, 2, 2), (1, 3, 2)])
def test_distances_and_p_are_counted(sizes: tuple[int, ...]) -> None:
    choices = made(sum(sizes), sizes, tokens=5)
    field = dict(zip(choices["prompt"], choices["field"], strict=True))
    between = {pair: distance(choices, *pair) for pair in combinations(field, 2)}

    def difference(label: dict[str, str]) -> tuple[float, float]:
        same = [d for (a, b), d in between.items() if label[a] == label[b]]
        return float(np.mean(same)), float(np.mean([d for (a, b), d in between.items() if label[a] != label[b]]))

    found = likeness(choices)
    assert found is not None and (found.same, found.different) == pytest.approx(difference(field))
    assert found.n_same + found.n_different == len(between) and found.effect == found.different - found.same
    drawn = [difference(dict(zip(field, order, strict=True))) for order in permutations(field.values())]
    p = np.mean([different - same >= found.effect - 1e-9 for same, different in drawn])
    assert found.p == pytest.approx(p) and found.least_p <= found.p + 1e-12


def test_fields_that_choose_alike_are_found() -> None:
    choices = made(1)
    for number in range(5):
        choices = planted(choices, {f"f{number}/{n}" for n in range(3)}, layer=number % 3, expert=number)
    found = likeness(choices)
    assert found is not None and found.effect > 0.05 and found.p < 0.01


def test_so_few_prompts_that_no_p_is_small() -> None:
    found = likeness(by_hand({"a/1": (9, 9), "a/2": (9, 9), "b/1": (9, 0), "b/2": (9, 0)}))
    assert found is not None and (found.same, found.different) == (0, 1)
    assert found.p == found.least_p == pytest.approx(1 / 3)
    assert likeness(made(1, (1, 1, 1))) is None and likeness(made(1, (3,))) is None


@pytest.mark.parametrize(("n", "most"), [(60, 9), pytest.param(200, 20, marks=pytest.mark.nightly)])
def test_chance_is_rarely_called_likeness(n: int, most: int) -> None:
    """Of `n` matrices without fields, a twentieth is expected below 0.05; P(> most) = 0.001."""
    found = [likeness(made(seed, (3, 3, 3), tokens=6)) for seed in range(n)]
    ps = [of.p for of in found if of is not None]
    assert len(ps) == n and sum(p < chance.LEVEL for p in ps) <= most and min(ps) < 0.2
