"""Writes a run or version in the formats of other tools: one module per format."""
