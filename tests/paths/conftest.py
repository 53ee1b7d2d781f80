"""The table that the tests of paths share."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def table():
    """Ninety rows of four columns, two classes and a number."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 4))
    score = X[:, 0] + np.sin(2 * X[:, 1]) + 0.4 * rng.standard_normal(90)
    return X, (score > 0).astype(int), score
