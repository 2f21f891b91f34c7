"""Recording runs: llama.cpp with hooks, the machine, matrices, and the checks of what was recorded."""
