"""How tests are spread over processes: in units whose tests share what is made for them, the longest unit first.

A unit is a file, or one case of a file whose tests look at a run that is made for each case. A process that is done
with its units takes the longest of those that are left: no process is alone at the end with a long one.
"""

from __future__ import annotations

import re
from typing import Any

from xdist.scheduler import LoadScopeScheduling

INTEGRATION = "tests/integration/"
# files of the same name here look at the same runs: those of a case stay together
BY_CASE = {
    f"{INTEGRATION}test_against_oracle.py": "measured",
    f"{INTEGRATION}test_attach.py": "measured",
    f"{INTEGRATION}test_models.py": "models",
    "tests/recompute/test_pages.py": "recomputed",
}
# of a unit, where it is more than some ten; for the order alone
SECONDS: dict[str, float] = {}


def unit_of(test: str) -> str:
    """The unit of a test: `tests/test_cli.py`, or `measured: dense`."""
    file = test.partition("::")[0]
    case = re.search(r"\[(.+)\]$", test)
    return f"{BY_CASE[file]}: {case[1]}" if case and file in BY_CASE else file


def seconds_of(unit: str) -> float:
    """About how long a unit takes."""
    return SECONDS.get(unit, SECONDS.get(unit.partition(":")[0], 1.0))


class LongestFirst(LoadScopeScheduling):
    """A process gets a unit when it has no more than two tests left."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        self.workqueue.move_to_end(max(self.workqueue, key=seconds_of), last=False)
        super()._assign_work_unit(node)
