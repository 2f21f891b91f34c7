"""The addresses in a version that a journal can refer to, from the list in its bundle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tracegen.contract import address, documents
from tracegen.publishing import old_anchors
from tracegen.publishing.bundle import Bundle
from tracegen.report.pages.page import ANCHORS


def shows(bundle: Bundle, page: Mapping[str, str], anchor: str) -> bool:
    """Whether an address of the page ends in `#anchor`: the id of an element, or an op, tensor or node of scripts."""
    entry = bundle.document["manifest"].get(ANCHORS)
    if entry is None:  # published before bundles had the list
        return old_anchors.shows(bundle, page, anchor)
    listed, key = _listed(bundle.folder / ANCHORS, entry["sha256"]), page["key"]
    if anchor in listed["ids"].get(key, ()):
        return True
    if key in ("operations", "timeline"):
        return _has_op(listed, anchor)
    if key == "memory":
        return address.tensor(anchor) in listed["tensors"]
    place = address.node(anchor) if key == "graph" else None
    return place is not None and _within(listed["graphs"].get(str(place[0]), ()), place[1])


@lru_cache(maxsize=8)  # a journal has many references to one version
def _listed(path: Path, sha256: str) -> Mapping[str, Any]:
    listed = documents.read_json(path)
    return {**listed, "tensors": frozenset(listed["tensors"])}


def _has_op(listed: Mapping[str, Any], anchor: str) -> bool:
    """Whether the operations page has a row for the op or the pass; the timeline has the same addresses."""
    op = address.op(anchor)
    if op is None or str(op[0]) not in listed["passes"]:
        return False
    return op[1] is None or _within(listed["nodes"][listed["passes"][str(op[0])]], op[1])


def _within(runs: Sequence[Sequence[int]], number: int) -> bool:
    return any(first <= number < first + n for first, n in runs)
