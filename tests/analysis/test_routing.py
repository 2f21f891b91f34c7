"""What follows from the choices of experts, against plain loops over single choices."""

from collections import Counter
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import scaled_case
from tracegen.analysis import experts, routing
from tracegen.contract.tables import frame

N, CHOSEN = 12, 3


def uneven(seed: int, n_tokens: int = 9, sequences: int = 2) -> dict[str, pd.DataFrame]:
    """A run whose tokens choose some experts more often than others; sequences take turns."""
    tables = scaled_case(n_tokens, 3, moe=True)
    rng = np.random.default_rng(seed)
    passes = tables["passes"].loc[tables["passes"]["kind"] == "generate", "pass_id"]
    rows: list[dict[str, Any]] = []
    for layer in range(3):
        likely = rng.dirichlet(np.full(N, 0.5)) + 1e-9
        for number, pass_id in enumerate(passes):
            found = rng.choice(N, CHOSEN, replace=False, p=likely / likely.sum())
            rows += [
                dict(
                    pass_id=int(pass_id),
                    layer=layer,
                    row=0,
                    sequence=number % sequences,
                    rank=rank,
                    expert=int(e),
                    weight=None if layer == 2 else float(rng.random()),
                )
                for rank, e in enumerate(found)
            ]
    stated = tables["tensors"]["n_experts"].mask(tables["tensors"]["n_experts"].notna(), N)
    return tables | {"routing": frame("routing", rows), "tensors": tables["tensors"].assign(n_experts=stated)}


@pytest.fixture(params=range(4))
def case(request: pytest.FixtureRequest) -> dict[str, pd.DataFrame]:
    return uneven(request.param, sequences=1 + request.param % 3)


def single(tables: dict[str, pd.DataFrame], layer: int) -> list[dict[str, Any]]:
    return [r for r in tables["routing"].to_dict("records") if r["layer"] == layer]


def test_a_part_that_is_met_exactly_needs_no_further_expert() -> None:
    counts = pd.DataFrame({"layer": 0, "expert": range(4), "n_tokens": [50, 30, 15, 5]})
    layer = routing.layers(counts).iloc[0]
    assert (layer["needed_50"], layer["needed_80"], layer["needed_95"]) == (1, 2, 3)


def test_a_row_that_lacks_a_weight_has_no_places_and_equal_weights_stand_as_they_were_chosen() -> None:
    weights = {0: (0.2, 0.5, 0.2), 1: (0.1, None, 0.9)}
    chosen = pd.DataFrame(
        [
            dict(layer=0, pass_id=p, row=0, rank=rank, expert=10 + rank, weight=weight)
            for p, row in weights.items()
            for rank, weight in enumerate(row)
        ]
    ).astype({"weight": "Float64"})
    ranked = routing.by_strength(chosen)
    assert ranked["expert"].tolist() == [11, 10, 12, 10, 11, 12]
    assert ranked["place"].tolist() == [1, 2, 3, pd.NA, pd.NA, pd.NA]
    assert routing.weights(chosen)["n"].tolist() == [1, 1, 1]


def test_the_most_chosen_of_a_layer(case: dict[str, pd.DataFrame]) -> None:
    ranked = routing.ranked(experts.choice(case).counts)
    shares = sorted(
        max(Counter(r["expert"] for r in single(case, n)).values()) / len(single(case, n)) for n in range(3)
    )
    assert routing.most_chosen(ranked) == (pytest.approx(shares[1]), 1 / N)
    other = ranked[(ranked["layer"] > 0) | (ranked["place"] <= 4)].assign(
        even=ranked["even"].where(ranked["layer"] > 0, 0.25)
    )
    assert routing.most_chosen(other)[1] is None


def test_a_row_chooses_for_the_token_that_it_holds() -> None:
    """The pass that gives token k took in token k - 1, and the last token chose nothing."""
    case = uneven(1, n_tokens=4, sequences=1)
    gave = case["passes"].set_index("pass_id")["produced_token"]
    chosen = experts.generated(case)
    assert set(chosen["generated_token"]) == {0, 1, 2, 3} and gave.max() == 4
    for r in chosen.to_dict("records"):
        assert r["generated_token"] == gave[r["pass_id"]] - 1


@pytest.mark.parametrize(("most", "several"), [(9, 1), (100, 1), (5, 2), (2, 5), (1, 9)])
def test_many_tokens_share_a_line_of_the_grid(most: int, several: int) -> None:
    case = uneven(3)
    cells, joined = routing.grid(experts.generated(case), 1, most)
    assert joined == several and cells["line"].nunique() <= most
    passes = sorted({r["pass_id"] for r in single(case, 1)})
    expected = Counter((passes.index(r["pass_id"]) // several, r["expert"]) for r in single(case, 1))
    assert {(r["line"], r["expert"]): r["n_tokens"] for r in cells.to_dict("records")} == dict(expected)
    for line, rows in cells.groupby("line"):
        part = passes[int(str(line)) * several :][:several]
        assert (set(rows["first_pass"]), set(rows["last_pass"])) == ({part[0]}, {part[-1]})


@pytest.mark.parametrize(("n_rows", "n_chosen", "n_experts"), [(1, 1, 4), (2, 1, 2), (3, 2, 3), (4, 1, 3)])
def test_chance_is_the_mean_over_all_ways_to_choose(n_rows: int, n_chosen: int, n_experts: int) -> None:
    ways = list(combinations(range(n_experts), n_chosen))
    shares = [
        max(Counter(expert for way in chosen for expert in way).values()) / (n_rows * n_chosen)
        for chosen in product(ways, repeat=n_rows)
    ]
    simulated = routing.most_chosen_by_chance(n_rows, n_chosen, n_experts, n_runs=4_000)
    assert simulated == pytest.approx(sum(shares) / len(shares), rel=0.03)
    assert simulated == routing.most_chosen_by_chance(n_rows, n_chosen, n_experts, n_runs=4_000)


def test_chance_is_stated_of_few_rows_only() -> None:
    assert routing.most_chosen_by_chance(0, 2, 8) is None and routing.most_chosen_by_chance(2_001, 2, 8) is None
    some, many = (routing.most_chosen_by_chance(n, 2, 8) for n in (7, 1_000))
    assert some is not None and many is not None and some > 1.5 * many > 1.5 / 8
