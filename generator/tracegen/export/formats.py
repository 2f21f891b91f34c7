"""The formats of `tracegen export`, in the order of its help."""

from __future__ import annotations

from tracegen.export import columns, older_json
from tracegen.export.format import Format

FORMATS: tuple[Format, ...] = (columns.PARQUET, columns.CSV, older_json.JSON)
BY_KEY = {written.key: written for written in FORMATS}
