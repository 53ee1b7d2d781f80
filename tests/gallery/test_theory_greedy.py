"""Theory of the greedy methods: formulas on values done by hand, bounds that hold, infinity where
nothing is said.
"""

import re

import numpy as np
import pytest
from numpy.random import default_rng

from mklcore import (
    KernelDictionary,
    gomp_coherence,
    gomp_risk_bound,
    greedy_rate_bound,
    greedy_risk_bound,
    kernel_correlation,
    restricted_condition,
)
from mklcore.gallery import theory
from tests.helpers.every import every
from tests.helpers.refusals import refused
from tests.oracles.greedy import KERNELS

P1 = KERNELS["P1"]
P2 = KERNELS["P2"]


def orthogonal(sigmas, n=12, rank=2, seed=0):
    """Kernels with orthogonal spans: K_j / n has eigenvalues sigma_j."""
    Q = np.linalg.qr(default_rng(seed).standard_normal((n, n)))[0]
    bases = [Q[:, rank * j : rank * (j + 1)] for j in range(len(sigmas))]
    return np.array([n * s * U @ U.T for s, U in zip(sigmas, bases, strict=True)])


# MKL-GOMP


def test_bounds_by_hand():
    value = gomp_risk_bound(s=4, kappa=1, tau=4, n=1600, M_bound=1, delta=3 * np.exp(-8))
    assert value == pytest.approx(8 * 5 * 0.1 + 4 * 25 * 0.05)
    assert gomp_risk_bound(4, 1, 4, 6400, 1, 0.1) < gomp_risk_bound(4, 1, 4, 1600, 1, 0.1)
    assert greedy_rate_bound(3.0, 10) == pytest.approx(2.0)
    assert greedy_rate_bound(3.0, 1) == np.inf
    assert "second kernel" in greedy_rate_bound(3.0, 1).words
    assert theory.greedy_decay_bound(1, 2.0, 0.01, 3.0) == pytest.approx(
        max(0.03, 0.5 * (1 - 4 / (8 * 3 * 4 * 4)))
    )
    assert theory.greedy_decay_bound(10_000, 2.0, 0.01, 3.0) == pytest.approx(0.03)


def root(K, lam):
    """Q = (K (K + lam n)^-1)^(1/2)."""
    d, U = np.linalg.eigh(K)
    d = np.maximum(d, 0)
    return (U * np.sqrt(d / (d + lam * len(K)))) @ U.T


def test_coherence_of_one_good_kernel_is_a_spectral_norm_and_of_orthogonal_ones_nothing():
    """K_G invertible: C_1j = Q_1 (Q_1^2)^{-1} Q_j."""
    K = np.array([A @ A.T for A in default_rng(0).standard_normal((4, 7, 7))])
    inverse = np.linalg.inv(root(K[2], 0.3))
    found = gomp_coherence(K, [2], 0.3)
    assert found.value == pytest.approx(
        max(np.linalg.norm(inverse @ root(K[j], 0.3), 2) for j in (0, 1, 3)), rel=1e-6
    )
    assert found.certified
    assert found.lower == found.upper
    assert gomp_coherence(orthogonal([0.5, 0.3, 0.2]), [0, 1], 0.1).value == pytest.approx(
        0, abs=1e-6
    )
    assert gomp_coherence(P1[:2], [0, 1], 0.1) == (0, 0, 0)  # nothing outside


@every("lam", [0.001, 0.01, 0.1])
def test_coherence_of_p2_is_certified_exact(lam):
    value, lower, upper = found = gomp_coherence(P2, [0, 3], lam)
    assert found.certified
    assert upper - lower <= 1e-6
    assert 0 < value < 1
    assert "a diagnostic, not a guarantee" in found.words


def test_coherence_bounds_hold_for_any_direction():
    """Every direction v gives a value below the upper bound, and the lower bound is reached by one."""
    K = P1[:5]
    lam = 0.01
    found = gomp_coherence(K, [1, 4], lam)
    total = K[1] + K[4]
    Q = [root(gram, lam) for gram in K]
    middle = (
        total @ np.linalg.pinv(total @ (Q[1] @ Q[1] + Q[4] @ Q[4]) @ total, rcond=1e-10) @ total
    )
    largest = 0.0
    for v in default_rng(1).standard_normal((200, 40)):
        for j in (0, 2, 3):
            along = middle @ Q[j] @ (v / np.linalg.norm(v))
            largest = max(largest, sum(np.linalg.norm(Q[i] @ along) for i in (1, 4)))
    assert largest <= found.lower * (1 + 1e-6) <= found.upper * (1 + 2e-6)


# Greedy coordinate descent


def test_correlation_and_condition_of_p2():
    assert kernel_correlation(P2) == pytest.approx(0.534256, abs=1e-6)
    lower, upper = restricted_condition(P2[[0, 3]], 2)
    assert lower == pytest.approx(10.80, abs=0.01)
    assert upper == pytest.approx(15.28, abs=0.01)
    assert upper <= theory.condition_from_correlation(P2[[0, 3]], 2)


def test_gaussian_kernels_make_everything_vacuous():
    assert kernel_correlation(P1) == pytest.approx(1.0, abs=1e-9)
    found = restricted_condition(P1, 2)
    assert found == (np.inf, np.inf)
    assert "Gaussian" in found.words
    bound = theory.condition_from_correlation(P1, 2)
    assert bound == np.inf
    assert "says nothing here" in bound.words
    assert theory.greedy_decay_bound(100, found.upper, 0.01, 2.0) == np.inf
    assert theory.greedy_steps_bound(found.upper, 0.01) == np.inf
    full = KernelDictionary.rbf_grid([0.1, 0.2]).grams(
        default_rng(0).standard_normal((10, 3)), normalise="diag"
    )
    assert kernel_correlation(full) == 1.0
    assert restricted_condition(full, 2).lower == np.inf


def test_orthogonal_spans_reach_the_bounds_of_proposition_2():
    """Orthogonal spans: correlation 0, smin(B_J) the smallest eigenvalue, so gamma(d) <= sqrt(d) /
    sigma_min+ exactly.
    """
    K = orthogonal([0.5, 0.25, 0.8])
    assert kernel_correlation(K) == pytest.approx(0, abs=1e-7)
    for d in (1, 2, 3):
        lower, upper = restricted_condition(K, d)
        assert lower == pytest.approx(4.0)
        assert upper == pytest.approx(4.0 * np.sqrt(d))
        # printed form: 2 at d = 1
        assert theory.condition_from_correlation(K, d) == pytest.approx(4.0 * np.sqrt(d))


def test_restricted_condition_is_the_worst_set():
    """gamma grows with d (supremum over sets), and many sets are bounded from both sides."""
    values = [restricted_condition(P2, d) for d in range(1, 7)]
    assert np.all(np.diff([v.lower for v in values]) >= -1e-9)
    assert np.all(np.diff([v.upper for v in values]) >= -1e-9)
    many = orthogonal(np.linspace(0.2, 0.8, 20), n=60)
    # 184,756 sets: bounds from pairs and from all together
    lower, upper = restricted_condition(many, 10)
    assert lower == pytest.approx(5.0)
    assert upper == pytest.approx(5.0 * np.sqrt(10))
    wide = orthogonal([0.5] * 20, n=40)
    crowded = restricted_condition(np.concatenate([wide, orthogonal([0.5] * 20, n=40, seed=1)]), 10)
    assert np.isfinite(crowded.lower)
    assert crowded.upper == np.inf
    assert "no upper bound is known" in crowded.words


def test_lemma_3_needs_the_square_of_gamma():
    """1024 orthogonal rank-one kernels, K_j / N of eigenvalue 1/2, y = +-1 with equal share in
    each: 1024 unit steps visit every kernel once and halve its share, so that the loss is 1/8. The
    printed bound would be exceeded; the corrected one holds.
    """
    n = 1024
    gamma = np.sqrt(1024) / 0.5
    printed = 0.5 * (1 - 1 / (8 * gamma)) ** n  # mu to infinity, eps* = 0, gamma unsquared
    assert 0.125 > printed == pytest.approx(0.0675, abs=1e-4)
    assert 0.125 <= theory.greedy_decay_bound(n, gamma, 0.0, 1e9) == pytest.approx(0.4846, abs=1e-4)


def test_steps_by_hand():
    assert theory.greedy_steps_bound(2.0, np.exp(-3) / 12) == pytest.approx(16 * 4 * 3)
    assert theory.greedy_steps_bound(2.0, 0.2) == 0.0
    needed = theory.greedy_steps_bound(3.0, 0.001)
    mu = 5.0  # z = 1/2 in the proof: mu = (2 + z) / (1 - z), 3 eps / (1 - z) = 6 eps
    assert theory.greedy_decay_bound(int(np.ceil(needed)), 3.0, 0.001, mu) <= 6 * 0.001


def test_risk_bound_of_theorem_5():
    value = greedy_risk_bound(radius=2.0, d=4, n_kernels=99, n=10_000, A=2.0)
    assert value == pytest.approx(196 * 16 * np.sqrt(2 * np.log(100) / 10_000))
    assert "0.99" in value.words
    for arguments, words in (
        ({"A": 1.0}, "needs A > 1"),
        ({"n_kernels": 2}, "3 kernels or more"),
        ({"n": 5}, "at least A ln"),
        ({"n_kernels": 10, "n": 5000}, r"at most 2\^\(M \+ 1\) = 2.05e\+03 rows"),
    ):
        bound = greedy_risk_bound(
            **{"radius": 1.0, "d": 2, "n_kernels": 50, "n": 1000, **arguments}
        )
        assert bound == np.inf
        assert re.search(words, bound.words)


def test_refusals():
    refused(
        (lambda: gomp_coherence(P2, [6], 0.1), "good must name kernels from 0 to 5"),
        (lambda: gomp_coherence(P2, [], 0.1), "at least one"),
        (lambda: gomp_coherence(P2, [0], 0.0), "lam must be a finite number above 0"),
        (lambda: gomp_risk_bound(1, 1, 1, 10, 1, 1.5), "delta is the probability"),
        (lambda: greedy_rate_bound(-1.0, 3), "norm is the sum of the norms"),
        (lambda: greedy_rate_bound(1.0, 0), "d is a number of kernels"),
        (lambda: restricted_condition(P2, 0), "d is a number of kernels"),
        (lambda: restricted_condition(np.zeros((2, 4, 4)), 1), "Every kernel is zero"),
        (lambda: theory.condition_from_correlation(P2, 0), "d is a number of kernels"),
        *(
            (lambda asked=asked: theory.greedy_decay_bound(*asked), words)
            for asked, words in (
                ((0, 1, 0, 2), "d is a number of steps"),
                ((1, 0, 0, 2), "gamma must be above 0"),
                ((1, 1, -1, 2), "eps_star is a difference"),
                ((1, 1, 0, 1), "mu must be above 1"),
            )
        ),
        (lambda: theory.greedy_steps_bound(1.0, 0.0), "eps_star must be a finite number above 0"),
        (lambda: theory.greedy_steps_bound(-1.0, 0.1), "gamma must be above 0"),
        (lambda: greedy_risk_bound(-1, 1, 10, 100), "radius must be a finite number"),
        (lambda: greedy_risk_bound(1, 0, 10, 100), "d is a number of steps"),
    )
