"""PNG files, all encoded by oxipng: the renderer compresses for speed, and its files are many times as large.

Of the 23 figures of hot-set@v1 the renderer makes 4.35 MB. oxipng makes 596 kB of that in 4.4 s of processor time;
Pillow makes 706 kB in 2.7 s, and zlib, with tables of colours as here, 733 kB in 2.0 s. To try filters of
rows too takes twice as long, for 0.3 % of the bytes.
"""

import struct
import zlib
from collections.abc import Sequence

import numpy as np
import oxipng

_HEADER_END = 8 + 25  # bytes: the signature, and the chunk IHDR
_FILTERS, _DEFLATE = [oxipng.RowFilter.NoOp], oxipng.Deflaters.libdeflater(11)


def packed(image: bytes) -> bytes:
    """The PNG with the same pixels in fewer bytes; ValueError for anything but a PNG."""
    try:
        return oxipng.optimize_from_memory(image, filter=_FILTERS, deflate=_DEFLATE)
    except oxipng.PngError as error:
        raise ValueError(f"not a PNG: {error}") from error


def of_colours(numbers: np.ndarray, colours: Sequence[str]) -> bytes:
    """The PNG of an array of numbers (height, width; uint8) in a list of colours (`#rrggbbaa`)."""
    height, width = numbers.shape
    table = [list(bytes.fromhex(colour[1:])) for colour in colours]
    image = oxipng.RawImage(numbers.tobytes(), width, height, color_type=oxipng.ColorType.indexed(table), bit_depth=8)
    return image.create_optimized_png(filter=_FILTERS, deflate=_DEFLATE)


def with_chunk(image: bytes, kind: bytes, data: bytes) -> bytes:
    """The PNG with a chunk of this kind before its pixels."""
    chunk = struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return image[:_HEADER_END] + chunk + image[_HEADER_END:]
