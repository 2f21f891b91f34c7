"""Traces of ggml-viz (`.ggmlviz`)."""

from tracegen.foreign.ggmlviz.trace import looks_like, read

__all__ = ["looks_like", "read"]
