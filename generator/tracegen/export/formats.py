"""The formats of `tracegen export`, in the order of its help."""

from __future__ import annotations

from tracegen.export import columns, html
from tracegen.export.format import Format

FORMATS: tuple[Format, ...] = (columns.PARQUET, columns.CSV, html.HTML)
BY_KEY = {written.key: written for written in FORMATS}
