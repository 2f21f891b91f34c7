"""Comparing runs: what differs between them, by how much, and how certain that is."""
