"""Hulls: hierarchical kernel learning on a graph of kernels."""
