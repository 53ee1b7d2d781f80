"""What is tried after what: one table from classes of problems to the methods that solve them, in their order.

The first row that holds for a problem is taken. A phase ends where its method is done or stands still, or where
``leave`` says that the next one goes on faster; the driver sees a single history. Each row ends with the problem on
which ``benchmarks.ablation`` measures it, beside the table without it: the figures are in docs/ablation.md, those of
the phases, too. A is breast_cancer, 398 rows and 50 kernels, B is digits, 1257 rows and 50 kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.grams import LazySum
from mklcore.kernels.operators import CachedOperator, Capability, Dense, cached, is_stored
from mklcore.penalties import LpNorm
from mklcore.solvers import column_generation, working_set
from mklcore.solvers.column_generation import ColumnGeneration, most_kernels
from mklcore.solvers.driver import AnyIterate, Iterate, Progress, Status, Trace
from mklcore.solvers.homotopy import Homotopy, is_too_free
from mklcore.solvers.interior import Interior
from mklcore.solvers.interleaved import Interleaved, lacking
from mklcore.solvers.newton import Newton, newton_exponent
from mklcore.solvers.problem import Carried, OfAnother, Problem, WarmStart, WarmState, WeightedMethod
from mklcore.solvers.proof import Certificate, forms_with_weight
from mklcore.solvers.reweighting import Reweighting
from mklcore.solvers.screening import Screened
from mklcore.solvers.silp import SILP
from mklcore.solvers.totals import FromTotals
from mklcore.solvers.working_set import WorkingSet


@dataclass(frozen=True)
class ScheduleSettings:
    """Where one row of the table or one phase gives way to the next.

    A value changes how long a fit takes, not what its certificate proves.
    """

    finest: float = 1e-5  # tolerance down to which rows and sums in single precision are of use
    largest_mb: float = 2000.0  # of the sum of all kernels at p = infinity; above, its rows are computed when asked for
    many: int = 100  # kernels that are not stored: from here on their sum is made, not their rows
    few_rows: int = 4000  # the same: up to so many rows
    most_rows: int = 800  # beyond, a chunk of pairs reads so many rows that a sum of the stack is faster
    wide_from: int = 4  # kernels a row: from here on an interior point step costs less than Newton's
    analytic_from: float = 4.0  # p from which the analytic update needs two or three steps and no Hessian
    chunks: int = 30  # of pairs: they close most of the gap while Newton still solves its first machines
    look_back: int = 6  # steps whose pace is measured
    few: int = 15  # steps that interior points take at all: the pace to compare with
    digits: float = 0.01  # of the gap at least must be in sight: Newton's last digits come all at once
    most_newton: int = 40  # Newton steps after which a problem counts as hard
    most_interior: int = 50  # interior point steps after which no more is to be had
    before_homotopy: int = 3  # Newton steps to a point from which the optimum can be followed
    newton_on_features: float = 1.2  # p from which the analytic update on features needs few cheap steps
    # p outside of which weights follow the forms too steeply for interior points, or hardly
    orders: tuple[float, float] = (1.2, 3.0)
    unit: float = 2.0  # diagonal of the sum of kernels where the next three were fitted, by benchmarks.what_pays
    creep: float = 0.85  # cost of coordinates on features: C to this power
    passes: float = 0.48  # cost of interior points beside it, and per feature:
    products: float = 0.0013  # the same, for each feature
    most_bytes: float = 1e9  # of the inner system on features and what is made of it
    standstill: int = 12  # points in a row, none nearer than those before: rounding leads interior points away


SETTINGS = ScheduleSettings()


# -- a run in phases


def never(method: WeightedMethod[Any], trace: Progress, steps: int) -> bool:
    """Do not leave a method that goes on."""
    return False


class Phase(NamedTuple):
    """One method of a row: its ``name`` where it comes second, what makes it (None: it has no way here; a warm start:
    none either, and the next phase is to start from that), whether it is left after so many ``steps``, and whether the
    next phases are of no use once it has begun."""

    name: str
    make: Callable[..., WeightedMethod[Any] | WarmStart | None]
    leave: Callable[[Any, Progress, int], bool] = never
    is_last: bool = False


class Phased(WeightedMethod[Any]):
    """Methods in turn, as one."""

    def __init__(
        self, problem: Problem, phases: tuple[Phase, ...], *, tol: float, warm: WarmStart | None = None
    ) -> None:
        self.problem, self.tol = problem, tol
        self._left = list(phases)
        self._listener: Callable[[], Any] | None = None
        self._handed: AnyIterate | None = None  # the best point of the phases before
        self._dear = warm is not None and warm.carried.homotopy_is_dear
        if not self._enter(warm):
            raise ParameterError("No method of the schedule can solve this problem; use solver='wrapper'.")
        self.name = ", then ".join([self.method.name, *(phase.name for phase in self._left)])

    def _enter(self, warm: WarmStart | None) -> bool:
        """Begin the next phase that has a way here."""
        while self._left:
            phase = self._left.pop(0)
            method = phase.make(self.problem, tol=self.tol, warm=warm)
            if method is None:
                continue
            if isinstance(method, WarmStart):
                warm, self._dear = method, method.carried.homotopy_is_dear
                continue
            self.method, self._leave, self._steps = method, phase.leave, 0
            self.method.listen(self._listener)
            if phase.is_last:
                self._left.clear()
            return True
        return False

    def init(self) -> AnyIterate:
        return self.method.init()

    def step(self, best: AnyIterate, last: AnyIterate, trace: Trace) -> AnyIterate | Status:
        following: AnyIterate | Status = Status.STALLED
        self._steps += 1
        if not self._leave(self.method, trace, self._steps):
            following = self.method.step(best, last, trace)
            if isinstance(following, Iterate):
                return following
        truer = self.method.restate(best, trace.dual_point)
        if truer is not best:
            trace.restate(truer)
        carried = self.method.carry._replace(homotopy_is_dear=self._dear)
        warm = WarmStart(truer.weights, truer.dual, self.problem.C, carried)
        if not self._enter(warm):
            return following
        self._handed = truer
        return self.method.init()

    def restate(self, best: AnyIterate, dual_point: Array | None) -> AnyIterate:
        return best if best is self._handed else self.method.restate(best, dual_point)

    def polish(self, best: AnyIterate) -> AnyIterate:
        """The present method's polish of its own points."""
        return best if best is self._handed else self.method.polish(best)

    def certify(self, best: AnyIterate, dual_point: Array | None) -> Certificate:
        return self.method.certify(best, dual_point)

    def listen(self, listener: Callable[[], Any] | None) -> None:
        self._listener = listener
        self.method.listen(listener)

    @property
    def carry(self) -> Carried:
        return self.method.carry

    @property
    def screened(self) -> Screened | None:
        return self.method.screened


class Reused(WeightedMethod[Any]):
    """The answer of a neighbouring C, where it is within the tolerance here, too: kernels remember all that its
    certificate asks for, so that it costs no kernel value."""

    def __init__(self, problem: Problem, point: AnyIterate, carried: Carried) -> None:
        self.problem, self._point, self._carried = problem, point, carried
        self.name = f"{problem.penalty.name} answer of a neighbouring C, which is within the tolerance here, too"

    @classmethod
    def of(cls, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Reused | None:
        """The neighbour's answer; None where it is not within ``tol`` of this problem's optimum."""
        before = None if warm is None else warm.carry
        if warm is None or not isinstance(before, WarmState) or np.ndim(problem.C) or np.ndim(warm.C):
            return None
        fit, task, proof = before.fit, problem, before.fit.dual_point
        alike = before.problem.has_same_terms(problem) and task.loss.piecewise_linear and task.loss.total == 0.0
        if proof is None or not (
            alike and np.array_equal(fit.dual_coef, warm.dual) and np.array_equal(fit.weights, warm.weights)
        ):
            return None
        a = warm.dual_for(task.C, task.loss)
        factor = 1.0 if a is warm.dual else float(task.C) / float(warm.C)
        proof = factor * proof
        low, high = task.loss.box(task.y, task.C)
        if np.any(proof < low) or np.any(proof > high):
            return None
        bound = task.bound(proof, task.K.quad(proof))
        b, errors = task.loss_at(task.K.decision(fit.weights, a))
        primal = errors + task.regulariser(fit.weights, forms_with_weight(task.K, fit.weights, a))
        if not primal - bound.value <= tol * min(bound.price, abs(primal)):
            return None
        point: AnyIterate = Iterate(
            fit.weights, a, b, primal, bound.value, bound.price, solves=0, dual_point=bound.point
        )
        return cls(problem, point, before.carried)

    def init(self) -> AnyIterate:
        return self._point

    def step(self, best: AnyIterate, last: AnyIterate, trace: Trace) -> AnyIterate | Status:
        return Status.STALLED

    @property
    def carry(self) -> Carried:
        return self._carried


# -- p = infinity: every weight is one


class PlainSum(OfAnother):
    """p = infinity: the problem of one kernel, K = sum_m K_m, at p = 1; its prices agree, for sum_m a'K_m a = a'K a.

    Where not even the sum fits in memory, its rows are computed when asked for, by interleaved pairs. Where hardly a
    slope pays (a rare class, kernels that do not see it), pairs of coordinates stand still far from the last digits;
    the best model may then be a constant, and interior point steps on the sum reach what can be reached. Source: Kloft
    et al. (2011), (17) at p* = 1.
    """

    def __init__(
        self, problem: Problem, *, tol: float, warm: WarmStart | None = None, largest_mb: float | None = None
    ) -> None:
        self.problem = problem
        K, n = problem.K, problem.y.size
        self._weights: Array = np.ones(K.n_kernels)
        needed, room = 8e-6 * n**2, SETTINGS.largest_mb if largest_mb is None else largest_mb
        if needed > room and (missing := lacking(problem.loss, problem.penalty)):
            raise KernelError(
                f"The sum of the kernels on {n:,} rows takes {needed:,.0f} MB, above the {room:,.0f} MB that are "
                f"stored, and to do without it takes {missing}. Use fewer rows, such a loss, or an approximation "
                "(Nystroem(n_components=200), say)."
            )
        source: Any = K.source
        total = np.empty((n, n) if needed <= room else (0, 0))
        if total.size:
            K.combine(self._weights, total)
        one = CachedOperator(Dense(total[None]) if total.size else LazySum(source))
        alone = replace(problem, K=one, penalty=LpNorm(1.0))
        inside = None if warm is None else WarmStart(np.ones(1), warm.dual, warm.C)
        self.method = Phased(alone, _ONE_KERNEL if needed <= room else (_PAIRS,), tol=tol, warm=inside)
        self.name: str = f"one machine on the plain sum of {K.n_kernels} kernels"

    def certify(self, best: AnyIterate, dual_point: Array | None) -> Certificate:
        return self.method.certify(replace(best, weights=np.ones(1)), dual_point)

    def _shown(self, point: AnyIterate) -> AnyIterate:
        return replace(point, weights=self._weights, state=point)


class Constant(WeightedMethod[Any]):
    """The model that says the same of every row: a point, and nothing that it proves."""

    name = "the constant model"

    def __init__(self, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> None:
        self.problem = problem

    def init(self) -> AnyIterate:
        task = self.problem
        b, errors = task.loss_at(np.zeros(task.y.size))
        weights = task.penalty.start(task.K.n_kernels)
        return Iterate(weights, np.zeros(task.y.size), b, errors, -np.inf, solves=0)

    def step(self, best: AnyIterate, last: AnyIterate, trace: Trace) -> AnyIterate | Status:
        return Status.STALLED


# -- the phases of the table


def from_neighbour(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Homotopy | WarmStart | None:
    """The optimum followed from another C; None where that is lost, the warm start that says so where it is dear."""
    if warm is None or warm.carried.homotopy_is_dear or not Homotopy.suits(problem, warm):
        return None
    method = Homotopy(problem, tol=tol, warm=warm)
    if method.found() is not None:
        return method
    return WarmStart(warm.weights, warm.dual, warm.C, warm.carried._replace(homotopy_is_dear=method.dear))


def from_here(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Homotopy | None:
    """The optimum followed from a point near it."""
    if warm is None or not Homotopy.suits(problem, warm):
        return None
    method = Homotopy(problem, tol=tol, warm=warm)
    return None if method.found() is None else method


def newton(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Newton | WorkingSet:
    """Damped Newton, on a working set of kernels where most of them end without weight."""
    few = problem.penalty.simplex and problem.K.n_kernels >= working_set.SETTINGS.from_kernels
    return (WorkingSet if few else Newton)(problem, tol=tol, warm=warm)


def interior(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Interior | None:
    """Interior points, where the box of the dual has an inside."""
    return Interior(problem, tol=tol, warm=warm) if Interior.suits(problem) else None


def inside_where_wide(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Interior | None:
    """Interior points for a cold fit of many more kernels than rows: a step costs less than Newton's."""
    wide = warm is None and problem.K.n_kernels >= SETTINGS.wide_from * problem.y.size
    return interior(problem, tol=tol) if wide else None


def inside_the_sum(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Interior | None:
    """Interior points for one kernel."""
    linear = problem.loss.piecewise_linear and np.ndim(problem.C) == 0
    return interior(problem, tol=tol, warm=warm) if linear else None


def constant(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Constant | None:
    """The constant model, where interior points would follow it."""
    linear = problem.loss.piecewise_linear and np.ndim(problem.C) == 0
    return Constant(problem, tol=tol) if linear and Interior.suits(problem) else None


def stands_still(method: WeightedMethod[Any], trace: Progress, steps: int) -> bool:
    """At the pace of the last steps the tolerance is farther away than interior points would take."""
    if steps > SETTINGS.most_newton:
        return True
    inner = method.progress(trace)
    gaps = inner.gaps[-1 - SETTINGS.look_back :]
    if len(gaps) <= SETTINGS.look_back or gaps[0] == float("inf") or gaps[-1] <= 0.0:
        return False
    wanted = max(inner.target / gaps[-1], SETTINGS.digits)
    return bool(gaps[-1] > gaps[0] * wanted ** (SETTINGS.look_back / SETTINGS.few))


def few_steps(method: WeightedMethod[Any], trace: Progress, steps: int) -> bool:
    """A few steps come near enough for the optimum to be followed from there, unless their dual is a mixture."""
    if stands_still(method, trace, steps):
        return True
    problem = method.problem
    assert trace.best is not None
    return steps > SETTINGS.before_homotopy and not is_too_free(
        trace.best.dual, *problem.loss.box(problem.y, problem.C)
    )


def few_chunks(method: WeightedMethod[Any], trace: Progress, steps: int) -> bool:
    """Close to the optimum, or where C is large, pairs creep."""
    return steps > SETTINGS.chunks


def few_interior(method: WeightedMethod[Any], trace: Progress, steps: int) -> bool:
    """A dozen or two steps reach what can be reached."""
    return steps > SETTINGS.most_interior


def no_nearer(method: WeightedMethod[Any], trace: Progress, steps: int) -> bool:
    """The gap has not become smaller for many steps."""
    gaps = trace.gaps[-1 - SETTINGS.standstill :]
    return len(gaps) > SETTINGS.standstill and gaps[-1] >= gaps[0]


_MACHINE = Phase("the analytic update", Reweighting)
_NEWTON = Phase("damped Newton", newton)
_INTERIOR = Phase("interior point steps", interior)
_WIDE = Phase("interior point steps", inside_where_wide, is_last=True)
_INSIDE = Phase("interior point steps", interior, no_nearer)
_PAIRS = Phase("interleaved pairs", Interleaved)
_COLUMNS = Phase("interior point steps on the kernels that matter", ColumnGeneration)
_FROM_NEIGHBOUR = Phase("the optimum followed from its neighbour", from_neighbour, is_last=True)
_FROM_HERE = Phase("homotopy", from_here, is_last=True)
_SOME_NEWTON = Phase("damped Newton", newton, few_steps)
_UNTIL_STILL = Phase("damped Newton", newton, stands_still)
_SOME_PAIRS = Phase("interleaved pairs", Interleaved, few_chunks)
_ONE_KERNEL = (
    _MACHINE,
    Phase("the constant model", constant),
    Phase("interior point steps on the sum", inside_the_sum, few_interior),
)


# -- the table


class Row(NamedTuple):
    """A class of problems: the ``solvers`` it is a row of, ``when`` it holds, its phases, the reason shown to the user,
    and the problem on which ``benchmarks.ablation`` measures it. ``called`` is the name by which a person asks for this
    method alone."""

    problems: str
    solvers: str
    when: Callable[[Problem, float], bool]
    phases: tuple[Phase, ...]
    called: str
    why: str
    measured: str


def _is_summed(problem: Problem) -> bool:
    """Kernels that are not stored, of which sums are made anew in every step: very many of them on a few thousand rows,
    or what interleaved pairs cannot do."""
    K = problem.K
    crowd = K.n_kernels >= SETTINGS.many and K.n_samples <= SETTINGS.few_rows
    return not is_stored(K) and (crowd or bool(lacking(problem.loss, problem.penalty)))


def _is_nonsmooth(problem: Problem) -> bool:
    """The l1 problem with a piecewise-linear loss: no machine certifies its optimum, many kernels tie."""
    return problem.penalty.simplex and problem.loss.piecewise_linear


def _can_be_stored_in_part(problem: Problem) -> bool:
    able = _is_nonsmooth(problem) and not lacking(problem.loss, problem.penalty) and not is_stored(problem.K)
    return able and most_kernels(problem.y.size) >= column_generation.SETTINGS.fewest


def _has_small_stack(problem: Problem, tol: float) -> bool:
    """Where interleaved pairs are faster than Newton at first: a small stack and weights off the simplex."""
    small = Capability.DENSE in problem.K.capabilities and problem.y.size <= SETTINGS.most_rows
    return (
        small and tol >= SETTINGS.finest and not problem.penalty.simplex and not lacking(problem.loss, problem.penalty)
    )


def _has_features(problem: Problem) -> bool:
    return Capability.FEATURES in problem.K.capabilities


def _fits_in_totals(problem: Problem) -> bool:
    """Squared loss, and more rows than features."""
    return problem.loss.quadratic and problem.K.n_features < problem.y.size


def _can_go_inside(problem: Problem) -> bool:
    """A piecewise-linear loss on a box with an inside, in a norm whose weights follow the forms neither steeply nor
    hardly.
    """
    p = problem.penalty.exponent
    able = p is not None and SETTINGS.orders[0] <= p <= SETTINGS.orders[1] and problem.loss.piecewise_linear
    return able and Interior.suits(problem)


def scaled_cost(problem: Problem) -> float:
    """C in units in which kernels of any scale cost alike: times the diagonal of their sum at equal weights, by that of
    2.
    """
    K = problem.K
    unit = float(problem.penalty.start(K.n_kernels) @ K.diagonals().mean(axis=1))
    return float(np.mean(problem.C)) * unit / SETTINGS.unit


def inside_pays(problem: Problem) -> bool:
    """Whether interior points on D features cost less than coordinates, which take the longer the larger C."""
    D = problem.K.n_features
    pays = scaled_cost(problem) ** SETTINGS.creep > SETTINGS.passes + SETTINGS.products * D
    needed = 32.0 * D * D
    return bool(pays and needed <= SETTINGS.most_bytes)


def _is_below(problem: Problem, p: float) -> bool:
    own = newton_exponent(problem.penalty)
    return own is not None and own < p


_FROM_COLUMNS = "the kernels are summed from their columns, so no Gram matrix but the sum is stored"
_BY_ROWS = "the kernels are computed row by row, so no Gram matrix is stored"

TABLE = (
    Row("features, l1, piecewise-linear", "auto",
        lambda task, tol: _has_features(task) and _is_nonsmooth(task) and Interior.suits(task), (_INTERIOR,), "newton",
        "at p = 1 the analytic update would crawl", "2,500 rows on 600 features, C = 100"),
    Row("features, 1.2 <= p <= 3, piecewise-linear, large C", "auto",
        lambda task, tol: _has_features(task) and _can_go_inside(task) and inside_pays(task), (_INSIDE, _MACHINE),
        "newton", "C is so large that coordinates would creep", "2,500 rows on 600 features, p = 4/3, C = 100"),
    Row("features, squared loss", "auto newton", lambda task, tol: _has_features(task) and _fits_in_totals(task),
        (Phase("", FromTotals),), "newton", "squared loss needs no row but their sums",
        "30,000 rows on 600 features, p = 4/3"),
    Row("features, p < 1.2", "auto",
        lambda task, tol: _has_features(task) and _is_below(task, SETTINGS.newton_on_features),
        (Phase("damped Newton", Newton),), "newton", "at p = {p:.4g} the analytic update would crawl",
        "2,500 rows on 600 features, squared hinge, p = 1.05"),
    Row("features", "auto wrapper", lambda task, tol: _has_features(task), (_MACHINE,), "wrapper",
        "on features a Hessian costs more than the steps that it saves",
        "2,500 rows on 600 features, p = 4/3, C = 0.1"),
    Row("features", "newton", lambda task, tol: _has_features(task), (Phase("", Newton),), "newton", "",
        "2,500 rows on 600 features, p = 4/3"),
    Row("p = infinity", "auto wrapper", lambda task, tol: task.penalty.plain_sum, (Phase("", PlainSum),), "wrapper",
        "at p = infinity one machine solve is the optimum, and no Gram matrix but the sum is stored",
        "2,500 rows, 10 kernels not stored, p = infinity"),
    Row("l1, very many kernels that are not stored", "auto",
        lambda task, tol: _is_summed(task) and task.penalty.simplex, (_COLUMNS,), "wrapper", _FROM_COLUMNS,
        "200 rows, 120 kernels not stored, p = 1"),
    Row("very many kernels that are not stored", "auto", lambda task, tol: _is_summed(task), (_MACHINE,), "wrapper",
        _FROM_COLUMNS, "1,000 rows, 150 kernels not stored, p = 4/3, C = 100"),
    Row("l1, kernels that are not stored, room for some of them", "auto interleaved",
        lambda task, tol: _can_be_stored_in_part(task) and task.K.n_kernels > column_generation.SETTINGS.fewest,
        (_COLUMNS,), "interleaved", _BY_ROWS, "1,000 rows, 80 kernels not stored, p = 1"),
    Row("l1, few kernels that are not stored", "auto interleaved", lambda task, tol: _can_be_stored_in_part(task),
        (_SOME_PAIRS, _COLUMNS), "interleaved", _BY_ROWS, "1,000 rows, 10 kernels not stored, p = 1, C = 100"),
    Row("kernels that are not stored", "auto", lambda task, tol: not is_stored(task.K), (_PAIRS,), "interleaved",
        _BY_ROWS, "2,500 rows, 10 kernels not stored, p = 4/3"),
    Row("l1, piecewise-linear, stored", "interleaved",
        lambda task, tol: _is_nonsmooth(task) and not lacking(task.loss, task.penalty),
        (_SOME_PAIRS, _UNTIL_STILL, _INTERIOR), "interleaved", "", "A, C = 1, p = 1"),
    Row("all that pairs can do", "interleaved", lambda task, tol: True, (_PAIRS,), "interleaved", "",
        "B, C = 1, p = 4/3"),
    Row("l1, piecewise-linear", "auto newton", lambda task, tol: _is_nonsmooth(task),
        (_FROM_NEIGHBOUR, _WIDE, _SOME_NEWTON, _FROM_HERE, _UNTIL_STILL, _INTERIOR), "newton",
        "at p = 1 the analytic update would crawl", "A, p = 1"),
    Row("1 < p < 4, a small stack", "auto",
        lambda task, tol: _has_small_stack(task, tol) and _is_below(task, SETTINGS.analytic_from),
        (_SOME_PAIRS, _NEWTON), "newton", "at p = {p:.4g} the analytic update would crawl",
        "A, p = 4/3"),
    Row("p < 4", "auto", lambda task, tol: _is_below(task, SETTINGS.analytic_from), (_NEWTON,), "newton",
        "at p = {p:.4g} the analytic update would crawl", "B, p = 4/3"),
    Row("every lp norm", "newton", lambda task, tol: True, (_NEWTON,), "newton", "", "A, C = 1, p = 4/3"),
    Row("p >= 4", "auto", lambda task, tol: _is_below(task, np.inf), (_MACHINE,), "wrapper",
        "at p = {p:.4g} the analytic update needs a few steps and no Hessian", "B, p = 8"),
    Row("every other penalty", "auto wrapper", lambda task, tol: True, (_MACHINE,), "wrapper",
        "the {name} has an analytic update only", "A, elliptic norm"),
    Row("l1, for comparison", "silp", lambda task, tol: True, (Phase("", SILP),), "silp", "", "A, C = 1, p = 1"),
)  # fmt: skip


def rows_of(solver: str) -> Iterator[Row]:
    """The rows of one solver, in order."""
    return (row for row in TABLE if solver in row.solvers.split())


def row_for(problem: Problem, solver: str, tol: float) -> Row:
    """The row of ``solver`` that holds for a problem."""
    return next(row for row in rows_of(solver) if row.when(problem, tol))


def reason(row: Row, problem: Problem) -> str:
    """Why a row was chosen, for a person."""
    p = newton_exponent(problem.penalty)
    return row.why.format(p=0.0 if p is None else p, name=problem.penalty.name)


def scheduled(solver: str, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> WeightedMethod[Any]:
    """The methods of ``solver`` for a problem; "auto" says why it took them."""
    row = row_for(problem, solver, tol)
    found = Phased(problem, row.phases, tol=tol, warm=warm)
    if solver == "auto":
        found.name += f", chosen because {reason(row, problem)}"
    return found


def kernels_for(K: Any, warm: WarmStart | None) -> CachedOperator:
    """The kernels as a solver takes them, with what the neighbour on a path remembers of them."""
    return cached(K, warm.carry.problem.K if warm is not None and isinstance(warm.carry, WarmState) else None)
