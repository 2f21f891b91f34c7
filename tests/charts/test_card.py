"""The small picture of a run, read as a PNG again."""

import struct
import zlib

import pandas as pd

from tracegen.charts import card, theme


def pixels(content: bytes) -> list[list[str]]:
    """The colours of a PNG by line (`#rrggbb`, or empty: transparent); every checksum is looked at."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(content):
        (length,) = struct.unpack_from(">I", content, at)
        kind, data = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + data) == struct.unpack_from(">I", content, at + 8 + length)[0]
        parts[kind] = data
        at += 12 + length
    width, height, depth, kind_of_colour, *_ = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert (width, height, kind_of_colour) == (card.WIDTH, 2 * card.HEIGHT, 3)
    table = [f"#{parts[b'PLTE'][n : n + 3].hex()}" for n in range(0, len(parts[b"PLTE"]), 3)]
    assert parts[b"tRNS"] == b"\0"
    table[0] = ""
    raw, size = zlib.decompress(parts[b"IDAT"]), 1 + width * depth // 8  # of a line, with its filter
    lines = [raw[at : at + size] for at in range(0, len(raw), size)]
    assert len(lines) == height and all(line[0] == 0 for line in lines)
    bits = ["".join(f"{byte:08b}" for byte in line[1:]) for line in lines]
    return [[table[int(line[at : at + depth], 2)] for at in range(0, len(line), depth)] for line in bits]


def test_a_card_has_its_rectangles_on_both_grounds() -> None:
    """Whole width and height are used, later rectangles lie on top, and the narrowest is a pixel wide."""
    touched, waited = theme.INK["touched"], theme.INK["disk"]
    rects = pd.DataFrame(
        [(40, 200, 10, 30, touched[1]), (100, 120, 10, 30, waited[1]), (360, 360.01, 50, 90, touched[1])],
        columns=["left", "right", "top", "bottom", "colour"],
    )
    lines = pixels(card.card(rects))
    upper, lower = lines[: card.HEIGHT], lines[card.HEIGHT :]
    assert upper[0] == [touched[1]] * 60 + [waited[1]] * 20 + [touched[1]] * 80 + [""] * 160
    assert upper[-1] == [""] * 319 + [touched[1]] and upper[40] == [""] * 320
    on_dark = {touched[1]: touched[2], waited[1]: waited[2], "": ""}
    assert lower == [[on_dark[colour] for colour in line] for line in upper]
