"""Runs: measure an experiment, record a program, store what was recorded, summarise a series."""
