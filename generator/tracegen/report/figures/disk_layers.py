"""Which layers tokens wait for."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import disk_waits
from tracegen.charts import layers, theme
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.figures.shared_disk import FAULTS, RECORDED
from tracegen.report.words import disk_sentences as say


def _content(context: Context) -> Content:
    """Time waited for the bytes of each layer, in passes of one phase."""
    phase, rows = context.phase, _rows(context, context.phase)
    if not rows["waited_ns"].sum() and phase != "prompt":
        phase, rows = "prompt", _rows(context, "prompt")
    by_layer = rows.dropna(subset=["layer"]).groupby("layer")["waited_ns"].sum()
    whole = int(by_layer.sum())
    n_layers = int(context.tables["tensors"]["layer"].nunique())
    longest = int(str(by_layer.idxmax())) if whole else 0
    outside = 1 - whole / max(int(rows["waited_ns"].sum()), 1)
    title = say.layers_title(longest, float(by_layer.max()) / whole, n_layers, outside, phase) if whole else ""
    return Content(
        title=title,
        caption="Time of page faults by the layer and component group of the byte that was missing, in the mean over "
        f"threads and {phase} passes. Bytes outside all layers stand last, as “no layer”.",
        alt=f"Stacked bars of waiting for {q.counted(rows['layer'].nunique(), 'layer')}; the data table has the "
        "numbers.",
        chart=lambda width: layers.chart(rows, "ns_per_pass", f"waited for the disk in a {phase} pass", width=width),
        data=rows,
        empty="" if int(rows["waited_ns"].sum()) else "No prompt or generate pass waited for a byte of a tensor.",
        numbers={"phase": phase},
    )


def _rows(context: Context, phase: str) -> pd.DataFrame:
    return disk_waits.by_layer(context.tables, phase, theme.GROUP_OF)


DISK_LAYERS = Figure(
    key="disk-layers",
    page="disk",
    section="split",
    title="Which layers do tokens wait for?",
    needs=(*needs.TIMES, needs.PLACES, needs.FAULTS),
    when=RECORDED,
    content=_content,
    explanation=Explanation(
        f"Page faults by the layer of the tensor whose byte was touched. {FAULTS}",
        "Passes of one phase: generate, or prompt where no generate pass waited for the disk. Page faults of bytes "
        "between tensors are left out.",
        "Layers of equal size that are read from a cold file take alike. A longer bar shows a layer whose bytes were "
        "not in memory when the others’ were. Read-ahead may have been begun by a fault in the layer before.",
        code="""
from tracegen.analysis import disk_waits
from tracegen.charts import theme
data = disk_waits.by_layer(run.tables, "$phase", theme.GROUP_OF)
""",
    ),
)
