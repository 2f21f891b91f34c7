"""Traces that other tools recorded: read, restored to tables, checked, and imported as runs."""
