"""The numbers of ggml's operations in three of its revisions.

Traces of other tools name an operation by its number in `enum ggml_op`. New operations are put between old ones, so a
number means something else in another revision: MUL_MAT is 27 in July 2025, and 29 in 2026.
"""

from collections.abc import Mapping
from pathlib import Path

from tracegen.contract.prose import lists

# Revision (year and month): the names of its operations, from number 0.
TABLES: Mapping[str, tuple[str, ...]] = lists(Path(__file__).with_name("op_numbers.txt"))
NOOPS = frozenset({"NONE", "RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE"})  # they compute nothing
