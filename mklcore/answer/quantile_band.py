"""Bands that are not the same width everywhere: two quantile models, moved by what held-out rows say of them.

    E_i = max(l_i(x_i) - y_i, y_i - u_i(x_i)),   l_i, u_i the lower and upper quantile models fitted without row i

A band reaches from the (n + 1 - k)-th smallest l_i(x) - E_i to the k-th smallest u_i(x) + E_i, k = ceil(level (n + 1)):
what `Conformal` does, with the same guarantees, around quantiles in place of a mean. Source: Romano, Patterson, Candes
(2019), Conformalized quantile regression; with folds as in Barber, Candes, Ramdas, Tibshirani (2021).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from mklcore.answer.conformal import Conformal
from mklcore.arrays import Array, Indices, Labels
from mklcore.errors import ParameterError
from mklcore.estimators.base import target_of
from mklcore.estimators.lp import LpBase, LpMKLRegressor
from mklcore.problem.losses import Pinball


class _Quantiles(RegressorMixin, BaseEstimator):
    """Models of the lower end, the median and the upper end of a band, on a target of standard deviation 1."""

    def __init__(self, estimator: Any, level: float) -> None:
        self.estimator = estimator
        self.level = level

    def fit(self, X: Any, y: Any) -> Self:
        tail = 0.5 * (1.0 - self.level)
        values = np.asarray(y)
        self.scale_ = (float(np.std(values)) or 1.0) if values.dtype.kind in "fiub" and values.size else 1.0
        target = values / self.scale_ if self.scale_ != 1.0 else y
        self.models_ = [
            clone(self.estimator).set_params(loss=Pinball(quantile)).fit(X, target)
            for quantile in (tail, 0.5, 1.0 - tail)
        ]
        return self

    def predict(self, X: Any) -> Array:
        found: Array = self.scale_ * self.models_[1].predict(X)
        return found

    def ends(self, X: Any) -> Array:
        """Lower and upper quantile (n, 2); where they cross they change places."""
        return np.sort(self.scale_ * np.column_stack([self.models_[k].predict(X) for k in (0, 2)]), axis=1)

    def __getattr__(self, name: str) -> Any:
        if name in ("n_features_in_", "feature_names_in_") and "models_" in vars(self):
            return getattr(self.models_[0], name)
        raise AttributeError(f"{type(self).__name__} has no {name}.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


class QuantileBand(Conformal):
    """Prediction bands for numbers from quantile models, wide where the target varies and narrow where it does not.

    Parameters
    ----------
    estimator : estimator, default None
        A regressor with a parameter ``loss`` that takes `Pinball`, such as ``LpMKLRegressor``; None for that one with
        kernels of its own. Its C counts for a target of standard deviation 1.
    level : float, default 0.9
        Share of new rows to be covered; the quantiles are (1 - level) / 2 and (1 + level) / 2, as they were fitted.
    cv : int or splitter, default "split"
        "split" (a quarter of the rows is held out), a share, a number of folds or a splitter, as in `Conformal`.
    random_state : int or None, default 0
        Seed of the rows that are held out.

    Attributes
    ----------
    estimator_ : its ``models_`` are those of the lower end, the median and the upper end; ``predict`` gives the median
    scores_ : (n,) how far each held-out target is outside its band, negative inside

    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-1.0, 1.0, (200, 1))
    >>> y = X[:, 0] + (0.1 + np.abs(X[:, 0])) * random.standard_normal(200)
    >>> band = QuantileBand(level=0.8).fit(X, y).predict_interval([[0.0], [0.9]])
    >>> bool(np.diff(band[0])[0] < np.diff(band[1])[0])
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        level: float = 0.9,
        cv: Any = "split",
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.level = level
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the quantile models and hold rows out; ``X`` rows or a ``Dataset``, ``y`` (n,) numbers."""
        model = LpMKLRegressor() if self.estimator is None else self.estimator
        if not (isinstance(model, LpBase) and "loss" in model.get_params()):
            raise ParameterError(
                "QuantileBand needs a regressor of this library with a loss, such as LpMKLRegressor; got "
                f"{type(model).__name__}."
            )
        target = target_of(X, y)
        inner = _Held(_Quantiles(model, self.level), self.level, self.cv, random_state=self.random_state).fit(X, target)
        self.estimator_, self.held_out_, self.scores_ = inner.estimator_, inner.held_out_, inner.scores_
        return self

    def predict_interval(self, X: Any, level: float | None = None) -> Array:
        """Lower and upper ends (n_new, 2) of the band; another ``level`` than that of the object moves the same
        quantiles.

        DataError where too few rows were held out for the level.
        """
        check_is_fitted(self, "held_out_")
        said = self.held_out_.outputs(X)
        ends = self._ends(said[..., 0], said[..., 1], self._rank(level))
        crossed = ends[:, 0] > ends[:, 1]
        ends[crossed] = ends[crossed].mean(axis=1, keepdims=True)
        return ends

    def __sklearn_tags__(self) -> Any:
        tags = BaseEstimator.__sklearn_tags__(self)
        own = get_tags(LpMKLRegressor() if self.estimator is None else self.estimator)
        tags.estimator_type, tags.regressor_tags = own.estimator_type, own.regressor_tags
        tags.input_tags, tags.target_tags = own.input_tags, own.target_tags
        return tags


class _Held(Conformal):
    """`Conformal` whose models say two numbers, and whose scores are how far a target is outside them."""

    def _outputs(self, model: Any, X: Any) -> Array:
        found: Array = model.ends(X)
        return found

    def _score_rows(self, X: Any, y: Labels, rows: Indices) -> None:
        ends, target = self.held_out_.own(X, rows), np.asarray(y[rows], dtype=float)
        self.scores_ = np.maximum(ends[:, 0] - target, target - ends[:, 1])
