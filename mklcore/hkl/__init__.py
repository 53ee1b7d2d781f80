"""Hierarchical kernel learning: a certified hull in a grid of kernels too many to list."""

from mklcore.hkl.bases import BASES
from mklcore.hkl.design import Design

__all__ = ["BASES", "Design"]
