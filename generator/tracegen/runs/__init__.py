"""Runs: measure an experiment, observe a program, store what was recorded, sum up a series."""
