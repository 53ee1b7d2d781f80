"""Predict: one new row, or a file of them."""
