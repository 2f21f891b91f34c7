"""The page of the file: what lies where in the file, which bytes of it were touched, what was in buffers."""

from typing import Any

from tracegen.charts import theme
from tracegen.report.document.assets import Assets
from tracegen.report.figures.context import Context
from tracegen.report.figures.heatmap import HEATMAP, nothing_touched
from tracegen.report.figures.shared_disk import read_bytes
from tracegen.report.pages.explorers.memory_data import write_memory
from tracegen.report.pages.explorers.memory_slide import memory_slide
from tracegen.report.pages.explorers.pass_disk import recorded


def file(context: Context, assets: Assets) -> dict[str, Any]:
    """The values of the template of the page; writes the data of its explorer."""
    explorer, has = write_memory(context, assets), recorded(context)
    waits = has["waited_ns"] and read_bytes(context, context.measured["pass_id"])
    return {
        "explorer": explorer,
        "height": _height(context.heatmap_rows["row"].nunique()),
        "reason": "" if explorer else _reason(context),
        "notes": [note for note in (context.gaps, context.padded) if note],
        "recorded": has,
        "colour": "waited_ns" if waits else "share",
        "slide": memory_slide(context),
        "state": {
            "data": "../data/",
            "groups": dict(theme.GROUP_OF),
            "colours": {n: v for n, (v, *_) in theme.GROUPS.items()},
        },
    }


def _height(n_rows: int) -> int:
    """The height in px that the script gives the map of so many rows, so that nothing moves when it draws."""
    step = max(4.0, min(18.0, 320 / max(n_rows, 1)))
    return round(34 + step * n_rows + 24)


def _reason(context: Context) -> str:
    """Why there is no map of the file."""
    passes = context.tables["passes"].dropna(subset=["graph"])
    refused = context.refusal(HEATMAP.needs)
    return refused or nothing_touched(context.summary.file_bytes, passes, context.used) or "The file has no tensor."
