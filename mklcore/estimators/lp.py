"""lp-norm multiple kernel learning as scikit-learn estimators, and the plain sum of kernels beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import _num_samples, column_or_1d

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError, ParameterError
from mklcore.estimators.base import KernelClassifier, KernelEstimator, KernelRegressor, KernelSettings, signs
from mklcore.kernels.features import Nystroem
from mklcore.kernels.operators import as_operator, is_operator, is_stored
from mklcore.lp.interleaved import lacking
from mklcore.lp.schedule import FEATURE_SOLVERS, MOST_SUMMED, SOLVERS, fit_weighted
from mklcore.parameters import check_choice, check_whole, set_together
from mklcore.problem.driver import Fit, warn_unless_converged
from mklcore.problem.losses import Loss
from mklcore.problem.machines import ON_FEATURES
from mklcore.problem.penalties import LpNorm, Penalty, make_penalty
from mklcore.problem.problem import WarmStart


class LpBase(KernelEstimator):
    """min C sum_i V(f(x_i) + b, y_i) + 1/2 sum_m ||w_m||^2 / theta_m  over  ||theta||_p <= 1, theta >= 0."""

    _may_take_columns: ClassVar[bool] = False  # whether linear kernels may become the columns they see

    def _check_parameters(self) -> None:
        self._positive("C", "tol")
        self.loss_in_use  # noqa: B018  the loss checks itself
        check_choice("solver", self._solver_name, ("auto", *SOLVERS))
        check_whole("max_iter", self.max_iter)
        self.penalty_in_use  # noqa: B018  the penalty checks p itself
        self._check_approximation()
        if getattr(self, "approximation", None) is not None and self._solver_name not in FEATURE_SOLVERS:
            raise ParameterError(
                f'solver="{self._solver_name}" works on kernel values, which an approximation does not make; use one '
                f"of "
                f"{', '.join(FEATURE_SOLVERS)}, or approximation=None."
            )

    @property
    def penalty_in_use(self) -> Penalty:
        return LpNorm(self.p) if self.penalty is None else make_penalty(self.penalty, p=self.p)

    @property
    def _solver_name(self) -> str:
        name: str = self.solver
        return name

    def _forms(self, n: int) -> tuple[str, ...]:
        if self._solver_name == "interleaved":
            return ("rows",)
        forms = ["dense"]
        weighted = getattr(self, "sample_weight_", None) is not None
        features = self._may_take_columns and self._solver_name == "auto" and self.loss_in_use.machine in ON_FEATURES
        if features and not (self._is_sum or weighted):
            forms.append("features")
        able = n <= MOST_SUMMED or self._is_sum or (self._solver_name == "auto" and not self._lacks)
        if self._solver_name in ("auto", "wrapper") and able:
            forms.append("rows")
        return tuple(forms)

    @property
    def training_decision(self) -> Array | None:
        """Decision values on the training rows as the certificate was computed from them; None where it was not."""
        fits = self.fit_ if isinstance(self.fit_, tuple) else (self.fit_,)
        parts = [fit.decision for fit in fits if fit.decision is not None and fit.decision.shape == (self.n_train_,)]
        return self._joined(np.column_stack(parts)) if len(parts) == len(fits) else None

    @property
    def _is_sum(self) -> bool:
        return self.penalty_in_use.order == np.inf

    @property
    def _lacks(self) -> str:
        """What interleaved pairs would need, "" where they can solve this problem."""
        return lacking(self.loss_in_use, self.penalty_in_use)

    @set_together
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit on a table X (n, d) or, with ``kernels="precomputed"``, on a stack (M, n, n), and a target y (n,).

        ``sample_weight`` (n,), 0 or more: the cost of one unit of loss of row i is C times its weight, and rows of
        weight 0 are left out. In the scales of columns and kernels, and in median distances, a row of weight w counts
        as w rows; in those of approximations and of kernels too large to be stored as one row.
        """
        self.sample_weight_ = (
            None if sample_weight is None else _checked_weights(sample_weight, X, self._is_precomputed)
        )
        return super().fit(X, y)

    def _fit_one(self, stack: Any, y: Array, warm: WarmStart | None, C: float | None = None) -> Fit:
        fit = self._solved(stack, y, self.C if C is None else C, self._solver_name, warm)
        warn_unless_converged(fit, self.tol)
        return fit

    def fit_signed(self, stack: Any, y: Array) -> Self:
        """Fit on a stack and a target of numbers (n,), -1 and +1 for two classes, which are known already."""
        self._publish(self._fit_one(stack, y, None))
        self._remember_kernels(stack)
        return self

    def _solved(self, K: Any, y: Array, C: float, solver: str, warm: WarmStart | None) -> Fit:
        """One problem; with sample weights on the rows that have any, the others getting zeros as their dual."""
        w, K = getattr(self, "sample_weight_", None), as_operator(K)
        kept = np.flatnonzero(w) if w is not None and is_stored(K) else np.arange(y.size)
        whole, target = kept.size == y.size, y[kept]
        fit = fit_weighted(
            K if whole else K.take(kept),
            target,
            C if w is None else C * w[kept],
            self.loss_in_use,
            self.penalty_in_use,
            self.fit_intercept,
            solver=solver,
            tol=self.tol,
            max_iter=self.max_iter,
            warm=warm if w is None else None,
            callback=self.callback,
        )
        if whole:
            return fit
        duals = np.zeros((2, y.size))
        duals[0, kept] = fit.dual_coef
        if fit.dual_point is None:
            return replace(fit, dual_coef=duals[0], carry=None, decision=None)
        duals[1, kept] = fit.dual_point
        return replace(fit, dual_coef=duals[0], dual_point=duals[1], carry=None, decision=None)


def _checked_weights(sample_weight: Any, X: Any, is_stack: bool) -> Array:
    """One finite weight of 0 or more per row, not all 0."""
    w: Array = column_or_1d(np.asarray(sample_weight, dtype=np.float64))
    n = X.n_samples if is_operator(X) or isinstance(X, Dataset) else np.shape(X)[-1] if is_stack else _num_samples(X)
    if w.shape != (n,) or not np.all(np.isfinite(w)) or w.min() < 0 or w.max() <= 0:
        raise DataError(
            f"sample_weight must be {n} finite numbers of 0 or more, one per row and not all zero; got shape {w.shape}"
            + (f" from {w.min():g} to {w.max():g}." if w.size else ".")
        )
    return w


class _LpClassifier(LpBase, KernelClassifier):
    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        w = getattr(self, "sample_weight_", None)
        if w is not None and np.unique(y[w > 0]).size < self.classes_.size:
            raise DataError(
                "A class has no row of weight above 0: every class needs one; drop its rows, or give one of them "
                "weight."
            )
        if self.classes_.size == 2:
            self._publish(self._fit_one(stack, signs(y, 1), warm_start(warm, None)))
            return
        self._publish_several(
            [self._fit_one(stack, signs(y, k), warm_start(warm, k)) for k in range(self.classes_.size)]
        )

    def _publish_several(self, fits: Sequence[Fit]) -> None:
        super()._publish_several(fits)
        self.weights_ = np.array([fit.weights for fit in fits])
        self.dual_coef_ = np.array([fit.dual_coef for fit in fits])

    def _machines(self) -> tuple[Array, Array]:
        return super()._machines() if self.weights_.ndim == 1 else (self.weights_, self._coefficients)


class _LpRegressor(LpBase, KernelRegressor):
    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        self._publish(self._fit_one(stack, y, warm_start(warm, None)))


def warm_start(fitted: Any, k: int | None) -> WarmStart | None:
    """What a fitted neighbour hands on; ``k`` picks one of several one-vs-rest problems."""
    if fitted is None:
        return None
    if k is None:
        return WarmStart(fitted.weights_, fitted.dual_coef_, fitted.C, fitted._carry)
    carry = None if fitted._carry is None else fitted._carry[k]
    return WarmStart(fitted.weights_[k], fitted.dual_coef_[k], fitted.C, carry)


@dataclass(eq=False, repr=False)
class LpMKLClassifier(_LpClassifier, KernelSettings):
    """lp-norm MKL for two classes, or one-vs-rest for more.

        min_{w, b, theta}  C sum_i V(y_i, f(x_i)) + 1/2 sum_m ||w_m||^2 / theta_m,   theta >= 0,  ||theta||_p <= 1

    Parameters
    ----------
    p : float, default 1.0
        Order of the norm on the kernel weights, from 1 (sparse) to infinity (the plain sum of kernels).
    C : float, default 1.0
        Cost of one unit of loss, > 0; 1 is the usual start for normalised kernels.
    loss : str or Loss, default "hinge"
        "hinge", "logistic" or "squared", or a loss object.
    penalty : str, Penalty or None, default None
        A penalty object that replaces ||theta||_p <= 1, the name of one that needs no arguments, or None.
    solver : str, default "auto"
        "auto", "wrapper" (analytic update), "newton" (damped Newton on the weights), "interleaved" (kernel rows on the
        fly, no stored Gram matrix) or "silp" (cutting planes, p = 1, for comparison).
    kernels : KernelDictionary, sequence of KernelSpec, "precomputed" or None, default None
        The kernels to combine; "precomputed" where ``fit`` gets their Gram matrices. None for one RBF kernel per
        bandwidth of a grid and one linear kernel.
    normalise : str or None, default "auto"
        How every kernel is scaled on the training rows: "multiplicative", "spherical", "trace", "diag", None, or "auto"
        for the usual way of the method.
    center : bool, default False
        Whether the kernels are centred in their feature spaces on the training rows.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; raising ``CancelledError`` ends the fit.
    approximation : Nystroem or None, default None
        Features of low rank in place of the kernels; None for the kernels themselves.
    fit_intercept : bool, default True
        Learn the free b.
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a ``NotConvergedWarning``.
    probability : bool, default False
        Offer ``predict_proba``: five more fits on folds of the rows, and Platt's sigmoid on their held-out.

    Attributes
    ----------
    weights_ (M,), dual_coef_ (n,) signed, intercept_, objective_, dual_objective_, dual_gap_, relative_gap_, status_,
    dual_point_ (n,) signed, the feasible dual whose value is dual_objective_ (``certificate`` computes both values
    again), history_, n_iter_, n_kernels_, kernel_names_, selected_, classes_. With more than two classes weights_,
    dual_coef_, intercept_ and the certificate gain a leading axis over the one-vs-rest problems.

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
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 500
    probability: bool = False


@dataclass(eq=False, repr=False)
class LpMKLRegressor(_LpRegressor, KernelSettings):
    """lp-norm MKL for regression: kernel ridge or support vector regression with learned kernel weights.

    ``loss`` is "squared", "epsilon_insensitive" with the tube ``epsilon``, in units of the target, "huber" (an object,
    ``Huber(delta)``, for another delta than 1) or "pinball", the median (``Pinball(quantile)`` for any other quantile).
    Everything else as in ``LpMKLClassifier``.

    Parameters
    ----------
    p : float, default 1.0
        Norm of the kernel weights, from 1 (sparse) to infinity (plain sum of the kernels).
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more closely.
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your own.
    epsilon : float, default 0.1
        Half width of the tube of the epsilon-insensitive loss, in units of the target, >= 0.
    penalty : str, Penalty or None, default None
        Regulariser of the kernel weights: a name of ``PENALTIES`` or an object; None for the norm ``p``.
    solver : str, default "auto"
        Name of a solver in ``SOLVERS``; "auto" lets the library choose.
    kernels : KernelDictionary, sequence of KernelSpec, "precomputed" or None, default None
        The kernels to combine; "precomputed" where ``fit`` gets their Gram matrices. None for one RBF kernel per
        bandwidth of a grid and one linear kernel.
    normalise : str or None, default "auto"
        How every kernel is scaled on the training rows: "multiplicative", "spherical", "trace", "diag", None, or "auto"
        for the usual way of the method.
    center : bool, default False
        Whether the kernels are centred in their feature spaces on the training rows.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; raising ``CancelledError`` ends the fit.
    approximation : Nystroem or None, default None
        Features of low rank in place of the kernels; None for the kernels themselves.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a ``NotConvergedWarning``.

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
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 500


class _Uniform(LpBase):
    """Every kernel with weight one: lp-norm MKL at p = infinity, where one machine solve is the whole optimum."""

    @property
    def penalty_in_use(self) -> Penalty:
        return LpNorm(np.inf)

    @property
    def _solver_name(self) -> str:
        return "wrapper"


@dataclass(eq=False, repr=False)
class UniformMKLClassifier(_Uniform, _LpClassifier, KernelSettings):
    """The plain sum of all kernels: the baseline every learned weighting has to beat.

    Parameters as ``LpMKLClassifier``.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more closely.
    loss : str or Loss, default "hinge"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your own.
    kernels : KernelDictionary, sequence of KernelSpec, "precomputed" or None, default None
        The kernels to combine; "precomputed" where ``fit`` gets their Gram matrices. None for one RBF kernel per
        bandwidth of a grid and one linear kernel.
    normalise : str or None, default "auto"
        How every kernel is scaled on the training rows: "multiplicative", "spherical", "trace", "diag", None, or "auto"
        for the usual way of the method.
    center : bool, default False
        Whether the kernels are centred in their feature spaces on the training rows.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; raising ``CancelledError`` ends the fit.
    approximation : Nystroem or None, default None
        Features of low rank in place of the kernels; None for the kernels themselves.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a ``NotConvergedWarning``.
    probability : bool, default False
        Whether probabilities are calibrated on held-out folds, so that ``predict_proba`` can be used.
    """

    C: float = 1.0
    loss: str | Loss = "hinge"
    _: KW_ONLY
    approximation: Nystroem | None = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 500
    probability: bool = False


@dataclass(eq=False, repr=False)
class UniformMKLRegressor(_Uniform, _LpRegressor, KernelSettings):
    """The plain sum of all kernels for regression: the baseline to beat. Parameters as ``LpMKLRegressor``.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more closely.
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your own.
    epsilon : float, default 0.1
        Half width of the tube of the epsilon-insensitive loss, in units of the target, >= 0.
    kernels : KernelDictionary, sequence of KernelSpec, "precomputed" or None, default None
        The kernels to combine; "precomputed" where ``fit`` gets their Gram matrices. None for one RBF kernel per
        bandwidth of a grid and one linear kernel.
    normalise : str or None, default "auto"
        How every kernel is scaled on the training rows: "multiplicative", "spherical", "trace", "diag", None, or "auto"
        for the usual way of the method.
    center : bool, default False
        Whether the kernels are centred in their feature spaces on the training rows.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; raising ``CancelledError`` ends the fit.
    approximation : Nystroem or None, default None
        Features of low rank in place of the kernels; None for the kernels themselves.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a ``NotConvergedWarning``.
    """

    C: float = 1.0
    loss: str | Loss = "squared"
    epsilon: float = 0.1
    _: KW_ONLY
    approximation: Nystroem | None = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 500
