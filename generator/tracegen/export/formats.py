"""The formats of `tracegen export`, in the order of its help."""

from __future__ import annotations

from tracegen.export import columns
from tracegen.export.format import Format
from tracegen.export.ggmlviz import GGMLVIZ

FORMATS: tuple[Format, ...] = (columns.PARQUET, columns.CSV, GGMLVIZ)
BY_KEY = {written.key: written for written in FORMATS}
