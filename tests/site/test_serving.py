"""What `tracegen serve` refuses: requests that no browser makes (400), and those of other sites' names (403)."""

import logging
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from mkdocs.livereload import LiveReloadServer

from tracegen.site.serving import guard


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveReloadServer]:
    (tmp_path / "index.html").write_text("<body>front</body>")
    (tmp_path / "data.bin").write_bytes(bytes(1 << 22))
    live = LiveReloadServer(lambda: None, "127.0.0.1", 0, str(tmp_path), shutdown_delay=0.01)
    guard(live)
    live.server_bind()
    live.server_activate()
    live.serve_thread.start()
    yield live
    live.shutdown()


def answer(server: LiveReloadServer, request: bytes) -> bytes:
    """What is answered; a request that names no host names this machine."""
    if b"Host:" not in request:
        request = request.replace(b" HTTP/1.1\r\n", b" HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n", 1)
    return answer_to(server, request)


def answer_to(server: LiveReloadServer, request: bytes) -> bytes:
    with socket.create_connection(server.server_address[:2], timeout=20) as connection:  # type: ignore[arg-type]
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


NINES = b"9" * 6_000
REQUESTS = {
    b"GET /%00 HTTP/1.1\r\n\r\n": 400,
    b"GET /\x00 HTTP/1.1\r\n\r\n": 400,
    b"GET /a%0a%1b[2J HTTP/1.1\r\n\r\n": 400,
    b"GET /index.html%00/../x HTTP/1.1\r\n\r\n": 400,
    b"GET /livereload/" + NINES + b"/1 HTTP/1.1\r\n\r\n": 400,
    b"GET /livereload/1/" + NINES + b" HTTP/1.1\r\n\r\n": 400,
    b"GET /livereload/%C2%B2/1 HTTP/1.1\r\n\r\n": 400,
    b"GET /" + b"a" * 5_000 + b" HTTP/1.1\r\n\r\n": 400,
    b"GET /" + b"a" * 300 + b" HTTP/1.1\r\n\r\n": 404,
    b"GET /x" + b"%ff%fe%c0%af" * 9 + b" HTTP/1.1\r\n\r\n": 404,
    b"GET /..%2f..%2f..%2fetc/passwd HTTP/1.1\r\n\r\n": 404,
    b"GET /" + b"../" * 900 + b"etc/passwd HTTP/1.1\r\n\r\n": 404,
    b"GET / HTTP/1.1\r\nContent-Length: " + NINES + b"\r\n\r\n": 400,
    b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n": 400,
    b"GET / HTTP/" + NINES + b".1\r\n\r\n": 400,
    b"GET / HTTP/1." + b"\xb2" + b"\r\n\r\n": 400,
    b"\x16\x03\x01\r\n\r\n": 400,
    b"GET http://127.0.0.1/ HTTP/1.1\r\n\r\n": 400,
    b"GET http://rebound.example/ HTTP/1.1\r\n\r\n": 400,
    b"GET http%3A//127.0.0.1/ HTTP/1.1\r\n\r\n": 400,
    b"OPTIONS * HTTP/1.1\r\n\r\n": 400,
    b"GET / HTTP/1.1\r\nHost: x:" + NINES + b"\r\n\r\n": 403,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nRange: bytes=" + NINES + b"-\r\n\r\n": 200,
    b"GET / HTTP/1.1\r\n\r\n": 200,
}


def test_a_request_that_nobody_means_is_refused_without_a_traceback(
    server: LiveReloadServer, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        for request, status in REQUESTS.items():
            line = answer(server, request).split(b"\r\n")[0]
            assert f" {status} ".encode() in line or f"Error code: {status}".encode() in line, request[:60]
    errors = capfd.readouterr().err
    assert "Traceback" not in errors + caplog.text and "Exception" not in errors
    assert not any(record.levelno >= logging.ERROR or record.exc_info for record in caplog.records)


@pytest.mark.parametrize("path", ["/", "/data.bin", "/missing", "/livereload/0/1"])
@pytest.mark.parametrize(
    "host",
    [
        "rebound.example",
        "rebound.example:8000",
        "localhost.rebound.example",
        "127.0.0.1.rebound.example",
        "127.0.0.1@rebound.example",
        "[::1].rebound.example",
        "[rebound.example]",
        "[::1",
        "::1",
        "",
        ":8000",
        "localhost:80:80",
        "127.0.0.1, rebound.example",
        "localhost\r\nHost: rebound.example",
        "0x7f.1",
    ],
)
def test_a_site_whose_name_leads_here_reads_nothing(server: LiveReloadServer, host: str, path: str) -> None:
    got = answer_to(server, f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert got.startswith(b"HTTP/1.0 403 Forbidden\r\n") and got.endswith(b"or as localhost\n")


@pytest.mark.parametrize("request_", [b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n"])
def test_a_request_without_a_host_is_refused(server: LiveReloadServer, request_: bytes) -> None:
    assert b" 403 Forbidden" in answer_to(server, request_)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:8000",
        "192.168.1.20:80",
        "0.0.0.0:8000",
        "[::1]",
        "[::1]:8000",
        "[2001:DB8::1.2.3.4]:1",
        "localhost",
        "LocalHost:8000",
        "localhost.",
    ],
)
def test_this_machine_is_answered_by_any_of_its_addresses(server: LiveReloadServer, host: str) -> None:
    got = answer_to(server, f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert got.startswith(b"HTTP/1.0 200 OK\r\n") and got.endswith(b"<body>front</body>")


def test_the_log_cannot_steer_the_terminal(server: LiveReloadServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        answer(server, b"GET /nothing\x1b[2J HTTP/1.1\r\n\r\n")
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.isprintable() and r"nothing\x1b[2J" in message and "code 400" in message


def test_a_connection_that_is_cut_is_one_line(
    server: LiveReloadServer, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.WARNING):
        for request in (b"GE", b"GET /data.bin HTTP/1.1\r\n\r\n"):
            connection = socket.create_connection(server.server_address[:2])  # type: ignore[arg-type]
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(request)
            connection.close()  # at once, with a reset
        answer(server, b"GET / HTTP/1.1\r\n\r\n")
    server.handle_error(None, None)  # type: ignore[arg-type]
    assert "Traceback" not in capfd.readouterr().err + caplog.text
