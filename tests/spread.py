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
# of a unit, a file or a case of `BY_CASE`, on a busy machine of two processors; for the order alone
SECONDS = {
    "tests/browser/test_access.py": 220,
    "tests/browser/test_hostile_site.py": 145,
    "tests/browser/test_site.py": 120,
    f"{INTEGRATION}test_exec.py": 120,
    "tests/pages/test_render.py": 113,
    "tests/pages/test_needs.py": 112,
    "tests/test_matrix_versions.py": 112,
    "tests/browser/test_layout.py": 110,
    "tests/test_comparisons.py": 105,
    "tests/native/test_robustness.py": 102,
    "tests/test_drafts.py": 100,
    "tests/pages/test_explain.py": 96,
    "tests/browser/test_figures.py": 96,
    f"{INTEGRATION}test_faults.py": 95,
    "tests/test_notebook.py": 91,
    "tests/test_plugin.py": 90,
    "tests/commands/test_compare.py": 75,
    f"{INTEGRATION}test_matrix.py": 70,
    "tests/browser/test_memory.py": 67,
    "tests/test_earlier.py": 66,
    "tests/test_whole_site.py": 65,
    "tests/pages/test_answers.py": 64,
    "tests/test_site.py": 60,
    f"{INTEGRATION}test_cluster.py": 60,
    f"{INTEGRATION}test_backends.py": 56,
    "tests/native/test_option_off.py": 53,
    "tests/pages/test_pasted.py": 51,
    "tests/pages/test_disk_sentences.py": 50,
    "tests/browser/test_steps.py": 48,
    "tests/browser/test_explain.py": 47,
    "tests/browser/test_graph.py": 45,
    "tests/browser/test_index.py": 45,
    "tests/pages/test_disk_requests.py": 43,
    "tests/native/test_faults.py": 42,
    f"{INTEGRATION}test_kills.py": 40,
    "tests/pages/test_claims.py": 40,
    "tests/pages/test_mixtures.py": 39,
    "tests/browser/test_print.py": 38,
    "tests/analysis/test_expert_phases.py": 38,
    "tests/test_demo_models.py": 35,
    "tests/test_hostile.py": 34,
    "tests/charts/test_charts.py": 33,
    "tests/test_scale.py": 31,
    "tests/pages/test_graph_facts.py": 30,
    f"{INTEGRATION}test_disturbed.py": 30,
    "tests/analysis/test_residency.py": 27,
    f"{INTEGRATION}test_tracing_is_harmless.py": 25,
    "tests/native/test_written.py": 23,
    "tests/test_killed.py": 19,
    "tests/pages/test_figure_data.py": 17,
    "tests/browser/test_report.py": 16,
    "tests/browser/test_op_rows.py": 16,
    "tests/pages/test_untrusted.py": 15,
    "tests/analysis/test_significance.py": 15,
    "tests/native/test_layout.py": 12,
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
