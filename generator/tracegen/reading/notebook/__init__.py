"""Runs and versions in a notebook: their tables, and the figures of their pages."""
