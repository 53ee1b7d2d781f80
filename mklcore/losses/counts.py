"""The Poisson loss for counts, which the greedy methods take; its prediction is the expected count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import DataError
from mklcore.losses.base import REGRESSION, Cost, Loss

MOST = 500.0  # of the logarithm of an expected count, beyond which it is no number


@dataclass(frozen=True)
class Poisson(Loss):
    """V(t, y) = exp(t) - y - y (t - log y), half the deviance of counts y from their mean exp(t); 0 where they agree.

    The conjugate is V*(u) = q log q - q + y - y log y at q = y + u >= 0, so that Lin(a) = -C sum_i V*(-a_i / C) on a <=
    C y; the mean is exp(t) = q at the optimum.
    """

    name: ClassVar[str] = "poisson"
    label: ClassVar[str] = "Poisson (counts)"
    formula: ClassVar[str] = r"e^{f(x_i)}-y_i-y_i\big(f(x_i)-\log y_i\big)"
    tasks: ClassVar[tuple[str, ...]] = REGRESSION
    machine: ClassVar[str] = "smooth"
    sloped: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    @property
    def dual_bound(self) -> float:
        return np.inf

    def value(self, t: Array, y: Array) -> Array:
        return np.maximum(np.exp(np.minimum(t, MOST)) - y * t + _entropy(y) - y, 0.0)

    def derivative(self, t: Array, y: Array) -> Array:
        return np.exp(np.minimum(t, MOST)) - y

    def second_derivative(self, t: Array, y: Array) -> Array:
        found: Array = np.exp(np.minimum(t, MOST))
        return found

    def dual(self, a: Array, y: Array, C: Cost) -> float:
        q = y - a / C
        if np.any(q < -1e-12 * (1.0 + y)):
            return -np.inf
        q = np.maximum(q, 0.0)
        return -float(np.sum(C * (_entropy(q) - q + y - _entropy(y))))

    def box(self, y: Array, C: Cost) -> tuple[Array, Array]:
        return np.full(y.shape, -np.inf), C * np.asarray(y, dtype=float)

    def curvature(self, a: Array, y: Array, C: Cost) -> Array:
        return 1.0 / (C * np.maximum(y - a / C, 1e-300))

    def best_intercept(self, f: Array, y: Array) -> float:
        mean = float(np.mean(y))
        if mean <= 0:
            raise DataError(
                "Every count is 0, so that no mean fits them; the Poisson loss needs a row with a count above 0."
            )
        top = float(np.max(f))
        return float(np.log(mean) - top - np.log(np.mean(np.exp(f - top))))


def _entropy(q: Array) -> Array:
    """q log q, 0 where q is."""
    return np.where(q > 0, q * np.log(np.where(q > 0, q, 1.0)), 0.0)


def are_counts(y: Array) -> bool:
    """Whether ``y`` holds counts: whole numbers from 0 on, and not only 0."""
    return bool(np.all(y >= 0) and np.all(y == np.round(y)) and np.any(y > 0))


def check_counts(y: Array) -> None:
    """DataError unless ``y`` can be counts or rates: numbers of 0 or more, not all 0."""
    if np.any(y < 0) or not np.any(y > 0):
        raise DataError(
            f"The Poisson loss is for counts: numbers of 0 or more, and not all 0; got values from "
            f"{np.min(y):g} to {np.max(y):g}."
        )
