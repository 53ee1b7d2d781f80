"""Weighted, block and elliptic norms against trusted optima, closed forms and reductions."""

import numpy as np
import pytest

from mklcore.errors import ParameterError
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import BlockNorm, EllipticNorm, LpNorm, WeightedLpNorm
from tests.helpers.every import every
from tests.oracles.reference import FOLDER, lp_optima

with np.load(FOLDER / "lp_norm.npz") as file:
    MATRICES = {name[2:]: file[name] for name in file.files if name.startswith("E_")}
GENERIC = [case for case in lp_optima() if case.part == "generic" and case.C == 1.0]


def _penalty(case):
    return EllipticNorm(MATRICES[case.matrix]) if case.matrix else BlockNorm(case.order)


@every("case", lp_optima("block") + lp_optima("noniso"))
def test_every_trusted_optimum(case):
    fit = fit_weighted(
        case.K, case.y, case.C, make_loss(case.loss), _penalty(case), case.fit_intercept, tol=1e-6, max_iter=3000
    )
    assert fit.status.ok
    assert fit.objective == pytest.approx(case.objective, rel=1e-5)
    assert fit.dual_objective <= case.lower + 1e-7 * case.objective
    assert fit.objective >= case.objective * (1 - 1e-7)
    if case.matrix:
        assert fit.weights == pytest.approx(case.weights, abs=5e-3)


@every("p", [4 / 3, 2.0, 4.0])
def test_prices_are_a_rescaling_of_kernels(p):
    case = GENERIC[0]
    d = np.random.default_rng(0).uniform(0.3, 3.0, len(case.K))
    priced = fit_weighted(case.K, case.y, 1.0, make_loss("hinge"), WeightedLpNorm(p, d), True, tol=1e-7, max_iter=3000)
    scaled = np.ascontiguousarray(case.K * d[:, None, None] ** (-1 / p))
    plain = fit_weighted(scaled, case.y, 1.0, make_loss("hinge"), LpNorm(p), True, tol=1e-7)
    assert priced.objective == pytest.approx(plain.objective, rel=1e-6)
    assert np.sum(d * priced.weights**p) == pytest.approx(1.0)
    assert priced.weights * d ** (1 / p) == pytest.approx(plain.weights, abs=1e-3)


@every(
    "penalty",
    [LpNorm(1.0), LpNorm(1.7), LpNorm(np.inf), WeightedLpNorm(1.7, (0.5, 2.0, 1.0)), EllipticNorm(np.eye(3) + 0.5)],
)
def test_update_price_and_regulariser_belong_together(penalty):
    """update minimises sum n^2 / theta, dual_price maximises theta'Q, both over the same set: checked on random
    members.
    """
    rng = np.random.default_rng(2)
    n, Q = rng.uniform(0.1, 2, 3), rng.uniform(0.1, 2, 3)
    members = [penalty.scale(rng.uniform(0.01, 1, 3)) for _ in range(3000)]
    assert penalty.regulariser(n) <= min(0.5 * np.sum(n**2 / theta) for theta in members) + 1e-9
    best = max(0.5 * theta @ Q for theta in members)
    assert best <= penalty.dual_price(Q) + 1e-9
    assert best >= 0.95 * penalty.dual_price(Q)
    weights = penalty.scale(np.ones(3))
    following = penalty.update(weights, n**2 / weights**2)
    assert 0.5 * np.sum(n**2 / following) == pytest.approx(penalty.regulariser(n))


@every(
    "make, words",
    [
        (lambda: WeightedLpNorm(2.0, (1.0, -1.0)), "prices of the kernels"),
        (lambda: WeightedLpNorm(2.0, (1.0, 1.0)).start(3), "give one per kernel"),
        (lambda: BlockNorm(1.5), "must be 2 or more"),
        (lambda: EllipticNorm(np.ones((2, 3))), "finite square matrix"),
        (lambda: EllipticNorm(np.array([[1.0, 0.5], [0.0, 1.0]])), "must be symmetric"),
        (lambda: EllipticNorm(np.ones((2, 2))), "must be positive definite"),
        (lambda: EllipticNorm(np.eye(2)).start(3), "E is for 2 kernels"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(ParameterError, match=words):
        make()
