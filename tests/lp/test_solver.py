"""lp-norm MKL against trusted optima, by reductions, and by its own certificate."""

from itertools import pairwise

import numpy as np
import pytest

from mklcore import EllipticNorm, LpNorm, MKLError
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.driver import Status
from mklcore.problem.losses import make_loss
from tests.helpers.every import EVERY_CASE, every
from tests.oracles.reference import lp_optima

OPTIMA = lp_optima()
# Three of five: every loss is there with every penalty on every kind of kernels.
MOST = [case for k, case in enumerate(OPTIMA) if EVERY_CASE or k % 5 < 3]


def _fit(case, solver="auto", **more):
    tol = 1e-7 if isinstance(case.penalty, LpNorm) else 1e-6
    asked = case.K, case.y, case.C, make_loss(case.loss), case.penalty, case.fit_intercept
    return fit_weighted(*asked, solver=solver, tol=tol, max_iter=3000, **more)


@every("case", MOST)
def test_every_trusted_optimum(case):
    fit = _fit(case)
    order = getattr(case.penalty, "p", None)
    assert fit.status.ok
    assert fit.objective == pytest.approx(case.objective, rel=1e-5 if order is None else 1e-6)
    assert fit.dual_objective <= case.lower + 1e-7 * case.objective
    assert fit.objective >= case.objective * (1 - 1e-7)
    if isinstance(case.penalty, EllipticNorm):
        assert fit.weights == pytest.approx(case.weights, abs=5e-3)
    elif order and case.part == "generic" and not (np.isinf(order) and case.loss == "one_class"):
        # they are unique
        assert fit.weights == pytest.approx(case.weights, abs=2e-3)
    if order:
        decision = np.tensordot(fit.weights, case.K, 1) @ fit.dual_coef + fit.intercept
        # the intercept is an interval there
        loose = case.part == "dup" and case.loss == "hinge" and case.C == 0.1
        assert decision == pytest.approx(case.decision, abs=7e-3 if loose else 2e-3)


@every(
    "case",
    [
        c
        for c in MOST
        if c.part == "generic" and c.C == 1.0 and getattr(c.penalty, "p", np.inf) <= 2.0
    ],
)
def test_newton_takes_few_steps_near_p_1_where_the_analytic_update_takes_many(case):
    fit = _fit(case, "newton")
    assert fit.status.ok
    assert fit.solves <= 20


def test_history_only_improves_and_a_callback_ends_it_with_the_best_point():
    case = next(
        c
        for c in OPTIMA
        if (c.part, c.loss, c.C, c.penalty) == ("generic", "hinge", 10.0, LpNorm(1.0))
    )
    records = _fit(case).history
    # zeroing negligible weights at the end may cost this much
    pruned = 1e-6 * records[-1].objective
    assert all(after.objective <= before.objective + pruned for before, after in pairwise(records))
    assert all(after.dual_objective >= before.dual_objective for before, after in pairwise(records))
    fit = _fit(case, callback=lambda record: record.iteration >= 1)
    assert fit.status is Status.CANCELLED
    assert fit.n_iter == 1
    assert np.isfinite(fit.objective)


def test_a_wildly_scaled_problem_says_so_instead_of_returning_nonsense():
    case = OPTIMA[0]
    with pytest.raises(MKLError, match="badly scaled"), np.errstate(all="ignore"):
        fit_weighted(
            case.K * 1e300, case.y * 1e200, 1e100, make_loss("squared"), LpNorm(2.0), False
        )
