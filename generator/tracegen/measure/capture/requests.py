"""Records every read that block devices are asked for while a program runs, and where the model files lie on them."""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from tracegen.contract.errors import EnvironmentFailure
from tracegen.measure.capture.extents import NoPlacesError, device_number, disk_place, extents_of
from tracegen.measure.capture.tracefs import Instance, instance
from tracegen.storing import store
from tracegen.storing.progress import Progress

FOLDER, STATE = "requests", "state.json"
ISSUE, COMPLETE = "block/block_rq_issue", "block/block_rq_complete"
READS = 'rwbs ~ "*R*"'
_LENGTH = slice(8, 16)  # of a page of the ring buffer: how many bytes of events it holds, and flags
_COARSE_CLOCK = 5  # CLOCK_REALTIME_COARSE: never later than the time that a change gives a file from now on
_HEADER_BYTES, _COUNT = 16, (1 << 20) - 1


class Requests:
    """The recording of a run; `drain` is to be called often while the program runs."""

    def __init__(self, raw: Path) -> None:
        """Record into the folder `raw`/requests."""
        self.folder = raw / FOLDER
        self.refused: str | None = None
        self.lost = 0
        self._instance: Instance | None = None
        self._files: dict[int, BinaryIO] = {}
        self._begin_ns = time.clock_gettime_ns(_COARSE_CLOCK)

    def begin(self, recording: Instance, files: ExitStack) -> None:
        """Begin to record in the instance. Raises OSError."""
        for name, event in (("issue", ISSUE), ("complete", COMPLETE)):
            store.write_text(self.folder / f"{name}.format", (recording.folder / f"events/{event}/format").read_text())
        for number in recording.processors:
            path = self.folder / f"cpu{number}.ring"
            self._files[number] = files.enter_context(path.open("wb"))
        recording.begin((ISSUE, COMPLETE), READS)
        self._instance = recording

    def drain(self) -> None:
        """Store what the kernel has recorded since."""
        if self._instance is None:
            return
        for number, page in self._instance.pages():
            length = int.from_bytes(page[_LENGTH], "little") & _COUNT
            self._files[number].write(page[: _HEADER_BYTES + length])

    def end(self) -> None:
        """Record no more. Raises OSError."""
        if self._instance is not None:
            self._instance.end()
            self.drain()
            self.lost = self._instance.lost
            self._instance = None

    def locate(self, paths: Sequence[Path]) -> None:
        """Store where the model files lie on their devices, and whether they were changed meanwhile."""
        files = [self._place(path) for path in paths]
        state = {"refused": self.refused, "lost": self.lost, "files": files}
        store.write_text(self.folder / STATE, json.dumps(state) + "\n")

    def _place(self, path: Path) -> dict[str, Any]:
        try:
            number, first = disk_place(device_number(path))
            extents = extents_of(path)
            if path.stat().st_ctime_ns >= self._begin_ns:
                raise NoPlacesError("it was changed while the program ran")
        except (NoPlacesError, OSError) as error:
            return {"refused": str(error) if isinstance(error, NoPlacesError) else error.strerror}
        return {
            "refused": None,
            "device": [os.major(number), os.minor(number)],
            "extents": [[extent.offset, first + extent.place, extent.size_bytes] for extent in extents],
        }


@contextmanager
def recorded_requests(raw: Path, wanted: bool) -> Iterator[Requests | None]:
    """During the block, record the reads of all block devices; None when they are not `wanted`.

    Where the kernel refuses, `refused` says why, and nothing is recorded.
    """
    if not wanted:
        yield None
        return
    requests = Requests(raw)
    with ExitStack() as stack:
        try:
            recording = stack.enter_context(instance())
            requests.begin(recording, stack)
        except (EnvironmentFailure, OSError) as error:
            requests.refused = _in_words(error)
        yield requests
        requests.end()


def say_if_refused(progress: Progress) -> None:
    """Say before a run begins why its requests will not be recorded; it goes on, and its check will say so, too."""
    if why := why_refused():
        progress.say(f"disk: requests will not be recorded, and the run goes on without: {why}")


def why_refused() -> str | None:
    """Why requests cannot be recorded here; None where they can be."""
    try:
        with instance() as recording:
            for event in (ISSUE, COMPLETE):
                (recording.folder / f"events/{event}/format").read_text()
    except (EnvironmentFailure, OSError) as error:
        return _in_words(error)
    return None


def _in_words(error: EnvironmentFailure | OSError) -> str:
    """Why requests cannot be recorded."""
    return f"{error.filename or 'tracefs'}: {error.strerror}" if isinstance(error, OSError) else str(error)
