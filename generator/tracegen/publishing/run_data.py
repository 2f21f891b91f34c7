"""What a version or draft holds of its run as data: its facts, and the addresses on its pages."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tracegen.contract import address, documents
from tracegen.contract.facts import Facts
from tracegen.contract.records import decode
from tracegen.publishing.bundle import Bundle
from tracegen.report.document.page import ANCHORS
from tracegen.report.pages import run_file
from tracegen.storing import store


def facts_of(bundle: Bundle) -> Facts:
    """The facts of the run, as `data/run.json` has them. Raises StoreError."""
    return decode(Facts, store.read_json(bundle.file(run_file.PATH), run_file.SCHEMA, run_file.SHAPE)["facts"])


def addresses_of(bundle: Bundle) -> Mapping[str, Any]:
    """The addresses that links may use, as `report/pages/anchors.py` lists them. Raises StoreError."""
    return _listed(bundle.file(ANCHORS), bundle.document["manifest"][ANCHORS]["sha256"])


def shows(bundle: Bundle, page: Mapping[str, str], anchor: str) -> bool:
    """Whether an address of the page ends in `#anchor`: the id of an element, or an op, tensor or node of scripts."""
    listed, key = addresses_of(bundle), page["key"]
    if anchor in listed["ids"].get(key, ()):
        return True
    if key in ("operations", "timeline"):
        return _has_op(listed, anchor)
    if key == "file":
        return address.tensor(anchor) in listed["tensors"]
    place = address.node(anchor) if key == "graph" else None
    return place is not None and _within(listed["graphs"].get(str(place[0]), ()), place[1])


def _has_op(listed: Mapping[str, Any], anchor: str) -> bool:
    """Whether the operations page has a row for the op or the pass; the timeline has the same addresses."""
    op = address.op(anchor)
    if op is None or str(op[0]) not in listed["passes"]:
        return False
    return op[1] is None or _within(listed["nodes"][listed["passes"][str(op[0])]], op[1])


def _within(runs: Sequence[Sequence[int]], number: int) -> bool:
    return any(first <= number < first + n for first, n in runs)


@lru_cache(maxsize=8)  # a journal has many references to one version
def _listed(path: Path, sha256: str) -> Mapping[str, Any]:
    return dict(documents.read_json(path))
