"""Runs as earlier tracegens stored them, one for each set of columns that tables have had, and what made them.

- `1`: the first tables, of a mixture that generated 8 tokens.
- `2`: `passes.read_bytes` was added, and the conditions of a run.
- `3`: the tables `splits` and `copies` were added; tracegen 0.1.0.

What was added since is in today's tables. A folder holds what is not as in the one before it: `put_together` makes the
run, which its manifest holds against. They have no evidence (`raw/`), and never change. Whoever adds a column or table
to tables that were released stores a run of those first.
"""

import shutil
from pathlib import Path

from tracegen.storing import store

NUMBERS = (1, 2, 3)
ADDED_AFTER = {1: {"passes.read_bytes"}, 2: {"splits", "copies"}}  # a column, or a whole table


def put_together(number: int, target: Path) -> Path:
    """Copy the run with the tables of `number` to the new folder `target`, and hold it against its manifest."""
    for before in NUMBERS[:number]:
        shutil.copytree(Path(__file__).with_name(str(before)), target, dirs_exist_ok=True)
    store.verify_run(target)
    return target
