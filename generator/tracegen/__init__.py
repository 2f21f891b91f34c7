"""tracegen: what a model really does to memory and disk, as pages a thesis can cite.

In a notebook, `tracegen.load("experiments/demo/runs/001")` gives a run's tables.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracegen.loaded import LoadedRun

__version__ = "0.1.0"


def load(run: str | Path) -> LoadedRun:
    """The tables of a stored run as DataFrames, and `accesses` as the join that people want.

    `run` is a run's folder, `NAME/run-003`, or `NAME` for its newest run. Raises
    StoreError when the folder is not whole.
    """
    from tracegen.loaded import load_run  # pandas loads only when it is used

    return load_run(run)
