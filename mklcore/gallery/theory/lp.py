"""Bounds of the lp-norm paper: how the cost of learning the weights grows with p and M.

M kernels with k_m(x, x) <= R^2, n points, the class ||w||_{2,q} <= 1 without an intercept; c =
23/22, natural logarithms. For the class ||w||_{2,q} <= B the complexity term is B times as large.
Above 1 a bound on a loss in [0, 1] says nothing.

p, B, the margin and R are fixed before the rows are seen: the bounds hold for one class, not for
the class that a fit on the same rows picks out. For a choice that looks at the rows, list k
candidates beforehand and pass delta / k; then the bound holds for all of them at once.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), Theorem 6, Corollaries 9, 10, 11.
"""

from __future__ import annotations

import math

import numpy as np

from mklcore.errors import ParameterError
from mklcore.problem.penalties import LpNorm, conjugate_exponent

_C = 23.0 / 22.0


def _multiplier(p: float, M: int, conservative: bool) -> float:
    """min(e ceil(ln M), ceil(p*)), rounded up to even integers when ``conservative``."""
    logarithmic = math.e * np.ceil(np.log(M))
    p_star = conjugate_exponent(p)
    whole = np.ceil(p_star - 1e-12)
    if conservative:
        logarithmic = math.e * 2.0 * np.ceil(np.ceil(np.log(M)) / 2.0)
        whole = 2.0 * np.ceil(whole / 2.0)
    return float(min(logarithmic, whole))


def _check(M: int, n: int, R: float) -> None:
    if not (M > 1 and n >= 1 and R > 0):
        raise ParameterError(
            f"The bounds need M > 1 kernels, n >= 1 points and R > 0; got M = {M!r}, n = "
            f"{n!r}, R = {R!r}."
        )


def lp_rademacher_bound(
    p: float, M: int, n: int, R: float = 1.0, conservative: bool = False
) -> float:
    """Bound the Rademacher complexity of lp-norm MKL (Corollary 9):

        Rad <= sqrt(c M^(1/p*) R^2 min(e ceil(ln M), ceil(p*)) / n)

    Parameters
    ----------
    p : float
        Norm of the kernel weights, from 1 (sparse) to infinity (plain sum of the kernels).
    M : int
        Number of kernels, from 1.
    n : int
        Number of rows, from 1.
    R : float, default 1.0
        Bound on the norm of a row in every feature space, > 0.
    conservative : bool, default False
        Whether constants are rounded up to those for which the inequality is quoted.

    Returns
    -------
    float
        The bound on the Rademacher complexity.

    Examples
    --------
    >>> lp_rademacher_bound(2.0, M=10, n=400) < lp_rademacher_bound(2.0, M=10, n=100)
    True
    """
    LpNorm(p)
    _check(M, n, R)
    growth = M ** (1.0 / conjugate_exponent(p)) * _multiplier(p, M, conservative)
    return float(np.sqrt(_C * growth * R**2 / n))


def lp_conversion(bound_at_q: float, q: float, p: float, M: int) -> float:
    """Bound the Rademacher complexity at the norm p from a bound at a smaller norm q (Theorem 6):

    Rad(p) <= sqrt(M^(1/q - 1/p)) Rad(q),      1 <= q <= p
    """
    LpNorm(p)
    LpNorm(q)
    if q > p:
        raise ParameterError(
            f"Theorem 6 goes from a smaller norm q to a larger p; got q = {q!r}, p = {p!r}."
        )
    return float(np.sqrt(M ** (1.0 / q - 1.0 / p)) * bound_at_q)


def lp_risk_bound(
    empirical_risk: float,
    p: float,
    M: int,
    n: int,
    *,
    lipschitz: float = 1.0,
    B: float = 1.0,
    R: float = 1.0,
    delta: float = 0.05,
    conservative: bool = False,
) -> float:
    """Bound the risk with probability 1 - ``delta`` (Corollary 10, (35)):

        risk <= empirical risk + 4 L B Rad + sqrt(ln(2 / delta) / (2 n))

    The loss is in [0, 1] and has the Lipschitz constant ``lipschitz``. The bound holds for every
    model of the class ||w||_{2,q} <= ``B``, where ``p``, ``B``, ``lipschitz`` and ``R`` are fixed
    before the rows are seen. Taking p or B from a model that was fitted on the same rows is a
    choice among many classes: each of k candidates gets delta / k.

    Parameters
    ----------
    empirical_risk : float
        Mean loss on the training rows.
    p : float
        Norm of the kernel weights, from 1 (sparse) to infinity (plain sum of the kernels).
    M : int
        Number of kernels, from 1.
    n : int
        Number of rows, from 1.
    lipschitz : float, default 1.0
        Lipschitz constant of the loss.
    B : float, default 1.0
        Bound on the block norm of the model, fixed before the rows are seen.
    R : float, default 1.0
        Bound on the norm of a row in every feature space, > 0.
    delta : float, default 0.05
        Probability with which the bound may fail, in (0, 1).
    conservative : bool, default False
        Whether constants are rounded up to those for which the inequality is quoted.

    Returns
    -------
    float
        The bound; 1 or more says nothing.
    """
    if not 0 < delta < 1:
        raise ParameterError(
            "delta is the probability that the bound fails and must be between 0 and 1; "
            f"got {delta!r}."
        )
    complexity = lp_rademacher_bound(p, M, n, R, conservative)
    confidence = np.sqrt(np.log(2.0 / delta) / (2.0 * n))
    return float(empirical_risk + 4.0 * lipschitz * B * complexity + confidence)


def lp_margin_bound(
    margin_risk: float,
    p: float,
    M: int,
    n: int,
    *,
    margin: float = 1.0,
    B: float = 1.0,
    R: float = 1.0,
    delta: float = 0.05,
    conservative: bool = False,
) -> float:
    """Bound the error of a classifier with probability 1 - ``delta`` (Corollary 11, (36)):

        error <= margin risk + (4 / margin) B Rad + sqrt(ln(2 / delta) / (2 n))

    The margin risk is the mean of min(1, max(0, 1 - y t / margin)). Everything else is as in
    ``lp_risk_bound`` with L = 1 / ``margin``; the margin, too, is fixed before the rows are seen.

    Parameters
    ----------
    margin_risk : float
        Mean of the margin loss on the training rows.
    p : float
        Norm of the kernel weights, from 1 (sparse) to infinity (plain sum of the kernels).
    M : int
        Number of kernels, from 1.
    n : int
        Number of rows, from 1.
    margin : float, default 1.0
        Margin, > 0, fixed beforehand.
    B : float, default 1.0
        Bound on the block norm of the model, fixed before the rows are seen.
    R : float, default 1.0
        Bound on the norm of a row in every feature space, > 0.
    delta : float, default 0.05
        Probability with which the bound may fail, in (0, 1).
    conservative : bool, default False
        Whether constants are rounded up to those for which the inequality is quoted.

    Returns
    -------
    float
        The bound; 1 or more says nothing.
    """
    if not margin > 0:
        raise ParameterError(f"margin must be above 0; got {margin!r}.")
    return lp_risk_bound(
        margin_risk,
        p,
        M,
        n,
        lipschitz=1.0 / margin,
        B=B,
        R=R,
        delta=delta,
        conservative=conservative,
    )
