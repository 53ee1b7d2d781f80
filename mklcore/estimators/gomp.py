"""MKL-GOMP as scikit-learn estimators: few kernels, chosen greedily, one after the other."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.estimators.base import KernelClassifier, KernelSettings, SeveralTargets
from mklcore.estimators.copies import without_copies
from mklcore.estimators.greedy import BudgetedEstimator, greedy_loss, truncated
from mklcore.kernels.features import Features, Nystroem
from mklcore.kernels.grams import GramStack
from mklcore.kernels.operators import Capability
from mklcore.lp.schedule import MOST_SUMMED
from mklcore.problem.driver import Fit, run, warn_unless_converged
from mklcore.problem.losses import CLASSIFICATION, Loss
from mklcore.sparse.gomp import GOMP, SETTINGS, FeatureGOMP, LossGOMP, Spectra


@dataclass(eq=False, repr=False)
class _GompBase(BudgetedEstimator):
    """min_f (1/n) sum V(y_i, f(x_i)) + lam ||f||^2 over at most ``n_kernels`` kernels, chosen greedily."""

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
        self._check_approximation()
        self._whole("n_candidates")
        tolerance = self.score_tol
        number = isinstance(tolerance, (int, float, np.number)) and not isinstance(tolerance, bool)
        if not (number and np.isfinite(tolerance) and tolerance >= 0):
            raise ParameterError(
                f"score_tol is a share of the target's energy: a finite number of 0 or more; got {self.score_tol!r}."
            )
        if not self.loss_in_use.quadratic and self.approximation is not None:
            raise ParameterError(
                'MKL-GOMP works on approximated kernels with loss="squared" alone; use it, or approximation=None.'
            )

    @property
    def loss_in_use(self) -> Loss:
        return greedy_loss(self.loss, self.tasks, hinge=self.tasks == CLASSIFICATION)

    @property
    def _is_hinge(self) -> bool:
        return self.loss_in_use.piecewise_linear

    def _prepared(self, stack: Any) -> Spectra | None:
        return None if self._is_hinge or Capability.FEATURES in stack.capabilities else super()._prepared(stack)

    def _forms(self, n: int) -> tuple[str, ...]:
        return ("dense", "rows") if self.loss_in_use.quadratic and n <= MOST_SUMMED else ("dense",)

    def _columns(self, y: Array) -> tuple[Array, Array]:
        """The target as columns (n, T) and what to add back to predictions (T,)."""
        Y = np.column_stack(self._targets(y))
        shift = Y.mean(axis=0) if self.fit_intercept and self.loss_in_use.quadratic else np.zeros(Y.shape[1])
        return Y - shift, shift

    def _run(self, stack: GramStack | Features, y: Array, prepared: Spectra | None) -> None:
        Y, shift = self._columns(y)
        self._run_columns(stack, Y, shift, y.ndim == 1, prepared)

    def _run_columns(
        self, stack: GramStack | Features, Y: Array, shift: Array, flat: bool, prepared: Spectra | None
    ) -> None:
        M, loss, options = stack.n_kernels, self.loss_in_use, {}
        kind: type[GOMP] = GOMP
        if Capability.FEATURES in stack.capabilities:
            kind = FeatureGOMP
        elif not loss.quadratic:
            kind, options = LossGOMP, {"loss": loss, "fit_intercept": self.fit_intercept}
        tol = {"tol": self.tol} if self._is_hinge else {}
        competing, notes = without_copies(stack, self.keep_duplicates)
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
        fit = run(method, tol=tol.get("tol", 0.0), max_iter=M + 1, callback=self.callback)
        warn_unless_converged(fit, 0.0)
        self._publish_columns(fit, shift, flat, notes)

    def fit_signed(self, stack: Features, y: Array) -> Self:
        """Fit on features and a target of numbers (n,), -1 and +1 for two classes, which are known already."""
        self._run_columns(stack, y[:, None], np.zeros(1), True, None)
        self._remember_kernels(stack)
        return self

    def _cut_to(self, whole: Any, size: int) -> None:
        flat = whole.dual_coef_.ndim == 1
        self._publish_columns(truncated(whole.fit_, size), np.atleast_1d(whole.intercept_), flat, whole.notes_)

    def _publish_columns(self, fit: Fit, shift: Array, flat: bool, notes: tuple[str, ...]) -> None:
        """``flat`` says that the target was (n,): then so are coefficients and predictions, if there is one column."""
        self._publish(fit)
        if not self.loss_in_use.quadratic:  # fitted beside the kernels, step by step
            shift = (fit.points or ())[-1].state.intercepts
        single = flat and fit.dual_coef.shape[1] == 1
        self.dual_coef_ = fit.dual_coef[:, 0] if single else fit.dual_coef
        self.intercept_ = float(shift[0]) if single else shift
        self.selected_ = np.array(fit.selected, dtype=np.intp)
        self.notes_ = notes


@dataclass(eq=False, repr=False)
class GOMPClassifier(_GompBase, KernelClassifier, KernelSettings):
    """MKL-GOMP for classification: labels -1 and +1, kernels chosen greedily under an l0 budget.

        min_f  (1/n) sum_i V(y_i, f(x_i)) + lam ||f||^2     using at most n_kernels kernels

    Parameters
    ----------
    lam : float, default 0.01
        Ridge penalty, > 0.
    n_kernels : int or None, default None
        The budget s; None for no budget.
    score_tol : float, default 0.0001
        Stop before adding a kernel whose score is below this share of ||y||^2 / n: a finite number of 0 or more, where
        0 never stops for a small score.
    n_candidates : int or None, default None
        Score only this many kernels per step, redrawn with ``random_state``; None for all.
    keep_duplicates : bool, default False
        Let exact copies of a kernel compete; by default only the first of them does.
    loss : str or Loss, default "squared"
        "squared", (y - f)^2, "hinge", max(0, 1 - y f), or one with a slope, "logistic" or "squared_hinge"; other scores
        than those of squared loss solve one machine per kernel and step.
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
    fit_intercept : bool, default False
        Subtract the mean of each target column and add it back; of a loss with a slope fit a free b with every refit,
        which stays where it is while kernels are scored (not with the hinge).
    tol : float, default 1e-09
        Relative duality gap of the machines of the hinge loss; squared loss is solved exactly.
    probability : bool, default False
        Whether probabilities are calibrated on held-out folds, so that ``predict_proba`` can be used.
    """

    _: KW_ONLY
    tol: float = SETTINGS.hinge_tol
    probability: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._positive("tol")
        if self._is_hinge and self.fit_intercept:
            raise ParameterError(
                "MKL-GOMP has no bias term, and the mean of the labels means nothing to the hinge loss: "
                'use fit_intercept=False with loss="hinge".'
            )


@dataclass(eq=False, repr=False)
class GOMPRegressor(_GompBase, SeveralTargets, KernelSettings):
    """MKL-GOMP for regression, with one target or several that share one set of kernels.

    ``y`` is (n,) or (n, T); predictions have its shape, ``dual_coef_`` is (n,) or (n, T). ``fit_intercept`` subtracts
    each target's training mean and adds it back. ``loss`` is "squared" or "huber". Everything else as in
    ``GOMPClassifier``.

    Parameters
    ----------
    lam : float, default 0.01
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    n_kernels : int or None, default None
        Most kernels in the model, from 1; None for no bound.
    score_tol : float, default 0.0001
        Least share of the target that a further kernel has to explain, in (0, 1].
    n_candidates : int or None, default None
        Number of kernels that are looked at in a step, drawn at random; None for all.
    keep_duplicates : bool, default False
        Whether exact copies of a kernel compete; without it only the first one can enter.
    loss : str or Loss, default "squared"
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

    References
    ----------
    Sindhwani and Lozano (2011), equation (5), with the corrected score of the specification.
    """

    _: KW_ONLY
    fit_intercept: bool = True

    def _centre(self, y: Array) -> float:
        return 0.0  # every column has a mean of its own
