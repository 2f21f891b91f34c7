"""What a comparison says of key figures, as plain data, which the page of an experiment lists for each step."""

import math
from typing import Any

from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import TELLING, Compared, Comparison

# What timed key figures say together if none is different: the first of these states that one of them has.
_TOGETHER = ("not enough runs", "not comparable", "same within the margin", "equal")


def findings(comparison: Comparison) -> list[dict[str, Any]]:
    """The key figures that differ: timed ones by the rule, counted ones wherever a run differs.

    Each has measure, change (both in words), relative (a share of A; null if A is 0 or not known), state, kind, and
    better: true or false for timed ones, null for counted ones.
    """
    timed = [row for row in comparison.of("timed", "run") if row.state == "different"]
    counted = [row for row in comparison.of("counted", "run") if row.state in TELLING]
    return [_finding(row, comparison) for row in (*timed, *counted)]


def timed_state(comparison: Comparison) -> str:
    """What the timed key figures say together; empty if the sides have none in common.

    `different` if one of them is; else `not enough runs` if that is so of one, `not comparable`, `same within the
    margin`, or `equal` if all are equal in every run.
    """
    states = {row.state for row in comparison.of("timed", "run")}
    if "different" in states:
        return "different"
    return next((state for state in _TOGETHER if state in states), "")


def _finding(row: Compared, comparison: Comparison) -> dict[str, Any]:
    relative = row.relative if row.relative is not None and math.isfinite(row.relative) else None
    change = say.share(relative) or say.signed(row.change, row.unit)
    if row.state in ("only A", "only B"):
        change = f"only in {(comparison.a if row.state == 'only A' else comparison.b).name}"
    elif row.state == "varies":
        change = f"{change} in the median, but not in every run"
    return {
        "measure": say.name(row), "change": change, "relative": relative, "state": row.state, "kind": row.kind,
        "better": row.better,
    }  # fmt: skip
