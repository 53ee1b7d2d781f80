"""Gaussian kernels with a learned scale per column, and groups of columns that leave: SMKL's feature scaling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import DataError, ParameterError
from mklcore.estimators.base import KernelClassifier, KernelEstimator, KernelRegressor
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF
from mklcore.parameters import check_whole
from mklcore.problem.driver import run, warn_unless_converged
from mklcore.problem.group_terms import make_terms
from mklcore.problem.losses import Loss
from mklcore.sparse.smkl import FeatureScaling

_NO_SCALE = 1e100  # what a column is divided by whose scale is zero


@dataclass(eq=False, repr=False)
class _ScalingBase(KernelEstimator):
    """min over scales s of G(r) + C sum V + 1/2 ||f||^2 under the kernel exp(-1/2 sum_j s_j^2 (x_j - z_j)^2)."""

    kernels = None
    normalise = None
    center = False

    terms: str = "log+gl"
    C: float = 1.0
    loss: str | Loss = "squared"
    groups: Mapping[str, Sequence[int]] | Sequence[Any] | None = None
    _: KW_ONLY
    log_epsilon: float = 1e-6
    mf_power: float = 0.5
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 100
    random_state: int | None = None
    callback: Callable[..., Any] | None = None

    def _check_parameters(self) -> None:
        self._positive("C", "tol")
        self.loss_in_use  # noqa: B018  the loss checks itself
        make_terms(self.terms, log_epsilon=self.log_epsilon, mf_power=self.mf_power)
        check_whole("max_iter", self.max_iter)

    def _stack(self, X: Any, once: bool = False) -> Any:
        if hasattr(X, "transform"):
            raise DataError("Feature scaling learns the kernel itself: hand over the table, not a stack of kernels.")
        return KernelDictionary((RBF(1.0),)).grams(X, normalise=None)

    def _named_groups(self, d: int) -> list[tuple[str, Indices]]:
        if self.groups is None:
            return [(f"x{j + 1}", np.array([j])) for j in range(d)]
        pairs = list(self.groups.items()) if isinstance(self.groups, Mapping) else list(self.groups)
        try:
            found = [(str(name), np.array([int(j) for j in members])) for name, members in pairs]
            held = sorted(int(j) for _, members in found for j in members)
        except (TypeError, ValueError):
            held = []
        if held != list(range(d)):
            raise ParameterError(
                f"groups must be pairs of a name and columns that hold every column from 0 to {d - 1} once; got "
                f"{self.groups!r}."
            )
        return found

    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        Z, Y = np.asarray(stack.transform.rows), np.array(self._targets(y))
        named = self._named_groups(Z.shape[1])
        term = make_terms(self.terms, log_epsilon=self.log_epsilon, mf_power=self.mf_power)
        method = FeatureScaling(
            Z, Y, self.C, self.loss_in_use, term, [members for _, members in named], self.fit_intercept, self.tol
        )
        fit = run(method, tol=self.tol, max_iter=self.max_iter, callback=self.callback)
        warn_unless_converged(fit, self.tol)
        state = method.last.state
        self._publish(fit)
        single = len(Y) == 1
        self.dual_coef_ = fit.dual_coef[:, 0] if single else fit.dual_coef
        self.intercept_ = float(state.intercepts[0]) if single else state.intercepts
        self.scales_ = np.sqrt(state.u)
        self.group_norms_ = np.array([float(np.sqrt(state.u[members].sum())) for _, members in named])
        self.selected_groups_ = tuple(
            name for (name, _), norm in zip(named, self.group_norms_, strict=True) if norm > 0
        )

    def _remember_kernels(self, stack: Any) -> None:
        super()._remember_kernels(stack)
        divisors = np.where(self.scales_ > 0, 1.0 / np.where(self.scales_ > 0, self.scales_, 1.0), _NO_SCALE)
        known = stack.transform
        self._map = replace(known, rows=known.rows / divisors, column_scales=known.column_scales * divisors)
        self.kernel_names_ = ("RBF on scaled columns",)


class FeatureScalingClassifier(_ScalingBase, KernelClassifier):
    """One Gaussian kernel with a scale for every column, learned under a group selection term.

        min_{s, f, b}  G(r) + C sum_i V(y_i, f(x_i) + b) + 1/2 ||f||^2,   r_k = sum_{j in group k} s_j^2

    with k_s(x, z) = exp(-1/2 sum_j s_j^2 (x_j - z_j)^2) on standardised columns. Groups of columns whose scales end at
    zero are left out. Several classes, one against the rest, share the scales. The answer is a local minimum, from
    equal scales.

    Parameters
    ----------
    terms : str, default "log+gl"
        G, a sum of "log", "gl" (group lasso) and "mf" (M-FOCUSS), as in ``SMKLClassifier``.
    C : float, default 1.0
        Cost of one unit of loss, above 0.
    loss : str or Loss, default "squared"
        "squared", "hinge", "squared_hinge" or "logistic", or a loss object.
    groups : mapping, sequence or None, default None
        Pairs of a name and columns that together hold every column once; None for every column alone.
    log_epsilon : float, default 1e-6
        The number added under the logarithm of "log", above 0.
    mf_power : float, default 0.5
        The power of "mf", above 0 and at most 1.
    fit_intercept : bool, default True
        Whether the intercept b is learned.
    tol : float, default 1e-3
        The fit stops when the relative change of the squared scales, or a thousandth of that of the objective, is at
        most this.
    max_iter : int, default 100
        Most steps, from 1.
    random_state : int or None, default None
        Not used: nothing is drawn at random.
    callback : callable or None, default None
        Called after every step with a record of it; raising ``CancelledError`` ends the fit.

    Attributes
    ----------
    scales_ (d,), in units of the standardised columns; group_norms_ and selected_groups_; dual_coef_ (n,) or (n, T),
    intercept_, weights_ = (1,), objective_, status_, history_, n_iter_. There is no certificate: dual_gap_ is None.

    Raises
    ------
    ParameterError where a parameter is out of its range, or ``groups`` do not hold every column once

    References
    ----------
    Subrahmanya and Shin (2010), section 3 (feature scaling kernels), equations (1) to (3).
    """


class FeatureScalingRegressor(_ScalingBase, KernelRegressor):
    """One Gaussian kernel with a scale for every column, learned under a group selection term, for numbers.

    The problem is the one of ``FeatureScalingClassifier``, with one function of the target's values.

    Parameters
    ----------
    terms : str, default "log+gl"
        G, a sum of "log", "gl" (group lasso) and "mf" (M-FOCUSS), as in ``SMKLClassifier``.
    C : float, default 1.0
        Cost of one unit of loss, above 0.
    loss : str or Loss, default "squared"
        "squared", "huber" or "epsilon_insensitive", or a loss object.
    groups : mapping, sequence or None, default None
        Pairs of a name and columns that together hold every column once; None for every column alone.
    log_epsilon : float, default 1e-6
        The number added under the logarithm of "log", above 0.
    mf_power : float, default 0.5
        The power of "mf", above 0 and at most 1.
    fit_intercept : bool, default True
        Whether the intercept b is learned.
    tol : float, default 1e-3
        The fit stops when the relative change of the squared scales, or a thousandth of that of the objective, is at
        most this.
    max_iter : int, default 100
        Most steps, from 1.
    random_state : int or None, default None
        Not used: nothing is drawn at random.
    callback : callable or None, default None
        Called after every step with a record of it; raising ``CancelledError`` ends the fit.

    Attributes
    ----------
    scales_ (d,), in units of the standardised columns; group_norms_ and selected_groups_; dual_coef_ (n,) or (n, T),
    intercept_, weights_ = (1,), objective_, status_, history_, n_iter_. There is no certificate: dual_gap_ is None.

    Raises
    ------
    ParameterError where a parameter is out of its range, or ``groups`` do not hold every column once

    References
    ----------
    Subrahmanya and Shin (2010), section 3 (feature scaling kernels), equations (1) to (3).
    """
