"""Theory of greedy coordinate descent: rates, the correlation of kernels, and a risk bound.

Kernels enter through K_j = U_j diag(d_j) U_j' (eigenvalues above 1e-10 of the largest) and B_J =
[U_j diag(d_j / N)]_{j in J}. For Gaussian kernels every U_j spans everything, so that their
correlation is 1, their restricted condition is infinite, and bounds that rest on it say nothing.
The functions then return infinity and give the reason as ``words``.

Source: Jin, Yang and Mahdavi (2013). Where a printed formula is wrong, the docstring of the
function states the correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations, islice
from math import comb
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, one_blas_thread
from mklcore.errors import ParameterError
from mklcore.gallery.theory.words import Bound, require
from mklcore.kernels.grams import as_stack
from mklcore.parameters import check_positive, is_whole_number

SPAN_CUT = 1e-10
_ENUMERATED = 2000  # most sets of kernels that are examined one by one
# Bases are dependent below this smallest singular value: the cut leaves them no more digits.
_DEPENDENT = 1e-6


def _spans(K: Any) -> list[tuple[Array, Array]]:
    """The pair (U_j, d_j / N) of every kernel."""
    spans = []
    for kernel in as_stack(K):
        d, U = np.linalg.eigh(kernel)
        is_kept = d > SPAN_CUT * max(float(d[-1]), 0.0)
        spans.append((U[:, is_kept], d[is_kept] / len(kernel)))
    return spans


def greedy_rate_bound(norm: float, d: int) -> Bound:
    """Bound how far Algorithm 1 is from the optimum of (1) after d kernels (Theorem 1).

        L(f^d) - L(f*) <= 2 ||f*||^2 / (d - 1),   d >= 2

    It needs k(x, x) <= 1, and ``norm`` is sum_j ||f*_j||. An early exit gives the exact optimum.

    Parameters
    ----------
    norm : float
        Sum of the norms of the components of the optimum, >= 0.
    d : int
        Number of kernels, from 1; the bound is infinite for 1.

    Returns
    -------
    Bound
        The bound on the loss after so many steps.
    """
    require(
        np.isfinite(norm) and norm >= 0,
        f"norm is the sum of the norms of f* and must be 0 or more; got {norm!r}.",
    )
    require(d >= 1, f"d is a number of kernels and must be 1 or more; got {d!r}.")
    if d < 2:
        return Bound(np.inf, "Theorem 1 speaks from the second kernel on.")
    return Bound(2.0 * norm**2 / (d - 1), f"After {d} kernels at most this far above the optimum.")


def kernel_correlation(K: Any) -> float:
    """The largest cosine delta(K) = max_{i < j} ||U_i'U_j||_2 between the spans of two kernels.

    It is taken over all pairs, where the paper prints pairs up to d. It is 1 when two spans share a
    direction, as full-rank (Gaussian) kernels always do.

    Parameters
    ----------
    K : ndarray of shape (M, n, n) or GramStack
        Gram matrices of the M kernels on the same n rows.

    Returns
    -------
    float
        The correlation, from 0 to 1.
    """
    with one_blas_thread():
        bases = [U for U, _ in _spans(K)]
        n = bases[0].shape[0]
        largest = 0.0
        for first, second in combinations(bases, 2):
            if first.shape[1] + second.shape[1] > n:
                return 1.0  # two spans of more than n dimensions together meet in a line
            if first.shape[1] and second.shape[1]:
                largest = max(largest, float(np.linalg.norm(first.T @ second, 2)))
    return 1.0 if largest > 1.0 - _DEPENDENT**2 else largest


class Condition(NamedTuple):
    """Bounds ``lower`` <= gamma(d, K) <= ``upper``, infinite where spans of d kernels can overlap."""

    lower: float
    upper: float

    @property
    def words(self) -> str:
        """The meaning of the bounds for these kernels."""
        if np.isfinite(self.upper):
            return (
                f"gamma is between {self.lower:.4g} and {self.upper:.4g}: the rates that rest "
                "on it speak here."
            )
        if np.isfinite(self.lower):
            return (
                f"gamma is at least {self.lower:.4g}, and no upper bound is known: the "
                "rates that rest on it are vacuous."
            )
        return (
            "gamma is infinite: the spans of the kernels overlap, as those of Gaussian "
            "kernels always do, so that different kernels can make the same function on "
            "these rows. Rates that rest on gamma are vacuous here."
        )


def restricted_condition(K: Any, d: int) -> Condition:
    """Bound gamma(d, K), the supremum of gamma(0, J) over sets J of at most d kernels:

        1 / smin(B_J) <= gamma(0, J) <= sqrt|J| / smin(B_J),      B_J = [U_j diag(d_j / N)]_{j in J}

    The paper prints an infimum. gamma(0, J) is infinite when the columns of B_J are dependent. Up
    to 2000 sets of d kernels are all examined. Beyond that the lower bound comes from pairs and
    single kernels, and the upper one from all kernels together, which needs a total rank of at most
    N. A ``d`` above M means M.

    Parameters
    ----------
    K : ndarray of shape (M, n, n) or GramStack
        Gram matrices of the M kernels on the same n rows.
    d : int
        Largest number of kernels in a set, from 1.

    Returns
    -------
    Condition
        Lower and upper bound.
    """
    _check_count(d)
    with one_blas_thread():
        spans = [(U, s) for U, s in _spans(K) if s.size]
        if not spans:
            raise ParameterError("Every kernel is zero on these rows; gamma is not defined.")
        size = min(int(d), len(spans))
        root = float(np.sqrt(size))
        if comb(len(spans), size) <= _ENUMERATED:
            exact = max(map(_inverse_smallest, combinations(spans, size)))
            return Condition(exact, root * exact)
        pairs = islice(combinations(spans, 2), _ENUMERATED)
        lower = max(map(_inverse_smallest, chain(pairs, combinations(spans, 1))))
        return Condition(lower, root * _inverse_smallest(spans))


def _check_count(d: Any) -> None:
    require(is_whole_number(d) and d >= 1, f"d is a number of kernels, 1 or more; got {d!r}.")


def _inverse_smallest(spans: Sequence[tuple[Array, Array]]) -> float:
    """1 / smin(B_J) of the kernels with these spans, infinite when the columns are dependent."""
    if len(spans) == 1:
        return 1.0 / float(spans[0][1].min())
    bases = np.hstack([U for U, _ in spans])
    # The bases decide on dependence, because small eigenvalues do not make columns dependent.
    if bases.shape[1] > bases.shape[0]:
        return np.inf
    if np.linalg.svd(bases, compute_uv=False)[-1] <= _DEPENDENT:
        return np.inf
    B = np.hstack([U * s for U, s in spans])
    return 1.0 / float(np.linalg.svd(B, compute_uv=False)[-1])


def condition_from_correlation(K: Any, d: int) -> Bound:
    """Bound gamma(d, K) by the correlation of the kernels (Proposition 2):

        gamma(d, K) <= sqrt(d) / (sqrt(1 - (d - 1) delta(K)) s),      if delta(K) < 1 / (d - 1)

    with s the smallest positive eigenvalue of any K_j / N, which the paper prints under the root.

    Parameters
    ----------
    K : ndarray of shape (M, n, n) or GramStack
        Gram matrices of the M kernels on the same n rows.
    d : int
        Largest number of kernels in a set, from 1.

    Returns
    -------
    Bound
        The bound, infinite where the correlation is too large for it.
    """
    _check_count(d)
    delta = kernel_correlation(K)
    if (d - 1) * delta >= 1.0:
        return Bound(
            np.inf,
            f"The kernels' correlation is {delta:.6g}, and Proposition 2 needs less than "
            f"{1.0 / (d - 1):.4g} for {d} kernels: it says nothing here. Gaussian kernels "
            "always have correlation 1.",
        )
    smallest = min(float(s.min()) for _, s in _spans(K) if s.size)
    bound = np.sqrt(d) / (np.sqrt(1.0 - (d - 1) * delta) * smallest)
    return Bound(bound, f"From correlation {delta:.6g}.")


def greedy_decay_bound(d: int, gamma: float, eps_star: float, mu: float) -> Bound:
    """Bound how far Algorithm 2 is from the optimum after d steps (Lemma 3), for mu > 1, |y| <= 1:

        E_N(f) - E_N(f*) <= max( mu eps*, 1/2 max(0, 1 - tau)^d ),    tau = (mu - 1)^2 / (8 mu (mu + 1) gamma(2d)^2)

    gamma is squared, as in the proof of the lemma. f* minimises E_N over all kernels, ``eps_star``
    is E_N(best f with d kernels) - E_N(f*), and ``gamma`` is gamma(2d, K).
    """
    require(d >= 1, f"d is a number of steps and must be 1 or more; got {d!r}.")
    require(gamma > 0, f"gamma must be above 0 (infinity is allowed); got {gamma!r}.")
    require(
        eps_star >= 0,
        f"eps_star is a difference of losses and must be 0 or more; got {eps_star!r}.",
    )
    require(mu > 1, f"mu must be above 1; got {mu!r}.")
    if not np.isfinite(gamma):
        return Bound(
            np.inf, "gamma is infinite, so tau is 0 and Lemma 3 says nothing about the speed."
        )
    tau = (mu - 1.0) ** 2 / (8.0 * mu * (mu + 1.0) * gamma**2)
    return Bound(max(mu * eps_star, 0.5 * max(0.0, 1.0 - tau) ** d), f"tau = {tau:.3g}.")


def greedy_steps_bound(gamma: float, eps_star: float) -> Bound:
    """The number of steps after which Algorithm 2 is within 6 eps* of the optimum (Theorem 4):

        d >= 16 gamma(2d)^2 ln(1 / (12 eps*))     implies     E_N(f) - E_N(f*) <= 6 eps*

    gamma is squared as in Lemma 3. The condition is implicit in d: ``gamma`` is gamma(2d, K) at the
    d in question. ``eps_star`` > 0 is as in ``greedy_decay_bound``; from 1/12 on no step is needed,
    because |y| <= 1 and the loss never exceeds 1/2.
    """
    require(gamma > 0, f"gamma must be above 0 (infinity is allowed); got {gamma!r}.")
    check_positive(eps_star=eps_star)
    needed = np.log(1.0 / (12.0 * eps_star))
    if needed <= 0:
        return Bound(0.0, "6 eps* is at least 1/2, which E_N never exceeds for |y| <= 1.")
    if not np.isfinite(gamma):
        return Bound(np.inf, "gamma is infinite: no number of steps is enough for Theorem 4.")
    steps = 16.0 * gamma**2 * needed
    return Bound(steps, "Steps after which the loss is within 6 eps* of the best.")


def greedy_risk_bound(
    radius: float,
    d: int,
    n_kernels: int,
    n: int,
    A: float = 2.0,
) -> Bound:
    """What Theorem 5 adds to the difference of training losses to bound the risk of Algorithm 2.

        either  ||f - f_R*|| <= 8 max(R, sqrt d) / sqrt N
        or      E(f) - E(f_R*) <= E_N(f) - E_N(f*) + 196 (R + sqrt d)^2 sqrt(A ln(M + 1) / N)

    After d steps, repeats counted, one of them holds with probability at least 1 - (M + 1)^(1 - A).
    ``radius`` R bounds sum ||f_j|| of the competitor f_R*, the M kernels have k(x, x) <= 1, and
    |y| <= 1. Where the two functions are as close as the first line says, the theorem says nothing
    about the risks. It is about Algorithm 2 (``criterion="empirical"``), whose f is bounded by its
    steps; Algorithm 1 has no such bound. It needs A > 1, M >= 3 and A ln(M + 1) <= N <= 2^(M + 1);
    elsewhere the bound is infinite.

    Parameters
    ----------
    radius : float
        Bound on the sum of the norms of the competitor, > 0.
    d : int
        Number of steps, repeats counted, from 1.
    n_kernels : int
        Number M of kernels on offer, in the model or not, from 3.
    n : int
        Number of rows, from 1.
    A : float, default 2.0
        Constant of the probability 1 - (M + 1)^(1 - A), > 1.

    Returns
    -------
    Bound
        The bound on the risk.

    Examples
    --------
    >>> bool(greedy_risk_bound(radius=2.0, d=4, n_kernels=50, n=1000) > 100)  # vacuous for a loss of at most 1/2
    True
    """
    require(
        np.isfinite(radius) and radius >= 0,
        f"radius must be a finite number of 0 or more; got {radius!r}.",
    )
    require(d >= 1, f"d is a number of steps and must be 1 or more; got {d!r}.")
    check_positive(n_kernels=n_kernels, n=n, A=A)
    log = A * np.log(n_kernels + 1.0)
    why = ""
    if A <= 1:
        why = f"Theorem 5 needs A > 1; at A = {A:g} its probability is nothing."
    elif n_kernels < 3:
        why = f"Theorem 5 needs 3 kernels or more; there are {n_kernels}."
    elif n < log:
        why = f"Theorem 5 needs at least A ln(M + 1) = {log:.3g} rows; there are {n}."
    elif np.log2(n) > n_kernels + 1:
        why = (
            f"Theorem 5 needs at most 2^(M + 1) = {2.0 ** (n_kernels + 1):.3g} rows; there are {n}."
        )
    if why:
        return Bound(np.inf, why)
    chance = 1.0 - (n_kernels + 1.0) ** (1.0 - A)
    return Bound(
        196.0 * (radius + np.sqrt(d)) ** 2 * np.sqrt(log / n),
        f"With probability at least {chance:.4g}.",
    )
