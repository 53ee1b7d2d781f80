"""Every loss with every penalty under every solver: a certified optimum, or a refusal that says what is missing."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import ParameterError
from mklcore.losses import LOSSES, make_loss
from mklcore.penalties import BlockNorm, ElasticNet, EllipticNorm, LpNorm, WeightedLpNorm, norms
from mklcore.solvers import SOLVERS, fit_weighted
from mklcore.solvers.driver import Status

N = 20
RNG = np.random.default_rng(3)
X = RNG.standard_normal((N, 3))
TARGET = X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * RNG.standard_normal(N)
K = (mkl.KernelDictionary.rbf_grid([0.5, 2.0]) + mkl.KernelDictionary.per_feature(mkl.RBF(1.0), 3)).grams(X).values
PENALTIES = (
    LpNorm(1.0),
    LpNorm(2.0),
    LpNorm(np.inf),
    WeightedLpNorm(1.5, (1.0, 2.0, 1.0, 3.0, 1.0)),
    BlockNorm(4.0),
    EllipticNorm(np.eye(5) + 0.1),
    ElasticNet(0.3),
)


def solved(name, penalty, solver, C):
    """The fit of one triple on a target that suits the loss; None, and the reason, where it is refused."""
    loss = make_loss(name)
    y = TARGET if "regression" in loss.tasks else np.where(TARGET > 0, 1.0, -1.0)
    y = np.ones(N) if "novelty" in loss.tasks else y
    cost = 1.0 / (0.5 * N) if loss.total else C
    try:
        return fit_weighted(K, y, cost, loss, penalty, loss.takes_intercept, solver=solver), ""
    except ParameterError as error:
        return None, str(error)


@pytest.mark.parametrize("name", LOSSES)
def test_every_triple_is_certified_or_refused(name):
    assert {penalty.name for penalty in PENALTIES} == set(norms())
    for penalty in PENALTIES:
        for solver in ("auto", *SOLVERS):
            for C in (1.0, 100.0):
                fit, refused = solved(name, penalty, solver, C)
                triple = f"{name}, {penalty}, {solver}, C = {C:g}: {refused or fit.status.name}"
                if fit is None:
                    assert solver != "auto", triple
                    assert "needs" in refused or "p = 1 only" in refused, triple
                else:
                    assert fit.status is Status.CONVERGED, triple
                    assert 0.0 <= fit.gap <= 1e-3 * abs(fit.objective), triple


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_cutting_planes_ask_for_sharper_machines_where_the_gap_stands_still(C):
    """The bound feels the machine's error to first order, so that machines as sharp as the tolerance left a gap for ever."""
    planes, _ = solved("huber", LpNorm(1.0), "silp", C)
    exact, _ = solved("huber", LpNorm(1.0), "auto", C)
    assert planes.solves < 100
    assert exact.dual_objective <= planes.objective
    assert planes.dual_objective <= exact.objective


@pytest.mark.parametrize(("loss", "C"), [("hinge", 1.0), ("squared", 10.0), ("logistic", 10.0)])
def test_cutting_planes_reach_a_fine_tolerance_or_say_that_they_stand_still(loss, C):
    """The linear programme's own tolerance gave the same theta for ever, and "raise max_iter" was the advice."""
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((40, 3))
    y = np.sign(rows[:, 0] + np.sin(2 * rows[:, 1]) + 0.3 * rng.standard_normal(40))
    widths = mkl.KernelDictionary.rbf_grid([0.25, 0.5, 1, 2, 4]).grams(rows).values
    fits = [
        fit_weighted(widths, y, C, make_loss(loss), LpNorm(1.0), True, solver="silp", tol=tol, max_iter=100)
        for tol in (1e-5, 1e-13)
    ]
    assert fits[0].status is Status.CONVERGED
    assert fits[1].status in (Status.STALLED, Status.CONVERGED)
    assert fits[1].gap <= 1e-5 * fits[1].objective
