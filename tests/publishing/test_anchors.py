"""The list of places in a bundle says what its pages and scripts hold."""

import json
import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.builders import a_moe_run, scaled_case
from tests.golden.hard_case import hard_case
from tests.publishing.test_bundle import IDENTITY
from tests.recompute.published import handed_over
from tracegen.contract.model import Check, Run
from tracegen.publishing.bundle import Bundle, read_bundle, write_bundle
from tracegen.publishing.run_data import addresses_of, facts_of, shows
from tracegen.report.document.page import ANCHORS
from tracegen.report.pages.anchors import runs_of
from tracegen.report.pages.render import render_report

ROOT = Path(__file__).parents[2]
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
    report = render_report(run, tables, citable=None)
    write_bundle(folder, report, IDENTITY)
    return read_bundle(folder)


def asked(bundle: Bundle) -> set[str]:
    """Places that are there and places that are not: every id, operations, tensors and nodes around their numbers."""
    anchors = {"pass=0", "pass=999999999", "pass=x", "tensor=", "g0", "nothing", "fig-", '"><script>'}
    for page in bundle.pages:
        anchors |= {found.decode() for found in re.findall(rb'id="([\w.-]+)"', bundle.body(page["path"]))}
    anchors |= {f"pass={p}" for p in range(12)} | {f"pass={p}&node={n}" for p in range(12) for n in range(40)}
    anchors |= {f"tensor={n}" for n in range(80)} | {f"g{g}-n{n}" for g in range(5) for n in range(40)}
    return anchors


def searched(bundle: Bundle) -> set[tuple[str, str]]:
    """Page and anchor of all places, searched in the pages and in the data of their scripts."""
    bodies = {page["key"]: bundle.body(page["path"]) for page in bundle.pages}
    found = set()
    for key, body in bodies.items():
        found |= {(key, unescape(name)) for name in re.findall(r'id="([^"]*)"', body.decode())}
    nodes: list[int] = []
    state = re.search(rb'<script type="application/json" id="tg-operations">(.*?)</script>', bodies["operations"])
    listed = {of["id"] for of in json.loads(state[1])["passes"]} if state else set()
    for script in sorted(bundle.folder.glob("data/ops/[0-9]*.js")):
        for entry in data_of(script.read_bytes()):
            nodes = entry.get("node", nodes)  # if absent, those of the pass before
            rows = [f"pass={entry['id']}", *(f"pass={entry['id']}&node={node}" for node in nodes)]
            found |= {(key, row) for key in ("operations", "timeline") for row in rows if entry["id"] in listed}
    memory = bundle.folder / "data" / "memory.js"
    tensors = data_of(memory.read_bytes()).get("tensors", ()) if memory.is_file() else ()
    found |= {("file", f"tensor={tensor}") for tensor in tensors}
    state = re.search(rb'<script type="application/json" id="tg-graph">(.*?)</script>', bodies["graph"], re.DOTALL)
    for topology in json.loads(state[1])["topologies"] if state else ():
        facts = topology.get("facts") or data_of((bundle.folder / "graph" / topology["path"]).read_bytes())
        found |= {("graph", f"g{graph}-n{node}") for graph in topology["graphs"] for node in facts["node"]}
    return found


def data_of(script: bytes) -> Any:
    return handed_over(script.decode())[0]


def test_the_list_knows_the_places_that_pages_and_scripts_hold(bundle: Bundle) -> None:
    assert ANCHORS in bundle.document["manifest"]
    there, known = 0, searched(bundle)
    for page in bundle.pages:
        for anchor in asked(bundle):
            found = shows(bundle, page, anchor)
            assert found == ((page["key"], anchor) in known), (page["key"], anchor)
            there += found
    assert there > 30


def test_each_version_of_this_repository_holds_facts_and_addresses() -> None:
    folders = sorted((ROOT / "experiments").glob("*/versions/*"))
    assert len(folders) == 4
    for bundle in map(read_bundle, folders):
        assert facts_of(bundle).model.architecture and "verdict" in addresses_of(bundle)["ids"]["overview"]


@pytest.mark.parametrize(
    ("numbers", "runs"), [([], ()), ([4], ((4, 1),)), ([7, 5, 6, 9], ((5, 3), (9, 1))), ([2, 2], ((2, 1),))]
)
def test_consecutive_numbers_are_stored_as_ranges(numbers: list[int], runs: tuple[tuple[int, int], ...]) -> None:
    assert runs_of(numbers) == runs
