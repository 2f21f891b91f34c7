"""Vega-Lite documents as files: rows of data as CSV, which names each column once."""

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

_KINDS = {bool: "boolean", int: "number", float: "number", str: "string"}


def lean(spec: str) -> str:
    """The document, a JSON text, with those of its datasets as CSV that are shorter so; it draws the same."""
    document = json.loads(spec)
    datasets = document.get("datasets", {})
    for name, rows in datasets.items():
        kinds = _columns(rows)
        if kinds:
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerows([list(kinds), *([_cell(row[column]) for column in kinds] for row in rows)])
            if len(text.getvalue()) + 40 * len(kinds) < len(_json(rows)):
                datasets[name] = text.getvalue()
                parse = {column: kind for column, kind in kinds.items() if kind}
                _formatted(document, name, {"type": "csv", "parse": parse})
    return _json(document)


def _columns(rows: list[Any]) -> dict[str, str]:
    """Column -> how its cells are read ("": as they are); empty where CSV cannot tell all values apart."""
    columns = list(rows[0]) if rows and isinstance(rows[0], dict) else []
    if any(not isinstance(row, dict) or list(row) != columns for row in rows):
        return {}
    kinds = {}
    for column in columns:
        values = [row[column] for row in rows]
        found = {_KINDS.get(type(value), "") for value in values if value is not None}
        if len(found) > 1 or "" in found or (None in values and "" in values):
            return {}
        kinds[column] = "" if "" in values else found.pop() if found else "string"
    return kinds


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, bool) else value


def _formatted(part: Any, name: str, form: Mapping[str, Any]) -> None:
    """Say at each place that draws the dataset `name` how it is read."""
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _formatted(inner, name, form)
    if isinstance(part, dict) and isinstance(part.get("data"), dict) and part["data"].get("name") == name:
        part["data"]["format"] = form


def _json(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
