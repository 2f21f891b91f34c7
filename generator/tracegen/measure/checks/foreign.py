"""The verdict of an imported run: what its reader found, and those of the general checks that such a trace allows."""

from collections.abc import Sequence
from dataclasses import replace

from tracegen.contract.check_keys import Key
from tracegen.contract.model import Check
from tracegen.measure.checks import verdict
from tracegen.measure.checks.evidence import Evidence

_GENERAL = verdict.OF_TABLES


def checks_of_import(evidence: Evidence, found: Sequence[Check]) -> tuple[Check, ...]:
    """The checks of an imported run, in the order of `Key`: those of its reader, then general ones of its tables.

    A general check that the reader made itself is left out.
    """
    made = {Key(check.key): check for check in found}
    for run_check in _GENERAL:
        check = run_check(evidence)
        made.setdefault(Key(check.key), check)
    if (
        Key.NODES_ACCOUNTED in made and made[Key.NODES_ACCOUNTED].state == "failed"
    ):  # what the missing operations read is not untouched
        known = made[Key.NEVER_TOUCHED]
        why = "operations are missing, and what they read would be listed"
        made[Key.NEVER_TOUCHED] = replace(known, state="not checked", found="not known", detail=why)
    return tuple(made[key] for key in Key if key in made)
