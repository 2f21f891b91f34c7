"""The content security policy of our pages in a site: the scripts of the theme run, one in a page's content does not.

A theme has scripts inside its pages, which a policy names by their hashes. They are taken from what the theme made
before the content of the page is put into it; so are the servers from which a theme loads, as for fonts.
"""

import base64
import hashlib
import re

_INLINE = re.compile(r"<script\b(?P<attributes>[^>]*)>(?P<code>.*?)</script\s*>", re.DOTALL | re.IGNORECASE)
_SOURCE = re.compile(r"\ssrc\s*=", re.IGNORECASE)
_DATA = re.compile(r"""\stype\s*=\s*["']?(?!text/javascript|application/javascript|module)\w""", re.IGNORECASE)
_LOADED = re.compile(r"""<(?:script|link|img)\b[^>]*?\s(?:src|href)\s*=\s*["']?(https?://[\w.:-]+)""", re.IGNORECASE)
_HEAD = re.compile(r"<head\b[^>]*>(?:\s*<meta\s+charset\s*=[^>]*>)?", re.IGNORECASE)
SCRIPTS = "script-src"


def with_policy(before: str, after: str) -> str:
    """What a theme made before the content of a page, with the policy for that and what follows in its head."""
    theme = before + after
    hosts = " ".join(dict.fromkeys(("'self'", "file:", *_LOADED.findall(theme))))
    hashes = "".join(f" {hashed(found['code'])}" for found in _INLINE.finditer(theme) if _runs(found["attributes"]))
    policy = "; ".join(
        (
            f"default-src {hosts}",
            f"{SCRIPTS} {hosts}{hashes}",
            f"style-src {hosts} 'unsafe-inline'",
            f"img-src {hosts} data: blob:",
            f"font-src {hosts} data:",
            f"worker-src {hosts} blob:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self' file:",
        )
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return _HEAD.sub(lambda head: f"{head[0]}\n{meta}", before, count=1)


def hashed(code: str) -> str:
    """How a policy names a script that stands in a page."""
    digest = hashlib.sha256(code.replace("\r\n", "\n").encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _runs(attributes: str) -> bool:
    """Whether a script stands in the page and is one, and no data."""
    return not _SOURCE.search(attributes) and not _DATA.search(attributes)
