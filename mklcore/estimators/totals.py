"""Models from sums over rows that are never together: the estimator fitted on what the sums say.

Squared loss and MKL-GOMP: of all rows only Z'1 and Z'Z are needed, Z = [Phi, y] the features and the target. Any table
with the same Z'Z has the same solutions, so the estimators' own solvers work on the D + 1 rows of a square root of it;
a free intercept takes the means out first, and is put back at the end. A sloped loss asks for sums at every step
(``solvers.streaming``).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mklcore.arrays import Array
from mklcore.errors import DataError, ParameterError
from mklcore.estimators.lp import LpBase
from mklcore.kernels.operators.factored import FeatureStack
from mklcore.solvers.driver import warn_unless_converged
from mklcore.solvers.streaming import Ask, fit_passes
from mklcore.solvers.totals import root_of


@dataclass(frozen=True, eq=False)
class Totals:
    """n rows of Z = [Phi, y]: their ``means`` (D + 1,), and sums of squares and products about them, ``scatter`` (D +
    1, D + 1).

    About the means and not about zero: of a target far from zero, squares have no digits left for what varies. Sums of
    two parts are joined as Chan, Golub and LeVeque (1983) join them.
    """

    n: int
    means: Array
    scatter: Array

    @classmethod
    def of(cls, stack_table: Array, y: Array) -> Totals:
        """The sums of features (n, D) and a target (n,)."""
        Z = np.column_stack([stack_table.astype(np.float64), y])
        first = Z[0].copy()
        Z -= first
        middle = Z.mean(axis=0)
        Z -= middle
        return cls(len(Z), first + middle, Z.T @ Z)

    def __add__(self, other: Totals) -> Totals:
        n, apart = self.n + other.n, other.means - self.means
        means = self.means + (other.n / n) * apart
        return Totals(n, means, self.scatter + other.scatter + (self.n * other.n / n) * np.outer(apart, apart))

    def rows(self, centred: bool) -> tuple[Array, Array]:
        """A table (D + 1, D) and a target (D + 1,) with the same sums of squares, about the means if ``centred``."""
        second = self.scatter if centred else self.scatter + self.n * np.outer(self.means, self.means)
        return root_of(second)


def check_summable(estimator: Any) -> None:
    """ParameterError for an estimator whose answer does not follow from sums over the rows."""
    if getattr(estimator, "approximation", None) is None:
        raise ParameterError(
            "Rows in parts need an estimator with approximation=Nystroem(...): kernels between parts are never made."
        )
    if isinstance(estimator, LpBase):
        able = estimator.loss_in_use.quadratic or is_passed(estimator)
    else:
        able = getattr(estimator, "loss", "squared") == "squared"
    if not able:
        raise ParameterError(
            'Rows in parts are read as sums, which loss="squared" and, in passes, loss="logistic" and "squared_hinge" '
            "are made of; a loss with kinks is not: choose one of the three, or fit a sample of the rows."
        )


def is_passed(estimator: Any) -> bool:
    """Whether the estimator's loss has slopes and bends, and reads the rows in a few passes."""
    loss = estimator.loss_in_use if isinstance(estimator, LpBase) else None
    return loss is not None and loss.sloped and loss.signed


def signed_target(estimator: Any, y: Any) -> Array:
    """The target as numbers: -1 and +1 for the two classes of a started estimator.

    DataError for labels it does not know.
    """
    given = np.asarray(y)
    if not is_classifier(estimator):
        return given.astype(np.float64)
    strange = ~np.isin(given, estimator.classes_)
    if strange.any():
        raise DataError(
            f"A part holds the class {given[strange][0]!r}, which no row of the first sample has; draw a larger sample."
        )
    return np.where(given == estimator.classes_[-1], 1.0, -1.0)


def fit_totals(estimator: Any, stack: FeatureStack, totals: Totals) -> Any:
    """The estimator, started on a sample (it knows columns and classes), fitted to rows of which only the sums are
    known.

    ``stack`` brings the map to features. The fitted model predicts, scores and is saved like any other; it has no
    coefficients for single rows, so that ``dual_coef_`` is empty and ``dual_point_`` None.
    """
    centred = bool(estimator.fit_intercept)
    table, y = totals.rows(centred)
    few = replace(stack, table=table)  # type: ignore[arg-type]  # few rows: they may be in double precision
    model: Any = copy.copy(estimator)
    model.set_params(fit_intercept=False)
    scale, fitted = 1.0, model
    if isinstance(estimator, LpBase):
        model.fit_signed(few, y)
    else:
        scale = len(y) / totals.n
        model.set_params(lam=estimator.lam / scale)
        model.fit_signed(few, y)
    model.set_params(fit_intercept=centred, **({} if scale == 1.0 else {"lam": estimator.lam}))
    means = totals.means
    slope = stack.spread(fitted.weights_) * fitted.feature_coef_
    fitted.intercept_ = float(means[-1] - means[:-1] @ slope) if centred else 0.0
    fitted.objective_ = fitted.objective_ * scale
    return _without_rows(fitted, totals.n)


def fit_in_passes(estimator: Any, stack: FeatureStack, ask: Ask) -> Any:
    """The same for a sloped loss: ``ask(v, b)`` sums the losses of all rows and their slopes up, one pass each."""
    model: Any = copy.copy(estimator)
    none = stack.take(np.empty(0, dtype=np.int64))
    fit, v, n = fit_passes(
        none,
        ask,
        float(model.C),
        model.penalty_in_use,
        bool(model.fit_intercept),
        tol=model.tol,
        max_iter=model.max_iter,
        callback=model.callback,
    )
    warn_unless_converged(fit, model.tol)
    model._publish(fit)
    model._remember_kernels(none)
    spread = stack.spread(fit.weights)
    model.feature_coef_ = np.divide(v, spread, out=np.zeros_like(v), where=spread > 0.0)
    return _without_rows(model, n)


def _without_rows(fitted: Any, n: int) -> Any:
    """The model of ``n`` rows, none of which it holds."""
    fitted.dual_coef_, fitted.dual_point_ = np.empty(0), None
    fitted.n_train_, fitted.training_target_, fitted.row_fingerprints_ = n, None, None
    return fitted
