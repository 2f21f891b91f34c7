"""What tracegen costs, measured: `python -m benchmarks` prints a table with limits."""
