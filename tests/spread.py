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
# of a unit on a busy machine of two processors, where it is more than some ten; for the order alone
SECONDS = {
    "tests/browser/test_hostile_site.py": 280,
    "tests/native/test_robustness.py": 210,
    "tests/browser/test_site.py": 150,
    "tests/browser/test_access.py": 140,
    f"{INTEGRATION}test_exec.py": 120,
    "tests/browser/test_layout.py": 110,
    "tests/test_drafts.py": 100,
    "tests/pages/test_explain.py": 100,
    "tests/browser/test_figures.py": 96,
    f"{INTEGRATION}test_faults.py": 95,
    "tests/test_notebook.py": 91,
    "tests/test_plugin.py": 90,
    "tests/pages/test_needs.py": 80,
    f"{INTEGRATION}test_matrix.py": 70,
    "tests/test_whole_site.py": 65,
    "tests/test_site.py": 60,
    f"{INTEGRATION}test_backends.py": 56,
    "tests/test_earlier.py": 55,
    "tests/native/test_option_off.py": 53,
    "tests/browser/test_graph.py": 45,
    "tests/native/test_faults.py": 42,
    f"{INTEGRATION}test_kills.py": 40,
    "tests/pages/test_claims.py": 40,
    "tests/test_demo_models.py": 35,
    "tests/test_hostile.py": 34,
    "tests/charts/test_charts.py": 33,
    "tests/test_scale.py": 31,
    "tests/pages/test_graph_facts.py": 30,
    "tests/pages/test_render.py": 30,
    f"{INTEGRATION}test_disturbed.py": 30,
    "tests/analysis/test_residency.py": 27,
    "tests/browser/test_print.py": 25,
    "tests/pages/test_mixtures.py": 25,
    f"{INTEGRATION}test_tracing_is_harmless.py": 25,
    "tests/native/test_written.py": 23,
    "tests/test_killed.py": 19,
    "tests/pages/test_figure_data.py": 17,
    "tests/browser/test_report.py": 16,
    "tests/browser/test_op_rows.py": 16,
    "tests/pages/test_untrusted.py": 15,
    "tests/analysis/test_significance.py": 15,
    "tests/native/test_layout.py": 12,
    # of a case
    "measured": 12,
    "recomputed": 8,
    "models": 5,
}


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
