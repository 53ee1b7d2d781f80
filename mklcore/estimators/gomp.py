"""MKL-GOMP as scikit-learn estimators: few kernels, chosen greedily, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mklcore.errors import ParameterError
from mklcore.estimators.base import Array, KernelClassifier, KernelEstimator, KernelRegressor, signs
from mklcore.kernels.grams import GramStack
from mklcore.kernels.measures import duplicates
from mklcore.solvers.driver import Fit, Status, run, warn_unless_converged
from mklcore.solvers.gomp import GOMP, Spectra


class _GompBase(KernelEstimator):
    """min_f (1/n) sum (y_i - f(x_i))^2 + lam ||f||^2 over at most ``n_kernels`` kernels, chosen greedily."""

    def _check_parameters(self) -> None:
        self._positive("lam")
        if not (isinstance(self.score_tol, (int, float, np.number)) and self.score_tol >= 0):
            raise ParameterError(
                f"score_tol is a share of the target's energy and must be 0 or more; got {self.score_tol!r}."
            )
        for name in ("n_kernels", "n_candidates"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, np.integer)) and value >= 1):
                raise ParameterError(f"{name} must be a whole number of 1 or more, or None for all; got {value!r}.")

    def _columns(self, y: Array) -> tuple[Array, Array]:
        """The target as columns (n, T) and what to add back to predictions (T,)."""
        raise NotImplementedError

    def _solve(self, stack: GramStack, y: Array, warm: Any, spectra: Spectra | None = None) -> None:
        Y, shift = self._columns(y)
        M = stack.n_kernels
        allowed = np.arange(M) if self.keep_duplicates else _first_of_each(stack.values)
        method = GOMP(
            stack.values,
            Y,
            self.lam,
            n_kernels=min(self.n_kernels or M, M),
            score_tol=self.score_tol,
            n_candidates=self.n_candidates,
            seed=self.random_state,
            allowed=allowed,
            spectra=spectra,
        )
        fit = run(method, tol=0.0, max_iter=M + 1, callback=self.callback)
        warn_unless_converged(fit, 0.0)
        self._publish_columns(fit, shift)

    def _publish_columns(self, fit: Fit, shift: Array) -> None:
        self._publish(fit)
        single = fit.dual_coef.shape[1] == 1
        self.dual_coef_ = fit.dual_coef[:, 0] if single else fit.dual_coef
        self.intercept_ = float(shift[0]) if single else shift
        self.selected_ = np.array(fit.selected, dtype=np.intp)

    def _along(self, stack: GramStack, y: Array, param: str, values: Sequence[float], attribute: str) -> Iterator[Any]:
        spectra = Spectra.of(stack.values)
        if param != "s":
            for value in values:
                copy = self._copy_with(attribute, value)
                copy._solve(stack, y, None, spectra)
                copy._remember(stack)
                yield copy
            return
        largest = self._copy_with(attribute, int(max(values)))
        largest._solve(stack, y, None, spectra)
        shift = largest._columns(y)[1]
        for value in values:
            copy = self._copy_with(attribute, int(value))
            copy._publish_columns(_truncated(largest.fit_, int(value)), shift)
            copy._remember(stack)
            yield copy


def _first_of_each(K: Array) -> Array:
    """Indices of the kernels that are not exact duplicates of an earlier one."""
    later = {m for group in duplicates(K) for m in group[1:]}
    return np.array([m for m in range(K.shape[0]) if m not in later], dtype=np.intp)


def _truncated(fit: Fit, size: int) -> Fit:
    """The same greedy run, stopped after ``size`` kernels."""
    assert fit.points is not None
    points = fit.points[: size + 1]
    last, history = points[-1], fit.history[: len(points)]
    status = Status.COMPLETE if len(points) < len(fit.points) else fit.status
    return replace(
        fit,
        weights=last.weights,
        dual_coef=last.dual,
        objective=last.objective,
        status=status,
        n_iter=len(points) - 1,
        history=history,
        solves=history[-1].solves,
        seconds=history[-1].seconds,
        selected=last.selected,
        points=points,
    )


class GOMPClassifier(_GompBase, KernelClassifier):
    """MKL-GOMP for classification: least squares on labels -1 and +1, kernels chosen greedily under an l0 budget.

        min_f  (1/n) sum_i (y_i - f(x_i))^2 + lam ||f||^2     using at most n_kernels kernels

    Parameters
    ----------
    lam : ridge penalty, > 0
    n_kernels : the budget s; None for no budget
    score_tol : stop before adding a kernel whose score is below this share of ||y||^2 / n
    n_candidates : score only this many kernels per step, redrawn with ``random_state``; None for all
    keep_duplicates : let exact copies of a kernel compete; by default only the first of them does
    loss : "squared"
    fit_intercept : subtract the mean of each target column and add it back
    kernels, normalise, center, callback : see ``KernelEstimator``

    Attributes: weights_ (M,) of zeros and ones, selected_ in order of entry, dual_coef_ (n,) or (n, T) for more than two
    classes, objective_, history_, status_. The choice is greedy: dual_gap_ is None.

    Source: Sindhwani and Lozano (2011), equation (5), with the corrected score of the specification.
    """

    def __init__(
        self,
        lam=0.01,
        n_kernels=None,
        score_tol=1e-4,
        n_candidates=None,
        keep_duplicates=False,
        loss="squared",
        *,
        kernels=None,
        normalise="auto",
        center=False,
        fit_intercept=False,
        random_state=None,
        callback=None,
    ):
        self.lam = lam
        self.n_kernels = n_kernels
        self.score_tol = score_tol
        self.n_candidates = n_candidates
        self.keep_duplicates = keep_duplicates
        self.loss = loss
        self.kernels = kernels
        self.normalise = normalise
        self.center = center
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.callback = callback

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.loss != "squared":
            raise ParameterError(f"loss must be squared here; got {self.loss!r}.")

    def _columns(self, y: Array) -> tuple[Array, Array]:
        classes = [1] if self.classes_.size == 2 else range(self.classes_.size)
        Y = np.column_stack([signs(y, k) for k in classes])
        shift = Y.mean(axis=0) if self.fit_intercept else np.zeros(Y.shape[1])
        return Y - shift, shift


class GOMPRegressor(_GompBase, KernelRegressor):
    """MKL-GOMP for regression, with one target or several that share one set of kernels.

    ``fit_intercept`` subtracts each target's training mean and adds it back. Everything else as in ``GOMPClassifier``.
    Source: Sindhwani and Lozano (2011), equation (5), with the corrected score of the specification.
    """

    def __init__(
        self,
        lam=0.01,
        n_kernels=None,
        score_tol=1e-4,
        n_candidates=None,
        keep_duplicates=False,
        *,
        kernels=None,
        normalise="auto",
        center=False,
        fit_intercept=True,
        random_state=None,
        callback=None,
    ):
        self.lam = lam
        self.n_kernels = n_kernels
        self.score_tol = score_tol
        self.n_candidates = n_candidates
        self.keep_duplicates = keep_duplicates
        self.kernels = kernels
        self.normalise = normalise
        self.center = center
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.callback = callback

    def _columns(self, y: Array) -> tuple[Array, Array]:
        Y = y[:, None] if y.ndim == 1 else y
        shift = Y.mean(axis=0) if self.fit_intercept else np.zeros(Y.shape[1])
        return Y - shift, shift
