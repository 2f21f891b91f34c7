"""The files that the model was loaded from."""

from tracegen.contract import quantities as q
from tracegen.report.document.cells import Cell
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table


def _content(context: Context) -> Rows:
    return Rows(
        caption="The sha256 is the hash of the whole file.",
        data=context.tables["files"],
        empty="The trace names no model file.",
    ).of(
        context.tables["files"],
        col.name("File", "path"),
        col.number(
            "Size", lambda r: Cell(q.size(r["size_bytes"]), number=True, exact=f"{q.count(r['size_bytes'])} bytes")
        ),
        col.text("sha256", lambda r: Cell(q.printable(r["sha256"]) if q.known(r["sha256"]) else q.UNKNOWN, code=True)),
    )


MODEL_FILES = Table(
    key="model-files",
    page="method",
    section="model",
    title="Which files was the model loaded from?",
    content=_content,
    code="data = run.files",
)
