"""Settings as the text of an experiment.toml."""

import json
from collections.abc import Mapping


def toml_text(settings: Mapping[str, object]) -> str:
    """TOML that reads as `settings`: texts, numbers, truth values, lists of them, and tables of such at the end."""
    plain = {key: value for key, value in settings.items() if not isinstance(value, Mapping)}
    tables = {key: value for key, value in settings.items() if isinstance(value, Mapping)}
    lines = [f"{key} = {_value(value)}" for key, value in plain.items()]
    for key, table in tables.items():
        lines += ["", f"[{key}]", *(f"{name} = {_value(value)}" for name, value in table.items())]
    return "\n".join([*lines, ""])


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    # a string of JSON is one of TOML, but for a character that TOML wants escaped
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
