import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tracegen.contract.errors import EnvironmentFailure
from tracegen.contract.text import visible
from tracegen.storing.execute import Beside, ending, last_lines, output_of, run_program
from tracegen.storing.signals import noticed_interrupts


def run(tmp_path: Path, code: str, **more: object) -> object:
    return run_program(
        [sys.executable, "-c", code],
        stdout=tmp_path / "out",
        stderr=tmp_path / "err",
        **more,  # type: ignore[arg-type]
    )


def test_output_status_and_closed_input(tmp_path: Path) -> None:
    ended = run(tmp_path, "import sys; print(sys.stdin.read() == ''); print('e', file=sys.stderr); sys.exit(7)")
    assert (ended.status, ended.ending) == (7, "exit status 7")
    assert (tmp_path / "out").read_text() == "True\n" and (tmp_path / "err").read_text() == "e\n"


def test_a_killed_program_says_by_what(tmp_path: Path) -> None:
    ended = run(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert "lack of memory" in ended.ending


def test_a_time_limit_stops_it_and_what_it_started(tmp_path: Path) -> None:
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).wait()"
    begin = time.monotonic()
    ended = run(tmp_path, code, timeout_s=0.5)
    assert ended.timed_out and "time limit" in ended.ending and time.monotonic() - begin < 20


def test_ctrl_c_stops_the_program_and_is_raised_again(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    def interrupt() -> None:
        while not (pid.exists() and pid.read_text()):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, code)
    thread.join()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_ctrl_c_interrupts_nothing_before_the_program_is_stopped(tmp_path: Path) -> None:
    """Raised within Popen.wait, it could leave a lock taken, and the next wait would hang."""
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    reached = []

    def watch() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, "import time; time.sleep(60)", watch=watch)
    assert reached == [True]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_ctrl_c_of_an_interactive_program_is_not_counted_here() -> None:
    with noticed_interrupts(ctrl_c_is_the_programs=True) as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        child = subprocess.run(["sh", "-c", "kill -INT $$; sleep 20"], timeout=10)
    assert interrupts.count == 0 and child.returncode == -signal.SIGINT  # the program does not inherit that


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no full device")
def test_a_program_does_not_wait_for_a_full_disk(tmp_path: Path) -> None:
    """Its output is more than a pipe holds: it ends all the same, and tracegen says what was lost."""
    (tmp_path / "out").symlink_to("/dev/full")
    child = Beside(
        ["python3", "-c", "print('x' * 300_000)"], stdout=tmp_path / "out", stderr=tmp_path / "err", environment={}
    )
    try:
        with pytest.raises(EnvironmentFailure, match=r"out: the output .* could not be kept: No space left"):
            child.wait(20)
    finally:
        child.close()


def test_a_program_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="/no/such/program: cannot be started"):
        run_program(["/no/such/program"], stdout=tmp_path / "o", stderr=tmp_path / "e")
    assert output_of(["/no/such/program"]) is None


def test_last_lines_cannot_steer_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"one\n\x1b[2Jtwo \xff\n\n")
    assert last_lines(tmp_path / "log") == "one\n\\x1b[2Jtwo \ufffd" and last_lines(tmp_path / "missing") == ""
    assert visible("a\u202eb\tc\n") == "a\\u202eb\tc\\n"
    assert visible("3\u2009250") == "3\u2009250"  # as checks word their figures


@pytest.mark.parametrize(
    ("status", "words"),
    [(0, "exit status 0"), (7, "exit status 7"), (-11, "killed by SIGSEGV"), (-35, "killed by signal 35")],
)
def test_how_a_program_ended_in_words(status: int, words: str) -> None:
    assert ending(status) == words
