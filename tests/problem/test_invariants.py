"""No answer leaves the driver unproved: a planted violation of every invariant, and what is refused
instead of published.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from mklcore import PENALTIES, LpMKLClassifier, LpNorm, PolynomialBasis, certificate
from mklcore.errors import ProofError
from mklcore.hkl.design import Design
from mklcore.hkl.graph import NodeWeights
from mklcore.hkl.inner import HullTask
from mklcore.hkl.search import HullSearch
from mklcore.lp.interleaved import Interleaved
from mklcore.lp.live import LiveKernels
from mklcore.lp.newton import Newton
from mklcore.lp.reweighting import Reweighting
from mklcore.lp.schedule import NEWTON_THEN_INTERIOR
from mklcore.problem.driver import Certificate, Iterate, Method, Status, run
from mklcore.problem.losses import make_loss
from mklcore.problem.problem import Problem
from mklcore.sparse.gomp import GOMP
from mklcore.sparse.greedy import EmpiricalGreedy, FunctionalGreedy, unit_step_divisors
from mklcore.sparse.smkl import SMKL
from tests.helpers.every import every
from tests.helpers.refusals import kernel_error
from tests.lp.test_properties import draw

DRAWN = draw(4, "hinge", n=30, M=10)
ROWS = np.random.default_rng(4).standard_normal((30, 3))


def weighted(cls, p=1.5):
    problem = Problem(DRAWN.y, 1.0, make_loss("hinge"), True, DRAWN.K, LpNorm(p))
    return cls(problem, tol=1e-3)


METHODS = {
    "wrapper": lambda: weighted(Reweighting),
    "newton": lambda: weighted(Newton, 1.0),
    "live kernels": lambda: weighted(partial(LiveKernels, phases=NEWTON_THEN_INTERIOR), 1.0),
    "interleaved": lambda: weighted(Interleaved),
    "gomp": lambda: GOMP(DRAWN.K, DRAWN.y[:, None], 0.01, n_kernels=3, score_tol=0.0),
    "algorithm 1": lambda: FunctionalGreedy(DRAWN.K, DRAWN.y, 0.01, n_kernels=10),
    "algorithm 2": lambda: EmpiricalGreedy(
        DRAWN.K, DRAWN.y, n_steps=5, linesearch=False, divisors=unit_step_divisors(DRAWN.K)
    ),
    "hkl": lambda: HullSearch(
        Design(ROWS, PolynomialBasis(2)),
        HullTask.at(0.1, DRAWN.y, make_loss("squared"), True),
        NodeWeights(4, 0.1),
    ),
    "smkl": lambda: SMKL(
        Problem(DRAWN.y, 1.0, make_loss("hinge"), True, DRAWN.K, PENALTIES["log"]()), tol=1e-3
    ),
}
CERTIFIED = ("wrapper", "newton", "live kernels", "interleaved", "algorithm 1", "hkl")


def planted(method, **changes):
    """The method, with its last point changed before it is handed out."""
    honest = method.polish
    method.polish = lambda best: replace(
        honest(best), **{name: change(honest(best)) for name, change in changes.items()}
    )
    return method


@every("name", METHODS)
def test_an_honest_method_passes_and_what_its_own_numbers_do_not_give_is_refused(name):
    assert np.isfinite(run(METHODS[name](), tol=1e-3, max_iter=50).objective)
    lowered = planted(METHODS[name](), objective=lambda p: p.objective - 1e-3 * abs(p.objective))
    with pytest.raises(
        ProofError, match=r"Invariant '(objective|dual below primal)' is violated: .* tells .*"
    ):
        run(lowered, tol=1e-3, max_iter=50)
    with pytest.raises(ProofError, match="Invariant 'objective' is violated"):
        run(planted(METHODS[name](), dual=lambda p: 1.01 * p.dual), tol=1e-3, max_iter=50)
    if name in CERTIFIED:
        method = METHODS[name]()
        certify = method.certify
        method.certify = lambda best, point: certify(best, 0.9 * point)
        with pytest.raises(
            ProofError, match=r"'dual value' is violated: .* tells .* its own coefficients give"
        ):
            run(method, tol=1e-3, max_iter=200)


def test_a_dual_value_without_a_point_is_refused():
    method = planted(
        weighted(Reweighting),
        dual_point=lambda p: None,
        dual_objective=lambda p: p.dual_objective + 1e-9,
    )
    with pytest.raises(ProofError, match="no point that proves it"):
        run(method, tol=1e-3, max_iter=50)


def test_balance_is_asked_for_by_the_intercept_that_was_free_and_not_by_its_value():
    a = np.where(DRAWN.y > 0, 1.0, 0.0)
    asked = (DRAWN.K, DRAWN.y, np.ones(10), a, 0.0, "hinge", 1.0, LpNorm(np.inf))
    assert certificate(*asked)[1] == -np.inf
    assert np.isfinite(certificate(*asked, fit_intercept=False)[1])


@dataclass
class Scripted(Method):
    """A method that shows prepared objectives and dual values, one point after the other."""

    points: list
    last: object = None
    name = "scripted"

    def _made(self, objective, dual):
        return Iterate(np.ones(2), np.zeros(3), 0.0, objective, dual, scale=1.0)

    def init(self):
        return self._made(*self.points[0])

    def step(self, best, last, trace):
        k = len(trace.history)
        return self._made(*self.points[k]) if k < len(self.points) else Status.STALLED

    def polish(self, best):
        return best if self.last is None else self._made(*self.last)


@every(
    "rounding, gap, ends",
    [
        (1e-4, 1e-9, Status.ROUNDED),
        (1e-4, 1e-6, Status.STALLED),
        (1e-10, 1e-9, Status.STALLED),
        (1e-4, 1e-13, Status.ROUNDED),
        (1e-14, 5e-15, Status.CONVERGED),
    ],
)
def test_a_gap_that_is_rounding_is_no_stall(rounding, gap, ends):
    class Rounded(Scripted):
        def _made(self, objective, dual):
            return replace(super()._made(objective, dual), scale=1e-12, dual_point=np.zeros(3))

        def certify(self, best, dual_point):
            return Certificate(best.objective, best.dual_objective, rounding)

    fit = run(Rounded([(1.0, 1.0 - gap)]), tol=1e-3, max_iter=9)
    assert fit.status is ends
    assert fit.gap == fit.history[-1].gap == pytest.approx(max(min(rounding, 1e-7), gap), rel=0.02)


def test_rows_no_fit_can_save_at_a_huge_C_end_where_digits_end(rng):
    """ "Relative gap reached 1e-10, tolerance asked 1e-3" was the warning: R is far below the
    objective.
    """
    rows = rng.integers(0, 4, size=(4, 3)).astype(float)[rng.integers(0, 4, 40)]
    labels = rng.integers(0, 2, 40)
    model = LpMKLClassifier(C=1e6, p=2).fit(rows, labels)  # a warning would be an error
    assert model.status_.ok
    assert model.dual_gap_ <= 1.001e-7 * model.objective_


@every("points, words", [
    ([(9.0, 1.0), (7.65, 8.35)], "'dual below primal' is violated: .* 8.35 above its objective 7.65"),
    # Without a certificate the last point counts, as for greedy methods: it may not be worse than
    # an earlier one.
    ([(6.0, None), (3.0, None), (5.0, None)], "'history' is violated: scripted ends at 5, 2 above the best point"),
])  # fmt: skip
def test_a_dual_value_above_the_objective_and_an_end_above_what_was_seen_are_refused(points, words):
    with pytest.raises(ProofError, match=f"Invariant {words}"):
        run(Scripted(points), tol=1e-3, max_iter=9)


def test_a_dual_value_above_the_objective_by_rounding_is_published_as_the_objective():
    fit = run(Scripted([(9.0, 1.0), (7.65, 7.65 * (1 + 1e-12))]), tol=1e-3, max_iter=9)
    assert fit.status.ok
    assert fit.dual_objective == fit.objective == 7.65
    assert fit.gap == 0.0


def test_what_running_sums_reported_is_corrected_when_values_are_computed_again():
    class Drifting(Scripted):
        def restate(self, best, dual_point):
            return self._made(best.objective + 0.5, 2.0)

    fit = run(Drifting([(6.0, 1.0), (3.0, 2.5)]), tol=1e-3, max_iter=9)
    assert (fit.objective, fit.dual_objective, fit.status) == (3.5, 2.0, Status.STALLED)
    assert [record.objective for record in fit.history] == [6.0, 3.5, 3.5]
    assert [record.dual_objective for record in fit.history] == [1.0, 2.0, 2.0]
    assert [record.gap for record in fit.history] == [5.0, 1.5, 1.5]


def test_a_polish_that_costs_more_than_the_tolerance_is_undone_and_its_dual_is_heard():
    fit = run(Scripted([(6.0, 1.0), (3.0, 1.5)], last=(3.5, 2.5)), tol=1e-3, max_iter=9)
    assert (fit.objective, fit.dual_objective) == (3.0, 2.5)
    kept = run(Scripted([(6.0, 1.0), (3.0, 1.5)], last=(3.0005, 1.0)), tol=1e-3, max_iter=9)
    assert (kept.objective, kept.dual_objective) == (3.0005, 1.5)


def test_round_off_that_explains_a_difference_is_reported_with_the_scales():
    method = weighted(Reweighting)
    method.certify = lambda best, point: Certificate(
        1.1 * best.objective, best.dual_objective, best.objective
    )
    with kernel_error(r"cannot be weighed in double precision: the kernels have mean diagonals"):
        run(method, tol=1e-3, max_iter=50)


@every("fault", [ZeroDivisionError("division by zero"), OverflowError(), np.linalg.LinAlgError()])
def test_a_numerical_fault_inside_a_method_leaves_as_an_error_of_ours(fault):
    method = weighted(Reweighting)

    def step(*_):
        raise fault

    method.step = step
    with kernel_error(
        r"cannot be weighed in double precision: .*(Take|or take) a smaller C"
    ) as reported:
        run(method, tol=1e-12, max_iter=50)
    assert reported.value.__cause__ is fault
