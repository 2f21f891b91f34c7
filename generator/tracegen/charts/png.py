"""Compress PNG files again: the renderer compresses for speed, and its files are many times as large."""

import struct
import zlib

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = struct.Struct(">IIBBBBB")  # width, height, bits of a sample, kind of colour, three methods
_RGBA, _INDEXED = 6, 3
_NOT_FILTERED, _SUB = 0, 1  # how a row of pixels is written; _SUB: the difference to the pixel before
_MOST_COLOURS = 256
_MOST_PIXELS = 1 << 28


def packed(image: bytes) -> bytes:
    """The PNG with the same pixels in fewer bytes, other chunks unchanged; ValueError for anything but a PNG.

    An image of at most 256 colours, as charts are, is written with a table of its colours.
    """
    if not image.startswith(SIGNATURE):
        raise ValueError("not a PNG")
    chunks, at = [], len(SIGNATURE)
    while at + 12 <= len(image):
        (size,) = struct.unpack_from(">I", image, at)
        chunks.append((image[at + 4 : at + 8], image[at + 8 : at + 8 + size]))
        at += 12 + size
    pixels = zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT"))
    header = next(data for kind, data in chunks if kind == b"IHDR")
    first = next(i for i, (kind, _) in enumerate(chunks) if kind == b"IDAT")
    others = [(kind, data) for kind, data in chunks if kind != b"IDAT"]
    indexed = _indexed(header, pixels)
    if indexed is None:
        others.insert(first, (b"IDAT", zlib.compress(pixels, 7)))
    else:
        others[first:first] = indexed[1:]
        others[0] = indexed[0]
    return SIGNATURE + b"".join(chunk(kind, data) for kind, data in others)


def _indexed(header: bytes, pixels: bytes) -> list[tuple[bytes, bytes]] | None:
    """The chunks IHDR, PLTE, tRNS and IDAT with a table of colours; None when there are too many colours.

    Only for what the renderer writes: RGBA of 8 bits, whose rows are not filtered or all `_SUB`.
    """
    width, height, bits, colour, *methods = _HEADER.unpack(header)
    length = 1 + 4 * width
    if (bits, colour, *methods) != (8, _RGBA, 0, 0, 0) or len(pixels) != height * length or width * height <= 0:
        return None
    rows = np.frombuffer(pixels, np.uint8).reshape(height, length)
    filters = set(np.unique(rows[:, 0]).tolist())
    samples = rows[:, 1:].reshape(height, width, 4)
    if width * height > _MOST_PIXELS or filters not in ({_NOT_FILTERED}, {_SUB}):
        return None
    if filters == {_SUB}:
        samples = np.cumsum(samples, axis=1, dtype=np.uint8)
    colours, number = np.unique(np.ascontiguousarray(samples).view("<u4").ravel(), return_inverse=True)
    if len(colours) > _MOST_COLOURS:
        return None
    table = colours.astype("<u4").view(np.uint8).reshape(-1, 4)
    indices = np.zeros((height, 1 + width), np.uint8)  # the first byte of a row: not filtered
    indices[:, 1:] = number.reshape(height, width)
    return [
        (b"IHDR", _HEADER.pack(width, height, 8, _INDEXED, 0, 0, 0)),
        (b"PLTE", table[:, :3].tobytes()),
        (b"tRNS", table[:, 3].tobytes()),
        (b"IDAT", zlib.compress(indices.tobytes(), 9)),
    ]


def chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG file: length, kind, data and checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
