import io
import re
import time

import pytest

from tracegen.storing.progress import BYTES, Progress


class ClosedPipe(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of `Progress`, which a test advances."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def shown_on(terminal: io.StringIO) -> list[str]:
    """The text of the terminal line after each write, without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).replace("\n", "").split("\r\x1b[K")[1:]


def test_a_reader_that_has_gone_stops_nothing() -> None:
    progress = Progress(ClosedPipe())
    progress.step("one")
    progress.update(1, 2)
    progress.done()


def test_off_a_terminal_the_lines_are_plain_and_few(clock: list[float]) -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    progress.step("compile")
    for second in range(25):
        clock[0] = 1000.0 + second
        progress.update(second, 100, "files")
    progress.note("with hooks")
    progress.step("link")
    progress.done()
    assert stream.getvalue().splitlines() == [
        "compile: 0 % (0 of 100 files)",
        "compile: 10 % (10 of 100 files), about 90 s left".replace("90 s", "2 min"),
        "compile: 20 % (20 of 100 files), about 80 s left",
        "compile: 24 s, with hooks",
        "link: 0.0 s",
    ]


@pytest.mark.parametrize(
    ("done", "total", "output"),
    [
        (8388608, 27587648, "30 % (8.0 of 26.3 MiB)"),
        (1000, 1023, "97 % (1000 of 1023 B)"),
        (512, 1024, "50 % (0.5 of 1.0 KiB)"),
        (3 << 40, 4 << 40, "75 % (3.0 of 4.0 TiB)"),
    ],
)
def test_sizes_are_printed_in_the_unit_of_the_whole(done: int, total: int, output: str) -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    progress.step("hash")
    progress.update(done, total, BYTES)
    assert stream.getvalue() == f"hash: {output}\n"


def test_a_terminal_shows_a_bar_with_rate_and_time_left(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    progress = Progress(stream)
    progress.step("hash")
    for second, done in ((0.0, 0), (0.1, 1), (4.0, 8 << 20), (8.0, 16 << 20)):
        clock[0] = 1000.0 + second
        progress.update(done, 24 << 20, BYTES)
    progress.done()
    first, nothing, third, two_thirds, ended = shown_on(stream)
    assert (first, ended) == ("hash …", "hash: 8.0 s")
    assert nothing.startswith("hash ") and nothing.endswith("0 % 0.0 of 24.0 MiB")
    assert third.endswith("33 % 8.0 of 24.0 MiB, 2.0 MiB/s, about 8.0 s left")
    assert two_thirds.endswith("66 % 16.0 of 24.0 MiB, 2.0 MiB/s, about 4.0 s left")
    # the bar itself: a third of 24 cells is 8, drawn as ━ in the colour of what is done
    coloured = next(part for part in stream.getvalue().split("\r\x1b[K") if "33 %" in part)
    bars = re.findall(r"\x1b\[([0-9;]+)m([━╸╺]+)", coloured)
    assert len(bars[0][1]) == 8 and sum(len(cells) for _, cells in bars) == 24 and bars[0][0] != bars[1][0]


@pytest.mark.parametrize("columns", [12, 40, 80])
def test_a_line_never_leaves_its_line(columns: int, clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrapped line could not be overwritten."""
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    progress = Progress(stream)
    progress.step("[bold]a step[/bold] with a name that is long :smile:")
    clock[0] += 5
    progress.update(5, 7, "files")
    (line,) = shown_on(stream)[1:]
    assert len(line) <= columns and "\n" not in stream.getvalue()
    assert line.startswith("[b")  # no markup of rich's
    assert "\x1b[?25l" not in stream.getvalue()  # the cursor stays, whatever happens next


def test_no_colour_when_none_is_wanted(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    progress = Progress(stream)
    progress.step("one")
    clock[0] += 5
    progress.update(5, 7, "files")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9][;m]", stream.getvalue())
