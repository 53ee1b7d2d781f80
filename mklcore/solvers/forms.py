"""The same problem said in other ways: Ivanov and Tikhonov, and the two one-class forms.

    Ivanov      min  C sum V + 1/2 sum_m ||w_m||^2 / theta_m                 subject to ||theta|| <= 1       (4)
    Tikhonov    min  C~ sum V + 1/2 sum_m ||w_m||^2 / theta_m + mu ||theta||^2                                (3)

Theorem 1 of Kloft, Brefeld, Sonnenburg, Zien (2011), with the constants of the specification (section 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.losses import Loss
from mklcore.penalties import Penalty
from mklcore.solvers import fit_weighted
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
