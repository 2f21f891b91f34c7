"""A decoder of packed numbers that works byte by byte: the witness of pages/packing.py."""

import base64


def unpacked(text: str) -> list[int | None]:
    values: list[int | None] = []
    value = shift = 0
    for byte in base64.b64decode(text, validate=True):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(None if value == 0 else value >> 1 if value & 1 else -(value >> 1))
            value = shift = 0
    assert shift == 0, "ends within a number"
    return values
