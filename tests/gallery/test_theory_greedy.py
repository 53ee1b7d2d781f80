"""Theory of the greedy methods: formulas on values done by hand, bounds that hold, infinity where nothing is said."""

import re

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import ParameterError
from mklcore.gallery import theory
from mklcore.problem.driver import run
from mklcore.sparse.greedy import EmpiricalGreedy
from tests.oracles.greedy import KERNELS

P1, P2 = KERNELS["P1"], KERNELS["P2"]


def orthogonal(sigmas, n=12, rank=2, seed=0):
    """Kernels with orthogonal spans: K_j / n has eigenvalues sigma_j."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
    bases = [Q[:, rank * j : rank * (j + 1)] for j in range(len(sigmas))]
    return np.array([n * s * U @ U.T for s, U in zip(sigmas, bases, strict=True)])


# MKL-GOMP


def test_risk_bound_by_hand():
    value = mkl.gomp_risk_bound(s=4, kappa=1, tau=4, n=1600, M_bound=1, delta=3 * np.exp(-8))
    assert value == pytest.approx(8 * 5 * 0.1 + 4 * 25 * 0.05)
    assert mkl.gomp_risk_bound(4, 1, 4, 6400, 1, 0.1) < mkl.gomp_risk_bound(4, 1, 4, 1600, 1, 0.1)


def test_coherence_of_one_good_kernel_is_a_spectral_norm():
    """K_G invertible: C_1j = Q_1 (Q_1^2)^{-1} Q_j."""
    rng = np.random.default_rng(0)
    K = np.array([A @ A.T for A in rng.standard_normal((4, 7, 7))])
    lam = 0.3

    def root(M):
        d, U = np.linalg.eigh(M)
        return (U * np.sqrt(d / (d + lam * 7))) @ U.T

    expected = max(np.linalg.norm(np.linalg.inv(root(K[2])) @ root(K[j]), 2) for j in (0, 1, 3))
    found = mkl.gomp_coherence(K, [2], lam)
    assert found.value == pytest.approx(expected, rel=1e-6)
    assert found.certified
    assert found.lower == found.upper


@pytest.mark.parametrize("lam", [0.001, 0.01, 0.1])
def test_coherence_of_p2_is_certified_exact(lam):
    value, lower, upper = found = mkl.gomp_coherence(P2, [0, 3], lam)
    assert found.certified
    assert upper - lower <= 1e-6
    assert 0 < value < 1
    assert "a diagnostic, not a guarantee" in found.words


def test_coherence_bounds_hold_for_any_direction():
    """Every direction v gives a value below the upper bound, and the lower bound is reached by one."""
    K, lam, n = P1[:5], 0.01, 40
    found = mkl.gomp_coherence(K, [1, 4], lam)

    def root(M):
        d, U = np.linalg.eigh(M)
        d = np.maximum(d, 0)
        return (U * np.sqrt(d / (d + lam * n))) @ U.T

    total = K[1] + K[4]
    middle = (
        total @ np.linalg.pinv(total @ (root(K[1]) @ root(K[1]) + root(K[4]) @ root(K[4])) @ total, rcond=1e-10) @ total
    )
    rng = np.random.default_rng(1)
    largest = 0.0
    for j in (0, 2, 3):
        blocks = [root(K[i]) @ middle @ root(K[j]) for i in (1, 4)]
        for v in rng.standard_normal((200, n)):
            largest = max(largest, sum(np.linalg.norm(block @ v) for block in blocks) / np.linalg.norm(v))
    assert largest <= found.upper * (1 + 1e-6)
    assert largest <= found.lower * (1 + 1e-6) <= found.upper * (1 + 2e-6)


def test_orthogonal_kernels_have_no_coherence():
    found = mkl.gomp_coherence(orthogonal([0.5, 0.3, 0.2]), [0, 1], 0.1)
    assert found.value == pytest.approx(0, abs=1e-6)
    assert mkl.gomp_coherence(P1[:2], [0, 1], 0.1) == (0, 0, 0)  # nothing outside


# Greedy coordinate descent


def test_rate_bound_by_hand():
    assert mkl.greedy_rate_bound(3.0, 10) == pytest.approx(2.0)
    assert mkl.greedy_rate_bound(3.0, 1) == np.inf
    assert "second kernel" in mkl.greedy_rate_bound(3.0, 1).words


def test_correlation_and_condition_of_p2():
    assert mkl.kernel_correlation(P2) == pytest.approx(0.534256, abs=1e-6)
    lower, upper = mkl.restricted_condition(P2[[0, 3]], 2)
    assert lower == pytest.approx(10.80, abs=0.01)
    assert upper == pytest.approx(15.28, abs=0.01)
    assert upper <= theory.condition_from_correlation(P2[[0, 3]], 2)


def test_gaussian_kernels_make_everything_vacuous():
    assert mkl.kernel_correlation(P1) == pytest.approx(1.0, abs=1e-9)
    found = mkl.restricted_condition(P1, 2)
    assert found == (np.inf, np.inf)
    assert "Gaussian" in found.words
    bound = theory.condition_from_correlation(P1, 2)
    assert bound == np.inf
    assert "says nothing here" in bound.words
    assert theory.greedy_decay_bound(100, found.upper, 0.01, 2.0) == np.inf
    assert theory.greedy_steps_bound(found.upper, 0.01) == np.inf
    full = mkl.KernelDictionary.rbf_grid([0.1, 0.2]).grams(
        np.random.default_rng(0).standard_normal((10, 3)), normalise="diag"
    )
    assert mkl.kernel_correlation(full) == 1.0
    assert mkl.restricted_condition(full, 2).lower == np.inf


def test_orthogonal_spans_reach_the_bounds_of_proposition_2():
    """Orthogonal spans: correlation 0, smin(B_J) the smallest eigenvalue, so gamma(d) <= sqrt(d) / sigma_min+
    exactly.
    """
    K = orthogonal([0.5, 0.25, 0.8])
    assert mkl.kernel_correlation(K) == pytest.approx(0, abs=1e-7)
    for d in (1, 2, 3):
        lower, upper = mkl.restricted_condition(K, d)
        assert lower == pytest.approx(4.0)
        assert upper == pytest.approx(4.0 * np.sqrt(d))
        assert theory.condition_from_correlation(K, d) == pytest.approx(4.0 * np.sqrt(d))  # printed form: 2 at d = 1


def test_restricted_condition_is_the_worst_set():
    """gamma grows with d (supremum over sets), and many sets are bounded from both sides."""
    values = [mkl.restricted_condition(P2, d) for d in range(1, 7)]
    assert np.all(np.diff([v.lower for v in values]) >= -1e-9)
    assert np.all(np.diff([v.upper for v in values]) >= -1e-9)
    many = orthogonal(np.linspace(0.2, 0.8, 20), n=60)
    lower, upper = mkl.restricted_condition(many, 10)  # 184,756 sets: bounds from pairs and from all together
    assert lower == pytest.approx(5.0)
    assert upper == pytest.approx(5.0 * np.sqrt(10))
    wide = orthogonal([0.5] * 20, n=40)
    crowded = mkl.restricted_condition(np.concatenate([wide, orthogonal([0.5] * 20, n=40, seed=1)]), 10)
    assert np.isfinite(crowded.lower)
    assert crowded.upper == np.inf
    assert "no upper bound is known" in crowded.words


def test_lemma_3_needs_the_square_of_gamma():
    """1024 orthogonal rank-one kernels, K_j / N of eigenvalue 1/2, y = +-1 with equal share in each: 1024 unit steps
    visit every kernel once and halve its share. The printed bound would be exceeded; the corrected one holds.
    """
    n, sigma = 1024, 0.5
    shares = np.full(n, 1.0 / np.sqrt(n))
    for _ in range(n):
        shares[np.argmax(np.abs(shares))] *= 1 - sigma
    loss = 0.5 * np.sum(shares**2)
    gamma = np.sqrt(n) / sigma
    assert loss == pytest.approx(0.125)
    printed = 0.5 * (1 - 1 / (8 * gamma)) ** n  # mu to infinity, eps* = 0, gamma unsquared
    assert loss > printed == pytest.approx(0.0675, abs=1e-4)
    assert loss <= theory.greedy_decay_bound(n, gamma, 0.0, 1e9) == pytest.approx(0.4846, abs=1e-4)


def test_lemma_3_holds_on_a_run():
    n, sigma = 64, 0.5
    H = np.array([[1.0]])
    while len(H) < n:
        H = np.block([[H, H], [H, -H]])
    K = np.array([sigma * np.outer(h, h) for h in H.T])  # K_j / n has the eigenvalue sigma
    y = H @ np.ones(n) / n
    fit = run(EmpiricalGreedy(K, y, n_steps=n, linesearch=False, divisors=np.ones(n)), tol=0, max_iter=999)
    gamma = mkl.restricted_condition(K, 2 * n).upper
    assert gamma == pytest.approx(np.sqrt(n) / sigma)
    assert fit.objective <= theory.greedy_decay_bound(n, gamma, 0.0, 1e6)
    assert theory.greedy_decay_bound(1, 2.0, 0.01, 3.0) == pytest.approx(max(0.03, 0.5 * (1 - 4 / (8 * 3 * 4 * 4))))
    assert theory.greedy_decay_bound(10_000, 2.0, 0.01, 3.0) == pytest.approx(0.03)


def test_steps_by_hand():
    assert theory.greedy_steps_bound(2.0, np.exp(-3) / 12) == pytest.approx(16 * 4 * 3)
    assert theory.greedy_steps_bound(2.0, 0.2) == 0.0
    needed = theory.greedy_steps_bound(3.0, 0.001)
    mu = 5.0  # z = 1/2 in the proof: mu = (2 + z) / (1 - z), 3 eps / (1 - z) = 6 eps
    assert theory.greedy_decay_bound(int(np.ceil(needed)), 3.0, 0.001, mu) <= 6 * 0.001


def test_risk_bound_of_theorem_5():
    value = mkl.greedy_risk_bound(radius=2.0, d=4, n_kernels=99, n=10_000, A=2.0)
    assert value == pytest.approx(196 * 16 * np.sqrt(2 * np.log(100) / 10_000))
    assert "0.99" in value.words
    for arguments, words in (
        ({"A": 1.0}, "needs A > 1"),
        ({"n_kernels": 2}, "3 kernels or more"),
        ({"n": 5}, "at least A ln"),
        ({"n_kernels": 10, "n": 5000}, r"at most 2\^\(M \+ 1\) = 2.05e\+03 rows"),
    ):
        bound = mkl.greedy_risk_bound(**{"radius": 1.0, "d": 2, "n_kernels": 50, "n": 1000, **arguments})
        assert bound == np.inf
        assert re.search(words, bound.words)


def test_theorem_5_is_reported_with_both_alternatives_and_its_algorithm():
    text = " ".join(mkl.greedy_risk_bound.__doc__.split())
    assert "either ||f - f_R*|| <= 8 max(R, sqrt d) / sqrt N or" in text
    assert "about Algorithm 2" in text


def test_refusals():
    with pytest.raises(ParameterError, match="good must name kernels from 0 to 5"):
        mkl.gomp_coherence(P2, [6], 0.1)
    with pytest.raises(ParameterError, match="at least one"):
        mkl.gomp_coherence(P2, [], 0.1)
    with pytest.raises(ParameterError, match="lam must be a finite number above 0"):
        mkl.gomp_coherence(P2, [0], 0.0)
    with pytest.raises(ParameterError, match="delta is the probability"):
        mkl.gomp_risk_bound(1, 1, 1, 10, 1, 1.5)
    with pytest.raises(ParameterError, match="norm is the sum of the norms"):
        mkl.greedy_rate_bound(-1.0, 3)
    with pytest.raises(ParameterError, match="d is a number of kernels"):
        mkl.greedy_rate_bound(1.0, 0)
    with pytest.raises(ParameterError, match="d is a number of kernels"):
        mkl.restricted_condition(P2, 0)
    with pytest.raises(ParameterError, match="Every kernel is zero"):
        mkl.restricted_condition(np.zeros((2, 4, 4)), 1)
    with pytest.raises(ParameterError, match="d is a number of kernels"):
        theory.condition_from_correlation(P2, 0)
    for arguments, words in (
        ((0, 1, 0, 2), "d is a number of steps"),
        ((1, 0, 0, 2), "gamma must be above 0"),
        ((1, 1, -1, 2), "eps_star is a difference"),
        ((1, 1, 0, 1), "mu must be above 1"),
    ):
        with pytest.raises(ParameterError, match=words):
            theory.greedy_decay_bound(*arguments)
    with pytest.raises(ParameterError, match="eps_star must be a finite number above 0"):
        theory.greedy_steps_bound(1.0, 0.0)
    with pytest.raises(ParameterError, match="gamma must be above 0"):
        theory.greedy_steps_bound(-1.0, 0.1)
    with pytest.raises(ParameterError, match="radius must be a finite number"):
        mkl.greedy_risk_bound(-1, 1, 10, 100)
    with pytest.raises(ParameterError, match="d is a number of steps"):
        mkl.greedy_risk_bound(1, 0, 10, 100)
