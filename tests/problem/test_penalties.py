"""Norms of the kernel weights against their definitions: conjugates and smallest values by
maximisation, claims, reductions.
"""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

import mklcore as mkl
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import BlockNorm, ElasticNet, EllipticNorm, LpNorm, WeightedLpNorm
from mklcore.problem.problem import Problem
from tests.helpers.every import every
from tests.helpers.refusals import refused
from tests.lp.test_properties import draw

NORMS = [
    *map(LpNorm, (1.0, 1.7, 4.0, np.inf)),
    WeightedLpNorm(1.7, (0.5, 2.0, 1.0)),
    WeightedLpNorm(np.inf, (0.5, 2.0, 1.0)),
    *map(BlockNorm, (2.0, 4.0, np.inf)),
    EllipticNorm(np.eye(3) + 0.5),
    *map(ElasticNet, (0.05, 0.3, 1.0)),
]


@every("seed", range(4))
@every("penalty", NORMS)
def test_conjugate_regulariser_and_update_belong_together(penalty, seed):
    """conjugate is that of the regulariser, which is the least weighted sum: the one
    after an update.
    """
    n, pull = 10.0 ** np.random.default_rng(seed).uniform(-1, 0.6, (2, 3))
    conjugate = penalty.conjugate(pull**2)
    assert pull @ n <= penalty.regulariser(n) + conjugate + 1e-9
    reached = min(
        minimize(lambda m: penalty.regulariser(m) - pull @ m, start, bounds=[(0, None)] * 3, method="Nelder-Mead",
                 options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000, "maxfev": 4000}).fun
        for start in (pull, np.full(3, pull.sum()), 1e-3 + pull * (pull == pull.max()))
    )  # fmt: skip
    assert -reached == pytest.approx(conjugate, rel=1e-4, abs=1e-9)
    if isinstance(penalty, BlockNorm):  # its weights ascend, to the conjugate itself
        assert 0.5 * penalty.update(np.ones(3), pull**2) @ pull**2 == pytest.approx(conjugate)
        return
    theta = penalty.update(np.ones(3), n**2)
    assert 0.5 * np.sum(n**2 / theta) + penalty.cost(theta) == pytest.approx(
        penalty.regulariser(n), rel=1e-9
    )
    if not isinstance(penalty, ElasticNet):  # whose weights lie on no surface
        assert penalty.scale(theta) == pytest.approx(theta)


@every("penalty, n, expected", [
    (LpNorm(1.0), (3.0, 4.0), 24.5),
    (LpNorm(np.inf), (3.0, 4.0), 12.5),
    (BlockNorm(np.inf), (3.0, 4.0), 8.0),
    (WeightedLpNorm(np.inf, (1.0, 4.0)), (3.0, 4.0), 12.5),
    (EllipticNorm(np.eye(2)), (0.0, 4.0), 8.0),
    (ElasticNet(0.25), (3.0, 4.0), 0.75 * 7.0 + 0.125 * 25.0),
])  # fmt: skip
def test_penalties_by_hand(penalty, n, expected):
    assert penalty.regulariser(np.array(n)) == pytest.approx(expected)


@every("penalty", NORMS)
def test_what_the_norms_claim_is_what_their_conjugates_say(penalty):
    penalty.check_claims(3)


def test_the_elastic_net_keeps_fewer_kernels_the_fewer_its_squares_and_none_at_a_small_cost():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 6))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * rng.standard_normal(50)
    K = (
        mkl.KernelDictionary.per_feature(mkl.Linear(), 6)
        + mkl.KernelDictionary.rbf_grid([0.5, 1.0, 2.0])
    ).grams(X)

    def fitted(C, mu):
        return fit_weighted(K.values, y, C, make_loss("squared"), ElasticNet(mu), True)

    used = [np.count_nonzero(fitted(0.05, mu).weights) for mu in (0.05, 0.3, 0.8, 1.0)]
    assert all(a <= b for a, b in pairwise(used))
    assert used[0] < used[-1] == 9
    none = fitted(1e-3, 0.2)
    assert none.status.ok
    assert not none.weights.any()
    assert none.objective == pytest.approx(0.5e-3 * np.sum((y - y.mean()) ** 2), rel=1e-9)


def test_refusals():
    refused(
        *((lambda p=p: LpNorm(p), "must be 1 or more") for p in (0.5, np.nan, "2", None)),
        (lambda: WeightedLpNorm(2.0, (1.0, -1.0)), "coefficients of the kernels"),
        (lambda: WeightedLpNorm(2.0, (1.0, 1.0)).start(3), "give one per kernel"),
        (lambda: BlockNorm(1.5), "must be 2 or more"),
        (lambda: EllipticNorm(np.ones((2, 3))), "finite square matrix"),
        (lambda: EllipticNorm(np.array([[1.0, 0.5], [0.0, 1.0]])), "must be symmetric"),
        (lambda: EllipticNorm(np.ones((2, 2))), "must be positive definite"),
        (lambda: EllipticNorm(np.eye(2)).start(3), "E is for 2 kernels"),
        *(
            (lambda mu=mu: ElasticNet(mu), "share of the squared norms")
            for mu in (0.0, -1.0, 1.5, True, "half")
        ),
    )


def test_a_penalty_that_is_not_homogeneous_gets_a_true_bound():
    drawn = draw(4, "hinge", n=30, M=10)
    loss = make_loss("hinge")
    penalty = ElasticNet(0.2)
    a = 0.05 * drawn.y
    K = drawn.K
    Q = np.einsum("i,mij,j->m", a, K, a)
    bound = Problem(drawn.y, 1.0, loss, True, K, penalty).bound(a, Q)
    forms = np.einsum("i,mij,j->m", bound.point, K, bound.point)
    assert bound.value == pytest.approx(
        loss.dual(bound.point, drawn.y, 1.0) - penalty.conjugate(forms), rel=1e-9
    )
    grid = [
        loss.dual(s * a, drawn.y, 1.0) - penalty.conjugate(s * s * Q)
        for s in np.linspace(0.0, 20.0, 2001)
    ]
    assert bound.value == pytest.approx(max(grid), rel=1e-4)
