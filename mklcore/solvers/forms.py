"""The same problem said in other ways: Ivanov and Tikhonov, the two one-class forms; and what one solution says nearby.

    Ivanov      min  C sum V + 1/2 sum_m ||w_m||^2 / theta_m                 subject to ||theta|| <= 1       (4)
    Tikhonov    min  C~ sum V + 1/2 sum_m ||w_m||^2 / theta_m + mu ||theta||^2                                (3)

Theorem 1 of Kloft, Brefeld, Sonnenburg, Zien (2011), with the constants of the specification (section 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.kernels.operators import KernelOperator, as_operator
from mklcore.losses import Loss
from mklcore.losses.intercepts import total_loss
from mklcore.penalties import LpNorm, Penalty
from mklcore.solvers import fit_weighted
from mklcore.solvers.bound import dual_bound
from mklcore.solvers.driver import Fit
from mklcore.solvers.problem import WarmStart


def regulariser_of(K: Array, weights: Array, dual_coef: Array) -> float:
    """R = 1/2 sum_m ||w_m||^2 / theta_m = 1/2 theta'Q at a solution. ``K`` (M, n, n), ``weights`` (M,), ``dual_coef``
    (n,).
    """
    return 0.5 * float(sum(w * (dual_coef @ kernel @ dual_coef) for w, kernel in zip(weights, K, strict=True)))


class Tikhonov(NamedTuple):
    """Constants of the penalised form; its weights are ``s`` times the weights of the constrained form."""

    C_tilde: float
    mu: float
    objective: float


class Ivanov(NamedTuple):
    """Constants of the constrained form; its weights are the penalised ones divided by ``s``."""

    C: float
    s: float
    objective: float


def ivanov_to_tikhonov(objective: float, regulariser: float, C: float, s: float = 1.0) -> Tikhonov:
    """The penalised problem with the same w and b, whose weights are ``s`` theta: C~ = C / s, mu = R / (2 s^3).

    ``objective`` J and ``regulariser`` R > 0 of the constrained solution at cost ``C``; any ``s`` > 0. The objective of
    the penalised problem is (J + R / 2) / s.

    Parameters
    ----------
    objective : float
        Primal objective at the solution.
    regulariser : float
        Value of the regulariser at the solution, > 0.
    C : float
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more closely.
    s : float, default 1.0
        Scale of the weights, > 0.

    Returns
    -------
    Tikhonov
        Parameters and objective of the penalised problem.

    References
    ----------
    Kloft et al. (2011), Theorem 1.
    """
    if not (s > 0 and C > 0):
        raise ParameterError(f"C and s must be above 0; got C = {C!r}, s = {s!r}.")
    if not regulariser > 0:
        raise ParameterError(
            f"The map needs a solution with w different from 0; its regulariser is {regulariser!r}. Use a larger C."
        )
    return Tikhonov(C / s, regulariser / (2.0 * s**3), (objective + 0.5 * regulariser) / s)


def tikhonov_to_ivanov(objective: float, regulariser: float, C_tilde: float, mu: float) -> Ivanov:
    """The constrained problem with the same w and b: s = (R / mu)^(1/2) / 2^(1/2) = ||theta~||, C = C~ s.

    ``regulariser`` R~ = 1/2 sum ||w_m||^2 / theta~_m at the penalised solution, where R~ = 2 mu s^2.

    Parameters
    ----------
    objective : float
        Primal objective at the solution.
    regulariser : float
        Value of the regulariser at the solution, > 0.
    C_tilde : float
        Cost of the penalised problem, > 0.
    mu : float
        Weight of the norm of the weights in the penalised problem, > 0.

    Returns
    -------
    Ivanov
        Parameters and objective of the constrained problem.
    """
    if not (mu > 0 and C_tilde > 0 and regulariser > 0):
        raise ParameterError(f"C~, mu and the regulariser must be above 0; got {C_tilde!r}, {mu!r}, {regulariser!r}.")
    s = float(np.sqrt(regulariser / (2.0 * mu)))
    return Ivanov(C_tilde * s, s, (objective - mu * s * s) * s)


def solve_tikhonov(
    K: Array,
    y: Array,
    C_tilde: float,
    mu: float,
    loss: Loss,
    penalty: Penalty,
    fit_intercept: bool,
    *,
    tol: float = 1e-6,
) -> tuple[Fit, float]:
    """Solve the penalised form: find C with C = C~ s(C), s(C) = (R(C) / (2 mu))^(1/3), by bisection on warm-started
    fits.

    Returns the constrained fit and s; the penalised weights are s times the fit's. Arguments as ``fit_weighted``.
    """
    warm: WarmStart | None = None

    def excess(log_C: float) -> tuple[float, Fit, float]:
        nonlocal warm
        C = float(np.exp(log_C))
        fit = fit_weighted(K, y, C, loss, penalty, fit_intercept, tol=tol, warm=warm)
        warm = WarmStart(fit.weights, fit.dual_coef, C)
        s = (regulariser_of(K, fit.weights, fit.dual_coef) / (2.0 * mu)) ** (1.0 / 3.0)
        return log_C - np.log(C_tilde * max(s, 1e-300)), fit, s

    low, high = np.log(C_tilde) - 1.0, np.log(C_tilde) + 1.0
    while excess(low)[0] > 0 and low > np.log(C_tilde) - 40:
        low -= 2.0
    while excess(high)[0] < 0 and high < np.log(C_tilde) + 40:
        high += 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        value, fit, s = excess(middle)
        low, high = (middle, high) if value < 0 else (low, middle)
        if high - low < max(tol, 1e-12):
            break
    return fit, s


class NuForm(NamedTuple):
    """The nu form that has the same boundary: share ``nu``, offset ``rho``, dual (n,) summing to one."""

    nu: float
    rho: float
    dual_coef: Array


def nu_from_one_class(dual_coef: Array, C: float) -> NuForm:
    """The nu form solved by a (3.4) solution: a' = a / s, rho = 1 / s, nu n = s / C with s = sum a.

    ``dual_coef`` (n,) of the (3.4) form at cost ``C``.

    Parameters
    ----------
    dual_coef : ndarray of shape (n,)
        Signed dual coefficients of the training rows.
    C : float
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more closely.

    Returns
    -------
    NuForm
        The solution in the nu form.

    References
    ----------
    specification of the lp-norm solver, section 2.
    """
    a = np.asarray(dual_coef, dtype=np.float64)
    s = float(a.sum())
    if not (s > 0 and C > 0):
        raise ParameterError(f"The map needs C above 0 and a dual that is not zero; got C = {C!r}, sum = {s!r}.")
    return NuForm(s / (C * a.size), 1.0 / s, a / s)


class Nearby(NamedTuple):
    """A certified interval: the optimum at the new parameters is between ``dual`` and ``primal``."""

    primal: float
    dual: float
    weights: Array

    @property
    def relative_gap(self) -> float:
        """The width of the interval as a share of the primal value."""
        return (self.primal - self.dual) / max(abs(self.primal), 1e-300)


class Live:
    """One solution, kept so that moving p or C answers at once: O(M + n) for p, O(M n) once for the products.

    ``fitted`` is a fitted two-class or regression estimator's fit; ``K`` (M, n, n) or features, ``y`` (n,) its training
    stack and signed target. Source: specification of the lp-norm solver, section 5, live slider design.
    """

    def __init__(self, K: Array | KernelOperator, y: Array, fit: Fit, C: float, loss: Loss) -> None:
        far = (
            fit.intercept if loss.of_residuals else 0.0
        )  # of a target far from zero: the interval is the same without it
        self.y, self.fit, self.C, self.loss = y - far, fit, C, loss
        a = fit.dual_coef
        self.G = as_operator(K).matvec(a)
        self.Q = np.maximum(self.G @ fit.dual_coef, 0.0)

    def at(self, *, p: float | None = None, C: float | None = None, penalty: Penalty | None = None) -> Nearby:
        """A certified interval for the optimum at another ``p`` (or penalty) and another ``C``, without solving."""
        norm = penalty or LpNorm(1.0 if p is None else p)
        cost = self.C if C is None else C
        scale = cost / self.C if self.loss.box_is_scaled_by_C else 1.0
        a, Q = scale * self.fit.dual_coef, scale**2 * self.Q
        dual = dual_bound(self.loss, norm, a, Q, self.y, cost).value
        primal, weights = min(
            ((self._primal(weights, scale, cost, norm), weights) for weights in self._starts(norm, p)),
            key=lambda found: found[0],
        )
        return Nearby(primal, dual, weights)

    def _primal(self, weights: Array, scale: float, cost: float, norm: Penalty) -> float:
        f = weights @ (scale * self.G)
        b = self.loss.best_intercept(f, self.y) if self.fit.intercept != 0.0 else 0.0
        return total_loss(self.loss, f, b, self.y, cost) + norm.regulariser(weights * scale * np.sqrt(self.Q))

    def _starts(self, norm: Penalty, p: float | None) -> Iterator[Array]:
        """The present weights in the new norm (lifted off zero above p = 1), and for p >= 2 those of the dual map."""
        weights = self.fit.weights
        yield norm.scale(np.maximum(weights, 1e-3 * weights.max()) if p is not None and p > 1 else weights)
        if p is not None and 2 <= p < np.inf and self.Q.max() > 0:
            yield norm.scale((self.Q / self.Q.max()) ** (1.0 / (p - 1.0)))


def interval(fitted: Any, K: Array | KernelOperator, y: Array, **moved: float) -> Nearby:
    """``Live`` for a fitted two-class or regression estimator: ``interval(model, K, y, p=1.5)`` or ``C=2.0``."""
    target = (
        np.where(np.asarray(y) == fitted.classes_[1], 1.0, -1.0)
        if hasattr(fitted, "classes_")
        else np.asarray(y, float)
    )
    live = Live(as_operator(K), target, fitted.fit_, fitted.C, fitted.loss_in_use)
    return live.at(**{"p": fitted.p, **moved})
