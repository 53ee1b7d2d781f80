"""lp-norm multiple kernel learning as scikit-learn estimators, with weights of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from mklcore.arrays import Array
from mklcore.estimators.base import KernelEstimator
from mklcore.estimators.targets import KernelClassifier, KernelRegressor
from mklcore.estimators.training_table import KernelSettings
from mklcore.kernels.features import Nystroem
from mklcore.kernels.operators import as_operator, is_stored
from mklcore.lp.interleaved import lacking
from mklcore.lp.schedule import MOST_SUMMED, SOLVERS, fit_weighted
from mklcore.parameters import check_choice, set_together
from mklcore.paths.folds import each
from mklcore.problem.driver import Fit, warn_unless_converged
from mklcore.problem.losses import Loss
from mklcore.problem.machines import ON_FEATURES
from mklcore.problem.penalties import LpNorm, Penalty, make_penalty
from mklcore.problem.problem import WarmStart


@dataclass(kw_only=True, eq=False, repr=False)
class LpBase(KernelSettings, KernelEstimator):
    """min C sum_i V(f(x_i) + b, y_i) + 1/2 sum_m ||w_m||^2 / theta_m over ||theta||_p <= 1."""

    weighs_rows = True
    # whether linear kernels may be stored as the columns they act on
    _may_take_columns: ClassVar[bool] = False

    tol: float = 1e-3
    max_iter: int = 500

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("solver", self.solver, ("auto", *SOLVERS))
        self.penalty_in_use  # noqa: B018  the penalty checks itself

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
        has_feature_solver = is_auto and loss.machine in ON_FEATURES
        if self._may_take_columns and has_feature_solver and not (is_sum or is_weighted):
            forms.append("features")
            if penalty.order == 1 and loss.quadratic:
                forms.append("columns")
        can_use_rows = n <= MOST_SUMMED or is_sum or (is_auto and not lacking(loss, penalty))
        if self.solver in ("auto", "wrapper") and can_use_rows:
            forms.append("rows")
        return tuple(forms)

    @property
    def training_decision(self) -> Array | None:
        """Decision values on the training rows, or None where the solver did not compute them."""
        fits = self.fit_ if isinstance(self.fit_, tuple) else (self.fit_,)
        scores = [fit.decision for fit in fits]
        if any(np.shape(score) != (self.n_train_,) for score in scores):
            return None
        return self._joined(np.column_stack(scores))

    @set_together
    def fit(  # type: ignore[override]  # the base class refuses weights
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit on a table X (n, d), or on ready kernels (M, n, n), and a target y (n,).

        Ready kernels need ``kernels="precomputed"``. ``sample_weight`` (n,) holds numbers of 0 or
        more: a unit of loss of row i costs C times its weight, and rows of weight 0 are left out.
        A `Dataset` may bring its own weights. A row of weight w counts as w rows in the scales of
        columns and kernels and in median distances, except in the scales of approximations and of
        kernels that are not stored. A classifier with ``probability=True`` is fitted five more
        times, on folds of the rows, for `predict_proba`.
        """
        return self._fitted(X, y, sample_weight)

    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        """Solve one problem, or one for every class against the rest."""
        targets = self._targets(y)
        problems = zip(targets, warm_starts(warm, len(targets)), strict=True)

        def solve(problem: tuple[Array, WarmStart | None]) -> Fit:
            return self._fit_one(stack, *problem)

        n_jobs = getattr(self, "n_jobs", None)
        is_spread = n_jobs is not None and len(targets) > 1
        fits = list(each(solve, problems, n_jobs) if is_spread else map(solve, problems))
        for fit in fits:
            warn_unless_converged(fit, self.tol)
        self._publish(*fits)

    def _cost(self, n: int) -> float:
        """What a unit of loss costs on one of n rows."""
        return float(self.C)

    def _fit_one(self, K: Any, y: Array, warm: WarmStart | None) -> Fit:
        """Solve one problem; rows of weight 0 are left out, and their duals are 0."""
        cost: Any = self._cost(y.size)
        weights = self.sample_weight_
        rows = np.arange(y.size)
        if weights is not None:
            K = as_operator(K)
            cost = cost * weights
            warm = None
            if is_stored(K) and not weights.all():
                rows = np.flatnonzero(weights)
                K = K.take(rows)
                cost = cost[rows]
        fit = fit_weighted(
            K,
            y[rows],
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
        if rows.size == y.size:
            return fit
        dual_coef, dual_point = np.zeros((2, y.size))
        dual_coef[rows] = fit.dual_coef
        if fit.dual_point is not None:
            dual_point[rows] = fit.dual_point
        return replace(fit, dual_coef=dual_coef, dual_point=dual_point, carry=None, decision=None)


@dataclass(kw_only=True, eq=False, repr=False)
class LpSupervised(LpBase):
    """lp-norm MKL with a target, which has a free intercept."""

    fit_intercept: bool = True


def warm_starts(fitted: Any, count: int) -> list[Any]:
    """The starts of ``count`` problems that a fitted neighbour provides; None without one."""
    if fitted is None:
        return [None] * count
    if count == 1:
        return [WarmStart(fitted.weights_, fitted.dual_coef_, fitted._carry)]
    carried = fitted._carry or [None] * count
    return list(map(WarmStart, fitted.weights_, fitted.dual_coef_, carried))


@dataclass(eq=False, repr=False)
class LpMKLClassifier(LpSupervised, KernelClassifier):
    """lp-norm MKL for two classes, or one-vs-rest for more.

        min_{w, b, theta}  C sum_i V(y_i, f(x_i)) + 1/2 sum_m ||w_m||^2 / theta_m over  theta >= 0,
        ||theta||_p <= 1

    Parameters
    ----------
    p : float, default 1.0
        Norm of the kernel weights, from 1 (sparse) to infinity (the plain sum of the kernels).
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more
        closely.
    loss : str or Loss, default "hinge"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    penalty : str, Penalty or None, default None
        Regulariser of the kernel weights in place of the norm ``p``: a name of ``PENALTIES`` or an
        object.
    solver : str, default "auto"
        "auto", "wrapper" (analytic update), "newton" (damped Newton on the weights), "interleaved"
        (kernel rows on the fly, no stored Gram matrix) or "silp" (cutting planes, p = 1, for
        comparison).
    kernels : KernelDictionary, sequence of KernelSpec, "precomputed" or None, default None
        The kernels to combine; "precomputed" where ``fit`` gets their Gram matrices. None for one
        RBF kernel per bandwidth of a grid and one linear kernel.
    normalise : str or None, default "auto"
        How every kernel is scaled on the training rows: "multiplicative", "spherical", "trace",
        "diag", None, or "auto" for the usual way of the method.
    center : bool, default False
        Whether the kernels are centred in their feature spaces on the training rows.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; return True, or raise ``CancelledError``, to
        stop the fit.
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    approximation : Nystroem or None, default None
        Features of low rank in place of the kernels; None for the kernels themselves.
    probability : bool, default False
        Whether probabilities are calibrated on held-out folds, so that ``predict_proba`` can be
        used.
    class_weight : dict, "balanced" or None, default None
        What C is multiplied by for the rows of each class, as in scikit-learn; None for 1.
    n_jobs : int or None, default None
        Problems of one class against the rest that are solved at a time; None for one, -1 for one
        per core.

    Attributes
    ----------
    weights_ (M,), dual_coef_ (n,) signed, intercept_, objective_, dual_objective_, dual_gap_,
    relative_gap_, status_, dual_point_ (n,) signed, the feasible dual whose value is
    dual_objective_ (``certificate`` computes both values again), history_, n_iter_, n_kernels_,
    kernel_names_, selected_, classes_. With more than two classes weights_, dual_coef_, intercept_
    and the certificate gain a leading axis over the one-vs-rest problems, ``n_jobs`` of which are
    solved at a time.

    Source: Kloft, Brefeld, Sonnenburg, Zien (2011), equations (16), (17), (19).
    """

    _may_take_columns = True

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


@dataclass(eq=False, repr=False)
class LpMKLRegressor(LpSupervised, KernelRegressor):
    """lp-norm MKL for regression: kernel ridge or support vector regression.

    ``loss`` is "squared", "epsilon_insensitive" with the tube ``epsilon``, in units of the target,
    "huber" (or the object ``Huber(delta)`` for a delta other than 1), or "pinball", which fits the
    median (or the object ``Pinball(quantile)`` for another quantile). Everything else is as in
    ``LpMKLClassifier``.

    Parameters
    ----------
    p : float, default 1.0
        Norm of the kernel weights, from 1 (sparse) to infinity (the plain sum of the kernels).
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more
        closely.
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    epsilon : float, default 0.1
        Half width of the tube of the epsilon-insensitive loss, in units of the target, >= 0.
    penalty : str, Penalty or None, default None
        Regulariser of the kernel weights in place of the norm ``p``: a name of ``PENALTIES`` or an
        object.
    solver : str, default "auto"
        "auto", "wrapper" (analytic update), "newton" (damped Newton on the weights), "interleaved"
        (kernel rows on the fly, no stored Gram matrix) or "silp" (cutting planes, p = 1, for
        comparison).
    kernels : KernelDictionary, sequence of KernelSpec, "precomputed" or None, default None
        The kernels to combine; "precomputed" where ``fit`` gets their Gram matrices. None for one
        RBF kernel per bandwidth of a grid and one linear kernel.
    normalise : str or None, default "auto"
        How every kernel is scaled on the training rows: "multiplicative", "spherical", "trace",
        "diag", None, or "auto" for the usual way of the method.
    center : bool, default False
        Whether the kernels are centred in their feature spaces on the training rows.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; return True, or raise ``CancelledError``, to
        stop the fit.
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    approximation : Nystroem or None, default None
        Features of low rank in place of the kernels; None for the kernels themselves.

    References
    ----------
    Kloft, Brefeld, Sonnenburg, Zien (2011), equations (16), (17), (19).
    """

    _may_take_columns = True

    p: float = 1.0
    C: float = 1.0
    loss: str | Loss = "squared"
    epsilon: float = 0.1
    penalty: str | Penalty | None = None
    solver: str = "auto"
    _: KW_ONLY
    approximation: Nystroem | None = None
