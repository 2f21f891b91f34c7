"""The content security policy of a drawing's file: opened alone, it runs no script and loads nothing.

SVG has no element for a policy. Chromium takes that of HTML from a drawing too, if it stands in a `head` of HTML;
elsewhere it is ignored, and other programs ignore elements of another language. As part of a page, in `img`, a drawing
runs no script in any browser. Names have a prefix: where a drawing is put into HTML, `<head>` would end it.
"""

import re

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
ELEMENT = (
    '<metadata><h:head xmlns:h="http://www.w3.org/1999/xhtml">'
    f'<h:meta http-equiv="Content-Security-Policy" content="{POLICY}"/></h:head></metadata>'
)
_ROOT = re.compile(r"""<svg(?:[^<>"']|"[^"<]*"|'[^'<]*')*>""")


def with_policy(svg: str) -> str:
    """The drawing with its policy before all that it draws. Raises ValueError for what is not an SVG."""
    root = _ROOT.search(svg)
    if root is None:
        raise ValueError("not an SVG")
    return f"{svg[: root.end()]}{ELEMENT}{svg[root.end() :]}"
