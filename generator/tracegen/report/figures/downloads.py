"""Every table of the run as a file."""

import hashlib
import io
from typing import Any

import pandas as pd

from tracegen.contract import quantities as q
from tracegen.contract.tables import BY_NAME
from tracegen.contract.text import without_controls
from tracegen.report.document.cells import Cell
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table

SMALL = 20_000  # bytes of CSV up to which a table is offered as CSV too


def _content(context: Context) -> Rows:
    rows: list[dict[str, Any]] = []
    files: dict[str, str | bytes] = {}
    for name, contract in BY_NAME.items():
        frame = context.tables[name]
        parquet = to_parquet(frame)
        path = f"data/tables/{name}.parquet"
        files[path] = parquet
        csv = ""
        if frame.memory_usage(index=False).sum() < 8 * SMALL:
            text = without_controls(frame.to_csv(index=False, lineterminator="\n"))
            if len(text) <= SMALL:
                csv = f"data/tables/{name}.csv"
                files[csv] = text
        digest = hashlib.sha256(parquet).hexdigest()
        rows.append(
            {
                "table": name,
                "meaning": contract.meaning,
                "n": len(frame),
                "path": path,
                "size": len(parquet),
                "csv": csv,
                "sha256": digest,
            }
        )
    return Rows(
        caption="Every table of the run; the data dictionary has columns, units and meanings. The hash is that of the "
        "Parquet file (its first 16 digits).",
        files=files,
    ).of(
        rows,
        col.name("Table", "table"),
        col.text("A row is", lambda r: r["meaning"]),
        col.count("Rows", "n"),
        col.text("File", lambda r: Cell(f"Parquet, {q.size(r['size'])}", href=f"../{r['path']}")),
        col.text("Plain text", lambda r: Cell("CSV", href=f"../{r['csv']}") if r["csv"] else ""),
        col.text("sha256", lambda r: Cell(r["sha256"][:16], code=True, exact=r["sha256"])),
    )


def to_parquet(frame: pd.DataFrame) -> bytes:
    """A table as a Parquet file (zstd); whole numbers byte by byte, in which most bytes are alike: half the size."""
    whole = [name for name in frame if pd.api.types.is_integer_dtype(frame[name])]
    stream = io.BytesIO()
    frame.to_parquet(
        stream,
        index=False,
        compression="zstd",
        compression_level=15,
        write_statistics=False,
        use_dictionary=[name for name in frame if name not in whole],
        column_encoding=dict.fromkeys(whole, "BYTE_STREAM_SPLIT") or None,
    )
    return stream.getvalue()


DOWNLOADS = Table(
    key="downloads",
    page="method",
    section="downloads",
    title="Downloads",
    content=_content,
)
