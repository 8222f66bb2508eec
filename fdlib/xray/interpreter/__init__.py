"""Kernels under Triton's interpreter, watched: each access before it happens."""
