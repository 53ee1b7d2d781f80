"""lp-norm MKL against trusted optima, by reductions, and by its own certificate."""

from itertools import pairwise

import numpy as np
import pytest

from mklcore.errors import MKLError, ParameterError
from mklcore.losses import make_loss
from mklcore.machines import machine_of
from mklcore.penalties import LpNorm, vector_norm
from mklcore.solvers import certificate, fit_weighted
from mklcore.solvers.driver import Status
from mklcore.solvers.problem import WarmStart
from tests.reference import lp_optima

OPTIMA = lp_optima()
SHARP = 1e-7


def _fit(case, solver="auto", tol=SHARP, **more):
    return fit_weighted(
        case.K,
        case.y,
        case.C,
        make_loss(case.loss),
        LpNorm(case.order),
        case.fit_intercept,
        solver=solver,
        tol=tol,
        max_iter=3000,
        **more,
    )


@pytest.mark.parametrize("case", OPTIMA, ids=lambda case: case.name)
def test_every_trusted_optimum(case):
    fit = _fit(case)
    assert fit.status.ok
    assert fit.objective == pytest.approx(case.objective, rel=1e-6)
    assert fit.dual_objective <= case.lower + 1e-7 * case.objective
    assert fit.objective >= case.objective * (1 - 1e-7)
    unique = case.part == "generic" and not (np.isinf(case.order) and case.loss == "one_class")
    if unique:
        assert fit.weights == pytest.approx(case.weights, abs=2e-3)
    decision = np.tensordot(fit.weights, case.K, 1) @ fit.dual_coef + fit.intercept
    loose = case.part == "dup" and case.loss == "hinge" and case.C == 0.1  # the intercept is an interval there
    assert decision == pytest.approx(case.decision, abs=7e-3 if loose else 2e-3)


@pytest.mark.parametrize(
    "case",
    [c for c in OPTIMA if c.loss in ("hinge", "squared") and c.part == "generic" and c.C == 1.0],
    ids=lambda c: c.name,
)
def test_analytic_and_newton_updates_agree_in_objective(case):
    if np.isinf(case.order):
        with pytest.raises(ParameterError, match="finite p"):
            _fit(case, "newton")
        return
    newton, analytic = _fit(case, "newton", 1e-6), _fit(case, "wrapper", 1e-4)
    assert newton.status.ok
    if case.order > 1:  # at p = 1 the optimum may be a kink that no single machine solution certifies
        assert analytic.status.ok
    assert analytic.objective == pytest.approx(newton.objective, rel=2e-4)
    assert analytic.dual_objective <= newton.objective
    assert newton.dual_objective <= analytic.objective


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0, np.inf])
@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_one_kernel_is_the_machine_itself(loss, p):
    case = OPTIMA[0]
    y = case.y
    fit = fit_weighted(case.K[:1], y, 1.0, make_loss(loss), LpNorm(p), True, tol=1e-8)
    alone = machine_of(make_loss(loss))(case.K[0], y, 1.0, make_loss(loss), True, accuracy=1e-9)
    assert fit.weights == pytest.approx([1.0])
    assert fit.objective == pytest.approx(alone.objective, rel=1e-7)


@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_infinite_p_is_the_plain_sum(loss):
    case = OPTIMA[0]
    fit = fit_weighted(case.K, case.y, 1.0, make_loss(loss), LpNorm(np.inf), True, tol=1e-8)
    alone = machine_of(make_loss(loss))(case.K.sum(axis=0), case.y, 1.0, make_loss(loss), True, accuracy=1e-9)
    assert np.array_equal(fit.weights, np.ones(len(case.K)))
    assert fit.objective == pytest.approx(alone.objective, rel=1e-7)


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0])
def test_permuting_kernels_permutes_weights(p):
    case = OPTIMA[0]
    order = np.random.default_rng(0).permutation(len(case.K))
    plain = fit_weighted(case.K, case.y, 1.0, make_loss("hinge"), LpNorm(p), True, tol=1e-8)
    mixed = fit_weighted(
        np.ascontiguousarray(case.K[order]), case.y, 1.0, make_loss("hinge"), LpNorm(p), True, tol=1e-8
    )
    assert mixed.weights == pytest.approx(plain.weights[order], abs=1e-3)
    assert mixed.objective == pytest.approx(plain.objective, rel=1e-7)


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0])
def test_duplicates_share(p):
    """Two copies at p act as one kernel 2^(1 - 1/p) K with weight 2^(1/p) theta; above p = 1 they share equally."""
    case = OPTIMA[0]
    twice = np.concatenate([case.K, case.K[1:2]])
    scaled = case.K.copy()
    scaled[1] *= 2 ** (1 - 1 / p)
    fit = fit_weighted(twice, case.y, 1.0, make_loss("hinge"), LpNorm(p), True, tol=1e-8)
    single = fit_weighted(scaled, case.y, 1.0, make_loss("hinge"), LpNorm(p), True, tol=1e-8)
    assert fit.objective == pytest.approx(single.objective, rel=1e-6)
    if p > 1:
        assert fit.weights[1] == pytest.approx(fit.weights[-1], rel=1e-6)
        assert 2 ** (1 / p) * fit.weights[1] == pytest.approx(single.weights[1], abs=1e-3)
    else:
        assert fit.weights[1] + fit.weights[-1] == pytest.approx(single.weights[1], abs=1e-3)


@pytest.mark.parametrize("scale", [0.1, 30.0])
def test_scaling_kernels_against_C_leaves_the_decisions(scale):
    case = OPTIMA[0]
    plain = fit_weighted(case.K, case.y, 1.0, make_loss("hinge"), LpNorm(1.5), True, tol=1e-9)
    moved = fit_weighted(scale * case.K, case.y, 1.0 / scale, make_loss("hinge"), LpNorm(1.5), True, tol=1e-9)
    assert moved.objective * scale == pytest.approx(plain.objective, rel=1e-7)
    assert moved.weights == pytest.approx(plain.weights, abs=1e-4)


@pytest.mark.parametrize(
    ("solver", "p"), [("newton", 1.0), ("newton", 1.2), ("newton", 2.0), ("wrapper", 1.2), ("wrapper", 2.0)]
)
def test_warm_start_reaches_the_same_optimum(solver, p):
    case = OPTIMA[0]
    other = fit_weighted(case.K, case.y, 0.3, make_loss("hinge"), LpNorm(p), True, tol=1e-4)
    warm = WarmStart(other.weights, other.dual_coef, 0.3)
    tol = 1e-3 if solver == "wrapper" else 1e-6
    started = fit_weighted(
        case.K, case.y, 1.0, make_loss("hinge"), LpNorm(p), True, solver=solver, tol=tol, warm=warm, max_iter=3000
    )
    cold = fit_weighted(case.K, case.y, 1.0, make_loss("hinge"), LpNorm(p), True, tol=1e-8)
    assert started.status.ok
    assert started.objective - cold.objective <= started.gap + 1e-9
    assert started.objective == pytest.approx(cold.objective, rel=tol)


def test_weights_lie_on_the_unit_sphere():
    for case in OPTIMA[::7]:
        if np.isfinite(case.order):
            assert vector_norm(_fit(case, tol=1e-3).weights, case.order) == pytest.approx(1.0)


def test_certificate_brackets_the_optimum_at_any_point():
    rng = np.random.default_rng(0)
    for case in (c for c in OPTIMA if c.loss in ("hinge", "squared") and c.C == 1.0):
        loss, penalty = make_loss(case.loss), LpNorm(case.order)
        for _ in range(5):
            weights = penalty.scale(rng.random(len(case.K)))
            low, high = loss.box(case.y, case.C)
            a = np.clip(rng.standard_normal(case.y.size) * 0.1, low, high)
            a -= np.where(a != 0, a.sum() / np.count_nonzero(a), 0.0)
            a = np.clip(a, low, high)
            primal, dual = certificate(
                case.K, case.y, weights, a, 0.3 * rng.standard_normal(), case.loss, case.C, penalty
            )
            assert primal >= case.lower - 1e-9
            assert dual <= case.objective + 1e-9


def test_certificate_agrees_with_the_fit():
    case = OPTIMA[0]
    fit = _fit(case)
    primal, dual = certificate(
        case.K, case.y, fit.weights, fit.dual_coef, fit.intercept, case.loss, case.C, LpNorm(case.order)
    )
    assert primal == pytest.approx(fit.objective, rel=1e-9)
    assert dual <= fit.dual_objective + 1e-9


def test_value_is_convex_and_its_gradient_is_minus_half_Q():
    case = OPTIMA[0]

    def value(theta):
        found = machine_of(make_loss("hinge"))(
            np.tensordot(theta, case.K, 1), case.y, 1.0, make_loss("hinge"), True, accuracy=1e-12
        )
        return found.objective, found.dual

    rng = np.random.default_rng(3)
    one, two = rng.random(len(case.K)), rng.random(len(case.K))
    assert value(0.5 * (one + two))[0] <= 0.5 * (value(one)[0] + value(two)[0]) + 1e-8
    direction, h = rng.standard_normal(one.size), 1e-5
    slope = (value(one + h * direction)[0] - value(one - h * direction)[0]) / (2 * h)
    a = value(one)[1]
    Q = np.array([a @ kernel @ a for kernel in case.K])
    assert slope == pytest.approx(-0.5 * Q @ direction, rel=1e-4)


def test_callback_cancels_and_the_best_point_is_kept():
    case = next(c for c in OPTIMA if c.name.startswith("generic-hinge-C10-1"))
    fit = _fit(case, callback=lambda record: record.iteration >= 1)
    assert fit.status is Status.CANCELLED
    assert fit.n_iter == 1
    assert np.isfinite(fit.objective)


def test_history_only_improves():
    case = next(c for c in OPTIMA if c.name.startswith("generic-hinge-C10-1"))
    records = _fit(case).history
    pruned = 1e-6 * records[-1].objective  # zeroing negligible weights at the end may cost this much
    assert all(after.objective <= before.objective + pruned for before, after in pairwise(records))
    assert all(after.dual_objective >= before.dual_objective for before, after in pairwise(records))


def test_same_problem_same_answer():
    case = OPTIMA[4]
    assert np.array_equal(_fit(case).weights, _fit(case).weights)


@pytest.mark.parametrize("p", [0.5, np.nan, "2", None])
def test_p_below_one_is_refused(p):
    with pytest.raises(ParameterError, match="must be 1 or more"):
        LpNorm(p)


def test_unknown_solver_is_refused():
    with pytest.raises(ParameterError, match="no solver called 'magic'"):
        _fit(OPTIMA[0], "magic")


def test_a_wildly_scaled_problem_says_so_instead_of_returning_nonsense():
    case = OPTIMA[0]
    with pytest.raises(MKLError, match="badly scaled"), np.errstate(all="ignore"):
        fit_weighted(case.K * 1e300, case.y * 1e200, 1e100, make_loss("squared"), LpNorm(2.0), False)
