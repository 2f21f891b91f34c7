"""The model file once for each cell of a matrix: which of its bytes a token uses there."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from tracegen.analysis import axis
from tracegen.charts import compared_maps as maps
from tracegen.charts import theme
from tracegen.charts.compared import cell_names
from tracegen.comparing import places
from tracegen.comparing.page import MAP, PageFigures
from tracegen.comparing.sentences import short_cell
from tracegen.contract import quantities as q
from tracegen.publishing.side import Side
from tracegen.report.document.blocks import FigureBlock

MOST = 24  # cells


def map_of_cells(sides: Sequence[Side], drawn: PageFigures) -> FigureBlock:
    """The map of the cells whose model file is that of the first; all have one scale."""
    first = sides[0].typical.tables()
    total = axis.length(first)
    widths = {width: cell_names([_name(side, width) for side in sides], width) for width in theme.WIDTHS}
    found: dict[int, list[pd.DataFrame]] = {width: [] for width in theme.WIDTHS}
    lanes: list[Side] = []
    for side in sides[:MOST]:
        tables = side.typical.tables()  # one after the other: those of a large model fill memory
        if not places.same_files(first, tables):
            continue
        lanes.append(side)
        used = places.Used(side.typical)
        for width, room in widths.items():
            (shares,) = used.of_each(maps.track_px(width, room))
            found[width].append(shares.reset_index().assign(lane=_name(side, width)))
    rows = {width: pd.concat(of) if of else pd.DataFrame() for width, of in found.items()}
    if rows[theme.WIDTH].empty:
        reason = "No generate pass used a byte of the file." if lanes else "The first cell has no model file."
        return drawn.nothing("map", MAP, reason)
    caption = (
        "The model file from its first to its last byte, in the typical run of each cell. Colour: how much of the "
        "bytes at that place a token used, in the mean over generate passes; striped where it used a copy in memory."
    )
    if len(lanes) < len(sides):
        left_out = q.counted(len(sides) - len(lanes), "cell")
        caption += f" Left out: {left_out} with another model file than the first, or beyond {MOST} cells."

    def chart(width: int) -> Any:
        return maps.many(rows[width], [_name(side, width) for side in lanes], total, width=width)

    return drawn.figure("map", MAP, caption, rows[theme.WIDTH], chart, file="cells-map")


def _name(side: Side, width: int) -> str:
    return short_cell(side.name) if theme.narrow(width) else side.name
