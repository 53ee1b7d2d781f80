"""Every loss at p = 1, 4/3 and infinity on both sides of each size at which a fit goes another way:
the answers are alike.

The sizes are constants of the solvers; here each is moved to that of a small problem, which then
stands on the other side of it, by one row or one kernel where the size counts these. On its own
side every size stands in the fits compared with.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import KernelError
from mklcore.kernels.features import Nystroem
from mklcore.kernels.grams import Rows
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import LOSSES, make_loss
from mklcore.problem.penalties import LpNorm
from mklcore.problem.problem import certificate
from tests.helpers.every import every, share

N = 36
D = 6
M = 2 * D
TOL = 1e-5
ORDERS = (1.0, 4 / 3, np.inf)
MEGABYTES = 8e-6 * N * N

# What takes the problem, which is small, to the side of a size where only large ones are.
STORED = {
    "kernels all of which are live": {"lp.live.FROM_KERNELS": M + 1},
    "rows above which no pairs open": {"lp.schedule.MOST_ROWS": N - 1},
    "points that stay fixed inside": {"lp.interior.POINTS": 1},
    "points from which pairs come in blocks": {"problem.svm.BLOCKS_FROM": N},
    "machines in small chunks": {"problem.svm.CHUNK": 1},
}
NOT_STORED = {
    "no size at all": {},
    "room for hardly any": {"lp.live.ROOM_MB": 4.5 * MEGABYTES, "lp.live.FEWEST": 2},
    "room for three, however few are many": {
        "lp.live.ROOM_MB": 0.0,
        "lp.live.MOST_MB": 3.0 * MEGABYTES,
    },
    "fewer kernels to begin with": {"lp.live.FEWEST": 4, "lp.live.FIRST": 4},
    "rows that the cache does not hold": {
        "lp.interleaved.CACHE_MB": 0.0,
        "lp.interleaved.MIXED_MB": 0.0,
    },
    "rows whose sum is not made": {"kernels.grams.MOST_SUMMED_ROWS": N - 1},
}
FEATURES = {
    "no size at all": {},
    "rows off their bounds that are dear": {"problem.dual_coordinate_descent.MOST_WORK": 0.0},
    "Hessians that are dear": {"lp.newton.MOST_WORK": 0.0},
    "a large C": {"lp.schedule.PASSES": 0.0, "lp.schedule.PRODUCTS": 0.0},
    "rows in pieces": {"kernels.features._VALUES": 1},
}


class Sizes:
    """The problem as every way has it: kernels stored, in single precision, made again, and as
    features.
    """

    def __init__(self):
        rng = np.random.default_rng(4)
        X = rng.normal(size=(N, D))
        numbers = X[:, 0] - np.sin(2 * X[:, 1]) + 0.5 * X[:, 2] ** 2 + 0.3 * rng.normal(size=N)
        self.numbers = numbers
        self.labels = np.where(numbers > np.median(numbers), 1.0, -1.0)
        kernels = mkl.KernelDictionary.per_feature((mkl.Linear(), mkl.RBF(1.0)), D)
        self.stack = kernels.grams(X).values
        self.rows = Rows.build(kernels, X)
        self.features = Nystroem(N).features(kernels, X, "multiplicative", False)
        self._plain = {}

    def target(self, name):
        """The target that suits a loss."""
        loss = make_loss(name)
        if loss.total or name == "one_class":
            return np.ones(N)
        return self.labels if loss.signed else self.numbers

    def cost(self, name):
        """C, and for the nu form 1 / (nu n)."""
        return 1.0 / (make_loss(name).nu * N) if name == "nu_one_class" else 1.0

    def plain(self, name, p, C):
        """The objective of a fit on the stored stack, with every size where it belongs."""
        if (name, p, C) not in self._plain:
            self._plain[name, p, C] = self.fitted(self.stack, name, p, C, tol=1e-6).objective
        return self._plain[name, p, C]

    def fitted(self, K, name, p, C=None, tol=TOL, warm=None):
        """One fit."""
        loss = make_loss(name)
        C = C or self.cost(name)
        return fit_weighted(
            K,
            self.target(name),
            C,
            loss,
            LpNorm(p),
            loss.takes_intercept,
            tol=tol,
            warm=warm,
            max_iter=2000,
        )

    def checked(self, fit, name, p, C=None):
        """The fit is near the plain one, and its certificate holds on the stored stack."""
        loss = make_loss(name)
        y = self.target(name)
        C = C or self.cost(name)
        assert fit.status.ok, (name, p, C, fit.solver, fit.status)
        parts = fit.weights, fit.dual_coef, fit.intercept
        reported = certificate(
            self.stack, y, *parts, loss, C, LpNorm(p), fit.dual_point, loss.takes_intercept
        )
        assert reported == pytest.approx((fit.objective, fit.dual_objective), rel=1e-5), (
            name,
            p,
            C,
            fit.solver,
        )
        assert fit.objective == pytest.approx(self.plain(name, p, C), rel=3 * TOL), (
            name,
            p,
            C,
            fit.solver,
        )


@pytest.fixture(scope="module")
def sizes():
    return Sizes()


def every_fit(sizes, K, sizes_changed, monkeypatch):
    """Each loss, at some orders or at all, on ``K`` with other sizes, and each compared."""
    fitted = []
    with monkeypatch.context() as changed:
        for place, value in sizes_changed.items():
            changed.setattr(f"mklcore.{place}", value)
        for name, p in share(product(LOSSES, ORDERS), 2):
            fitted.append((sizes.fitted(K, name, p), name, p))
    for fit in fitted:
        sizes.checked(*fit)
    return [fit for fit, _, _ in fitted]


@every("way", STORED)
def test_stored_kernels_across_a_size(sizes, way, monkeypatch):
    every_fit(sizes, sizes.stack, STORED[way], monkeypatch)


@every("way", NOT_STORED)
def test_kernels_that_are_not_stored_across_a_size(sizes, way, monkeypatch):
    every_fit(sizes, sizes.rows, NOT_STORED[way], monkeypatch)


@every("way", FEATURES)
def test_features_across_a_size(sizes, way, monkeypatch):
    every_fit(sizes, sizes.features, FEATURES[way], monkeypatch)


@every("name", LOSSES)
def test_a_sum_that_is_too_large_to_store_is_done_without_or_refused_by_name(
    sizes, name, monkeypatch
):
    loss = make_loss(name)
    is_done_without = loss.piecewise_linear and not loss.total
    if is_done_without:  # compared with, while all sizes are as they are
        sizes.plain(name, np.inf, sizes.cost(name))
    with monkeypatch.context() as changed:
        changed.setattr("mklcore.lp.schedule.LARGEST_MB", 0.9 * MEGABYTES)
        if is_done_without:
            sizes.checked(sizes.fitted(sizes.rows, name, np.inf), name, np.inf)
            return
        with pytest.raises(
            KernelError,
            match=r"The sum of the kernels on 36 rows takes 0 MB, above the 0 MB that are stored",
        ):
            sizes.fitted(sizes.rows, name, np.inf)
