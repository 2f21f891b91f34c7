"""The formats of `tracegen export`, in the order of its help."""

from __future__ import annotations

from tracegen.export import columns, dot
from tracegen.export.format import Format
from tracegen.export.perfetto import trace

FORMATS: tuple[Format, ...] = (columns.PARQUET, columns.CSV, trace.PERFETTO, dot.DOT)
BY_KEY = {written.key: written for written in FORMATS}
