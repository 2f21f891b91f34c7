"""tracegen: what a model really does to memory and disk, as pages that a thesis can cite.

In a notebook, `tracegen.load("demo")` gives a run's tables, `tracegen.load("demo@v1")` those of a version.
"""

from __future__ import annotations

TYPE_CHECKING = False  # of `typing`, whose import takes longer than what a command does until it hears Ctrl-C
if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from tracegen.reading.notebook.loaded import LoadedRun, LoadedVersion

__version__ = "0.2.0"


def load(address: str | Path) -> LoadedRun | LoadedVersion:
    """The tables of a stored run or of a published version as DataFrames.

    `address` names a run: its folder, `NAME/run-003`, or `NAME` for its newest
    run; or a version: its folder, or `NAME@v1`. Each table is an attribute
    (`loaded.passes`, `loaded.ops`, …); `loaded.operations` joins them into one row
    per op with its operation, name and times, `loaded.accesses` into one per operand
    of every op, and `loaded.charts` draws the figures of the pages
    (`loaded.charts.heatmap()`). `loaded.tokens` has the text of each token beside,
    `loaded.faults` the tensor of the byte; `loaded.tables` has both without.
    `loaded.checks` holds the result of each check, `loaded.run` describes a run, `loaded.document` describes a version.

    Rows, columns and keys are those of the data dictionary (tables.py): times
    are integer nanoseconds on one clock (`_ns`), sizes and offsets are bytes, null is
    "not recorded". A version holds what was published of its run: paths are file
    names, and a private run has no token ids.

    Raises SettingsError when there is no such run or version, StoreError when its
    folder is not whole, and on access to a table that the version does not hold.
    """
    from tracegen.reading.notebook.loaded import load as load_address  # imports pandas, which loads slowly

    return load_address(str(address))


def __getattr__(name: str) -> ModuleType:
    """`tracegen.analysis` and `tracegen.charts` without an import of their own, as docs and pages name them."""
    if name not in ("analysis", "charts"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"{__name__}.{name}")
