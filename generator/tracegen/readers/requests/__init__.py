"""Reads the requests of block devices that were recorded with a run."""
