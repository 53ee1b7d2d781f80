"""Every loss at p = 1, 4/3 and infinity beyond each size at which a fit goes another way: each fit
is proved.

The sizes are constants of the solvers; here each is moved to that of a small problem, which then
stands on the other side of it, by one row or one kernel where the size counts these.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from mklcore import LOSSES, RBF, KernelDictionary, Linear, LpNorm, Nystroem
from mklcore.kernels.grams import Rows
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import make_loss
from tests.helpers.every import every, share
from tests.helpers.proofs import assert_proved
from tests.helpers.refusals import kernel_error

N = 36
D = 6
M = 2 * D
TOL = 1e-5
ORDERS = (1.0, 4 / 3, np.inf)
MEGABYTES = 8e-6 * N * N

# What takes the problem, which is small, to the side of a size where only large ones are: for
# kernels that are stored, that are made again, and that have features.
SIZES = {
    "stored": {
        "kernels all of which are live": {"lp.live.FROM_KERNELS": M + 1},
        "rows above which no pairs open": {"lp.schedule.MOST_ROWS": N - 1},
        "points that stay fixed inside": {"lp.interior.POINTS": 1},
        "points from which pairs come in blocks": {"problem.svm.BLOCKS_FROM": N},
        "machines in small chunks": {"problem.svm.CHUNK": 1},
    },
    "made again": {
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
    },
    "features": {
        "no size at all": {},
        "rows off their bounds that are dear": {"problem.dual_coordinate_descent.MOST_WORK": 0.0},
        "Hessians that are dear": {"lp.newton.MOST_WORK": 0.0},
        "a large C": {"lp.schedule.PASSES": 0.0, "lp.schedule.PRODUCTS": 0.0},
        "rows in pieces": {"kernels.features._VALUES": 1},
    },
}
RNG = np.random.default_rng(4)
X = RNG.normal(size=(N, D))
NUMBERS = X[:, 0] - np.sin(2 * X[:, 1]) + 0.5 * X[:, 2] ** 2 + 0.3 * RNG.normal(size=N)
LABELS = np.where(np.median(NUMBERS) < NUMBERS, 1.0, -1.0)
KERNELS = KernelDictionary.per_feature((Linear(), RBF(1.0)), D)
FORMS = {
    "stored": lambda: KERNELS.grams(X).values,
    "made again": lambda: Rows.build(KERNELS, X),
    "features": lambda: Nystroem(N).features(KERNELS, X, "multiplicative", False),
}


@cache
def kernels_of(form):
    return FORMS[form]()


def problem(name):
    """The target that suits a loss, C, and the loss; for the nu form C is 1 / (nu n)."""
    loss = make_loss(name)
    cost = 1.0 / (loss.nu * N) if name == "nu_one_class" else 1.0
    if loss.total or name == "one_class":
        return np.ones(N), cost, loss
    return LABELS if loss.signed else NUMBERS, cost, loss


def fitted(K, name, p):
    y, cost, loss = problem(name)
    return fit_weighted(K, y, cost, loss, LpNorm(p), loss.takes_intercept, tol=TOL, max_iter=2000)


def check(fit, name, p):
    """The certificate of the fit holds on the stored stack, and leaves hardly a gap."""
    y, cost, loss = problem(name)
    assert fit.status.ok, (name, p, fit.solver, fit.status)
    stack = kernels_of("stored")
    assert_proved(fit, stack, y, loss, cost, LpNorm(p), loss.takes_intercept, rel=1e-5)
    assert fit.dual_objective == pytest.approx(fit.objective, rel=3 * TOL), (name, p, fit.solver)


@every("form, way", [(form, way) for form, ways in SIZES.items() for way in ways])
def test_fits_across_a_size_are_proved_on_the_stored_stack(form, way, monkeypatch):
    """Each loss, at some orders or at all."""
    K = kernels_of(form)
    fits = []
    with monkeypatch.context() as changed:
        for place, value in SIZES[form][way].items():
            changed.setattr(f"mklcore.{place}", value)
        for name, p in share(product(LOSSES, ORDERS), 2):
            fits.append((fitted(K, name, p), name, p))
    for fit in fits:
        check(*fit)


@every("name", LOSSES)
def test_a_sum_that_is_too_large_to_store_is_done_without_or_refused_by_name(name, monkeypatch):
    loss = make_loss(name)
    is_done_without = loss.piecewise_linear and not loss.total
    rows = kernels_of("made again")
    with monkeypatch.context() as changed:
        changed.setattr("mklcore.lp.schedule.LARGEST_MB", 0.9 * MEGABYTES)
        if is_done_without:
            check(fitted(rows, name, np.inf), name, np.inf)
            return
        with kernel_error(
            r"The sum of the kernels on 36 rows takes 0 MB, above the 0 MB that are stored"
        ):
            fitted(rows, name, np.inf)
