"""The reweighting loop: solve one machine, read the block norms, set the kernel weights in closed form, repeat.

    min_{w, b, theta >= 0}  C sum_i V(t_i, y_i) + 1/2 sum_m ||w_m||^2 / theta_m      subject to  ||theta|| <= 1        (16)
    max_a                   Lin(a) - 1/2 ||(a'K_m a)_m||_*                                                          (17)

Algorithm 1 of Kloft, Brefeld, Sonnenburg, Zien (2011):

    theta <- equal weights
    repeat   a, b <- machine with K = sum_m theta_m K_m                                  (23)
             theta_m <- analytic update from ||w_m|| = theta_m sqrt(a'K_m a)             (24), (19)
    until    best primal - best dual <= tol * R

A dual point certifies every theta, so the gap needs no exact machine: the accuracy of the machine follows the gap.
``newton.py`` replaces the update of theta and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.kernels.operators import KernelOperator, as_operator, is_stored, same_kernels
from mklcore.losses import Cost, Loss
from mklcore.losses.intercepts import best_intercept, total_loss
from mklcore.machines import machine_of
from mklcore.machines.solution import Solution, dual_gap, feasible_start
from mklcore.machines.svm import NO_SLOPE, solve_svm
from mklcore.penalties import Penalty
from mklcore.solvers.bound import Bound, dual_bound, forms_of_multiple
from mklcore.solvers.driver import Point, Progress, Status
from mklcore.solvers.proof import Passed, Values, passed_values, scales_of, weighted_values
from mklcore.solvers.running import Running, moved
from mklcore.solvers.summed import NEARBY, SAME, Summed

_FLOOR = 1e-13  # no machine is asked for a smaller relative gap
_LEAST_SCALE = 1e-3  # of the errors: R of the stopping rule where w = 0 can be the optimum
_SAME = 4.0 * np.finfo(float).eps  # relative difference of weights that a sum of kernels does not show
_DEAR = 16  # kernels whose sum costs more than another round with one at hand
_ROUNDS, _SLOWLY = 3, 0.5  # rounds with it at most; what a round must leave of the gap at most
_WITHIN = 0.5  # of the accuracy asked is asked of a round
_COARSE = 1e-5  # accuracies finer than this take more rounds than a sum of their own is worth
_FARTHEST = 2.0  # times the way between two neighbours, and of log theta
_ALONG = 0.7  # of the way that weights went from one neighbour to the next, they go on: log theta slows down
_FIRST, _LONGER = 2.0, 1.25  # how much farther than the update says a step goes at first, and how that grows
NEGLIGIBLE = 1e-6  # weights below this share of the largest are set to zero at p = 1


@dataclass(frozen=True, eq=False)
class Problem:
    """One binary or regression problem: ``K``, M kernels on n rows as an operator or an array (M, n, n), ``y`` (n,) float,
    ``C`` > 0, a loss, a penalty, an intercept or not."""

    K: KernelOperator
    y: Array
    C: Cost
    loss: Loss
    penalty: Penalty
    fit_intercept: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "K", as_operator(self.K))

    @cached_property
    def diagonals(self) -> Array:
        """The diagonal of every kernel, (M, n), side by side: in a stack they lie far apart."""
        return np.ascontiguousarray(self.K.diagonals())

    def beside(self, other: Problem) -> Problem:
        """This problem with what it shares with another one on the same kernels."""
        if same_kernels(self.K, other.K):
            vars(self)["diagonals"] = other.diagonals
        return self


def values_of(problem: Problem, passed: Passed, best: Point, dual_point: Array | None) -> Values:
    """Objective and dual value of published parts where the pass over the kernels was made already."""
    y, C, loss, penalty = problem.y, problem.C, problem.loss, problem.penalty
    return passed_values(passed, y, C, loss, penalty, best.weights, best.dual, best.intercept, dual_point)


def values_along(problem: Problem, running: Running, best: Point, dual_point: Array | None) -> Values:
    """The same by products of all kernels with a dual near by."""
    own = running.at(best.dual)
    proof = own if dual_point is None else running.at(dual_point)
    passed = Passed(best.weights @ own.products, own.forms, proof.forms, problem.diagonals)
    return values_of(problem, passed, best, dual_point)


@dataclass(frozen=True, eq=False)
class Weighed:
    """What the loop carries with a point: quadratic forms, the machine's own value and gap, its accuracy, the damping.

    ``G`` (M, n) = K_m a where the method needs it; ``mixed`` says that the point came from the bundle of all duals.
    ``seen`` are the weights and the dual that Q and ``decision`` (n,), f without intercept, were computed for from scratch.
    """

    Q: Array
    value: float
    inner_gap: float
    accuracy: float
    damping: float = 0.0
    G: Array | None = None
    mixed: bool = False
    decision: Array | None = None
    seen: tuple[Array, Array] | None = None


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Weights (M,) and signed dual (n,) of a neighbouring problem, the C it was solved for, what its method carried, the
    products of all kernels with a dual near by, and C and weights of its own neighbour ``before``."""

    weights: Array
    dual: Array
    C: Cost
    carry: Any = None
    running: Running | None = None
    before: tuple[float, Array] | None = None

    def weights_for(self, C: Cost) -> Array:
        """The weights moved to another C: on along log theta as a function of log C, by the two neighbours; else kept."""
        if self.before is None or np.ndim(C) or np.ndim(self.C):
            return self.weights
        (there, earlier), here = self.before, float(self.C)
        if there == here or min(earlier.min(), self.weights.min()) <= 0.0:
            return self.weights
        times = float(np.log(float(C) / here) / np.log(here / there))
        if not 0.0 < times <= _FARTHEST:
            return self.weights
        way = _ALONG * times * np.log(self.weights / earlier)
        moved: Array = self.weights * np.exp(np.clip(way, -_FARTHEST, _FARTHEST))
        return moved

    def dual_for(self, C: Cost, loss: Loss) -> Array:
        """The dual moved to another C: scaled with it once a point sits at its bound, else kept."""
        if not loss.box_is_scaled_by_C:
            return self.dual
        largest = float(np.max(np.abs(self.dual), initial=0.0))
        at_bound = np.any(np.abs(self.dual) >= loss.reach * self.C * (1.0 - 1e-9))
        return self.dual * (C / self.C) if at_bound or np.any(largest > loss.reach * C) or loss.smooth else self.dual


class Reweighting:
    """The wrapper of Algorithm 1 as the driver's method. ``warm`` starts it from a neighbouring solution.

    ``live`` are the kernels it weighs, all of them unless told: weights, forms and products are those of ``live`` alone.
    """

    keeps_points = False
    needs_products = False

    def __init__(
        self, problem: Problem, *, tol: float, warm: WarmStart | None = None, live: Indices | None = None
    ) -> None:
        self.problem, self.tol, self.warm = problem, tol, warm
        self.live: Indices = np.arange(problem.K.n_kernels) if live is None else live
        self.name = f"{problem.penalty.name} reweighting (analytic update)"
        bent = problem.penalty.exponent is not None
        long = bent and not is_stored(problem.K)
        self._stride = _FIRST if long else 0.0
        self._sum = np.empty((problem.y.size, problem.y.size))
        stored = is_stored(problem.K) and self.live.size == problem.K.n_kernels
        self._keeps_sums = bent and stored
        self._at_hand = Summed(problem.K, np.zeros((0, problem.K.n_kernels)))
        self._summed: Array | None = None  # the weights (M,) whose sum of kernels is in ``_sum``
        self.running = None if warm is None else warm.running

    def start(self) -> Point:
        penalty, M = self.problem.penalty, self.live.size
        if self.warm is None:
            return self.solve(penalty.start(M), None, 0.0003)
        weights = self._lifted(self.warm.weights if penalty.sparse else self.warm.weights_for(self.problem.C))
        return self.solve(weights, self.warm.dual_for(self.problem.C, self.problem.loss), max(0.1 * self.tol, _FLOOR))

    def step(self, best: Point, last: Point, board: Progress) -> Point | Status:
        accuracy = min(self.accuracy(board), last.state.accuracy)
        updated = self.problem.penalty.update(last.weights, last.state.Q)
        if self._stride > 1.0:
            farther = self.solve(self._beyond(last.weights, updated), last.dual, accuracy)
            if self.gains(last, farther) or certifies(farther, board):
                self._stride *= _LONGER
                return farther
            self._stride = 0.0  # here it overshoots: to the letter from now on
        following = self.solve(updated, last.dual, accuracy)
        return self.accept_or_sharpen(last, following, board)

    def _beyond(self, weights: Array, updated: Array) -> Array:
        """The way from ``weights`` to ``updated`` in log theta, gone on: at a dual that stays the update takes a fixed share of
        it, 1 - 2 / (p + 1), and where every step makes all kernels again few long steps are better than many short ones."""
        p = self.problem.penalty.exponent
        assert p is not None
        with np.errstate(divide="ignore", invalid="ignore"):
            way = np.where(weights > 0.0, np.log(np.maximum(updated, 1e-300) / weights), 0.0)
        way *= min(self._stride, (p + 1.0) / (p - 1.0))
        return self.problem.penalty.scale(weights * np.exp(way - way.max()))

    def finish(self, best: Point) -> Point:
        """Where weights end at zero, zero the negligible ones and solve the machine once more."""
        if not self.problem.penalty.sparse:
            return best
        if not self.problem.penalty.homogeneous and (nothing := self._nothing(best)) is not None:
            return nothing
        small = best.weights < NEGLIGIBLE * best.weights.max()
        if not np.any(small & (best.weights > 0)):
            return best
        weights = self.problem.penalty.scale(np.where(small, 0.0, best.weights))
        return self.solve(weights, best.dual, max(0.05 * self.tol, _FLOOR))

    def _nothing(self, best: Point) -> Point | None:
        """The model without any kernel, where what is left of them is within the tolerance and it is no worse."""
        price = self.problem.penalty.regulariser(best.weights * np.sqrt(best.state.Q))
        if not 0.0 < price <= self.tol * best.scale:
            return None
        nothing = self.solve(np.zeros_like(best.weights), best.dual, max(0.05 * self.tol, _FLOOR))
        return nothing if nothing.objective <= best.objective else None

    def accuracy(self, board: Progress) -> float:
        """Relative gap asked of the next machine: a tenth of the present gap, never far below the tolerance."""
        share = board.gap / board.scale if board.scale > 0 else 1.0
        return float(np.clip(0.1 * share, max(0.05 * self.tol, _FLOOR), 0.0003))

    def solve(self, weights: Array, warm: Array | None, accuracy: float, damping: float = 0.0) -> Point:
        """One machine solve at ``weights``, and the certificate it gives to the whole problem."""
        task = self.problem
        found = self._near(weights, warm, accuracy)
        if found is None:
            self._combine(weights)
            found = machine_of(task.loss)(
                self._sum, task.y, task.C, task.loss, task.fit_intercept, warm=warm, accuracy=accuracy
            )
            f = self._sum @ found.dual  # afresh: a large C makes much of what a running sum has lost
        else:
            f = found.decision
        G, Q = self._products(found.dual)
        b = best_intercept(task.loss, f, task.y, task.C) if task.fit_intercept else 0.0
        errors = total_loss(task.loss, f, b, task.y, task.C)
        bound = self.bound(found.dual, Q)
        price = task.penalty.regulariser(weights * np.sqrt(Q))
        scale = 0.0 if bound is None else bound.price
        if (
            bound is not None and not task.penalty.homogeneous
        ):  # the dual's price vanishes where no kernel is worth its own
            scale = max(price, _LEAST_SCALE * errors)
        return Point(
            weights,
            found.dual,
            b,
            errors + price,
            None if bound is None else bound.value,
            scale,
            state=Weighed(Q, found.objective, found.gap, accuracy, damping, G, decision=f, seen=(weights, found.dual)),
            dual_point=None if bound is None else bound.point,
        )

    def _near(self, weights: Array, warm: Array | None, accuracy: float) -> Solution | None:
        """The machine at ``weights`` by a sum of kernels near to theirs: what it is wrong by is known where the machine starts
        from the products of all kernels there, and fades as the dual settles. None where it does not, or does not pay."""
        task, at_hand = self.problem, self._at_hand
        if warm is None or self.running is None or not at_hand.matrices or task.loss.machine != "svm":
            return None
        shares, left = at_hand.nearest(weights)
        if left > (NEARBY if accuracy >= _COARSE and np.count_nonzero(weights) >= _DEAR else SAME):
            return None
        known = shares @ at_hand.weights
        if self._summed is None or np.any(np.abs(known - self._summed) > _SAME * np.abs(known)):
            at_hand.mixed(shares, self._sum)
            self._summed = known
        low, high = task.loss.box(task.y, task.C)
        a, missed = feasible_start(warm, low, high, task.fit_intercept, task.loss.total), np.inf
        for _ in range(_ROUNDS):
            running = moved(self.running, task.K, self.live, a)
            found = solve_svm(
                self._sum, task.y, task.C, task.loss, task.fit_intercept, warm=a, decision=weights @ running.products,
                accuracy=_WITHIN * accuracy,
            )  # fmt: skip
            a = found.dual
            self.running = running = moved(running, task.K, self.live, a)
            f = weights @ running.products
            b = best_intercept(task.loss, f, task.y, task.C) if task.fit_intercept else 0.0
            objective, gap = dual_gap(a, f, b, task.y, task.C, task.loss)
            half = 0.5 * float(a @ f)
            if gap <= max(accuracy * half, 1e-14 * abs(objective)):
                return replace(found, intercept=b, decision=f, objective=objective, gap=gap, regulariser=half)
            if gap > _SLOWLY * missed:
                break
            missed = gap
        return None

    def _products(self, a: Array) -> tuple[Array | None, Array]:
        """G (L, n) = K_m a, None where kernels that are not stored need not make it, and Q = a'K_m a."""
        K = self.problem.K
        if not is_stored(K):
            G = K.matvec(a, self.live) if self.needs_products else None
            return G, K.quad(a) if G is None else np.maximum(G @ a, 0.0)
        self.running = moved(self.running, K, self.live, a)
        return self.running.products, self.running.forms

    def _combine(self, weights: Array) -> None:
        """K_theta into ``_sum``, unless it is there already but for the rounding of the weights."""
        everywhere = self.among_all(weights)
        if self._summed is not None and np.all(np.abs(everywhere - self._summed) <= _SAME * self._summed):
            return
        shares, left = self._at_hand.nearest(everywhere) if self._at_hand.matrices else (everywhere, np.inf)
        if left <= SAME:
            self._at_hand.mixed(shares, self._sum)
            self._summed = everywhere
            return
        self.problem.K.combine(everywhere, self._sum)
        self._summed = everywhere
        if self._keeps_sums:
            self._at_hand = self._at_hand.with_one(everywhere, self._sum)

    def values(self, best: Point, dual_point: Array | None) -> Values:
        """Objective and dual value of published parts, from scratch: by the pass over the stack that gave the point its
        certificate where nothing has changed since, else by a new one."""
        task, passed = self.problem, self._passed(best, dual_point)
        if passed is not None:
            return values_of(task, passed, best, dual_point)
        if self.running is not None and self.live.size == task.K.n_kernels:
            return values_along(task, self.running, best, dual_point)
        return weighted_values(
            task.K, task.y, task.C, task.loss, task.penalty, best.weights, best.dual, best.intercept, dual_point
        )

    def _passed(self, best: Point, dual_point: Array | None) -> Passed | None:
        """What is known of the published parts from the machine that was solved last; None where they are others."""
        state, K = best.state, self.problem.K
        if not (isinstance(state, Weighed) and state.seen is not None and state.decision is not None):
            return None
        weights, dual = state.seen
        if best.weights is not weights or best.dual is not dual or self.live.size < K.n_kernels:
            return None
        forms = state.Q if dual_point is None else forms_of_multiple(dual_point, dual, state.Q)
        if forms is None:
            assert dual_point is not None
            forms = self._products(dual_point)[1]
        return Passed(state.decision, state.Q, forms, self.problem.diagonals)

    @property
    def scales(self) -> str:
        """The scales of the problem in words."""
        return scales_of(self.problem.diagonals, self.problem.C)

    def among_all(self, weights: Array) -> Array:
        """The weights of the live kernels with zeros for all others, (M,)."""
        everywhere = np.zeros(self.problem.K.n_kernels)
        everywhere[self.live] = weights
        return everywhere

    def bound(self, a: Array, Q: Array) -> Bound | None:
        """What a machine's dual proves for the whole problem; None where the penalty has no dual."""
        task = self.problem
        return dual_bound(task.loss, task.penalty, a, Q, task.y, task.C)

    def accept_or_sharpen(self, last: Point, following: Point, board: Progress) -> Point | Status:
        """``following`` if it gains; else the same weights with a sharper machine; else say that nothing gains."""
        if self.gains(last, following) or certifies(following, board):
            return following
        if last.state.accuracy <= 10 * _FLOOR:
            return Status.STALLED
        sharper = self.solve(last.weights, last.dual, max(_FLOOR, 0.1 * last.state.accuracy), last.state.damping)
        slope = 0.5 * float(last.weights @ last.state.Q)
        missed = slope <= NO_SLOPE * abs(last.state.value) and last.state.inner_gap > last.state.accuracy * slope
        if missed and sharper.state.inner_gap > 0.5 * last.state.inner_gap and not certifies(sharper, board):
            return Status.STALLED  # round-off: the machine does not reach what is asked already
        return keeping_dual(sharper, following)

    def gains(self, last: Point, following: Point) -> bool:
        """The optimum over the machine moved the right way by more than its own gap: up for block norms, else down."""
        penalty = self.problem.penalty
        before, after = (point.state.value + penalty.cost(point.weights) for point in (last, following))
        fall = before - after
        if penalty.ascends:
            return bool(-fall > last.state.inner_gap + 1e-14 * abs(last.state.value))
        return bool(fall > following.state.inner_gap)

    def _lifted(self, weights: Array) -> Array:
        """Zero weights are absorbing in (19): a warm start lifts them first."""
        lift = 1e-3 if self.problem.penalty.sparse else 1e-6
        return self.problem.penalty.scale(np.maximum(weights, lift * max(float(weights.max()), 1e-300)))


def certifies(point: Point, board: Progress) -> bool:
    """The point closes the gap, or takes a good part of it away, gain or no gain."""
    assert board.best is not None
    assert board.dual is not None
    assert point.dual_objective is not None
    gap = min(point.objective, board.best.objective) - max(point.dual_objective, board.dual)
    return gap <= board.target or gap < 0.8 * board.gap


def keeping_dual(point: Point, *others: Point) -> Point:
    """``point`` with the best dual value and all the solves of the tries that led to it."""
    best = max((point, *others), key=lambda p: -np.inf if p.dual_objective is None else p.dual_objective)
    solves = point.solves + sum(p.solves for p in others)
    if best is point:
        return replace(point, solves=solves)
    return replace(
        point, dual_objective=best.dual_objective, dual_point=best.dual_point, scale=best.scale, solves=solves
    )
