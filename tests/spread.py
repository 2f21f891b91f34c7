"""How tests are spread over processes: in units whose tests share what is made for them, the longest unit first.

A unit is a file, or one case of a file whose tests look at a run that is made for each case. A process that is done
with its units takes the longest of those that are left: no process is alone at the end with a long one.
"""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling

INTEGRATION = "tests/integration/"
BROWSER = "tests/browser/"  # these need one site, which the first process that comes to them makes; others would wait
# files of the same name here look at the same runs: those of a case stay together
BY_CASE = {
    f"{INTEGRATION}test_against_oracle.py": "measured",
    f"{INTEGRATION}test_attach.py": "measured",
    f"{INTEGRATION}test_models.py": "models",
    "tests/recompute/test_pages.py": "recomputed",
}
# how long each unit took in the run that wrote the file; `pytest --write-durations`, of all tests, writes it again
DURATIONS = Path(__file__).with_name("durations.json")
ROOT = DURATIONS.parents[1]
UNKNOWN = 5.0  # seconds, of a unit that no run has timed
SLOW = 7.0  # seconds: `make test-quick` leaves out units that take longer


def unit_of(test: str) -> str:
    """The unit of a test: `tests/cli/test_cli.py`, or `measured: dense`."""
    file = test.partition("::")[0]
    case = re.search(r"\[(.+)\]$", test)
    return f"{BY_CASE[file]}: {case[1]}" if case and file in BY_CASE else file


@cache
def known_durations() -> dict[str, float]:
    """The seconds that each unit took."""
    known: dict[str, float] = json.loads(DURATIONS.read_text(encoding="utf-8"))
    return known


def seconds_of(unit: str) -> float:
    """About how long a unit takes."""
    return known_durations().get(unit, UNKNOWN)


class Timed:
    """A plugin of pytest that writes how long each unit took; those that did not run keep the time that is known."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.taken[unit_of(report.nodeid)] += report.duration

    def pytest_sessionfinish(self) -> None:
        here = {unit: seconds for unit, seconds in known_durations().items() if ":" in unit or (ROOT / unit).exists()}
        known = here | {unit: round(seconds, 1) for unit, seconds in self.taken.items()}
        DURATIONS.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n", encoding="utf-8")


class LongestFirst(LoadScopeScheduling):
    """A process gets a unit when it has no more than two tests left.

    The first process begins with the browser's units, where those are the longest, and the others with what is left.
    """

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        units = list(self.workqueue)
        if not self.assigned_work[node] and any(self.assigned_work.values()):
            units = [unit for unit in units if not unit.startswith(BROWSER)] or units
        self.workqueue.move_to_end(max(units, key=seconds_of), last=False)
        super()._assign_work_unit(node)
