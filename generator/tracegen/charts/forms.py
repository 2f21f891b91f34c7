"""What the engine makes of a chart: the SVG of a document, and of that the files for slides and for paper."""

import re
from typing import Any

import vl_convert

from tracegen.charts import engine, pdf, png
from tracegen.charts.stamp import Stamp, in_png


def to_svg(document: dict[str, Any]) -> str:
    """The raw SVG of a Vega-Lite document."""
    engine.refuse_few_addresses()
    engine.settle_fonts()
    drawn: str = vl_convert.vegalite_to_svg(document)
    return drawn


def to_png(svg: str, stamp: Stamp | None = None) -> bytes:
    """A standalone SVG for slides, at twice its size."""
    engine.settle_fonts()
    drawn = png.packed(vl_convert.svg_to_png(svg, scale=2))
    return in_png(drawn, stamp) if stamp else drawn


def to_pdf(svg: str, stamp: Stamp | None = None) -> bytes:
    """A standalone SVG as PDF; dictionary entries are sorted, because the writer leaves them in a random order."""
    engine.settle_fonts()
    drawn = vl_convert.svg_to_pdf(svg)
    lines = rb"(?:^ +/[A-Za-z]+\d+ \d+ 0 R\n){2,}"
    ordered = re.sub(lines, lambda m: b"".join(sorted(m[0].splitlines(keepends=True))), drawn, flags=re.MULTILINE)
    return pdf.packed(ordered, stamp.packet.encode() if stamp else b"")
