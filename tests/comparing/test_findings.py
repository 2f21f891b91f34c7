"""What a comparison says of key figures as plain data."""

import json
from dataclasses import replace
from typing import Any

from tests.comparing.made import counted, side, timed
from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import Comparison, compare
from tracegen.comparing.findings import findings, timed_state
from tracegen.comparing.markdown import markdown_of
from tracegen.contract.model import Check

APART = (0.0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3)


def runs(speed: float, token_ns: float, n: int, *rows: tuple[Any, ...]) -> list[list[tuple[Any, ...]]]:
    """Runs whose times are less than a per cent apart."""
    return [
        [timed(speed * (1 + x / 100)), timed(token_ns * (1 + x / 100), "time of a token, median", unit="ns"), *rows]
        for x in APART[:n]
    ]


def compared(a: list[Any], b: list[Any], **facts: Any) -> Comparison:
    return compare(side("a@v1", a), side("a@v2", b, first=20, **facts))


def test_timed_figures_are_better_or_worse_and_counted_ones_neither() -> None:
    of_a = runs(100, 1e6, 7, counted(109), counted(5, "passes"), timed(1.0, by="op", item="ADD"))
    of_b = runs(80, 9e5, 7, counted(112), counted(5, "passes"), timed(9.0, by="op", item="ADD"))
    found = findings(compared(of_a, of_b))
    assert [(row["measure"], row["kind"], row["state"], row["better"]) for row in found] == [
        ("generation, speed", "timed", "different", False),
        ("generation, time of a token, median", "timed", "different", True),
        ("generation, tokens", "counted", "different", None),
    ]
    assert [round(row["relative"], 3) for row in found] == [-0.2, -0.1, 0.028]
    assert [row["change"] for row in found] == ["−20.0 %", "−10.0 %", "+2.8 %"]
    assert timed_state(compared(of_a, of_b)) == "different"
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_change_from_nothing_has_no_share_and_a_figure_of_one_side_says_of_which() -> None:
    a = [[counted(0, "never touched"), counted(3, "old"), counted(i % 2, "some")] for i in range(3)]
    b = [[counted(4, "never touched"), counted(2, "new"), counted(1, "some")] for _ in range(3)]
    found = {row["measure"]: row for row in findings(compared(a, b))}
    assert (found["generation, never touched"]["change"], found["generation, never touched"]["relative"]) == (
        "+4",
        None,
    )
    assert found["generation, old"]["change"] == "only in a@v1"
    assert found["generation, new"]["change"] == "only in a@v2"
    assert found["generation, some"]["change"].endswith("in the median, but not in every run")


def test_why_no_timed_figure_is_different() -> None:
    assert timed_state(compared(runs(100, 1e6, 7), runs(100.01, 1e6, 7))) == "same within the margin"
    assert timed_state(compared(runs(100, 1e6, 7), runs(50, 1e6, 4))) == "not enough runs"
    elsewhere = {"host": dict(cpu="Another", cores=2, memory_bytes=1)}
    assert timed_state(compared(runs(100, 1e6, 7), runs(50, 1e6, 7), **elsewhere)) == "not comparable"
    assert timed_state(compared([[timed(5.0)]], [[timed(5.0)]])) == "equal"
    assert timed_state(compared([[timed(5.0)]], [[counted(5)]])) == ""
    for b in (runs(100.01, 1e6, 7), runs(50, 1e6, 4)):
        assert findings(compared(runs(100, 1e6, 7), b)) == []


def test_runs_whose_threads_waited_for_processors_are_named_beside_what_differs() -> None:
    found = compared(runs(100, 1e6, 3), runs(80, 9e5, 3))
    assert say.disturbed(found) == []
    waited = Check("interference", "Share of thread time", "warning", "60 %", "1 %")
    runs_of_b = tuple(replace(run, checks=(waited,)) if n else run for n, run in enumerate(found.b.runs))
    found = replace(found, b=replace(found.b, runs=runs_of_b))
    (line,) = say.disturbed(found)
    assert line.startswith("a@v2: in 2 of 3 runs threads waited") and say.answers(found)[-1] == line
    assert "in 2 of 3 runs threads waited" in markdown_of(found)
