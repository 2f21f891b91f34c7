"""The addresses in a version that a journal can refer to."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tracegen.contract import address
from tracegen.publishing.bundle import Bundle
from tracegen.publishing.held import addresses_of


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
