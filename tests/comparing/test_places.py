"""Where two runs used other bytes and chose other experts, against plain loops."""

import numpy as np
import pandas as pd
import pytest

from tests.builders import scaled_case
from tests.comparing.made import counted, of_tables, side
from tracegen.analysis.accesses import ranges
from tracegen.comparing.comparison import compare
from tracegen.comparing.places import Used, expert_distances, same_files
from tracegen.contract.facts import Facts
from tracegen.publishing.side import Measured

MOE = scaled_case(4, 2, moe=True)


def run_of(tables: dict[str, pd.DataFrame]) -> Measured:
    return Measured("made/run-001", "2026-11-20T12:00:01Z", Facts(), (), pd.DataFrame, lambda: tables)


def used_bytes(tables: dict[str, pd.DataFrame], begin: int, end: int) -> float:
    """The different bytes of a stretch of the file that generate passes used, in their mean, byte by byte."""
    passes = tables["passes"]
    generate = passes[(passes["kind"] == "generate").fillna(False)]["pass_id"].tolist()
    total = 0
    for number in generate:
        seen = np.zeros(end - begin, dtype=bool)
        for row in ranges(tables).itertuples():
            if row.pass_id == number:
                seen[max(int(row.begin) - begin, 0) : max(int(row.end) - begin, 0)] = True
        total += int(seen.sum())
    return total / len(generate)


def test_shares_are_those_of_bytes() -> None:
    table = Used(run_of(MOE), run_of(MOE)).shares(40)
    assert (table["a"] == table["b"]).all() and table["a"].between(0, 1).all() and (table["end"] > table["begin"]).all()
    for row in table.sample(6, random_state=1).itertuples():
        share = used_bytes(MOE, int(row.begin), int(row.end)) / (row.end - row.begin)
        assert row.a == pytest.approx(share)


def test_what_a_run_used_is_found_once_for_files_that_are_cut_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = run_of(MOE), run_of(MOE)
    first = Used(a, b).shares(40)
    other = MOE["touches"].assign(n_units=1)
    calls: list[object] = []
    monkeypatch.setattr("tracegen.comparing.places.heatmap.shares", lambda *of, **more: calls.append(of))
    assert Used(b, a).shares(40).equals(first) and not calls
    with pytest.raises(AttributeError):  # another run is looked at again
        Used(a, run_of({**MOE, "touches": other})).shares(40)
    assert len(calls) == 1


def test_a_place_that_one_side_does_not_use_is_0() -> None:
    nothing = {**MOE, "touches": MOE["touches"].head(0), "placements": MOE["placements"].head(0)}
    table = Used(run_of(MOE), run_of(nothing)).shares(40)
    assert len(table) and (table["b"] == 0).all() and (table["a"] > 0).any()


def test_what_is_used_in_a_copy_is_named() -> None:
    """Every access of one side in copied memory, as a repacked run has it: the same bytes, all of them copied."""
    kinds, both = MOE["placements"]["memory"].astype("object"), {"disk", "copied"}
    mapped, copied = (
        {**MOE, "placements": MOE["placements"].assign(memory=kinds.where(~kinds.isin(both), kind))}
        for kind in ("disk", "copied")
    )
    table = Used(run_of(mapped), run_of(copied)).shares(40)
    assert (table["a"] == table["b"]).all() and (table["copied_a"] == 0).all()
    assert table["copied_b"].tolist() == pytest.approx(table["b"].tolist()) and (table["b"] > 0).any()


def test_files_are_the_same_if_their_tensors_are() -> None:
    assert same_files(MOE, MOE) and not same_files(MOE, scaled_case(4, 3, moe=True))
    moved = {**MOE, "tensors": MOE["tensors"].assign(offset=MOE["tensors"]["offset"] + 32)}
    assert not same_files(MOE, moved)


def test_the_distance_is_the_share_that_would_have_to_move() -> None:
    a = side("a", [[counted(n, "times chosen", "expert", f"layer 0, expert {e}") for e, n in enumerate((6, 2, 2))]])
    b = side("b", [[counted(n, "times chosen", "expert", f"layer 0, expert {e}") for e, n in enumerate((3, 1, 16))]])
    (row,) = expert_distances(compare(a, b).of("counted", "expert")).to_dict("records")
    assert row["distance"] == pytest.approx(0.6) and (row["most_a"], row["most_b"]) == (0, 2)
    assert (row["n_a"], row["n_b"]) == (10, 20)


def test_equal_choices_have_no_distance_and_a_layer_without_choices_no_row() -> None:
    sides = of_tables("a", MOE), of_tables("b", MOE)
    table = expert_distances(compare(*sides).of("counted", "expert"))
    assert (table["distance"] == 0).all() and len(table) == 2
    dense = of_tables("c", scaled_case(4, 2))
    assert expert_distances(compare(sides[0], dense).of("counted", "expert")).empty
