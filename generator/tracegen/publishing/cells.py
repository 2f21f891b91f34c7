"""Versions that draw the cells of one matrix."""

from collections.abc import Sequence
from typing import Any

from tracegen.contract.facts import Facts
from tracegen.publishing.bundle import Bundle


def cell_of(facts: Facts) -> dict[str, Any]:
    """The entry `cell` of version.json: the matrix and the factors of a run; nothing where they are private."""
    slot = facts.slot
    return {"cell": {"matrix": slot.matrix, "factors": slot.factors}} if slot and "/" in slot.matrix else {}


def same_cell(bundle: Bundle) -> str:
    """A name that versions with the same values of the same factors share; empty outside of a matrix."""
    return repr(sorted(bundle.cell["factors"].items())) if bundle.cell else ""


def version_before(bundle: Bundle, older: Sequence[Bundle]) -> Bundle | None:
    """The version that this one is compared with, of `older` ones, newest first: the last of them; None without one.

    A cell of a matrix is compared with the last version of the same cell, else the last from outside of its matrix.
    """
    if bundle.cell:
        same = [other for other in older if same_cell(other) == same_cell(bundle)]
        older = same or [other for other in older if other.cell.get("matrix") != bundle.cell["matrix"]]
    return older[0] if older else None


def by_matrix(bundles: Sequence[Bundle]) -> dict[str, list[Bundle]]:
    """The versions of each matrix that has several cells: the newest of each cell. `bundles` are newest first."""
    found: dict[str, dict[str, Bundle]] = {}
    for bundle in bundles:
        if bundle.cell:
            found.setdefault(str(bundle.cell["matrix"]), {}).setdefault(same_cell(bundle), bundle)
    return {matrix: list(cells.values()) for matrix, cells in found.items() if len(cells) > 1}
