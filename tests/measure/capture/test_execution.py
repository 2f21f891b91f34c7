"""An execution that is measured from outside: against a program that knows what it did."""

import os
import sys
from pathlib import Path

import pytest

from tracegen.contract.facts import Limited
from tracegen.measure.capture import execution
from tracegen.measure.capture.execution import Meter
from tracegen.measure.capture.page_cache import drop
from tracegen.storing.execute import Completed, run_program

LOG = """
llama_perf_context_print:        load time =     100.00 ms
llama_perf_context_print: prompt eval time =      50.00 ms /    10 tokens (    5.00 ms per token)
llama_perf_context_print:        eval time =     230.50 ms /    23 runs   (   10.02 ms per token)
"""


def executed(tmp_path: Path, code: str, *paths: Path) -> execution.Execution:
    meter = Meter.start(paths)
    ended = run_program([sys.executable, "-c", code], stdout=tmp_path / "out", stderr=tmp_path / "err")
    return meter.stop(ended, LOG, None)


def test_the_counters_of_llama_cpp_are_read_from_its_log(tmp_path: Path) -> None:
    made = executed(tmp_path, "")
    assert (made.prompt_tokens, made.prompt_ms, made.eval_runs, made.eval_ms) == (10, 50.0, 23, 230.5)
    assert made.failure is None and made.peak_bytes is None and made.written_bytes is None


def test_what_the_program_reads_and_works_is_its_own(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * (8 << 20))
    drop([file])
    work = f"""
import time
open({str(file)!r}, 'rb').read()
end = time.process_time() + 0.4
while time.process_time() < end:
    pass
"""
    made = executed(tmp_path, work, file)
    if made.read_bytes:  # a file system in memory reads nothing
        assert 8 << 20 <= made.read_bytes < 40 << 20
    assert made.processor_s is not None and made.processor_s >= 0.4 and made.seconds >= 0.4
    assert made.minor_faults is not None and made.minor_faults > 100
    assert made.others_share is not None and 0 <= made.others_share < 1


def test_a_program_that_fails_says_how(tmp_path: Path) -> None:
    assert executed(tmp_path, "raise SystemExit(7)").failure == "exit status 7"
    assert executed(tmp_path, "import os; os.kill(os.getpid(), 9)").failure is not None


def test_the_limit_is_read_when_it_has_ended(tmp_path: Path) -> None:
    limited = Limited(100, 100, 0, 90, 3, None, 0)
    made = Meter.start().stop(Completed(0, 1.0), LOG, lambda: limited)
    assert (made.peak_bytes, made.times_reached, made.others_share, made.read_bytes) == (90, 3, None, None)


def test_what_the_kernel_does_not_say_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "PROC", tmp_path)
    assert executed(tmp_path, "").others_share is None
    (tmp_path / "stat").write_text("cpu  10 0 5 100 7 1 1 3 0 0\ncpu0 1 1 1 1\n")
    assert execution._busy_s() == pytest.approx(20 / 100)  # neither idle nor waiting for a device


def test_writes_to_the_device_are_counted(tmp_path: Path) -> None:
    meter = Meter.start([tmp_path])
    with (tmp_path / "file").open("wb") as stream:
        stream.write(b"x" * (4 << 20))
        stream.flush()
        os.fsync(stream.fileno())
    made = meter.stop(Completed(0, 1.0), LOG, None)
    if made.written_bytes is None:
        pytest.skip("this file system has no device of its own")
    assert made.written_bytes >= 4 << 20
