"""From parameters to values, one noun a file: table, kernels, grams, path, methods, hull, bounds, prediction.

Nothing draws.
"""
