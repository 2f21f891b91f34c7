"""Vega for the pages of a site: one script for all pages, taken from the installed vl-convert.

Versions do not contain it: it has 0.9 MB and is not part of what was published. A page finds it by the attribute
`data-tracegen-vega` of its root element; without it figures have no tooltips.
"""

import hashlib
from importlib.metadata import version
from pathlib import Path

from tracegen.charts.engine import refuse_few_addresses
from tracegen.storing import store

NAME = "vega.js"
# `ast`: expressions are interpreted; to compile them takes `eval`, which the policy of a page refuses
_OURS = """
window.tracegenVega = (element, drawing, options) => vegaEmbed(element, drawing, { ...options, ast: true });
"""


def script(cache: Path) -> bytes:
    """The script, kept below `cache`: to make it takes two seconds, once for each version of vl-convert."""
    path = cache / f"vega-{version('vl-convert-python')}-{hashlib.sha256(_OURS.encode()).hexdigest()[:8]}.js"
    if not path.is_file():
        refuse_few_addresses()
        import vl_convert  # loads a JavaScript engine

        store.write_text(path, f"(function () {{\n{vl_convert.javascript_bundle(_OURS)}\n}}());\n")
    return path.read_bytes()
