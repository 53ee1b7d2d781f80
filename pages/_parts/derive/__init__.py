"""From parameters to values, one noun a file: table, kernels, grams, path, lanes, hull, bounds, prediction.

Nothing draws.
"""
