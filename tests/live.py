"""Traces that are still being written."""

from __future__ import annotations

from pathlib import Path

from tracegen.errors import TracegenError
from tracegen.readers.native.segments import segment_files
from tracegen.readers.native.trace import read_trace


def a_pass_ended(trace: Path) -> bool:
    """Whether the trace in this folder, read while it is written, holds a pass over tokens that has ended."""
    try:
        passes = read_trace(segment_files(trace)).tables["passes"]
    except (TracegenError, OSError):
        return False  # a part of it is being written
    return bool((passes["end_ns"].notna() & (passes["kind"] != "load")).any())
