"""Bounds on the optimal value at an unsolved parameter, from the certificates of the solved points beside
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.kernels.operators import as_operator
from mklcore.paths.path import Path, nearest_by_ratio
from mklcore.solvers.driver import Fit
from mklcore.solvers.forms import Live


@dataclass(frozen=True, eq=False)
class Interval:
    """The optimum at ``value`` is between ``low`` and ``high``, by the solved points beside it and no new solve.

    Sums over the one-vs-rest problems, as ``Path.objective``. ``nearest`` is the point of the path to start from.
    """

    value: float
    low: float
    high: float
    nearest: int

    @property
    def relative_gap(self) -> float:
        """The width as a share of the upper end."""
        return (self.high - self.low) / max(abs(self.high), 1e-300)


def interval_along(path: Path, X: Any, y: Any, value: float) -> Interval | None:
    """Bounds on the optimum at an unsolved ``value``, from the two solved points beside it.

    The weights of a neighbour give an upper end, its dual, scaled to the new C where the loss allows, a lower one.
    ``X`` the training stack of the path (M, n, n) or a ``GramStack``, ``y`` (n,) its target. None for paths over other
    parameters than C and p, for methods without a dual, and where one kernel was taken and solved alone. O(M n^2) for
    the products, no machine is solved. Source: specification of the lp-norm solver, section 5, live slider design.
    """
    first = path.estimators[0]
    if path.param not in ("C", "p") or not hasattr(first, "penalty_in_use") or path.dual_gap is None:
        return None
    if np.isnan(path.dual_gap).all() or getattr(first, "nu", None) is not None:
        return None
    if _fits(first)[0].weights.size != np.shape(first.weights_)[-1]:
        return None
    sides = (np.flatnonzero(path.values <= value), np.flatnonzero(path.values >= value))
    beside = [int(side[nearest_by_ratio(path.values[side], value)]) for side in sides if side.size]
    found = [_nearby(path.estimators[i], X, y, path.param, value) for i in dict.fromkeys(beside)]
    return Interval(float(value), max(low for low, _ in found), min(high for _, high in found), path.nearest(value))


def _nearby(fitted: Any, X: Any, y: Any, param: str, value: float) -> tuple[float, float]:
    """Lower and upper end by one solved neighbour, summed over its one-vs-rest problems."""
    from sklearn.base import is_outlier_detector

    K = as_operator(np.asarray(X, dtype=float) if isinstance(X, np.ndarray | list) else X)
    fits = _fits(fitted)
    moved = fitted.copy_with(param, value)
    low = high = 0.0
    for k, fit in enumerate(fits):
        positive = k if len(fits) > 1 else 1
        target = np.ones(K.n_samples) if is_outlier_detector(fitted) else y
        if hasattr(fitted, "classes_"):
            target = np.where(np.asarray(y) == fitted.classes_[positive], 1.0, -1.0)
        live = Live(K, np.asarray(target, dtype=float), fit, fitted.C, fitted.loss_in_use)
        ends = live.at(p=moved.p) if param == "p" else live.at(penalty=moved.penalty_in_use, C=moved.C)
        low, high = low + ends.dual, high + ends.primal
    return low, high


def _fits(fitted: Any) -> tuple[Fit, ...]:
    return fitted.fit_ if isinstance(fitted.fit_, tuple) else (fitted.fit_,)
