"""Traces that are still being written.

`python -m tests.live FOLDER`: wait until the trace in this folder holds a generate pass that has ended.
"""

import sys
import time
from pathlib import Path

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


if __name__ == "__main__":
    while not a_pass_ended(Path(sys.argv[1]), "generate"):
        time.sleep(0.05)
