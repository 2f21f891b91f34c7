"""PDFs are written again in fewer bytes; a reader finds the same page in them."""

import io
import struct
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest
import vl_convert
from pypdf import PdfReader

from tracegen.charts import forms, pdf

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="40" font-family="Arial, Liberation Sans"><text x="5" '
    'y="20">endobj éüÅ</text>'
    + "".join(f'<path d="M{n},9v9" stroke="#000" opacity=".{n}"/>' for n in range(20, 60))
    + "</svg>"
)


@pytest.fixture(scope="module")
def pages() -> list[Any]:
    before = vl_convert.svg_to_pdf(SVG)
    after = pdf.packed(before)
    assert len(after) < 0.7 * len(before)
    return [PdfReader(io.BytesIO(content), strict=True).pages[0] for content in (before, after)]


def font(page: Any) -> dict[bytes, bytes]:
    """The tables of the page's only font."""
    (named,) = page["/Resources"]["/Font"].values()
    data = named["/DescendantFonts"][0].get_object()["/FontDescriptor"]["/FontFile2"].get_data()
    entries = [struct.unpack_from(">4sIII", data, 12 + 16 * i) for i in range(int.from_bytes(data[4:6], "big"))]
    return {name: data[at : at + size] for name, _, at, size in entries}


def glyphs(tables: dict[bytes, bytes]) -> list[bytes]:
    wide = tables[b"head"][50:52] == b"\0\1"
    places = [at * (1 if wide else 2) for (at,) in struct.iter_unpack(">I" if wide else ">H", tables[b"loca"])]
    return [tables[b"glyf"][at:end] for at, end in pairwise(places)]


def test_a_reader_finds_the_same_page_in_fewer_bytes(pages: list[Any]) -> None:
    old, new = pages
    assert new.mediabox == old.mediabox
    assert new.extract_text() == old.extract_text() and "endobj éüÅ" in new.extract_text()
    assert new.get_contents().get_data() == old.get_contents().get_data()
    assert set(new["/Resources"]["/ExtGState"]) == set(old["/Resources"]["/ExtGState"])


def test_glyphs_keep_their_outlines_and_lose_their_instructions(pages: list[Any]) -> None:
    old, new = map(font, pages)
    assert set(old) - set(new) == {b"cvt ", b"fpgm", b"prep"}
    assert {name for name in new if new[name] != old[name]} == {b"glyf", b"loca"}
    kinds = set()
    for before, after in zip(glyphs(old), glyphs(new), strict=True):
        contours = int.from_bytes(before[:2], "big", signed=True) if before else 0
        kinds.add(contours < 0)
        if contours > 0:
            at = 10 + 2 * contours
            points = before[at + 2 + int.from_bytes(before[at : at + 2], "big") :]
            assert after[:at] == before[:at] and after[at : at + 2] == b"\0\0"
            assert after[at + 2 :].rstrip(b"\0") == points.rstrip(b"\0")
        elif contours < 0:  # parts, of which each has 6 bytes at least, and one flag less
            assert len(after) <= len(before) and after[:10] == before[:10] and after[12:16] == before[12:16]
    assert kinds == {False, True}


SEVERAL_FONTS = (
    SVG.removesuffix("</svg>")
    + '<text y="9">plain</text><text y="19" font-style="italic">slanted</text>'
    + '<text y="29" font-weight="bold">bold</text></svg>'
)
BOTH = """
import hashlib, sys, vl_convert
from tracegen.charts import forms
print(*(hashlib.sha256(to_pdf(sys.argv[1])).hexdigest() for to_pdf in (vl_convert.svg_to_pdf, forms.to_pdf)))
"""


def test_a_drawing_with_several_fonts_gives_one_file() -> None:
    """The writer numbers fonts in an order that chance decides, in each process another one."""
    said = [subprocess.check_output([sys.executable, "-c", BOTH, SEVERAL_FONTS], text=True).split() for _ in range(4)]
    theirs, ours = zip(*said, strict=True)
    assert len(set(theirs)) > 1 and len(set(ours)) == 1
    (page,) = PdfReader(io.BytesIO(forms.to_pdf(SEVERAL_FONTS)), strict=True).pages
    assert [word in page.extract_text() for word in ("plain", "slanted", "bold", "éüÅ")] == [True] * 4


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7\n", b"startxref\n5\n%%EOF"])
def test_what_is_no_pdf_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="not a PDF"):
        pdf.packed(content)
