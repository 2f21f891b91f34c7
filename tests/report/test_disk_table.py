"""The table of what decides whether a pass reaches the disk: no fault and no byte is lost between its rows."""

import pandas as pd

from tests.builders import a_moe_run, scaled_case, with_faults
from tracegen.report.figures.context import Context
from tracegen.report.figures.disk import disk_panel
from tracegen.report.figures.disk_reads import DISK_DEVICE
from tracegen.report.figures.figure import Rows

FAULTS = "Major page faults "


def _found(major: list[int]) -> dict[str, str]:
    """The rows of a run whose passes had these major faults: what -> found."""
    tables = scaled_case(2, 1, moe=True)
    passes = tables["passes"].copy()
    passes["major_faults"] = pd.array([*major, *[0] * (len(passes) - len(major))], dtype="Int64")
    panel = disk_panel(Context(a_moe_run(), {**tables, "passes": passes}))
    return {row[0].text: row[1].text for row in panel.rows}


def test_faults_of_the_warm_up_stand_beside_what_it_read() -> None:
    kinds = list(scaled_case(2, 1, moe=True)["passes"]["kind"])
    major = [{"load": 3, "warmup": 2, "prompt": 5}.get(kind, 7) for kind in kinds]
    found = _found(major)
    outside = sum(n for n, kind in zip(major, kinds, strict=True) if kind in ("load", "warmup"))
    assert "warmup" in kinds and "Read while loading and warming up" in found
    assert found[FAULTS + "while loading and warming up"] == str(outside)
    assert found[FAULTS + "in measured passes"] == str(sum(major) - outside)


def test_what_was_in_memory_is_shown_where_somebody_looked() -> None:
    tables = with_faults(scaled_case(2, 1))
    for cache, n in ((tables["cache"], 10), (tables["cache"].head(0), 8)):
        content = DISK_DEVICE.content(Context(a_moe_run(), {**tables, "cache": cache}))
        assert isinstance(content, Rows) and len(content.head) == n
        assert all(cell.text for row in content.rows for cell in row)
        assert ("The last two columns" in content.caption) == (n == 10)
