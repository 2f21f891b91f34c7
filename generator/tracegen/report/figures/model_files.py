"""The files that the model was loaded from."""

from __future__ import annotations

from tracegen.contract import quantities as q
from tracegen.report.figures.cells import Cell, Head, cells
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table


def _content(context: Context) -> Rows:
    rows = [
        cells(
            Cell(q.printable(f["path"]), code=True),
            Cell(q.size(f["size_bytes"]), number=True, exact=f"{q.count(f['size_bytes'])} bytes"),
            Cell(q.printable(f["sha256"]) if q.known(f["sha256"]) else q.UNKNOWN, code=True),
        )
        for f in context.tables["files"].to_dict("records")
    ]
    return Rows(
        caption="The files the model was loaded from, with the hash of the whole file.",
        head=(Head("File"), Head("Size", number=True), Head("sha256")),
        rows=rows,
        data=context.tables["files"],
        empty="The trace names no model file.",
    )


MODEL_FILES = Table(
    key="model-files",
    page="provenance",
    section="model",
    title="Model files",
    needs=(),
    content=_content,
    explanation=Explanation(
        "The files of the model: size, hash, and where each begins on the axis of the heatmap.",
        "All files that were mapped or read. Published names have no folders.",
        "Files with the same sha256 are the same, wherever they lie.",
        code="data = run.files",
    ),
)
