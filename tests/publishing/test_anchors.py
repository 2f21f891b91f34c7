"""The list of places in a bundle says what its pages and scripts say, in which they were looked for before."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from tests.builders import a_moe_run, scaled_case
from tests.golden.hard_case import hard_case
from tests.test_bundle import IDENTITY
from tracegen.contract.model import Check, Run
from tracegen.publishing import anchors, old_anchors
from tracegen.publishing.bundle import Bundle, read_bundle, write_bundle
from tracegen.report.pages.anchors import runs_of
from tracegen.report.pages.page import ANCHORS
from tracegen.report.pages.render import render_report

FAILED = Check("nodes_accounted", "All nodes", "failed", "1 missing", "0")
CASES: Mapping[str, tuple[Run, Mapping[str, pd.DataFrame]]] = {
    "mixture": (a_moe_run(), scaled_case(3, 2, moe=True, splits=2)),
    "hard case": (a_moe_run(), hard_case()),
    "refused": (a_moe_run(checks=(FAILED,)), scaled_case(1, 1, moe=True)),
}


@pytest.fixture(scope="module", params=CASES)
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    run, tables = CASES[request.param]
    folder = tmp_path_factory.mktemp("bundle")
    report = render_report(run, tables, address="demo/run-003", citable=None)
    write_bundle(folder, report, IDENTITY)
    return read_bundle(folder)


def asked(bundle: Bundle) -> set[str]:
    """Places that are there and places that are not: every id, operations, tensors and nodes around their numbers."""
    made = {"pass=0", "pass=999999999", "pass=x", "tensor=", "g0", "nothing", "fig-", '"><script>'}
    for page in bundle.pages:
        made |= {found.decode() for found in re.findall(rb'id="([\w.-]+)"', bundle.body(page["path"]))}
    made |= {f"pass={p}" for p in range(12)} | {f"pass={p}&node={n}" for p in range(12) for n in range(40)}
    made |= {f"tensor={n}" for n in range(80)} | {f"g{g}-n{n}" for g in range(5) for n in range(40)}
    return made


def test_both_ways_know_the_same_places(bundle: Bundle) -> None:
    assert ANCHORS in bundle.document["manifest"]
    there = 0
    for page in bundle.pages:
        for anchor in asked(bundle):
            found = anchors.shows(bundle, page, anchor)
            assert found == old_anchors.shows(bundle, page, anchor), (page["key"], anchor)
            there += found
    assert there > 30


def test_a_bundle_without_the_list_is_searched(bundle: Bundle) -> None:
    manifest = {name: entry for name, entry in bundle.document["manifest"].items() if name != ANCHORS}
    old = Bundle(Path(bundle.folder), {**bundle.document, "manifest": manifest})
    (overview, *_) = old.pages
    assert anchors.shows(old, overview, "verdict") and not anchors.shows(old, overview, "nothing")


@pytest.mark.parametrize(
    ("numbers", "runs"), [([], ()), ([4], ((4, 1),)), ([7, 5, 6, 9], ((5, 3), (9, 1))), ([2, 2], ((2, 1),))]
)
def test_runs(numbers: list[int], runs: tuple[tuple[int, int], ...]) -> None:
    assert runs_of(numbers) == runs
