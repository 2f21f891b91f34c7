"""Which state a measure has: rules of counted and timed measures, pairs, machines."""

from dataclasses import replace
from itertools import pairwise

import pytest

from tests.builders import scaled_case
from tests.comparing.made import HOST, counted, of_tables, run_with, side, slot, timed
from tracegen.comparing import prose
from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import Compared, compare, evenly
from tracegen.comparing.markdown import markdown_of
from tracegen.contract.model import Check
from tracegen.publishing.side import Side


def only(a: Side, b: Side) -> Compared:
    (row,) = compare(a, b).rows
    return row


def test_a_counted_difference_is_real_with_one_run_each() -> None:
    row = only(side("a", [[counted(3)]]), side("b", [[counted(4)]]))
    assert row.state == "different" and row.change == 1 and row.relative == pytest.approx(1 / 3) and row.better is None


def test_means_of_equal_counts_are_equal() -> None:
    row = only(side("a", [[counted(0.1 + 0.2)]]), side("b", [[counted(0.3)]]))
    assert row.state == "equal"
    assert only(side("a", [[counted(10**9)]]), side("b", [[counted(10**9 + 2)]])).state == "different"


def test_a_counted_measure_that_runs_of_one_side_do_not_share_varies() -> None:
    a, b = [[counted(n)] for n in (3, 3, 4)], [[counted(5)], [counted(5)]]
    assert only(side("a", a), side("b", b)).state == "varies"
    assert only(side("a", a), side("b", a)).state == "varies"


def test_a_measure_that_one_side_lacks() -> None:
    a, b = side("a", [[counted(1)]]), side("b", [[counted(1), timed(5)]])
    assert {row.kind: row.state for row in compare(a, b).rows} == {"counted": "equal", "timed": "only B"}
    assert {row.kind: row.state for row in compare(b, a).rows} == {"counted": "equal", "timed": "only A"}


def test_times_of_other_machines_are_not_compared_but_counts_are() -> None:
    rows = [[timed(100 + i), counted(3)] for i in range(7)]
    a, b = side("a", rows), side("b", [[timed(10), counted(3)]] * 7, host={**HOST, "cpu": "Another"})
    assert {row.kind: row.state for row in compare(a, b).rows} == {"timed": "not comparable", "counted": "equal"}
    both = Side("c", (*a.runs, *b.runs))
    assert {row.kind: row.state for row in compare(both, both).rows}["timed"] != "not comparable"


def test_times_of_machines_that_are_not_known_are_not_compared() -> None:
    a, b = (side(name, [[timed(100 + i)] for i in range(7)], host={"cpu": None}) for name in "ab")
    assert only(a, b).state == "not comparable"


def test_a_value_that_never_changes_is_equal() -> None:
    row = only(side("a", [[timed(0, "disk_read_bytes")]] * 3), side("b", [[timed(0, "disk_read_bytes")]] * 5))
    assert row.state == "equal" and row.difference is None


def test_what_is_asked_shares_one_risk_and_all_other_rows_another() -> None:
    def runs(speed: float) -> list[list[tuple[object, ...]]]:
        others = [("op", f"op {k}") for k in range(15)] + [("layer", f"layer {k}") for k in range(15)]
        return [
            [
                timed(speed + i),
                timed(100.0 + i, "tokens_per_second_prompt"),
                timed(speed + i, "token_ns_median"),
                *(timed(speed + i, "time", by, item, "ns") for by, item in others),
            ]
            for i in range(6)
        ]

    rows = compare(side("a", runs(100)), side("b", runs(200))).rows
    assert {row.phase: (row.state, row.difference and row.difference.p_adjusted) for row in rows if row.asked} == {
        "generate": ("different", pytest.approx(2 * 2 / 924)),
        "prompt": ("same within the margin", 1.0),
    }
    others = [row for row in rows if not row.asked]
    assert len(others) == 31 and {row.state for row in others} == {"interval without zero"}
    assert {say.state(row, 0.05) for row in others} == {"differs if tested alone (needs about 8 runs per side)"}
    assert {row.difference.runs_needed for row in others if row.difference} == {8}  # 31 x 2 / C(16, 8) < 0.01


def in_matrix(name: str, values: dict[tuple[str, int], float], count: float, **factors: str) -> Side:
    """Runs of a cell or of several: (value of the factor `other`, round) -> speed."""
    runs = [
        run_with(i, [timed(value), counted(count + (other == "big"))], slot=slot(round_, other=other, **factors))
        for i, ((other, round_), value) in enumerate(values.items(), 1)
    ]
    return Side(name, tuple(runs))


def test_pairs_of_rounds_find_what_other_factors_hide() -> None:
    base = {("big", n): 1000 + n for n in range(1, 6)} | {("small", n): 10 + n / 100 for n in range(1, 6)}
    a = in_matrix("a", base, 5, factor="1")
    b = in_matrix("b", {key: 1.2 * value for key, value in base.items()}, 5, factor="2")
    comparison = compare(a, b)
    assert comparison.paired and {row.kind: row.state for row in comparison.rows} == {
        "timed": "different",
        "counted": "equal",
    }
    apart = compare(
        Side("a", tuple(run_with(i, [timed(v)]) for i, v in enumerate(base.values()))),
        Side("b", tuple(run_with(i, [timed(1.2 * v)]) for i, v in enumerate(base.values()))),
    )
    assert not apart.paired and apart.rows[0].state == "not enough runs"


def test_a_run_without_its_pair_ends_pairing() -> None:
    base = {("big", n): 1000.0 + n for n in range(1, 10)}
    a, b = in_matrix("a", base, 5, factor="1"), in_matrix("b", dict(list(base.items())[:-1]), 5, factor="2")
    assert not compare(a, b).paired and compare(a, in_matrix("b", base, 5, factor="2")).paired


def test_another_number_of_layers_is_a_counted_difference() -> None:
    comparison = compare(of_tables("a", scaled_case(3, 2)), of_tables("b", scaled_case(3, 4)))
    row = comparison.named("ops_per_token")
    assert row is not None and row.state == "different" and (row.b or 0) > (row.a or 0)
    states = {row.item: row.state for row in comparison.of("timed", "layer") if row.phase == "generate"}
    assert states["layer 3"] == "only B" and states["layer 1"] == "equal"


def test_cells_of_several_are_compared_by_their_ratios() -> None:
    base = {("big", n): 1e6 + 1e3 * n for n in range(1, 6)} | {("small", n): 10 + n / 100 for n in range(1, 6)}
    half = in_matrix("b", {key: value / 2 for key, value in base.items()}, 5, factor="2")
    row = compare(in_matrix("a", base, 5, factor="1"), half).named("tokens_per_second_generate")
    assert row is not None and row.state == "different" and row.better is False
    assert row.relative == pytest.approx(-0.5)
    said = prose.text_of(prose.answers(compare(in_matrix("a", base, 5, factor="1"), half))[1])
    assert "0.500 × as fast: worse. These are medians of 10 and 10 runs of several cells, tested in pairs. The" in said


def test_a_fall_can_be_larger_than_a_noise_of_more_than_all() -> None:
    noisy = {(o, n): v * (1 if n % 2 else 2.5) for o, v in (("big", 1e6), ("small", 10.0)) for n in range(1, 9)}
    lower = in_matrix("b", {key: value / 100 for key, value in noisy.items()}, 5, factor="2")
    row = compare(in_matrix("a", noisy, 5, factor="1"), lower).named("tokens_per_second_generate")
    assert row is not None and row.difference is not None
    assert row.state == "different" and row.relative == pytest.approx(-0.99)


def test_values_of_several_cells_with_0_have_no_ratio() -> None:
    base = {("big", n): 1e6 + n for n in range(1, 6)} | {("small", n): 10.0 + n for n in range(1, 6)}
    nothing = in_matrix("b", dict.fromkeys(base, 0.0), 5, factor="2")
    row = compare(in_matrix("a", base, 5, factor="1"), nothing).named("tokens_per_second_generate")
    assert row is not None and row.state == "different" and row.relative is None
    said = prose.text_of(prose.answers(compare(in_matrix("a", base, 5, factor="1"), nothing))[1])
    assert said.endswith("and 0 tokens/s in B: worse. There are 10 and 10 runs of several cells.")


def test_a_measure_that_only_one_cell_has_is_compared_in_its_pairs() -> None:
    def cells(factor: str) -> Side:
        runs = [
            run_with(
                n,
                [counted(7 if n % 2 else 9), *([counted(n % 2, "only big")] if n % 2 else [])],
                slot=slot(n, other="big" if n % 2 else "small", factor=factor),
            )
            for n in range(1, 9)
        ]
        return Side(factor, tuple(runs))

    rows = compare(cells("1"), cells("2")).rows
    assert {row.key: row.state for row in rows} == {"generated_tokens": "equal", "only big": "equal"}


def test_more_than_a_hundred_runs_a_side_are_spread_evenly() -> None:
    """Exact tests of more take long; the first and the last run are among those tested."""
    a = side("a", [[timed(1000.0 + i), counted(i % 3)] for i in range(240)])
    b = side("b", [[timed(2000.0 + i), counted(i % 3)] for i in range(240)], first=241)
    row = next(row for row in compare(a, b).rows if row.kind == "timed")
    assert row.difference is not None and (row.difference.n_a, row.difference.n_b) == (100, 100)
    assert row.state == "different" and len(row.values_a) == 240
    assert "n = 100 and 100, spread evenly over 240 and 240 runs" in say.runs(row)
    assert "100 and 100 of them, spread evenly, are tested." in prose.text_of(prose.certain(row))
    assert evenly(row.values_a)[0] == 1000.0 and evenly(row.values_a)[-1] == 1239.0
    steps = [y - x for x, y in pairwise(evenly(row.values_a))]
    assert set(steps) == {2.0, 3.0}


@pytest.mark.parametrize("n", [8, 9, 12, 13, 20])
def test_more_repeats_never_tell_less(n: int) -> None:
    """Of forty rows that all differ clearly, all are shown with 8 rounds and with any more."""

    def runs(name: str, times: float, first: int) -> Side:
        found = []
        for turn in range(1, n + 1):
            rows = [timed(times * (1000 + turn + item), "time", "layer", f"layer {item}", "ns") for item in range(40)]
            found.append(run_with(first + turn, [*rows, timed(times * (1000 + turn))], slot=slot(turn, threads=name)))
        return Side(name, tuple(found))

    found = compare(runs("1", 1.0, 0), runs("2", 2.0, 100))
    layers = found.of("timed", "layer")
    assert {row.state for row in layers} == {"different"}
    assert {row.difference.paired for row in layers if row.difference} == {n >= 13}
    (key,) = found.of("timed", "run")
    assert key.state == "different" and key.difference is not None and key.difference.paired == (n >= 8)


def test_runs_whose_threads_waited_for_processors_are_named_beside_what_differs() -> None:
    a, b = (side(name, [[timed(speed)]] * 3, first) for name, speed, first in (("a@v1", 100, 1), ("a@v2", 80, 20)))
    assert prose.disturbed(compare(a, b)) == []
    waited = Check("interference", "Share of thread time", "warning", "60 %", "1 %")
    found = compare(
        a, replace(b, runs=tuple(replace(run, checks=(waited,)) if n else run for n, run in enumerate(b.runs)))
    )
    (line,) = prose.disturbed(found)
    assert prose.text_of(line).startswith("a@v2: in 2 of 3 runs threads waited") and prose.answers(found)[-1] == line
    assert "in 2 of 3 runs threads waited" in markdown_of(found)
