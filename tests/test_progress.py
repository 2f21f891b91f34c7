from __future__ import annotations

import io

from tracegen.progress import Progress


class ClosedPipe(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_reader_that_has_gone_stops_nothing() -> None:
    progress = Progress(ClosedPipe())
    progress.step("one")
    progress.update(1, 2)
    progress.done()


def test_off_a_terminal_each_step_is_a_line() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    progress.step("one")
    progress.step("two")
    progress.done()
    lines = stream.getvalue().splitlines()
    assert [line.split(":")[0] for line in lines] == ["one", "two"]
