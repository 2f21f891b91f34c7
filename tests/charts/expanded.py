"""Published Vega-Lite documents with rows of data in place of CSV."""

import csv
import io
import json
from typing import Any

READ = {"number": float, "boolean": lambda text: text == "true", "string": str}


def expanded(content: bytes | str) -> dict[str, Any]:
    """The document with each dataset as rows, as a page that draws it reads them."""
    document: dict[str, Any] = json.loads(content)
    forms: dict[str, dict[str, str]] = {}
    _unformatted(document, forms)
    for name, data in document.get("datasets", {}).items():
        if isinstance(data, str):
            rows = csv.DictReader(io.StringIO(data))
            document["datasets"][name] = [{k: _value(v, forms[name].get(k)) for k, v in row.items()} for row in rows]
    return document


def _value(text: str, kind: str | None) -> Any:
    return text if kind is None else None if text == "" else READ[kind](text)


def _unformatted(part: Any, forms: dict[str, dict[str, str]]) -> None:
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _unformatted(inner, forms)
    if isinstance(part, dict) and isinstance(part.get("data"), dict) and "format" in part["data"]:
        forms[part["data"]["name"]] = part["data"].pop("format")["parse"]
