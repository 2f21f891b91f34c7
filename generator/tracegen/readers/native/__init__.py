"""Reads the files of tracegen's own tracer."""
