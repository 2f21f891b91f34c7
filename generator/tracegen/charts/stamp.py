"""What a figure's file says of itself: the version that it is of, and the data that it draws.

It is written as XMP, one packet for all kinds of files: the metadata of an SVG, a text chunk of a PNG, and the metadata
of a PDF and of its page, where pdfTeX and LuaTeX leave it when a document includes the file. A packet is plain text by
its definition, so that it is found in any file without knowing the file's format.
"""

import re
from collections.abc import Iterator
from dataclasses import MISSING, asdict, dataclass, fields
from html import unescape
from xml.sax.saxutils import quoteattr

from tracegen.charts import png

_BEGIN, _END, _MOST_BYTES = b"<?xpacket begin=", b"<?xpacket end=", 8192  # of a packet
_FIELD = re.compile(r'\stracegen:(version|figure|verdict|data|sha256|licence)=(?:"([^"<>]*)"|\'([^\'<>]*)\')')


@dataclass(frozen=True)
class Stamp:
    """The version (`fits@v1`) and its verdict, the key of the figure, the file of its data, and that file's SHA-256.

    `licence` is an identifier of SPDX, empty where none is stated.
    """

    version: str
    figure: str
    verdict: str
    data: str
    sha256: str
    licence: str = ""

    @property
    def packet(self) -> str:
        """The stamp as an XMP packet."""
        attributes = " ".join(f"tracegen:{name}={quoteattr(value)}" for name, value in asdict(self).items() if value)
        return (
            '<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
            '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:tracegen="urn:tracegen:" '
            f"dc:identifier={quoteattr(f'{self.version}#fig-{self.figure}')} {attributes}/>"
            '</rdf:RDF></x:xmpmeta><?xpacket end="r"?>'
        )


NEEDED = {each.name for each in fields(Stamp) if each.default is MISSING}


def in_svg(svg: str, stamp: Stamp) -> str:
    """The SVG with the stamp behind its title."""
    return svg.replace("</title>", f"</title><metadata>{stamp.packet}</metadata>", 1)


def in_png(image: bytes, stamp: Stamp) -> bytes:
    """The PNG with the stamp before its pixels."""
    return png.with_chunk(image, b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + stamp.packet.encode())


def stamps(content: bytes) -> list[Stamp]:
    """The stamps in a file of any kind, each once, in their order."""
    return list(dict.fromkeys(_found(content)))


def _found(content: bytes) -> Iterator[Stamp]:
    end = 0
    while (end := content.find(_END, before := end)) >= 0:
        begin = content.rfind(_BEGIN, max(before, end - _MOST_BYTES), end)
        packet = content[begin:end].decode("utf-8", "replace") if begin >= 0 else ""
        found = {name: unescape(a or b) for name, a, b in _FIELD.findall(packet)}
        end += len(_END)
        if found.keys() >= NEEDED:
            yield Stamp(**found)
