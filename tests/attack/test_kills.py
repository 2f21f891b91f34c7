"""Commands that are killed, interrupted and ended at any moment: nothing is lost, and they can be called again."""

import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.attack.tried import BY_NAME, TRACEGEN, Surroundings, copy, leftovers, run_here, stored_bytes, verdict

pytestmark = [pytest.mark.attack, pytest.mark.llama]

NAMES = ("init", "run", "exec", "show", "import", "export", "publish", "build", "model", "reorder", "sample")
MOMENTS = (0.05, 0.4, 1.8)
BEFORE = re.compile(rb"\A(?!.*/tracegen/).*KeyboardInterrupt", re.DOTALL)  # no file of tracegen is named
STATUS = {signal.SIGKILL: -9, signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("number", STATUS, ids=lambda number: number.name)
@pytest.mark.parametrize("name", NAMES)
def test_ended(name: str, number: signal.Signals, moment: float, prototype: Path, tmp_path: Path, llama: str) -> None:
    project = copy(prototype, tmp_path / "project")
    before = stored_bytes(project)
    command = BY_NAME[name]
    words = [*TRACEGEN, *(word.replace("LLAMA", llama) for word in command.words)]
    started = subprocess.Popen(
        words, cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(moment)
    started.send_signal(number)
    out, err = started.communicate(timeout=60)
    done = subprocess.CompletedProcess(words, started.returncode, out, err)
    # Before Python has begun and while it ends, the signal itself ends the process: to a shell that is 130 and 143 too.
    fault = verdict(done, [command.status, STATUS[number], -number])
    if moment < 0.1 and number is signal.SIGINT and BEFORE.search(err):
        fault = ""  # Python's own message, before any line of tracegen
    assert not fault, fault
    assert stored_bytes(project) == before
    if number is not signal.SIGKILL:
        assert not leftovers(project)
        return
    again = run_here(command, project, Surroundings("again"), llama)
    if name in ("export", "model", "init", "reorder") and again.returncode == 2:  # it had finished: the file is there
        assert b"exist" in again.stderr or b"already" in again.stderr, again.stderr
    else:
        fault = verdict(again, [command.status])
        assert not fault, fault
    assert stored_bytes(project) == before and not leftovers(project)
