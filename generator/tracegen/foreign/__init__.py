"""Traces that other tools recorded: one module or package per format."""
