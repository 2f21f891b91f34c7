"""What `tracegen serve` refuses: a request that no browser means is a 400, one in another site's name a 403.

A site can have its own name lead to this machine (DNS rebinding), and then read drafts as if they were its own pages.
The browser says that name in `Host`. An address of the internet protocol cannot be led astray, nor can `localhost`,
and `--address` takes nothing else.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler

from tracegen.contract.text import visible
from tracegen.site.policy import SCRIPTS, hashed

if TYPE_CHECKING:
    from mkdocs.livereload import LiveReloadServer

log = logging.getLogger("mkdocs.livereload")

LONGEST = 4096  # bytes of a path
App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
_CONTROL = re.compile("[\0-\x1f\x7f]")
_POLL = re.compile(r"/livereload/[0-9]{1,15}/[0-9]{1,20}")
_LENGTH = re.compile("[0-9]{0,15}")
_PORT = re.compile(r":[0-9]{0,5}\Z")


def guard(server: LiveReloadServer) -> None:
    """Let the server refuse what nobody means, and write a line, without control characters, where it fails."""
    inner: Any = server.RequestHandlerClass
    server.set_app(guarded(server.get_app()))  # type: ignore[arg-type]
    server.RequestHandlerClass = type("Handler", (_Escaped, inner), {})
    server.handle_error = _one_line  # type: ignore[method-assign]
    server._inject_js_into_html = partial(_allowed, server._inject_js_into_html)  # type: ignore[method-assign]


def _allowed(inject: Callable[[bytes, int], bytes], content: bytes, epoch: int) -> bytes:
    """A page with MkDocs's script that reloads it, which the policy of the page, if it has one, then names."""
    whole = inject(content, epoch)
    found = re.search(rb"<script>(\n?var livereload\b.*?)</script>", whole, re.DOTALL)
    if found is None:
        return whole
    allowed = f"{SCRIPTS} {hashed(found[1].decode())} ".encode()
    return whole.replace(f"{SCRIPTS} ".encode(), allowed, 1)


def guarded(app: App) -> App:
    """The application, which only sees requests that a browser could make of this machine."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if not may_be_meant(environ):
            start_response("400 Bad Request", [("Content-Type", "text/plain")])
            return [b"400 Bad Request\n"]
        if not is_this_machine(str(environ.get("HTTP_HOST", ""))):
            start_response("403 Forbidden", [("Content-Type", "text/plain")])
            return [b"403 Forbidden: open the site by the address that tracegen serve printed, or as localhost\n"]
        return app(environ, start_response)

    return answer


def may_be_meant(environ: Mapping[str, Any]) -> bool:
    """Whether path and length are such as a browser sends: no control character, no number beyond all bounds."""
    path, length = str(environ.get("PATH_INFO", "")), str(environ.get("CONTENT_LENGTH") or "")
    if len(path) > LONGEST or _CONTROL.search(path) or not _LENGTH.fullmatch(length):
        return False
    if not path.startswith("/"):  # a whole address, as only a proxy is asked for; its host would count
        return False
    return not path.startswith("/livereload/") or _POLL.fullmatch(path) is not None


def is_this_machine(host: str) -> bool:
    """Whether the Host of a request is an IP address or localhost, with or without a port; two, or none, are not."""
    name = _PORT.sub("", host)
    if name.lower() in ("localhost", "localhost."):
        return True
    six = name.startswith("[") and name.endswith("]")
    try:
        ipaddress.IPv6Address(name[1:-1]) if six else ipaddress.IPv4Address(name)
    except ValueError:
        return False
    return True


class _Escaped(WSGIRequestHandler):
    """Writes the line of a request without what could control the terminal that shows the log."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Write the line as it is shown, and keep the one that was sent."""
        sent, self.requestline = self.requestline, visible(self.requestline[:LONGEST])
        try:
            super().log_request(code, size)
        finally:
            self.requestline = sent


def _one_line(request: object, client_address: object) -> None:
    """What is written when a connection fails: it was cut, most often."""
    log.warning("a connection failed: %s", visible(repr(sys.exc_info()[1])))
