"""Hierarchical kernel learning: a certified hull in a grid of kernels too many to list."""
