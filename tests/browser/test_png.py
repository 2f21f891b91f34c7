"""A PNG packed again is the same picture in fewer bytes; Chromium decodes both."""

import base64
from typing import Any

import pytest
import vl_convert

from tracegen.charts import png

pytestmark = pytest.mark.browser

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"><rect width="300" height="200" fill="#fff"/>'
    '<circle cx="90" cy="80" r="60" fill="#d05a00"/><text x="20" y="180">some words</text></svg>'
)
PIXELS = """async address => { const image = new Image(); image.src = address; await image.decode();
  const canvas = document.createElement('canvas'); canvas.width = image.width; canvas.height = image.height;
  const pen = canvas.getContext('2d'); pen.drawImage(image, 0, 0);
  return [image.width, image.height, Array.from(pen.getImageData(0, 0, image.width, image.height).data).join()]; }"""


CLEAR = SVG.replace('<rect width="300" height="200" fill="#fff"/>', "")  # without a ground
GRADIENT = SVG.replace('fill="#d05a00"', 'fill="url(#g)"').replace(
    "<circle",
    '<linearGradient id="g"><stop stop-color="#f00"/><stop offset="1" stop-color="#00f"/></linearGradient><circle',
)


@pytest.mark.parametrize("svg", [SVG, CLEAR, GRADIENT])
def test_the_picture_is_the_same_and_smaller(window: Any, svg: str) -> None:
    large = vl_convert.svg_to_png(svg, scale=2)
    small = png.packed(large)
    assert len(small) < len(large) and small == png.packed(large)
    page = window().new_page()
    before, after = (
        page.evaluate(PIXELS, f"data:image/png;base64,{base64.b64encode(one).decode()}") for one in (large, small)
    )
    page.close()
    assert before == after and before[:2] == [600, 400]


@pytest.mark.parametrize("content", [b"", b"GIF89a", SVG.encode()])
def test_what_is_no_png_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="not a PNG"):
        png.packed(content)
