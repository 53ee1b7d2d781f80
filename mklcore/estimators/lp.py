"""lp-norm multiple kernel learning as scikit-learn estimators, with weights of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _num_samples, column_or_1d

from mklcore.arrays import Array, Labels
from mklcore.data.dataset import Dataset
from mklcore.documented import documented
from mklcore.errors import DataError, ParameterError
from mklcore.estimators.base import KernelEstimator
from mklcore.estimators.targets import KernelClassifier, KernelRegressor
from mklcore.estimators.training_table import KernelSettings, target_of
from mklcore.kernels.features import Nystroem
from mklcore.kernels.operators import as_operator, is_operator, is_stored
from mklcore.lp.interleaved import lacking
from mklcore.lp.schedule import FEATURE_SOLVERS, MOST_SUMMED, SOLVERS, fit_weighted
from mklcore.parameters import check_choice, check_positive, check_whole, set_together
from mklcore.paths.folds import each, is_parallel
from mklcore.problem.driver import Fit, warn_unless_converged
from mklcore.problem.losses import Loss
from mklcore.problem.machines import ON_FEATURES
from mklcore.problem.penalties import LpNorm, Penalty, make_penalty
from mklcore.problem.problem import WarmStart


@dataclass(kw_only=True, eq=False, repr=False)
class LpBase(KernelSettings, KernelEstimator):
    """min C sum_i V(f(x_i) + b, y_i) + 1/2 sum_m ||w_m||^2 / theta_m  over  ||theta||_p <= 1, theta
    >= 0.
    """

    weighs_rows: ClassVar[bool] = True
    # whether linear kernels may become the columns they see
    _may_take_columns: ClassVar[bool] = False

    tol: float = 1e-3
    max_iter: int = 500

    def _check_parameters(self) -> None:
        check_positive(C=self.C, tol=self.tol)
        check_whole("max_iter", self.max_iter)
        check_choice("solver", self.solver, ("auto", *SOLVERS))
        self.loss_in_use, self.penalty_in_use  # noqa: B018  they check themselves
        if self.approximation is not None and self.solver not in FEATURE_SOLVERS:
            raise ParameterError(
                f'solver="{self.solver}" works on kernel values, which an approximation does not make; use one of '
                f"{', '.join(FEATURE_SOLVERS)}, or approximation=None."
            )

    @property
    def penalty_in_use(self) -> Penalty:
        return LpNorm(self.p) if self.penalty is None else make_penalty(self.penalty, p=self.p)

    def _forms(self, n: int) -> tuple[str, ...]:
        if self.solver == "interleaved":
            return ("rows",)
        loss = self.loss_in_use
        penalty = self.penalty_in_use
        is_auto = self.solver == "auto"
        is_sum = penalty.order == np.inf
        is_weighted = getattr(self, "sample_weight_", None) is not None
        forms = ["dense"]
        if (
            self._may_take_columns
            and is_auto
            and loss.machine in ON_FEATURES
            and not (is_sum or is_weighted)
        ):
            forms += (
                ["features", "columns"] if penalty.order == 1 and loss.quadratic else ["features"]
            )
        able = n <= MOST_SUMMED or is_sum or (is_auto and not lacking(loss, penalty))
        if self.solver in ("auto", "wrapper") and able:
            forms.append("rows")
        return tuple(forms)

    @property
    def training_decision(self) -> Array | None:
        """Decision values on the training rows as the certificate was computed from them; None
        where it was not.
        """
        fits = self.fit_ if isinstance(self.fit_, tuple) else (self.fit_,)
        parts = [
            fit.decision
            for fit in fits
            if fit.decision is not None and fit.decision.shape == (self.n_train_,)
        ]
        return self._joined(np.column_stack(parts)) if len(parts) == len(fits) else None

    @set_together
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # type: ignore[override]  # takes weights
        """Fit on a table X (n, d) or, with ``kernels="precomputed"``, on a stack (M, n, n), and a
        target y (n,).

        ``sample_weight`` (n,), 0 or more: the cost of one unit of loss of row i is C times its
        weight, and rows of weight 0 are left out; a `Dataset` may bring its own. In the scales of
        columns and kernels, and in median distances, a row of weight w counts as w rows; in those
        of approximations and of kernels too large to be stored as one row. A classifier with
        ``probability=True`` is fitted five times more, on folds of the rows, for `predict_proba`.
        """
        if sample_weight is not None:
            self._given_weights = _checked_weights(sample_weight, X, self._is_precomputed)
        return self._fitted(X, y)

    def training_stack(self, X: Any, y: Any) -> tuple[Any, Labels]:
        """The kernels and the target, once it is known how much every row counts."""
        weights = self.__dict__.pop("_given_weights", None)
        if weights is None and isinstance(X, Dataset):
            weights = X.sample_weight
        if getattr(self, "class_weight", None) is not None:
            by_class = compute_sample_weight(self.class_weight, column_or_1d(target_of(X, y)))
            weights = by_class if weights is None else by_class * weights
        self.sample_weight_ = weights
        return super().training_stack(X, y)

    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        """One problem, or one for every class against the rest."""
        targets = self._targets(y)
        w = getattr(self, "sample_weight_", None)
        if (
            w is not None
            and hasattr(self, "classes_")
            and np.unique(y[w > 0]).size < self.classes_.size
        ):
            raise DataError(
                "A class has no row of weight above 0: every class needs one; drop its "
                "rows, or give one of them weight."
            )
        starts = [
            None if warm is None else warm_start(warm, k if len(targets) > 1 else None)
            for k in range(len(targets))
        ]
        run = partial(_one_of, self, stack)
        n_jobs = getattr(self, "n_jobs", None)
        several = len(targets) > 1 and n_jobs is not None and is_parallel(n_jobs)
        problems = list(zip(targets, starts, strict=True))
        fits = list(each(run, problems, n_jobs)) if several else [run(one) for one in problems]
        for fit in fits:
            warn_unless_converged(fit, self.tol)
        if len(fits) == 1:
            self._publish(fits[0])
        else:
            self._publish_several(
                fits, np.array([f.weights for f in fits]), np.array([f.dual_coef for f in fits])
            )

    def fit_signed(self, stack: Any, y: Array) -> Self:
        """Fit on a stack and a target of numbers (n,), -1 and +1 for two classes, which are known
        already.
        """
        fit = self._fit_one(stack, y, None)
        warn_unless_converged(fit, self.tol)
        self._publish(fit)
        self._remember_kernels(stack)
        return self

    def _fit_one(self, K: Any, y: Array, warm: WarmStart | None, C: float | None = None) -> Fit:
        """One problem; with sample weights on the rows that have any, the others getting zeros as
        their dual.
        """
        cost: Any = self.C if C is None else C
        w = getattr(self, "sample_weight_", None)
        kept = np.arange(y.size)
        if w is not None:
            K = as_operator(K)
            cost = cost * w
            warm = None
            if is_stored(K) and not w.all():
                kept = np.flatnonzero(w)
                K = K.take(kept)
                cost = cost[kept]
        fit = fit_weighted(
            K,
            y[kept],
            cost,
            self.loss_in_use,
            self.penalty_in_use,
            self.fit_intercept,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            warm=warm,
            callback=self.callback,
        )
        if kept.size == y.size:
            return fit
        duals = np.zeros((2, y.size))
        duals[0, kept] = fit.dual_coef
        if fit.dual_point is None:
            return replace(fit, dual_coef=duals[0], carry=None, decision=None)
        duals[1, kept] = fit.dual_point
        return replace(fit, dual_coef=duals[0], dual_point=duals[1], carry=None, decision=None)


@dataclass(kw_only=True, eq=False, repr=False)
class LpSupervised(LpBase):
    """The same with a target."""

    fit_intercept: bool = True


def _one_of(model: LpBase, stack: Any, problem: tuple[Array, WarmStart | None]) -> Fit:
    """The fit of one class against the rest."""
    return model._fit_one(stack, *problem)


def _checked_weights(sample_weight: Any, X: Any, is_stack: bool) -> Array:
    """One finite weight of 0 or more per row, not all 0."""
    w: Array = column_or_1d(np.asarray(sample_weight, dtype=np.float64))
    n = (
        X.n_samples
        if is_operator(X) or isinstance(X, Dataset)
        else np.shape(X)[-1]
        if is_stack
        else _num_samples(X)
    )
    if w.shape != (n,) or not np.all(np.isfinite(w)) or w.min() < 0 or w.max() <= 0:
        raise DataError(
            (
                f"sample_weight must be {n} finite numbers of 0 or more, one per row and not "
                f"all zero; got shape {w.shape}"
            )
            + (f" from {w.min():g} to {w.max():g}." if w.size else ".")
        )
    return w


def warm_start(fitted: Any, k: int | None = None) -> WarmStart:
    """What a fitted neighbour hands on; ``k`` picks one of several one-vs-rest problems."""
    if k is None:
        return WarmStart(fitted.weights_, fitted.dual_coef_, fitted._carry)
    carry = None if fitted._carry is None else fitted._carry[k]
    return WarmStart(fitted.weights_[k], fitted.dual_coef_[k], carry)


@documented
@dataclass(eq=False, repr=False)
class LpMKLClassifier(LpSupervised, KernelClassifier):
    """lp-norm MKL for two classes, or one-vs-rest for more.

        min_{w, b, theta}  C sum_i V(y_i, f(x_i)) + 1/2 sum_m ||w_m||^2 / theta_m,   theta >= 0,  ||theta||_p <= 1

    Attributes
    ----------
    weights_ (M,), dual_coef_ (n,) signed, intercept_, objective_, dual_objective_, dual_gap_,
    relative_gap_, status_, dual_point_ (n,) signed, the feasible dual whose value is
    dual_objective_ (``certificate`` computes both values again), history_, n_iter_, n_kernels_,
    kernel_names_, selected_, classes_. With more than two classes weights_, dual_coef_, intercept_
    and the certificate gain a leading axis over the one-vs-rest problems, ``n_jobs`` of which are
    solved at a time. ``class_weight``, a dict or "balanced", multiplies C by class, as in
    scikit-learn.

    Source: Kloft, Brefeld, Sonnenburg, Zien (2011), equations (16), (17), (19).
    """

    _may_take_columns: ClassVar[bool] = True

    p: float = 1.0
    C: float = 1.0
    loss: str | Loss = "hinge"
    penalty: str | Penalty | None = None
    solver: str = "auto"
    _: KW_ONLY
    approximation: Nystroem | None = None
    probability: bool = False
    class_weight: Mapping[Any, float] | str | None = None
    n_jobs: int | None = None


@documented
@dataclass(eq=False, repr=False)
class LpMKLRegressor(LpSupervised, KernelRegressor):
    """lp-norm MKL for regression: kernel ridge or support vector regression with learned kernel
    weights.

    ``loss`` is "squared", "epsilon_insensitive" with the tube ``epsilon``, in units of the target,
    "huber" (an object, ``Huber(delta)``, for another delta than 1) or "pinball", the median
    (``Pinball(quantile)`` for any other quantile). Everything else as in ``LpMKLClassifier``.

    References
    ----------
    Kloft, Brefeld, Sonnenburg, Zien (2011), equations (16), (17), (19).
    """

    _may_take_columns: ClassVar[bool] = True

    p: float = 1.0
    C: float = 1.0
    loss: str | Loss = "squared"
    epsilon: float = 0.1
    penalty: str | Penalty | None = None
    solver: str = "auto"
    _: KW_ONLY
    approximation: Nystroem | None = None
