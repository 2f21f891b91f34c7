"""What a version or draft holds of its run as data: its facts, its first finding, the addresses on its pages.

They are `data/run.json`, an entry of `version.json` and `data/anchors.json`. `earlier.json` holds the same for versions
that were published before bundles did, as their pages state it, under the SHA-256 of the provenance page. For an older
version that is in neither, nothing is known.
"""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from html import escape
from pathlib import Path
from typing import Any

from tracegen.contract import address, documents
from tracegen.publishing.bundle import Bundle
from tracegen.report.pages import run_file
from tracegen.report.pages.page import ANCHORS
from tracegen.storing import store

EARLIER = Path(__file__).with_name("earlier.json")


def facts_of(bundle: Bundle) -> Mapping[str, Any]:
    """The facts of the run, as `run.json` has them; empty where they are not known. Raises StoreError."""
    if run_file.PATH not in bundle.document["manifest"]:
        return dict(_earlier(bundle).get("facts", {}))
    return dict(store.read_json(bundle.file(run_file.PATH), run_file.SCHEMA, run_file.SHAPE)["facts"])


def finding_of(bundle: Bundle) -> str:
    """The first finding of the overview; empty where it is not known."""
    return str(bundle.document.get("finding") or _earlier(bundle).get("finding", ""))


def addresses_of(bundle: Bundle) -> Mapping[str, Any] | None:
    """The addresses that links may use, as `report/pages/anchors.py` lists them; None where they are not known."""
    entry = bundle.document["manifest"].get(ANCHORS)
    if entry is None:
        listed: Mapping[str, Any] | None = _earlier(bundle).get("anchors")
        return listed
    return _listed(bundle.folder / ANCHORS, entry["sha256"])


def shows(bundle: Bundle, page: Mapping[str, str], anchor: str) -> bool:
    """Whether an address of the page ends in `#anchor`: the id of an element, or an op, tensor or node of scripts."""
    listed, key = addresses_of(bundle), page["key"]
    if listed is None:  # of a version without the list only the elements of its pages are known
        return f'id="{escape(anchor)}"'.encode() in bundle.body(page["path"])
    if anchor in listed["ids"].get(key, ()):
        return True
    if key in ("operations", "timeline"):
        return _has_op(listed, anchor)
    if key in ("file", "memory"):  # memory: as the page was called in earlier versions
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


def _earlier(bundle: Bundle) -> Mapping[str, Any]:
    """The entry of the bundle in `earlier.json`; empty without one."""
    page = bundle.document["manifest"].get("provenance/index.html", {})
    return _all_earlier().get(page.get("sha256"), {})


@cache
def _all_earlier() -> Mapping[str, Mapping[str, Any]]:
    return dict(documents.read_json(EARLIER))
