"""A file of another tool, opened for reading: a regular file that does not change meanwhile."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure, SettingsError, TraceFormatError


class SourceFile:
    """An open file: its name for messages, its size in bytes when it was opened, and reads by place."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Take the descriptor of a regular file."""
        self.path, self.name = path, str(path)
        self._descriptor, self._state = descriptor, _state(descriptor)
        self.size_bytes = self._state[0]

    def read(self, offset: int, n: int) -> bytes:
        """At most `n` bytes from `offset`; fewer only at the end of the file."""
        parts = []
        try:
            while n > 0 and (part := os.pread(self._descriptor, min(n, 1 << 30), offset)):
                parts.append(part)
                offset, n = offset + len(part), n - len(part)
        except OSError as error:
            raise self._broken(error) from error
        return b"".join(parts)

    def _broken(self, error: OSError) -> EnvironmentFailure:
        why = error.strerror or error
        return EnvironmentFailure(f"{self.name}: cannot be read: {why}; look at its disk, or name a copy of the file")

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes that the file had."""
        filled = 0
        try:
            while filled < len(buffer) and (n := os.preadv(self._descriptor, [buffer[filled:]], offset + filled)):
                filled += n
        except OSError as error:
            raise self._broken(error) from error
        return filled

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Begin and end of the parts of the file that hold data, in order; the holes of a sparse file are left out."""
        at = 0
        while at < self.size_bytes:
            try:
                begin = os.lseek(self._descriptor, at, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # nothing but a hole until the end
                    return
                raise
            end = min(os.lseek(self._descriptor, begin, os.SEEK_HOLE), self.size_bytes)
            if begin >= end:
                return
            yield begin, end
            at = end

    def refuse_change(self) -> None:
        """Raise TraceFormatError when the file changed since it was opened."""
        if _state(self._descriptor) != self._state:
            raise TraceFormatError(
                f"{self.name}: changed while it was read; wait until the program that writes it has ended"
            )


def _state(descriptor: int) -> tuple[int, int]:
    about = os.fstat(descriptor)
    return about.st_size, about.st_mtime_ns


@contextmanager
def opened(path: Path) -> Iterator[SourceFile]:
    """Open a regular file, or a link to one. Raises SettingsError for anything else, and where it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not block
    except FileNotFoundError as error:
        raise SettingsError(f"{path}: there is no such file; check the path") from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(f"{path}: cannot be opened: {why}; name a file that you may read") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SettingsError(f"{path}: is not a regular file; copy what it holds into a file, and import that")
        yield SourceFile(path, descriptor)
    finally:
        os.close(descriptor)
