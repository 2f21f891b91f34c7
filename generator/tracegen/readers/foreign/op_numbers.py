"""The numbers of ggml's operations in three of its revisions.

Traces of other tools name an operation by its number in `enum ggml_op`. New operations are put between old ones, so a
number means something else in another revision: MUL_MAT is 27 in July 2025, and 29 in 2026.
"""

from collections.abc import Mapping
from pathlib import Path

from tracegen.contract.prose import lists

_LISTS = lists(Path(__file__).with_name("op_numbers.txt"))
# Revision (year and month): the names of its operations, from number 0.
TABLES: Mapping[str, tuple[str, ...]] = {key: names for key, names in _LISTS.items() if key not in ("UNARY", "GLU")}
NEWEST = "2026-11"
NOOPS = frozenset({"NONE", "RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE"})  # they compute nothing
# What ggml calls a node of UNARY or GLU: by its function.
FUNCTIONS: Mapping[str, str] = {name: op for op in ("UNARY", "GLU") for name in _LISTS[op]}


def number_of(op: str, table: str = NEWEST) -> int | None:
    """The number of an operation, or of a function of UNARY or GLU (`SWIGLU`), in a table; None where it has none."""
    names = TABLES[table]
    name = FUNCTIONS.get(op, op)
    return names.index(name) if name in names else None
