"""Data: which table the model learns from, and how its columns are read."""
