"""Which checks of a real run on a small model may not fail, however busy the machine is."""

from __future__ import annotations

from tracegen.model import Check, Run


def failures(run: Run) -> list[Check]:
    """The failed checks, but for what tracing cost.

    A pass of such a model takes some hundred microseconds, of which tracing takes 3 to 6 %; in a second in which the
    machine is twice as slow as in the others it takes more than a tenth, and the check rightly says so.
    """
    return [check for check in run.checks if check.state == "failed" and check.key != "tracing_cost"]
