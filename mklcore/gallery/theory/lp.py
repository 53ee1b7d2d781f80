"""Bounds of the lp-norm paper: how the price of learning the weights grows with p and M.

M kernels with k_m(x, x) <= R^2, n points, the class ||w||_{2,q} <= 1 without an intercept; c = 23/22, natural
logarithms. For the class ||w||_{2,q} <= B the complexity term is B times as large. Above 1 a bound on a loss in [0, 1]
says nothing.

p, B, the margin and R are fixed before the rows are seen: the bounds hold for one class, not for the class that a fit
on the same rows picks out. For a choice that looks at the rows, list the candidates beforehand and let them share delta
(``choices``); then the bound holds for all of them at once, and B of a fitted model is rounded up to
``lp_norm_on_grid``.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), Theorem 6, Corollaries 9, 10, 11; errata in the specification.
"""

from __future__ import annotations

import math

import numpy as np

from mklcore.errors import ParameterError
from mklcore.problem.penalties import LpNorm, conjugate_exponent

_C = 23.0 / 22.0
NORM_GRID = 2.0 ** (np.arange(-80, 81) / 4.0)
"""Norms B fixed beforehand, a fifth apart, from a millionth to a million: rounded up, B of a fitted model is one of them."""  # noqa: E501


def _multiplier(p: float, M: int, conservative: bool) -> float:
    """min(e ceil(ln M), ceil(p*)), p* rounded up to an even integer when ``conservative`` (as Theorem 8 is quoted)."""
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
            f"The bounds need M > 1 kernels, n >= 1 points and R > 0; got M = {M!r}, n = {n!r}, R = {R!r}."
        )


def lp_rademacher_bound(p: float, M: int, n: int, R: float = 1.0, conservative: bool = False) -> float:
    """Corollary 9: Rad <= sqrt(c M^(1/p*) R^2 min(e ceil(ln M), ceil(p*)) / n).

    ``p`` in [1, inf]; ``M`` > 1 kernels; ``n`` points; ``R`` bounds the feature norms. ``conservative`` rounds up to
    the even integers for which the inequality behind it is quoted.

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
    return float(np.sqrt(_C * M ** (1.0 / conjugate_exponent(p)) * R**2 * _multiplier(p, M, conservative) / n))


def lp_norm_on_grid(B: float) -> float:
    """The smallest norm of ``NORM_GRID`` that is not below ``B``; infinite beyond the last.

    A bound for the norm of a fitted model needs a union over norms fixed beforehand: this one, with ``len(NORM_GRID)``
    choices.

    >>> lp_norm_on_grid(3.9), lp_norm_on_grid(4.0)
    (4.0, 4.0)
    """
    return float(np.append(NORM_GRID, np.inf)[np.searchsorted(NORM_GRID, B)])


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
    choices: int = 1,
) -> float:
    """Corollary 10 (35): risk <= empirical + 4 L B Rad + sqrt(ln(2 / delta) / (2 n)), with probability 1 - ``delta``.

    For a loss in [0, 1] with Lipschitz constant ``lipschitz`` and every model of the class ||w||_{2,q} <= ``B``, where
    ``p``, ``B``, ``lipschitz`` and ``R`` are fixed before the rows are seen. Taking p or B from a model that was fitted
    on the same rows is a choice among many classes: name how many triples (p, B, lipschitz) were candidates in
    ``choices``, and each gets delta / choices, so that the bound holds for all of them at once (see
    ``lp_norm_on_grid``). Not clipped: a value of 1 or more says nothing.

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
    choices : int, default 1
        Number of classes of models that were candidates; ``delta`` is shared among them.

    Returns
    -------
    float
        The bound; 1 or more says nothing.
    """
    if not 0 < delta < 1:
        raise ParameterError(
            f"delta is the probability that the bound fails and must be between 0 and 1; got {delta!r}."
        )
    if not choices >= 1:
        raise ParameterError(f"choices counts the classes that were candidates and must be 1 or more; got {choices!r}.")
    complexity = lp_rademacher_bound(p, M, n, R, conservative)
    confidence = np.sqrt(np.log(2.0 * choices / delta) / (2.0 * n))
    return float(empirical_risk + 4.0 * lipschitz * B * complexity + confidence)


def lp_rows_needed(
    empirical_risk: float,
    p: float,
    M: int,
    *,
    lipschitz: float = 1.0,
    B: float = 1.0,
    R: float = 1.0,
    delta: float = 0.05,
    conservative: bool = False,
    choices: int = 1,
) -> float:
    """From how many rows on the bound of Corollary 10 is below 1, everything else as in ``lp_risk_bound``; infinite
    when the empirical risk alone is 1.
    """
    if empirical_risk >= 1:
        return float("inf")
    shrinking = lp_risk_bound(
        0.0, p, M, 1, lipschitz=lipschitz, B=B, R=R, delta=delta, conservative=conservative, choices=choices
    )
    return float((shrinking / (1.0 - empirical_risk)) ** 2)  # both terms fall as 1 / sqrt(n)


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
    choices: int = 1,
) -> float:
    """Corollary 11 (36): error <= margin risk + (4 / margin) B Rad + sqrt(ln(2 / delta) / (2 n)).

    ``margin_risk`` = mean of min(1, max(0, 1 - y t / margin)); otherwise as ``lp_risk_bound`` with L = 1 / ``margin``:
    the margin, p and B are fixed before the rows are seen, or are one of so many ``choices``.

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
    choices : int, default 1
        Number of classes of models that were candidates; ``delta`` is shared among them.

    Returns
    -------
    float
        The bound; 1 or more says nothing.
    """
    if not margin > 0:
        raise ParameterError(f"margin must be above 0; got {margin!r}.")
    return lp_risk_bound(
        margin_risk, p, M, n, lipschitz=1.0 / margin, B=B, R=R, delta=delta, conservative=conservative, choices=choices
    )


def lp_conversion(bound_at_q: float, q: float, p: float, M: int) -> float:
    """Theorem 6: Rad(p) <= sqrt(M^(1/q - 1/p)) Rad(q) for 1 <= q <= p: one norm's bound from another's."""
    LpNorm(p), LpNorm(q)
    if not q <= p:
        raise ParameterError(f"Theorem 6 goes from a smaller norm q to a larger p; got q = {q!r}, p = {p!r}.")
    return float(np.sqrt(M ** (1.0 / q - (0.0 if np.isinf(p) else 1.0 / p))) * bound_at_q)
