"""Prompt against generation: distances by plain counting, and against rows dealt at random."""

from collections import Counter
from collections.abc import Callable
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from tests.analysis.routed import even, run_of, sticky, uneven
from tracegen.analysis import chance
from tracegen.analysis.expert_phases import BLOCK, COLUMNS, MOST_ROWS, phases


def distance(prompt: np.ndarray, generated: np.ndarray) -> float:
    one, other = Counter(prompt.ravel().tolist()), Counter(generated.ravel().tolist())
    return sum(abs(one[e] / one.total() - other[e] / other.total()) for e in one | other) / 2


def test_distances_are_counted_and_shuffles_are_all_ways_to_deal() -> None:
    prompt, generated = uneven(1, 3, 2, 6, 2), uneven(2, 4, 2, 6, 2)
    table = phases(run_of(prompt, generated, 6))
    rows = np.concatenate([prompt, generated])
    for r in table.iloc[1:].to_dict("records"):
        layer = r["layer"]
        assert (r["n_prompt"], r["n_generate"], r["block"]) == (3, 4, 1)
        assert r["distance"] == pytest.approx(distance(prompt[:, layer], generated[:, layer]))
        every = [distance(rows[list(deal[:3]), layer], rows[list(deal[3:]), layer]) for deal in permutations(range(7))]
        assert r["shuffled"] == pytest.approx(np.mean(every), abs=0.02)
        assert r["p"] == pytest.approx(np.mean(np.array(every) >= r["distance"] - 1e-9), abs=0.05)
    assert table.iloc[0]["distance"] == pytest.approx(table.iloc[1:]["distance"].mean())
    assert list(table.columns) == [*COLUMNS, "p_held"] and table["n_layers"].tolist() == [2, 1, 1]


@pytest.mark.parametrize("make", [uneven, lambda *a: sticky(*a, stay=0.5)])
def test_rows_of_one_law_are_rarely_called_different(make: Callable[..., np.ndarray]) -> None:
    """One line of rows, cut into prompt and generation: 5 % of 108 layers; 13 or more have a probability of 0.003.

    Of 12 runs, which are tested over all their layers, 4 or more have one of 0.002.
    """
    layers = overall = 0
    for seed in range(12):
        line = make(seed, 240, 9, 8, 2)
        found = phases(run_of(line[:80], line[80:], 8))["p"] < chance.LEVEL
        overall += int(found.iloc[0])
        layers += int(found.iloc[1:].sum())
    assert layers <= 12 and overall <= 3


def test_another_use_in_the_prompt_is_found() -> None:
    prompt, generated = even(1, 60, 3, 8, 2), even(2, 100, 3, 8, 2)
    prompt[:, 1] = np.where(np.arange(60)[:, None] % 2, prompt[:, 1], [0, 1])
    table = phases(run_of(prompt, generated, 8))
    assert table["block"].tolist() == [BLOCK] * 4
    adjusted = dict(zip(table["layer"].fillna(-1), table["p_adjusted"], strict=True))
    assert adjusted[1] < chance.LEVEL < min(adjusted[0], adjusted[2]) and adjusted[-1] < chance.LEVEL
    row = table[table["layer"] == 1].iloc[0]
    assert row["distance"] > row["high"] > row["shuffled"] and row["effect"] > 0.1


def test_a_layer_with_fewer_rows_is_tested_by_itself() -> None:
    """The last layer of a prompt has only the row whose output is asked for."""
    tables = run_of(even(1, 20, 3, 8, 2), even(2, 30, 3, 8, 2), 8)
    routing = tables["routing"]
    table = phases(tables | {"routing": routing.query("layer < 2 or pass_id > 0 or row == 19")})
    assert table["n_prompt"].tolist() == [20, 20, 20, 1] and table["n_layers"].tolist() == [2, 1, 1, 1]
    assert table.iloc[3]["p"] > chance.LEVEL


def test_what_cannot_be_compared_has_no_row_and_many_rows_are_cut() -> None:
    few = even(1, 5, 2, 8, 2)
    for tables in (run_of(None, few, 8), run_of(few, None, 8), run_of(even(1, 5, 1, 4, 4), even(2, 5, 1, 4, 4), 4)):
        table = phases(tables)
        assert table.empty and list(table.columns) == [*COLUMNS, "p_held"]
    long = phases(run_of(even(1, MOST_ROWS + 7, 1, 8, 2), few[:, :1], 8))
    assert long["n_prompt"].tolist() == [MOST_ROWS] * 2 and isinstance(long, pd.DataFrame)
