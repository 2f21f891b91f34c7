"""Keeps what browsers and others ask of `tracegen serve` from its log: a request that none can mean is a 400."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler

from tracegen.contract.text import visible

if TYPE_CHECKING:
    from mkdocs.livereload import LiveReloadServer

log = logging.getLogger("mkdocs.livereload")

LONGEST = 4096  # bytes of a path
App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
_CONTROL = re.compile("[\0-\x1f\x7f]")
_POLL = re.compile(r"/livereload/[0-9]{1,15}/[0-9]{1,20}")
_LENGTH = re.compile("[0-9]{0,15}")


def guard(server: LiveReloadServer) -> None:
    """Let the server refuse what nobody means, and write a line, without control characters, where it fails."""
    inner: Any = server.RequestHandlerClass
    server.set_app(guarded(server.get_app()))  # type: ignore[arg-type]
    server.RequestHandlerClass = type("Handler", (_Escaped, inner), {})
    server.handle_error = _one_line  # type: ignore[method-assign]


def guarded(app: App) -> App:
    """The application, which only sees requests that a browser could make."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if not may_be_meant(environ):
            start_response("400 Bad Request", [("Content-Type", "text/plain")])
            return [b"400 Bad Request\n"]
        return app(environ, start_response)

    return answer


def may_be_meant(environ: Mapping[str, Any]) -> bool:
    """Whether path and length are such as a browser sends: no control character, no number beyond all bounds."""
    path, length = str(environ.get("PATH_INFO", "")), str(environ.get("CONTENT_LENGTH") or "")
    if len(path) > LONGEST or _CONTROL.search(path) or not _LENGTH.fullmatch(length):
        return False
    return not path.startswith("/livereload/") or _POLL.fullmatch(path) is not None


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
