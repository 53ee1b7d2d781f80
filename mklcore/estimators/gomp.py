"""MKL-GOMP as scikit-learn estimators: sparse MKL by greedy selection of kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.estimators.greedy import BudgetedEstimator, has_derivative, truncated
from mklcore.estimators.targets import KernelClassifier, SeveralTargets
from mklcore.estimators.training_table import KernelSettings
from mklcore.kernels.features import Features, Nystroem
from mklcore.kernels.grams import GramStack
from mklcore.kernels.operators import Capability
from mklcore.lp.schedule import MOST_SUMMED
from mklcore.parameters import is_finite_number
from mklcore.problem.driver import Fit, run, warn_unless_converged
from mklcore.problem.losses import Loss, loss_for
from mklcore.sparse.best_k import BestK
from mklcore.sparse.copies import without_copies
from mklcore.sparse.gomp import GOMP, HINGE_TOL, FeatureGOMP, LossGOMP, Spectra


@dataclass(eq=False, repr=False)
class _GompBase(KernelSettings, BudgetedEstimator):
    """min_f (1/n) sum V(y_i, f(x_i)) + lam ||f||^2 over at most ``n_kernels`` kernels, greedily."""

    lam: float = 0.01
    n_kernels: int | None = None
    score_tol: float = 1e-4
    n_candidates: int | None = None
    keep_duplicates: bool = False
    loss: str | Loss = "squared"
    _: KW_ONLY
    approximation: Nystroem | None = None
    fit_intercept: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        tolerance = self.score_tol
        if not (is_finite_number(tolerance) and tolerance >= 0):
            raise ParameterError(
                "score_tol is a share of the target's energy: a finite number of 0 or "
                f"more; got {tolerance!r}."
            )
        if not self.loss_in_use.quadratic and self.approximation is not None:
            raise ParameterError(
                'MKL-GOMP can use approximated kernels only with loss="squared"; choose it, or '
                "approximation=None."
            )

    @property
    def loss_in_use(self) -> Loss:
        return loss_for(self.loss, self.tasks, _suits, "a derivative")

    @property
    def _is_hinge(self) -> bool:
        return self.loss_in_use.piecewise_linear

    def _prepared(self, stack: Any) -> Spectra | None:
        if self._is_hinge or Capability.FEATURES in stack.capabilities:
            return None
        return Spectra.of(stack)

    def _forms(self, n: int) -> tuple[str, ...]:
        return ("dense", "rows") if self.loss_in_use.quadratic and n <= MOST_SUMMED else ("dense",)

    def _run(
        self,
        stack: GramStack | Features,
        y: Array,
        prepared: Spectra | None,
    ) -> BestK | None:
        loss = self.loss_in_use
        Y, means = self._columns_less_means(y, self.fit_intercept and loss.quadratic)
        M = stack.n_kernels
        options = {}
        kind: type[GOMP] = GOMP
        if Capability.FEATURES in stack.capabilities:
            kind = FeatureGOMP
        elif not loss.quadratic:
            kind = LossGOMP
            options = {"loss": loss, "fit_intercept": self.fit_intercept}
        tol = {"tol": self.tol} if self._is_hinge else {}
        competing, self.notes_ = without_copies(stack, self.keep_duplicates)
        method = kind(
            stack,
            Y,
            self.lam,
            n_kernels=min(self.n_kernels or M, M),
            score_tol=self.score_tol,
            n_candidates=self.n_candidates,
            seed=self.random_state,
            allowed=np.flatnonzero(competing),
            spectra=prepared,
            **options,
            **tol,
        )
        fit = run(
            method,
            tol=tol.get("tol", 0.0),
            max_iter=M + 1,
            callback=self.callback,
        )
        warn_unless_converged(fit, 0.0)
        problem = BestK(stack, Y, self.lam) if loss.quadratic else None
        self._publish_choice(fit, means, y.ndim == 1, problem)
        return problem

    def _cut_to(self, whole: Any, size: int) -> None:
        self.notes_ = whole.notes_
        fit = truncated(whole.fit_, size)
        is_flat = whole.dual_coef_.ndim == 1
        self._publish_choice(fit, np.atleast_1d(whole.intercept_), is_flat, whole._carry[1])

    def _publish_choice(
        self,
        fit: Fit,
        means: Array,
        is_flat: bool,
        problem: BestK | None,
    ) -> None:
        """Publish the kernels that were chosen, with a bound on the best choice where one is known."""
        intercepts = means
        if problem is not None:
            fit = _bounded(fit, problem)
        else:  # the intercepts are fitted together with the kernels
            intercepts = (fit.points or ())[-1].state.intercepts
        self._publish_columns(fit, intercepts, is_flat)
        self.selected_ = np.array(fit.selected, dtype=np.intp)


def _suits(loss: Loss | type[Loss]) -> bool:
    """Whether a machine on each kernel, if not the gradient, says which kernel enters next."""
    return has_derivative(loss) or (loss.piecewise_linear and loss.signed)


def _bounded(fit: Fit, problem: BestK) -> Fit:
    """The fit with a lower bound on the objective of the best choice of as many kernels.

    The bound comes from the relaxation; where that would take longer than the fit, it comes from
    the dual of the fit itself.
    """
    k = len(fit.selected or ())
    dual = fit.dual_coef.reshape(problem.Y.shape)
    root = problem.root(k) if problem.is_quick else None
    if root is None:
        bound = problem.bound(dual, problem.forms(dual), k)
    else:
        bound = root.bound
        dual = root.dual
    return replace(
        fit, dual_objective=min(bound, fit.objective), dual_point=dual.reshape(fit.dual_coef.shape)
    )


@dataclass(eq=False, repr=False)
class GOMPClassifier(_GompBase, KernelClassifier):
    """MKL-GOMP for classification: kernels are chosen greedily under an l0 budget.

        min_f  (1/n) sum_i V(y_i, f(x_i)) + lam ||f||^2     using at most n_kernels kernels

    Labels are -1 and +1. With squared loss the fit has a certificate: ``dual_objective_`` is a
    lower bound on the objective of the best choice of ``len(selected_)`` kernels, and ``dual_gap_``
    bounds how far the greedy choice is from the best one. With ``fit_intercept`` both refer to the
    targets less their means. The bound can be loose where ``lam`` is small.

    Parameters
    ----------
    lam : float, default 0.01
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    n_kernels : int or None, default None
        Most kernels in the model, from 1; None for no bound.
    score_tol : float, default 0.0001
        Stop before adding a kernel whose score is below this share of ||y||^2 / n: a finite number
        of 0 or more, where 0 never stops for a small score.
    n_candidates : int or None, default None
        Score only this many kernels per step, redrawn with ``random_state``; None for all.
    keep_duplicates : bool, default False
        Let exact copies of a kernel compete; by default only the first of them does.
    loss : str or Loss, default "squared"
        "squared", (y - f)^2, "hinge", max(0, 1 - y f), or a differentiable one, "logistic" or
        "squared_hinge". All losses except the squared one solve a machine per kernel and step.
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
    approximation : Nystroem or None, default None
        Features of low rank in place of the kernels; None for the kernels themselves.
    fit_intercept : bool, default False
        Squared loss: subtract the mean of each target column and add it back. Differentiable
        losses: fit a free b whenever the model is refitted. Not available with the hinge loss.
    tol : float, default 1e-09
        Relative duality gap of the machines of the hinge loss; squared loss is solved exactly.
    probability : bool, default False
        Whether probabilities are calibrated on held-out folds, so that ``predict_proba`` can be
        used.
    """

    _: KW_ONLY
    tol: float = HINGE_TOL
    probability: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._is_hinge and self.fit_intercept:
            raise ParameterError(
                "MKL-GOMP has no bias term, and the hinge loss cannot use the mean of the labels: "
                'use fit_intercept=False with loss="hinge".'
            )


@dataclass(eq=False, repr=False)
class GOMPRegressor(_GompBase, SeveralTargets):
    """MKL-GOMP for regression, with one target or several that share one set of kernels.

    ``y`` is (n,) or (n, T); predictions have its shape, ``dual_coef_`` is (n,) or (n, T).
    ``fit_intercept`` subtracts each target's training mean and adds it back. ``loss`` is "squared"
    or "huber". Everything else as in ``GOMPClassifier``.

    Parameters
    ----------
    lam : float, default 0.01
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    n_kernels : int or None, default None
        Most kernels in the model, from 1; None for no bound.
    score_tol : float, default 0.0001
        Stop before adding a kernel whose score is below this share of ||y||^2 / n: a finite number
        of 0 or more, where 0 never stops for a small score.
    n_candidates : int or None, default None
        Score only this many kernels per step, redrawn with ``random_state``; None for all.
    keep_duplicates : bool, default False
        Let exact copies of a kernel compete; by default only the first of them does.
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
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
    approximation : Nystroem or None, default None
        Features of low rank in place of the kernels; None for the kernels themselves.
    fit_intercept : bool, default True
        Whether the model has a free offset b.

    References
    ----------
    Sindhwani and Lozano (2011), equation (5), with 1/n in both terms of the score.
    """

    _: KW_ONLY
    fit_intercept: bool = True
