"""What a version or draft holds of its run as data: its facts, its first finding, the addresses on its pages.

They are `data/run.json`, an entry of `version.json` and `data/anchors.json`. `earlier.json` holds the same for versions
that were published before bundles did, as their pages state it, under the SHA-256 of the provenance page. For an older
version that is in neither, nothing is known.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from tracegen.contract import documents
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
