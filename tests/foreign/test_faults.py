"""The table of the faults of other tools' traces: whole, and shown as it is written."""

from typing import Any

import pytest

from tracegen.contract.check_keys import Key
from tracegen.foreign import faults


def checks_of(monkeypatch: pytest.MonkeyPatch, text: str, **figures: int | str) -> list[Any]:
    cases = faults._cases(text)
    monkeypatch.setitem(faults.KINDS, "it", cases)
    monkeypatch.setitem(faults.FIGURES, "it", set().union(*map(faults._names, cases.values())))
    return [(check.key, check.state, check.found, check.detail) for check in faults.checks_of("it", figures)]


def test_every_check_has_a_limit_and_a_title() -> None:
    keys = {key for checks in faults.KINDS.values() for key in checks}
    assert keys == set(faults.LIMITS) <= {key.value for key in Key}


def test_every_line_of_the_table_is_understood() -> None:
    for checks in faults.KINDS.values():
        for key, cases in checks.items():
            assert cases and all(case.states and case.finding for case in cases), key
            for case in cases:  # nothing follows a state that needs no figure
                assert all(figure for _, figure in case.states[:-1]), (key, case)
                assert case is cases[-1] or case.states[-1][1], (key, case)


def test_the_first_state_whose_figure_is_there_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = (
        "sizes_whole\n    failed if bad, warning if odd: {bad:row}\n        and more | a[bad? ; {odd:pass/passes}]\n"
    )
    table += "    passed if good: {good}\n"
    assert checks_of(monkeypatch, table, bad=1, odd=0, good=0) == [
        ("sizes_whole", "failed", "1 row and more", "a; 0 passes")
    ]
    assert checks_of(monkeypatch, table, bad=0, odd=1, good=1) == [("sizes_whole", "warning", "0 rows and more", "a")]
    assert checks_of(monkeypatch, table, bad=0, odd=0, good=1234) == [("sizes_whole", "passed", "1,234", "")]
    assert checks_of(monkeypatch, table, bad=0, odd=0, good=0) == []
    with pytest.raises(AssertionError):
        checks_of(monkeypatch, table, bad=0, odd=0)
    with pytest.raises(ValueError, match="sizes_whole: 'waning if bad else passed' is not a rule"):
        faults._cases("sizes_whole\n    waning if bad else passed: 0\n")


def test_names_from_a_trace_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    table = "sizes_whole\n    failed: {names}\n"
    assert checks_of(monkeypatch, table, names="{x} [names? y]") == [("sizes_whole", "failed", "{x} [names? y]", "")]
