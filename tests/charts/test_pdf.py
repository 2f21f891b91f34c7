"""PDFs are written again in fewer bytes; a reader finds the same page in them."""

import io

import pytest
import vl_convert
from pypdf import PdfReader

from tracegen.charts import pdf

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="40" font-family="Arial, Liberation Sans"><text x="5" '
    'y="20">endobj</text>' + "".join(f'<path d="M{n},9v9" stroke="#000" opacity=".{n}"/>' for n in range(20, 60))
    + "</svg>"
)  # fmt: skip


def test_a_reader_finds_the_same_page_in_fewer_bytes() -> None:
    before = vl_convert.svg_to_pdf(SVG)
    after = pdf.packed(before)
    assert len(after) < 0.8 * len(before)
    (old,), (new,) = (PdfReader(io.BytesIO(content), strict=True).pages for content in (before, after))
    assert new.mediabox == old.mediabox
    assert new.extract_text() == old.extract_text() and "endobj" in new.extract_text()
    assert new.get_contents().get_data() == old.get_contents().get_data()
    assert set(new["/Resources"]["/ExtGState"]) == set(old["/Resources"]["/ExtGState"])


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7\n", b"startxref\n5\n%%EOF"])
def test_what_is_no_pdf_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="not a PDF"):
        pdf.packed(content)
