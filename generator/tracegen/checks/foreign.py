"""The verdict of an imported run: what its reader found, and those of the general checks that such a trace allows."""

from __future__ import annotations

from collections.abc import Sequence

from tracegen.checks import verdict
from tracegen.checks.evidence import Evidence
from tracegen.checks.keys import Key
from tracegen.model import Check

_GENERAL = verdict.OF_TABLES


def checks_of_import(evidence: Evidence, found: Sequence[Check]) -> tuple[Check, ...]:
    """The checks of an imported run, in the order of `Key`: those of its reader, then general ones of its tables.

    A general check that the reader made itself is left out.
    """
    made = {check.key: check for check in found}
    for run_check in _GENERAL:
        check = run_check(evidence)
        made.setdefault(check.key, check)
    order = {key.value: number for number, key in enumerate(Key)}
    return tuple(sorted(made.values(), key=lambda check: order[check.key]))
