"""The small picture of a run, read as a PNG again."""

import struct
import zlib

import pandas as pd

from tracegen.charts import card, theme


def pixels(content: bytes) -> tuple[list[list[int]], bytes]:
    """The colours of a PNG by line, as numbers in its palette, and the palette; every checksum is looked at."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(content):
        (length,) = struct.unpack_from(">I", content, at)
        kind, data = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + data) == struct.unpack_from(">I", content, at + 8 + length)[0]
        parts[kind] = data
        at += 12 + length
    width, height, depth, colour, *_ = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert (width, height, depth, colour) == (card.WIDTH, 2 * card.HEIGHT, 8, 3)
    raw = zlib.decompress(parts[b"IDAT"])
    lines = [raw[y * (width + 1) : (y + 1) * (width + 1)] for y in range(height)]
    assert all(line[0] == 0 for line in lines)
    return [list(line[1:]) for line in lines], parts[b"PLTE"]


def test_a_card_has_its_rectangles_on_both_grounds() -> None:
    """Whole width and height are used, later rectangles lie on top, and the narrowest is a pixel wide."""
    touched, waited = theme.INK["touched"], theme.INK["disk"]
    rects = pd.DataFrame(
        [(40, 200, 10, 30, touched[1]), (100, 120, 10, 30, waited[1]), (360, 360.01, 50, 90, touched[1])],
        columns=["left", "right", "top", "bottom", "colour"],
    )
    lines, palette = pixels(card.card(rects))
    upper, lower = lines[: card.HEIGHT], lines[card.HEIGHT :]
    assert upper[0] == [1] * 60 + [2] * 20 + [1] * 80 + [0] * 160 and upper[-1] == [0] * 319 + [1]
    assert upper[40] == [0] * 320 and [[c + 2 if c else 0 for c in line] for line in upper] == lower
    colours = [f"#{palette[3 * n : 3 * n + 3].hex()}" for n in range(1, 5)]
    assert colours == [touched[1], waited[1], touched[2], waited[2]]
