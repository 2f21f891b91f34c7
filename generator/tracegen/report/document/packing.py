"""The encoding of data for the scripts of a page: JSON, and whole numbers as short texts (scripts/packing.js).

A number takes as many bytes as it needs, seven bits in each, the lowest first; the highest bit says that another byte
follows (LEB128). 0 stands for null; a number n ≥ 0 for 2n + 1, one below 0 for -2n. The bytes stand in base64.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
import pandas as pd

_BITS, _MOST = 7, 9  # 63 bits
PLAIN = 4_000  # characters of arguments up to which a script holds them as they are


def codes(values: pd.Series[Any] | np.ndarray) -> np.ndarray:
    """uint64: 0 for null, 2n + 1 for n ≥ 0, -2n below. ValueError for |n| ≥ 2^52: scripts compute with 53 bits."""
    series = pd.Series(values)
    null = series.isna().to_numpy(bool)
    number = series.fillna(0).to_numpy("int64")
    if len(number) and max(int(number.max()), -int(number.min())) >= 1 << 52:
        raise ValueError(f"{max(int(number.max()), -int(number.min()))} is too large for a script")
    coded: np.ndarray = np.where(null, 0, np.where(number >= 0, 2 * number + 1, -2 * number)).astype(np.uint64)
    return coded


def packed(values: pd.Series[Any] | np.ndarray, ends: np.ndarray) -> list[str]:
    """One text for the numbers up to each of `ends`, which ascend to the number of values."""
    return texts(codes(values), ends)


def texts(code: np.ndarray, ends: np.ndarray) -> list[str]:
    """One text for the codes up to each of `ends`."""
    size = np.ones(len(code), np.int64)
    for k in range(1, _MOST):
        size += code >> np.uint64(_BITS * k) != 0
    after = np.concatenate([[0], np.cumsum(size)])
    data = np.zeros(int(after[-1]), np.uint8)
    for k in range(int(size.max(initial=0))):
        has = size > k
        low = (code[has] >> np.uint64(_BITS * k)) & np.uint64(127)
        data[after[:-1][has] + k] = low.astype(np.uint8) | np.where(size[has] > k + 1, 128, 0).astype(np.uint8)
    whole, edge = data.tobytes(), after[np.concatenate([[0], ends])]
    pairs = zip(edge[:-1].tolist(), edge[1:].tolist(), strict=True)
    return [base64.b64encode(whole[begin:end]).decode() for begin, end in pairs]


def whole(value: Any) -> int | None:
    """A whole number; None where it is not known."""
    return None if pd.isna(value) else int(value)


def script_json(data: object) -> str:
    """JSON that is safe inside a script element: `<`, `>`, `&` and line separators are escaped."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def call(name: str, *arguments: str) -> str:
    """A classic script that calls a function; `arguments` are JSON. Large ones are deflated, and take a third."""
    plain = ",".join(arguments)
    if len(plain) <= PLAIN:
        return f"{name}({plain});\n"
    deflater = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    data = deflater.compress(f"[{plain}]".encode()) + deflater.flush()
    return f'tracegenPacked("{name}","{base64.b64encode(data).decode()}");\n'
