"""Vega for the pages of a site: one script for all of them, out of the installed vl-convert.

No version holds it: it is no part of what was published, and nine tenths of a megabyte. A page finds it by
`data-tracegen-vega` of its root element; without it figures do not tell what is pointed at.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from tracegen import store

NAME = "vega.js"
_OURS = "window.tracegenVega = vegaEmbed;"


def script(cache: Path) -> bytes:
    """The script; made once for each vl-convert, which takes two seconds, and kept below `cache`."""
    kept = cache / f"vega-{version('vl-convert-python')}.js"
    if not kept.is_file():
        import vl_convert  # loads a JavaScript engine

        store.write_text(kept, f"(function () {{\n{vl_convert.javascript_bundle(_OURS)}\n}}());\n")
    return kept.read_bytes()
