"""A toy model of each architecture, recorded: docs/architectures.md, which `make llama-matrix` writes."""
