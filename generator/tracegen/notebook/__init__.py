"""A run or a version in a notebook: its tables, and the figures of its pages."""
