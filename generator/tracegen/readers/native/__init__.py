"""The reader of the tracer's own files."""
