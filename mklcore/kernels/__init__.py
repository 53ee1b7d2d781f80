"""Kernel functions, dictionaries of them, their Gram matrices, and numbers that describe those."""
