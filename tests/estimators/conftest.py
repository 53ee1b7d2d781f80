"""The table that the tests of estimators share."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def table():
    """Eighty rows of four columns, two classes and a number."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    score = X[:, 0] - X[:, 1] ** 2 + 0.7 + 0.3 * rng.standard_normal(80)
    return X, np.where(score > 0, "yes", "no"), score
