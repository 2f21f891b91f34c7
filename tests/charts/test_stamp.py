"""What a figure's file says of itself: read by others as XMP, and by nobody else as part of the picture."""

import io
import struct
import xml.etree.ElementTree as ElementTree
import zlib

import altair as alt
import pandas as pd
import pytest
from pypdf import PdfReader

from tracegen.charts import forms, svg
from tracegen.charts.stamp import Stamp, in_svg, stamps

STAMP = Stamp("fits@v1", "layers", "complete with warnings", "data/layers.csv", "0f" * 32, "CC0-1.0")
TRACEGEN = "{urn:tracegen:}"


@pytest.fixture(scope="module")
def drawing() -> svg.Drawing:
    data = pd.DataFrame({"x": [1, 2], "y": [3, 4]})
    return svg.draw(alt.Chart(data).mark_bar().encode(x="x:O", y="y:Q"), "bars", "Two bars & a <title>", width=690)


def described(xml: bytes | str) -> dict[str, str | None]:
    """The stamp as an XML parser finds it."""
    (found,) = ElementTree.fromstring(xml).iter("{http://www.w3.org/1999/02/22-rdf-syntax-ns#}Description")
    return {name.removeprefix(TRACEGEN): value for name, value in found.items() if name.startswith(TRACEGEN)}


def test_other_readers_find_the_stamp_in_every_kind_of_file(drawing: svg.Drawing) -> None:
    files = {
        "svg": in_svg(drawing.svg, STAMP).encode(),
        "png": forms.to_png(drawing.svg, STAMP),
        "pdf": forms.to_pdf(svg.paper(drawing), STAMP),
    }
    assert [stamps(content) for content in files.values()] == [[STAMP]] * 3
    unstamped = (drawing.svg.encode(), forms.to_png(drawing.svg), forms.to_pdf(svg.paper(drawing)))
    assert not any(stamps(content) for content in unstamped)
    assert described(files["svg"]) == vars(STAMP)
    reader = PdfReader(io.BytesIO(files["pdf"]), strict=True)
    assert reader.xmp_metadata is not None and reader.xmp_metadata.dc_identifier == "fits@v1#fig-layers"
    assert described(reader.pages[0]["/Metadata"].get_data()) == vars(STAMP)
    bare = PdfReader(io.BytesIO(forms.to_pdf(svg.paper(drawing))), strict=True)
    assert reader.pages[0].get_contents().get_data() == bare.pages[0].get_contents().get_data()  # type: ignore[union-attr]
    at, texts = 8, []
    while at < len(files["png"]):  # as the PNG specification says it
        size, kind = struct.unpack_from(">I4s", files["png"], at)
        body = files["png"][at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", files["png"], at + 8 + size)[0] == zlib.crc32(kind + body)
        texts += [body] if kind == b"iTXt" else []
        at += 12 + size
    (text,) = texts
    keyword, rest = text.split(b"\0", 1)
    assert keyword == b"XML:com.adobe.xmp" and described(rest[4:]) == vars(STAMP)


def test_a_document_with_many_figures_names_each_once() -> None:
    other = Stamp("fits@v1", "a\"quote'd <b> & more", "complete", "data/x.csv", "1" * 64)
    assert stamps(b"%PDF" + (STAMP.packet + "\n" + other.packet + STAMP.packet).encode() + b"\xff\0") == [STAMP, other]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        STAMP.packet.encode()[:-30],
        STAMP.packet.replace("tracegen:sha256", "tracegen:other").encode(),
        STAMP.packet.encode("utf-16"),
        b"<?xpacket begin=" * 50_000,
        b"<?xpacket begin=" + b" " * 9000 + b" tracegen:version='x'<?xpacket end=",
    ],
    ids=["empty", "cut", "without a field", "of another encoding", "many begins", "long"],
)
def test_what_is_no_stamp_is_none(content: bytes) -> None:
    assert stamps(content) == []
