"""Explore: which columns matter, how sure that is, and the model along a path."""
