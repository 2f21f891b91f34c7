"""Compress PDF files again: the renderer writes a dictionary for each mark, and leaves them as they are.

It also numbers fonts in an order that chance decides; here one drawing gives one file. Of the 23 figures of hot-set@v1
the renderer makes 401 kB, this 254 kB in 0.08 s; pikepdf makes 361 kB, with fontTools, which takes hints out of fonts,
256 kB in 0.22 s, and both leave the numbers to chance.
"""

import re
import struct
import zlib
from itertools import accumulate, pairwise

_STREAM = re.compile(rb"<<(.*?)/Length (\d+)(.*?)>>\s*stream\r?\n", re.DOTALL)
_REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
_FLATE = b"/Filter /FlateDecode"
_TRUETYPE = b"\0\1\0\0"
_HINTS = (b"cvt ", b"fpgm", b"prep")  # what the instructions of glyphs use
_WORDS, _SCALE, _MORE, _SCALES, _MATRIX, _INSTRUCTED = 0x1, 0x8, 0x20, 0x40, 0x80, 0x100  # flags of a part of a glyph


def packed(pdf: bytes, metadata: bytes = b"") -> bytes:
    """The PDF with all its dictionaries in one deflated stream (PDF 1.5), and fonts without hints for coarse screens.

    `metadata`: XMP of the file and of its pages; it stays as plain as it is.

    ValueError for anything but what the renderer writes: a file with one table of its objects.
    """
    start = re.search(rb"startxref\s+(\d+)\s+%%EOF\s*$", pdf)
    root = re.search(rb"trailer\s*<<.*?/Root (\d+) 0 R", pdf, re.DOTALL)
    places = [int(at) for at in re.findall(rb"(\d{10}) 00000 n", pdf[int(start[1]) :] if start else b"")]
    if start is None or root is None or not places:
        raise ValueError("not a PDF with a table of its objects")
    written, kept = b"%PDF-1.7\n%\x80\x80\x80\x80\n", []
    rows = {0: (0, 0, 0)}  # number of an object -> how the table names its place
    ends = dict(zip(sorted(places), [*sorted(places)[1:], int(start[1])], strict=True))
    bodies = (pdf[at : ends[at]].split(b"obj", 1)[1].rsplit(b"endobj", 1)[0].strip() for at in places)
    for number, (head, rest) in enumerate(_numbered(dict(enumerate(bodies, 1)), int(root[1])), 1):
        stream = _STREAM.match(head)
        if stream is None:
            kept.append((number, head))
            continue
        rows[number] = (1, len(written), 0)
        about, data = stream[1] + stream[3], rest[: int(stream[2])]
        if _FLATE in about:
            about, data = about.replace(_FLATE, b""), _unhinted(zlib.decompress(data))
        written += _stream(number, about, data)
    holder = len(places) + 1
    if metadata:
        rows[holder] = (1, len(written), 0)
        written += b"%d 0 obj\n<</Type /Metadata /Subtype /XML /Length %d>>stream\n" % (holder, len(metadata))
        written += metadata + b"\nendstream\nendobj\n"
        named = rb"\g<0> /Metadata %d 0 R" % holder
        kept = [(number, re.sub(rb"/Type\s*/(?:Page|Catalog)\b", named, body, count=1)) for number, body in kept]
        holder += 1
    rows[holder] = (1, len(written), 0)
    heads, objects = b"", b""
    for i, (number, body) in enumerate(kept):
        rows[number] = (2, holder, i)
        heads += b"%d %d " % (number, len(objects))
        objects += body + b"\n"
    written += _stream(holder, b"/Type /ObjStm /N %d /First %d " % (len(kept), len(heads)), heads + objects)
    rows[holder + 1] = (1, len(written), 0)
    table = b"".join(struct.pack(">BIH", *rows[number]) for number in range(holder + 2))
    about = b"/Type /XRef /Size %d /W [1 4 2] /Root 1 0 R " % (holder + 2)
    return written + _stream(holder + 1, about, table) + b"startxref\n%d\n%%%%EOF\n" % len(written)


def _numbered(bodies: dict[int, bytes], root: int) -> list[tuple[bytes, bytes]]:
    """Each object in the order in which references from `root` lead to it, numbered so: its dictionary, its stream."""
    split = {n: (m[0], body[m.end() :]) if (m := _STREAM.match(body)) else (body, b"") for n, body in bodies.items()}
    order, seen = {root: 1}, [root]
    for number in seen:  # which grows
        for name in map(int, _REFERENCE.findall(split[number][0])):
            if name not in split:
                raise ValueError(f"not a PDF as the renderer writes it: there is no object {name}")
            if name not in order:
                order[name] = len(order) + 1
                seen.append(name)
    for name in split:
        order.setdefault(name, len(order) + 1)
    return [(_REFERENCE.sub(lambda m: b"%d 0 R" % order[int(m[1])], split[old][0]), split[old][1]) for old in order]


def _stream(number: int, about: bytes, data: bytes) -> bytes:
    deflated = zlib.compress(data, 9)
    about = b" ".join(about.split()) + b" " + _FLATE
    return b"%d 0 obj\n<<%s /Length %d>>stream\n%s\nendstream\nendobj\n" % (number, about, len(deflated), deflated)


def _unhinted(stream: bytes) -> bytes:
    """A TrueType font without the instructions that fit glyphs to a grid of pixels; any other stream as it is."""
    if not stream.startswith(_TRUETYPE):
        return stream
    entries = [struct.unpack_from(">4sIII", stream, 12 + 16 * i) for i in range(struct.unpack_from(">H", stream, 4)[0])]
    tables = {name: stream[at : at + size] for name, _, at, size in entries if name not in _HINTS}
    size, unit = (4, 1) if struct.unpack_from(">h", tables[b"head"], 50)[0] else (2, 2)
    places = [unit * at for (at,) in struct.iter_unpack(">I" if size == 4 else ">H", tables[b"loca"])]
    glyphs = [_drawn(tables[b"glyf"][at:end]) for at, end in pairwise(places)]
    ends = accumulate((len(glyph) for glyph in glyphs), initial=0)
    tables[b"loca"] = b"".join((end // unit).to_bytes(size, "big") for end in ends)
    tables[b"glyf"] = b"".join(glyphs)
    largest = 1 << (len(tables).bit_length() - 1)
    head = struct.pack(">4H", len(tables), 16 * largest, largest.bit_length() - 1, 16 * (len(tables) - largest))
    at, listed, bodies = 12 + 16 * len(tables), b"", b""
    for name, table in sorted(tables.items()):
        body = table + b"\0" * (-len(table) % 4)
        checksum = sum(word for (word,) in struct.iter_unpack(">I", body)) & 0xFFFFFFFF
        listed += struct.pack(">4sIII", name, checksum, at + len(bodies), len(table))
        bodies += body
    return _TRUETYPE + head + listed + bodies


def _drawn(glyph: bytes) -> bytes:
    """A glyph without its instructions, in an even number of bytes."""
    if not glyph:
        return glyph
    (contours,) = struct.unpack_from(">h", glyph)
    if contours >= 0:
        at = 10 + 2 * contours
        (size,) = struct.unpack_from(">H", glyph, at)
        bare = bytearray(glyph[:at] + b"\0\0" + glyph[at + 2 + size :])
    else:
        bare, at, flags = bytearray(glyph), 10, _MORE
        while flags & _MORE:
            (flags,) = struct.unpack_from(">H", glyph, at)
            struct.pack_into(">H", bare, at, flags & ~_INSTRUCTED)
            at += 8 if flags & _WORDS else 6
            at += 2 if flags & _SCALE else 4 if flags & _SCALES else 8 if flags & _MATRIX else 0
        bare = bare[:at]
    return bytes(bare) + b"\0" * (len(bare) % 2)
