"""What a fit publishes, against what it states."""

import pytest

from mklcore import certificate


def assert_proved(fit, K, y, loss, C, penalty, fit_intercept=True, rel=1e-6, abs=None):
    """The parts of a fit give its objective on the kernels ``K``, and its dual point its bound."""
    assert fit.dual_point is not None
    parts = fit.weights, fit.dual_coef, fit.intercept, loss, C, penalty, fit.dual_point
    proved = certificate(K, y, *parts, fit_intercept)
    assert proved == pytest.approx((fit.objective, fit.dual_objective), rel=rel, abs=abs)
