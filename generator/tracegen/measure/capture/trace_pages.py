"""Makes the pages of a trace outside of the memory group of the traced program: `native/core/pages.c` asks for them.

The kernel charges a page of a file to the memory group of whoever touches it first. Here, outside of the group, the
zeros of each new chunk are written, and full chunks are dropped from the page cache: the program has all the memory
that it was given for itself.
"""

import ctypes
import fcntl
import os
import re
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FIFO = "pages"  # in the folder of the evidence, while the program runs
_REQUEST = struct.Struct("<QQ44sI")  # struct tt_page_request: at, bytes, name, wish
_MAKE, _DROP = 1, 2
_COST = b".cost"  # of a file of events that only measure what one costs; the tracer deletes it
_COST_BYTES = 8 << 20
_SEGMENT = re.compile(rb"[0-9a-f]{32}\.((main|[tf][0-9]{3,5})\.tt|cost)")
_UNIT = 4096  # bytes: TT_PAGE, of which chunks are multiples, whatever the size of a page of this machine
_KEEP_SIZE = 1  # <linux/falloc.h>: the tracer takes the length of the file for what is ready
_PIECE = bytes(256 << 10)


@contextmanager
def trace_pages(raw: Path, most_bytes: int) -> Iterator[dict[str, object]]:
    """During the block, make the pages of traces in `raw/trace`, at most `most_bytes`; gives the tracer's settings.

    Where this file system has no FIFOs there are none, and it ends when it cannot make pages: the tracer then makes
    them itself and records how many, or why it cannot.
    """
    fifo = raw / FIFO
    try:
        os.mkfifo(fifo, 0o600)
    except OSError:
        yield {}
        return
    folder = os.open(raw / "trace", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    requests = os.open(fifo, os.O_RDWR | os.O_CLOEXEC)
    fcntl.flock(requests, fcntl.LOCK_EX)  # who gets it knows that nobody makes pages any more
    ending = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    server = threading.Thread(target=_serve, args=(requests, folder, most_bytes), daemon=True)
    server.start()
    try:
        yield {"PAGES": fifo.resolve()}
    finally:
        while server.is_alive():
            with suppress(BlockingIOError, BrokenPipeError):  # it is full; nobody reads it any more
                os.write(ending, _REQUEST.pack(0, 0, b"", 0))
            server.join(0.05)
        fifo.unlink(missing_ok=True)
        for descriptor in (ending, folder):
            os.close(descriptor)


def _serve(requests: int, folder: int, most_bytes: int) -> None:
    """Do what is asked, until something cannot be done; then close `requests`, which lets go of its lock."""
    left = {False: most_bytes, True: _COST_BYTES}  # of the trace, and beside it
    try:
        while len(request := os.read(requests, _REQUEST.size)) == _REQUEST.size:
            at, size, padded, wish = _REQUEST.unpack(request)
            name = padded.rstrip(b"\0")
            if not _SEGMENT.fullmatch(name) or wish not in (_MAKE, _DROP) or at + size > 1 << 62:
                return
            if wish == _DROP:
                _drop(folder, name, at + size)
            elif not 0 < size <= left[name.endswith(_COST)] or size % _UNIT or not _make(folder, name, at, size):
                return
            else:
                left[name.endswith(_COST)] -= size
    finally:
        os.close(requests)


def _make(folder: int, name: bytes, at: int, size: int) -> bool:
    """Write `size` zeros behind the end of a segment, which must be at `at`; whether that was possible."""
    try:
        file = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return False
    try:
        if os.fstat(file).st_size != at:
            return False
        # takes the room on the disk first, where the file system can; else each write does
        ctypes.CDLL(None).fallocate(file, _KEEP_SIZE, ctypes.c_int64(at), ctypes.c_int64(size))
        for begin in range(at, at + size, len(_PIECE)):
            piece = memoryview(_PIECE)[: at + size - begin]
            if os.pwrite(file, piece, begin) != len(piece):
                raise OSError
        return True
    except OSError:
        with suppress(OSError):
            os.ftruncate(file, at)
        return False
    finally:
        os.close(file)


def _drop(folder: int, name: bytes, end: int) -> None:
    """Ask the kernel to write the first `end` bytes of a segment, and to drop those that it has written."""
    with suppress(OSError):
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.posix_fadvise(file, 0, end, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)
