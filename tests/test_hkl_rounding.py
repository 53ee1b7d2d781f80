"""Sums over descendants in single precision: the bound on their rounding, and certificates that do not feel it."""

import numpy as np
import pytest

from mklcore.losses import Squared
from mklcore.solvers.hkl.bases import GaussianBasis, PolynomialBasis
from mklcore.solvers.hkl.certificate import Certifier
from mklcore.solvers.hkl.dag import ROOT, DepthWeights, Hull
from mklcore.solvers.hkl.design import Design
from mklcore.solvers.hkl.inner import solve_reduced
from mklcore.solvers.hkl.machine import Task
from mklcore.solvers.hkl.work import Work

WEIGHTS = DepthWeights(4.0, 0.1)


def problem(n: int = 90, p: int = 8, spread: float = 1.0) -> tuple[Design, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, p)) ** 3
    y = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.1 * rng.standard_normal(n)
    return Design(X * spread, PolynomialBasis(3), standardize=spread == 1.0, normalize=spread == 1.0), y


def residual(design: Design, y: np.ndarray, lam: float) -> tuple[dict, np.ndarray, float]:
    """The shares, the dual and the bound of a small hull: the dual cancels in what the hull explains."""
    nodes = [ROOT, *(((i, 1),) for i in range(4))]
    task = Task(y, Squared(), lam, True)
    point, _, _ = solve_reduced(design, task, nodes, WEIGHTS, np.full(5, 0.2), None, tol=1e-9)
    return (
        dict(zip(nodes, point.state.x.tolist(), strict=True)),
        point.dual,
        point.state.bound,
    )


@pytest.mark.parametrize("lam", [1.0, 1e-4])
def test_single_precision_stays_within_its_bound(lam):
    design, y = problem()
    nodes = sorted(Hull(8, 3, [((i, 1), (j, 1)) for i in range(8) for j in range(i)]).sources)
    _, a, _ = residual(design, y, lam)
    found, slack = design.rough_sums(nodes, a, WEIGHTS)
    exact = design.descendant_sums(nodes, a, WEIGHTS)
    assert np.all(np.abs(found - exact) <= slack)
    assert found == pytest.approx(exact, rel=1e-4)
    assert not np.array_equal(found, exact)  # it was single precision
    assert np.median(slack / exact) < 0.2  # and the bound says something


def test_what_single_precision_cannot_hold_is_summed_in_double():
    design, y = problem(spread=1e4)
    nodes = sorted(Hull(8, 3).sources)
    gaussian = Design(np.random.default_rng(0).standard_normal((40, 8)), GaussianBasis(2))
    for one, a in ((design, y - y.mean()), (gaussian, np.linspace(-1, 1, 40)), (problem()[0], np.zeros(90))):
        found, slack = one.rough_sums(nodes, a, WEIGHTS)
        assert found.tolist() == one.descendant_sums(nodes, a, WEIGHTS).tolist()
        assert not slack.any()


def test_columns_and_shares_beyond_single_precision_are_summed_in_double_though_their_products_are_not_large():
    X = np.random.default_rng(0).standard_normal((60, 6))
    weights, nodes = DepthWeights(1e11, 1.0), sorted(Hull(6, 4, [((0, 1),), ((0, 2),)]).sources)
    design = Design(1e11 * X, PolynomialBasis(4), standardize=False, normalize=False)
    found, slack = design.rough_sums(nodes, X[:, 0] * X[:, 1], weights)
    assert found.tolist() == design.descendant_sums(nodes, X[:, 0] * X[:, 1], weights).tolist()
    assert np.all(np.isfinite(found))
    assert not slack.any()


def test_a_source_is_never_put_on_the_wrong_side_of_the_threshold():
    design, y = problem()
    nodes = sorted(Hull(8, 3, [((i, 1),) for i in range(8)]).sources)
    _, a, _ = residual(design, y, 1e-2)
    exact = design.descendant_sums(nodes, a, WEIGHTS)
    certifier = Certifier(design, WEIGHTS, max_nodes=10)
    for k in range(0, len(nodes), 5):
        for off in (-1e-9, 1e-9):  # nearer than single precision can tell
            threshold = exact[k] * (1.0 + off)
            known, slack = certifier.sums(nodes, a, threshold)
            assert [known[t] > threshold for t in nodes] == (exact > threshold).tolist()
            assert slack[nodes[k]] == 0.0


def test_sums_that_a_limit_has_ended_prove_nothing():
    design, y = problem()
    a = y - y.mean()
    verdict = Certifier(design, WEIGHTS, max_nodes=100, work=Work(1e-12)).certify(
        {ROOT: 1.0}, a, 1e9, grow=True, most=5
    )
    assert verdict.bound == np.inf
    assert not verdict.holds
    found, slack = design.rough_sums([ROOT], a, WEIGHTS, Work(1e-12))
    assert (found[0], slack[0]) == (np.inf, 0.0)


@pytest.mark.parametrize("share", [0.5, 1.2, np.inf])
@pytest.mark.parametrize("grow", [True, False])
def test_a_certificate_is_the_same_in_single_and_in_double_precision(monkeypatch, share, grow):
    design, y = problem()
    shares, a, bound = residual(design, y, 1e-1)
    verdicts, sets = [], []
    for single in (True, False):
        if not single:
            monkeypatch.setattr(
                Design,
                "rough_sums",
                lambda self, nodes, *rest: (self.descendant_sums(nodes, *rest), np.zeros(len(nodes))),
            )
        top = max(design.descendant_sums(sorted(Hull(8, 3, shares).sources), a, WEIGHTS))
        certifier = Certifier(design, WEIGHTS, max_nodes=60)
        verdicts.append(certifier.certify(shares, a, max(bound * 1.001, share * top), grow=grow, most=7))
        sets.append(certifier.set.nodes)
    one, other = verdicts
    assert (one.holds, one.wanted, one.full) == (other.holds, other.wanted, other.full)
    assert set(sets[0]) == set(sets[1])
    assert one.bound == (None if other.bound is None else pytest.approx(other.bound, rel=1e-13))
    if one.proof is not None:
        assert one.proof.bound(design, WEIGHTS, a) == pytest.approx(one.bound, rel=1e-12)
