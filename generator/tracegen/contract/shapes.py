"""Whether a JSON document has the form that it should have: which kinds of values stand where.

A shape is a kind of value (`str`, `int | None`), a list with the shape of its items, a tuple with one shape
(which may be null), or a mapping from keys to shapes.
A missing key is not a fault unless it is among those `NEEDED`; one that the shape lacks is none unless the
shape has `ANY`: the shape of all other keys.
"""

import math
from collections.abc import Mapping
from types import UnionType
from typing import Any

ANY, NEEDED = "*", "!"
TEXT, COUNT, NUMBER, FLAG = str | None, int | None, int | float | None, bool | None  # null: not recorded

FILE: Mapping[str, Any] = {NEEDED: ("size_bytes", "sha256"), "size_bytes": int, "sha256": str}
MANIFEST: Mapping[str, Any] = {ANY: FILE}
CHECK: Mapping[str, Any] = {ANY: str}


def problem(value: object, shape: Any, place: str = "") -> str:
    """What is wrong with the value: the first place that has another form, in words; empty if all is as it should be.

    A number that is not finite is wrong anywhere: no page can hold it.
    """
    if isinstance(shape, tuple):
        return "" if value is None else problem(value, shape[0], place)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return _wrong(place, value, "a list")
        found = (problem(item, shape[0], f"{place}[{i}]") for i, item in enumerate(value))
        return next(filter(None, found), "")
    if isinstance(shape, Mapping):
        if not isinstance(value, dict):
            return _wrong(place, value, "an object")
        lacking = next((key for key in shape.get(NEEDED, ()) if key not in value), None)
        if lacking is not None:
            return f"{f'{place}.{lacking}'.lstrip('.')} is missing"
        others = shape.get(ANY, object)
        found = (problem(item, shape.get(key, others), f"{place}.{key}".lstrip(".")) for key, item in value.items())
        return next(filter(None, found), "")
    if shape is not object and not _is(value, shape):
        return _wrong(place, value, _named(shape))
    return _not_finite(value, place)


def _is(value: object, kind: type | UnionType) -> bool:
    """Whether the value is of this kind; true and false are no numbers."""
    return isinstance(value, kind) and (not isinstance(value, bool) or bool in getattr(kind, "__args__", (kind,)))


def _named(kind: type | UnionType) -> str:
    words: Mapping[Any, str] = {
        str: "a text",
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        type(None): "null",
    }
    return " or ".join(words[one] for one in getattr(kind, "__args__", (kind,)))


def _wrong(place: str, value: object, wanted: str) -> str:
    text = repr(value)
    return f"{place or 'the document'} is {text if len(text) <= 60 else text[:57] + '…'}, not {wanted}"


def _not_finite(value: object, place: str) -> str:
    """The place of the first number in the value that is not finite; empty if there is none."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{place} is not a number that can be written"
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return next(filter(None, (_not_finite(item, f"{place}.{key}") for key, item in items)), "")
    return ""
