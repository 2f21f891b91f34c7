"""Runs and versions for who reads them without a site: the terminal, notebooks."""
