"""Compress PDF files again: the renderer writes a dictionary for each mark, and leaves them as they are."""

import re
import struct
import zlib

_STREAM = re.compile(rb"<<(.*?)/Length (\d+)(.*?)>>\s*stream\r?\n", re.DOTALL)
_FLATE = b"/Filter /FlateDecode"


def packed(pdf: bytes) -> bytes:
    """The PDF with all its dictionaries in one deflated stream (PDF 1.5), others deflated as far as that goes.

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
    for number, at in enumerate(places, 1):
        body = pdf[at : ends[at]].split(b"obj", 1)[1].rsplit(b"endobj", 1)[0].strip()
        stream = _STREAM.match(body)
        if stream is None:
            kept.append((number, body))
            continue
        rows[number] = (1, len(written), 0)
        about, data = stream[1] + stream[3], body[stream.end() :][: int(stream[2])]
        if _FLATE in about:
            about, data = about.replace(_FLATE, b""), zlib.decompress(data)
        written += _stream(number, about, data)
    holder = len(places) + 1
    rows[holder] = (1, len(written), 0)
    heads, bodies = b"", b""
    for i, (number, body) in enumerate(kept):
        rows[number] = (2, holder, i)
        heads += b"%d %d " % (number, len(bodies))
        bodies += body + b"\n"
    written += _stream(holder, b"/Type /ObjStm /N %d /First %d " % (len(kept), len(heads)), heads + bodies)
    rows[holder + 1] = (1, len(written), 0)
    table = b"".join(struct.pack(">BIH", *rows[number]) for number in range(holder + 2))
    about = b"/Type /XRef /Size %d /W [1 4 2] /Root %s 0 R " % (holder + 2, root[1])
    return written + _stream(holder + 1, about, table) + b"startxref\n%d\n%%%%EOF\n" % len(written)


def _stream(number: int, about: bytes, data: bytes) -> bytes:
    deflated = zlib.compress(data, 9)
    about = b" ".join(about.split()) + b" " + _FLATE
    return b"%d 0 obj\n<<%s /Length %d>>stream\n%s\nendstream\nendobj\n" % (number, about, len(deflated), deflated)
