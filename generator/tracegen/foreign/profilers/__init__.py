"""Traces of profilers that time what devices compute: of OpenCL, of the scheduler (#21160), and of NVIDIA (nsys)."""
