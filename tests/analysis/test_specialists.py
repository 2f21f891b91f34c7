"""Specialists: planted ones are found, one prompt alone makes none, and chance makes few; shares by plain counting."""

from collections import defaultdict
from fractions import Fraction
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.prompted import by_hand, made, planted
from tracegen.analysis import chance
from tracegen.analysis.field_labels import labelings, least_p, prompts_needed, ways
from tracegen.analysis.prompt_choices import COLUMNS as CHOICE
from tracegen.analysis.specialists import COLUMNS, MARGIN, specialists

CODE = {"f0/0", "f0/1", "f0/2"}


def test_a_planted_specialist_is_found_and_no_other() -> None:
    of = specialists(planted(made(1), CODE, layer=1, expert=3, share=0.8))
    (row,) = of.found.to_dict("records")
    assert (row["layer"], row["expert"], row["field"]) == (1, 3, "f0")
    assert (row["share"], row["other_share"], row["effect"]) == (0.8, 0.0, 0.8)
    assert (row["n_prompts"], row["n_other_prompts"], row["n_tokens"], row["n_other_tokens"]) == (3, 12, 45, 180)
    assert row["p_adjusted"] < chance.LEVEL and row["left_out"] >= MARGIN
    assert of.table.iloc[0]["specialist"] and list(of.table.columns) == [*COLUMNS, "p_held"] and of.needed == 3
    assert of.fields["least_p"].tolist() == [pytest.approx(5 / 455)] * 5


@pytest.mark.parametrize("seed", range(2))
def test_what_one_prompt_alone_drives_is_no_specialist(seed: int) -> None:
    """All tokens of one prompt choose the expert: 33 points of the field, and nothing without that prompt."""
    of = specialists(planted(made(seed), {"f0/0"}, layer=1, expert=3))
    row = of.table[(of.table["layer"] == 1) & (of.table["expert"] == 3) & (of.table["field"] == "f0")].iloc[0]
    assert row["effect"] == pytest.approx(1 / 3) and row["left_out"] == 0 and row["left_out_prompt"] == "f0/0"
    assert not row["replicates"] and not row["stays"] and not row["specialist"]


def test_two_of_three_prompts_are_not_enough() -> None:
    of = specialists(planted(made(2), {"f0/0", "f0/2"}, layer=1, expert=3))
    row = of.table.iloc[0]
    assert (row["expert"], row["effect"], row["left_out"]) == (3, pytest.approx(2 / 3), pytest.approx(1 / 2))
    assert not row["replicates"] and row["least_prompt"] == "f0/1" and not len(of.found)


def test_what_no_prompt_drives_but_is_small_does_not_stay() -> None:
    """Ten prompts each: 16 % against 7 % everywhere replicates and is no chance, but is below the margin."""
    shares = {f"a/{n}": (100, 16 + n % 2) for n in range(10)} | {f"b/{n}": (100, 6 + n % 2) for n in range(10)}
    row = specialists(by_hand(shares)).table.set_index(["expert", "field"]).loc[(0, "a")]
    assert row["replicates"] and row["p_adjusted"] < chance.LEVEL and row["effect"] == pytest.approx(0.10)
    assert row["left_out"] < MARGIN and not row["stays"] and not row["specialist"]


def test_every_field_below_counts_not_their_mean() -> None:
    """One other field chooses the expert as often: it belongs to none of both."""
    shares = {f"{name}/{n}": (20, of + n) for name, of in (("a", 14), ("b", 14), ("c", 0), ("d", 0)) for n in range(3)}
    of = specialists(by_hand(shares)).table
    row = of[(of["field"] == "a") & (of["expert"] == 0)].iloc[0]
    assert row["effect"] > 0.3 and row["other_field"] == "b" and not row["replicates"] and not of["specialist"].any()


@pytest.mark.parametrize(("n", "most"), [(60, 9), pytest.param(200, 20, marks=pytest.mark.nightly)])
def test_chance_shows_a_specialist_in_at_most_one_matrix_of_twenty(n: int, most: int) -> None:
    """Of `n` matrices without fields, a twentieth is expected to have an adjusted p below 0.05; P(> most) = 0.001.

    Without adjusting, nearly all have one: so the test can fail.
    """
    adjusted = alone = found = 0
    for seed in range(n):
        of = specialists(made(seed, tokens=8))
        adjusted += bool((of.table["p_adjusted"] < chance.LEVEL).any())
        alone += bool((of.table["p"] < chance.LEVEL).any())
        found += bool(len(of.found))
    assert adjusted <= most and found <= adjusted and alone >= 0.75 * n


@pytest.mark.parametrize(("sizes", "tells", "needed"), [((3, 3), False, 4), ((2, 2, 2), False, 3), ((4, 4), True, 4)])
def test_a_design_that_cannot_tell_says_so(sizes: tuple[int, ...], tells: bool, needed: int) -> None:
    choices = made(3, sizes)
    of = specialists(planted(choices, {f"f0/{n}" for n in range(9)}, layer=1, expert=3))
    assert (of.can_tell, of.needed, bool(len(of.found))) == (tells, needed, tells)
    assert of.exact and of.n_ways == ways(sizes)
    assert of.table.iloc[0]["p_adjusted"] == pytest.approx(float(of.fields["least_p"].iloc[0]))
    assert of.table.iloc[0]["replicates"] and of.table.iloc[0]["stays"]


def test_a_field_of_one_prompt_is_not_tested() -> None:
    of = specialists(made(4, (1, 3, 4)))
    assert of.fields["least_p"].isna().tolist() == [True, False, False]
    assert set(of.table["field"]) == {"f1", "f2"} and "f0" in set(of.table["other_field"])
    for sizes in ((1, 1, 1), (4,), (4, 1), (1,)):
        of = specialists(made(4, sizes))
        assert of.table.empty and not of.can_tell and of.fields["n_prompts"].tolist() == list(sizes)
    assert not specialists(pd.DataFrame(columns=CHOICE)).can_tell


def test_the_same_choice_counts_once_and_a_layer_that_a_prompt_lacks_is_left_out() -> None:
    choices = made(5)
    twice = specialists(pd.concat([choices, choices], ignore_index=True))
    pd.testing.assert_frame_equal(twice.table, specialists(choices).table)
    lacks = choices[(choices["prompt"] != "f3/1") | (choices["layer"] != 2)]
    of = specialists(lacks)
    assert of.n_left_out == 1 and set(of.table["layer"]) == {0, 1}
    with pytest.raises(ValueError, match="'f0/0' has two fields"):
        specialists(pd.concat([choices, choices.head(1).assign(field="x")]))


SHARES = st.tuples(st.integers(1, 6), st.integers(0, 6)).map(lambda of: (of[0], min(of)))
DESIGNS = st.lists(st.lists(SHARES, min_size=1, max_size=3), min_size=2, max_size=3)


@settings(max_examples=60)
@given(DESIGNS)
def test_against_plain_counting(design: list[list[tuple[int, int]]]) -> None:
    """Shares, leaving out and p of expert 0, by fractions and by all permutations of prompts."""
    shares = {f"{field}/{n}": of for field, prompts in zip("abc", design, strict=False) for n, of in enumerate(prompts)}
    table = specialists(by_hand(shares)).table
    rows = {r["field"]: r for r in table[table["expert"] == 0].to_dict("records")}
    sizes = dict(zip("abc", map(len, design), strict=False))
    tested = {field for field, size in sizes.items() if size > 1 and sum(sizes.values()) - size > 1}
    assert set(rows) == (tested if any(n for _, n in shares.values()) else set())
    if not rows:
        return
    labels = [name.partition("/")[0] for name in shares]
    counts = list(shares.values())
    orders = set(permutations(labels)) if len(labels) < 8 else ()
    every = [effects(counts, order, tested, n_experts=len(set(table["expert"]))) for order in orders]
    for field, row in rows.items():
        assert row["effect"] == pytest.approx(float(effect(shares, field)))
        left_out = {name: {n: of for n, of in shares.items() if n != name} for name in shares}
        least = min(effect(of, field) for of in left_out.values())
        assert row["left_out"] == pytest.approx(float(least))
        assert effect(left_out[row["left_out_prompt"]], field) == least
        assert row["replicates"] == replicates(shares, field)
        stays = all(replicates(of, field) and effect(of, field) >= Fraction(1, 10) for of in left_out.values())
        assert row["stays"] == (stays and effect(shares, field) >= Fraction(1, 10))
        if every:
            assert len(every) == ways(list(sizes.values()))
            alone = np.mean([of[field] >= effect(shares, field) for of, _ in every])
            adjusted = np.mean([most >= effect(shares, field) for _, most in every])
            assert (row["p"], row["p_adjusted"]) == (pytest.approx(alone), pytest.approx(adjusted))


def effect(shares: dict[str, tuple[int, int]], field: str) -> Fraction:
    inside, outside = (mean(shares, lambda of, is_in=is_in: (of == field) == is_in) for is_in in (True, False))
    return inside - outside


def mean(shares: dict[str, tuple[int, int]], holds) -> Fraction:  # type: ignore[no-untyped-def]
    of = [counts for name, counts in shares.items() if holds(name.partition("/")[0])]
    return Fraction(sum(n for _, n in of), sum(tokens for tokens, _ in of))


def replicates(shares: dict[str, tuple[int, int]], field: str) -> bool:
    others = {name.partition("/")[0] for name in shares} - {field}
    most = max(mean(shares, lambda of, other=other: of == other) for other in others)
    return all(Fraction(n, tokens) > most for name, (tokens, n) in shares.items() if name.partition("/")[0] == field)


def effects(
    counts: list[tuple[int, int]], order: tuple[str, ...], tested: set[str], n_experts: int
) -> tuple[dict[str, Fraction], Fraction]:
    """The effect of expert 0 in each field if prompts had these fields, and the largest of all experts.

    Expert 1 is chosen where expert 0 is not, so its effects are the reverse.
    """
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for (tokens, n), field in zip(counts, order, strict=True):
        sums[field][0] += tokens
        sums[field][1] += n
    all_tokens, all_n = sum(t for t, _ in counts), sum(n for _, n in counts)
    of = {f: Fraction(sums[f][1], sums[f][0]) - Fraction(all_n - sums[f][1], all_tokens - sums[f][0]) for f in tested}
    return of, max(max(of.values()), *(-value for value in of.values())) if n_experts > 1 else max(of.values())


def test_labelings_are_all_ways_once_or_drawn() -> None:
    by = labelings([2, 1, 2])
    fields = [(*sorted(order[:2]), order[2], *sorted(order[3:])) for order in by.orders.tolist()]
    assert len(set(fields)) == len(fields) == ways([2, 1, 2]) == 30 == by.n and by.exact
    assert fields[0] == (0, 1, 2, 3, 4) and by.starts.tolist() == [0, 2, 3]
    drawn = labelings([3] * 5)
    assert not drawn.exact and drawn.n == chance.DRAWS and drawn.orders[0].tolist() == list(range(15))
    assert all(sorted(order) == list(range(15)) for order in drawn.orders.tolist())


def test_the_prompts_that_a_design_needs() -> None:
    for n_fields in range(2, 15):
        needed = prompts_needed(n_fields)
        assert needed is not None and least_p([needed] * n_fields, needed, n_tested=n_fields) < chance.LEVEL
        assert needed == 2 or least_p([needed - 1] * n_fields, needed - 1, n_tested=n_fields) >= chance.LEVEL
    assert [prompts_needed(n) for n in (1, 2, 3, 5, 10, 11)] == [None, 4, 3, 3, 3, 2]
