"""Compare: several methods on the same folds."""
