"""Traces that are still being written.

`python -m tests.live FOLDER`: wait until the trace in this folder holds a generate pass that has ended.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracegen.contract.errors import TracegenError
from tracegen.readers.native.segments import segment_files
from tracegen.readers.native.trace import read_trace


def a_pass_ended(trace: Path, kind: str = "") -> bool:
    """Whether the trace in this folder, read while it is written, holds a pass that has ended.

    `kind`: of this kind; else of any but load.
    """
    try:
        passes = read_trace(segment_files(trace)).tables["passes"]
    except (TracegenError, OSError):
        return False  # a part of it is being written
    wanted = passes["kind"] == kind if kind else passes["kind"] != "load"
    return bool((passes["end_ns"].notna() & wanted).any())


def wait_for(child: subprocess.Popen[Any], holds: Callable[[], object]) -> None:
    """Wait, at most a minute, until something holds while the program runs."""
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until and child.poll() is None
        time.sleep(0.001)


if __name__ == "__main__":
    while not a_pass_ended(Path(sys.argv[1]), "generate"):
        time.sleep(0.05)
