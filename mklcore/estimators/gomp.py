"""MKL-GOMP as scikit-learn estimators: few kernels, chosen greedily, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import DataError, ParameterError
from mklcore.estimators.base import Kernels
from mklcore.estimators.budget import BudgetedEstimator, truncated
from mklcore.estimators.copies import without_copies
from mklcore.estimators.problems import signs
from mklcore.estimators.tasks import KernelClassifier, KernelRegressor
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.grams import GramStack
from mklcore.losses import Loss, make_loss
from mklcore.lowrank.features import FeatureStack
from mklcore.lowrank.greedy import FeatureGOMP
from mklcore.lowrank.nystroem import Nystroem
from mklcore.solvers import MOST_SUMMED
from mklcore.solvers.driver import Fit, run, warn_unless_converged
from mklcore.solvers.foba import ForwardBackward
from mklcore.solvers.gomp import GOMP, HINGE_TOL, HingeGOMP
from mklcore.solvers.spectra import Spectra

BACK_AND_FORTH = 4  # steps per kernel that backward steps may take


class _GompBase(BudgetedEstimator):
    """min_f (1/n) sum V(y_i, f(x_i)) + lam ||f||^2 over at most ``n_kernels`` kernels, chosen greedily."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_approximation()
        self._whole("n_candidates")
        tolerance = self.score_tol
        if not (isinstance(tolerance, (int, float, np.number)) and np.isfinite(tolerance) and tolerance >= 0):
            raise ParameterError(
                f"score_tol is a share of the target's energy and must be 0 or more; got {self.score_tol!r}."
            )
        if self.backward and (self._is_hinge or self.approximation is not None):
            raise ParameterError(
                "Backward steps need exact kernels and squared loss: use backward=False with "
                + ('loss="hinge".' if self._is_hinge else "an approximation.")
            )

    @property
    def _is_hinge(self) -> bool:
        return make_loss(getattr(self, "loss", "squared")).piecewise_linear

    def _prepared(self, stack: GramStack | FeatureStack) -> Spectra | None:
        return None if self._is_hinge or isinstance(stack, FeatureStack) else super()._prepared(stack)

    def _wants_rows(self, dictionary: KernelDictionary, n: int) -> bool:
        return not self._is_hinge and n <= MOST_SUMMED and self._is_too_large(dictionary, n)

    def _columns(self, y: Array) -> tuple[Array, Array]:
        """The target as columns (n, T) and what to add back to predictions (T,)."""
        raise NotImplementedError

    def _run(self, stack: GramStack | FeatureStack, y: Array, prepared: Spectra | None) -> None:
        Y, shift = self._columns(y)
        M = stack.n_kernels
        if isinstance(stack, FeatureStack):
            self._run_on_features(stack, Y, shift, y.ndim == 1)
            return
        competing, notes = without_copies(stack, self.keep_duplicates)
        tol = {"tol": self.tol} if self._is_hinge else {}
        method = (HingeGOMP if self._is_hinge else ForwardBackward if self.backward else GOMP)(
            stack,
            Y,
            self.lam,
            n_kernels=min(self.n_kernels or M, M),
            score_tol=self.score_tol,
            n_candidates=self.n_candidates,
            seed=self.random_state,
            allowed=np.flatnonzero(competing),
            spectra=prepared,
            **tol,
        )
        most = M * (BACK_AND_FORTH if self.backward else 1) + 1
        fit = run(method, tol=tol.get("tol", 0.0), max_iter=most, callback=self.callback)
        warn_unless_converged(fit, 0.0)
        self._publish_columns(fit, shift, y.ndim == 1, notes)

    def fit_signed(self, stack: FeatureStack, y: Array) -> Self:
        """Fit on features and a target of numbers (n,), -1 and +1 for two classes, which are known already."""
        self._run_on_features(stack, y[:, None], np.zeros(1), True)
        self._remember_kernels(stack)
        return self

    def _run_on_features(self, stack: FeatureStack, Y: Array, shift: Array, flat: bool) -> None:
        competing, notes = without_copies(stack, self.keep_duplicates)
        method = FeatureGOMP(
            stack,
            Y,
            self.lam,
            n_kernels=min(self.n_kernels or stack.n_kernels, stack.n_kernels),
            score_tol=self.score_tol,
            n_candidates=self.n_candidates,
            seed=self.random_state,
            allowed=np.flatnonzero(competing),
        )
        fit = run(method, tol=0.0, max_iter=stack.n_kernels + 1, callback=self.callback)
        warn_unless_converged(fit, 0.0)
        self._publish_columns(fit, shift, flat, notes)

    def _cut_to(self, whole: Any, size: int) -> None:
        flat = whole.dual_coef_.ndim == 1
        steps = [k for k, point in enumerate(whole.fit_.points) if len(point.selected) >= size]
        self._publish_columns(
            truncated(whole.fit_, steps[0] if steps else len(whole.fit_.points)),
            np.atleast_1d(whole.intercept_),
            flat,
            whole.notes_,
        )

    def _publish_columns(self, fit: Fit, shift: Array, flat: bool, notes: tuple[str, ...]) -> None:
        """``flat`` says that the target was (n,): then so are coefficients and predictions, if there is one column."""
        self._publish(fit)
        single = flat and fit.dual_coef.shape[1] == 1
        self.dual_coef_ = fit.dual_coef[:, 0] if single else fit.dual_coef
        self.intercept_ = float(shift[0]) if single else shift
        self.selected_ = np.array(fit.selected, dtype=np.intp)
        self.notes_ = notes


class GOMPClassifier(_GompBase, KernelClassifier):
    """MKL-GOMP for classification: labels -1 and +1, kernels chosen greedily under an l0 budget.

        min_f  (1/n) sum_i V(y_i, f(x_i)) + lam ||f||^2     using at most n_kernels kernels

    Parameters
    ----------
    lam : ridge penalty, > 0
    n_kernels : the budget s; None for no budget
    score_tol : stop before adding a kernel whose score is below this share of ||y||^2 / n
    n_candidates : score only this many kernels per step, redrawn with ``random_state``; None for all
    keep_duplicates : let exact copies of a kernel compete; by default only the first of them does
    backward : after every kernel that enters, drop those that later ones made needless, as long as the drops cost less
        than half of what the step gained (squared loss, exact kernels)
    loss : "squared", (y - f)^2, or "hinge", max(0, 1 - y f); the hinge scores solve one machine per kernel and step
    tol : relative duality gap of the machines of the hinge loss; squared loss is solved exactly
    fit_intercept : subtract the mean of each target column and add it back (squared loss only: there is no bias term)
    kernels, normalise, center, approximation, callback : see ``KernelEstimator``

    Attributes: weights_ (M,) of zeros and ones, selected_ in order of entry, dual_coef_ (n,) or, for more than two
    classes, (n, T) with one set of kernels for all, objective_, history_, status_, notes_ (which copies were left out).
    The choice is greedy: dual_gap_ is None. fit_.points holds every step.

    Source: Sindhwani and Lozano (2011), equation (5), with the corrected score of the specification (A.2, A.5).
    """

    def __init__(
        self,
        lam: float = 0.01,
        n_kernels: int | None = None,
        score_tol: float = 1e-4,
        n_candidates: int | None = None,
        keep_duplicates: bool = False,
        loss: str | Loss = "squared",
        *,
        backward: bool = False,
        kernels: Kernels = None,
        normalise: str | None = "auto",
        center: bool = False,
        approximation: Nystroem | None = None,
        fit_intercept: bool = False,
        tol: float = HINGE_TOL,
        probability: bool = False,
        random_state: int | None = None,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.lam = lam
        self.n_kernels = n_kernels
        self.score_tol = score_tol
        self.n_candidates = n_candidates
        self.keep_duplicates = keep_duplicates
        self.backward = backward
        self.loss = loss
        self.kernels = kernels
        self.normalise = normalise
        self.center = center
        self.approximation = approximation
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.probability = probability
        self.random_state = random_state
        self.callback = callback

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._positive("tol")
        if self.loss not in ("squared", "hinge"):
            raise ParameterError(f"loss must be squared or hinge here; got {self.loss!r}.")
        if self._is_hinge and self.approximation is not None:
            raise ParameterError(
                'MKL-GOMP works on approximated kernels with loss="squared" alone; use it, or approximation=None.'
            )
        if self._is_hinge and self.fit_intercept:
            raise ParameterError(
                "MKL-GOMP has no bias term, and the mean of the labels means nothing to the hinge loss: "
                'use fit_intercept=False with loss="hinge".'
            )

    def _columns(self, y: Array) -> tuple[Array, Array]:
        classes = [1] if self.classes_.size == 2 else range(self.classes_.size)
        Y = np.column_stack([signs(y, k) for k in classes])
        shift = Y.mean(axis=0) if self.fit_intercept else np.zeros(Y.shape[1])
        return Y - shift, shift


class GOMPRegressor(_GompBase, KernelRegressor):
    """MKL-GOMP for regression, with one target or several that share one set of kernels.

    ``y`` is (n,) or (n, T); predictions have its shape, ``dual_coef_`` is (n,) or (n, T). ``fit_intercept`` subtracts
    each target's training mean and adds it back. Everything else as in ``GOMPClassifier`` with squared loss. Source:
    Sindhwani and Lozano (2011), equation (5), with the corrected score of the specification.
    """

    def __init__(
        self,
        lam: float = 0.01,
        n_kernels: int | None = None,
        score_tol: float = 1e-4,
        n_candidates: int | None = None,
        keep_duplicates: bool = False,
        *,
        backward: bool = False,
        kernels: Kernels = None,
        normalise: str | None = "auto",
        center: bool = False,
        approximation: Nystroem | None = None,
        fit_intercept: bool = True,
        random_state: int | None = None,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.lam = lam
        self.n_kernels = n_kernels
        self.score_tol = score_tol
        self.n_candidates = n_candidates
        self.keep_duplicates = keep_duplicates
        self.backward = backward
        self.kernels = kernels
        self.normalise = normalise
        self.center = center
        self.approximation = approximation
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.callback = callback

    def _target(self, y: Any) -> Array:
        table = np.asarray(y)
        if table.ndim != 2:
            return super()._target(y)
        columns = [super(GOMPRegressor, self)._target(column) for column in table.T]
        if not columns:
            raise DataError("The target has no columns; give at least one.")
        return np.column_stack(columns)

    def _columns(self, y: Array) -> tuple[Array, Array]:
        Y = y[:, None] if y.ndim == 1 else y
        shift = Y.mean(axis=0) if self.fit_intercept else np.zeros(Y.shape[1])
        return Y - shift, shift

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
