"""tensor_trace.bin: the traces of the author's older instrumented llama.cpp, in four layouts without a header."""
