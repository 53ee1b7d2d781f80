"""An interior point method for p = 1 with a piecewise-linear loss: sure progress where the optimum is a kink.

    max_{a, t}  Lin(a) - t     subject to     low <= a <= high,   1'a = total,   1/2 a'K_m a <= t  for every m       (17)

No single machine certifies such an optimum: many kernels tie, J is not differentiable there, and methods that follow its
slope stand still. Here the weights are the multipliers of the last constraints, so that dual and weights move together.
With the dual in two parts, a = p - q, the kink of a tube is a corner and Lin is linear in x = (p, q). Newton steps on

    slope(x) - E'(K_theta a + b 1) + lower - upper = 0      x lower = mu     (room - x) upper = mu
    1/2 a'K_m a - t + s_m = 0,   1'theta = 1                 theta s = mu         mu -> 0

need A = K_theta + diag (n, n) and U A^{-1} U' + diag(s / theta) (M, M), U = (K_m a)_m, each factorised once for the
predictor and the corrector of Mehrotra (1992), the second as ``complement.py`` tells. A dozen or two suffice, whatever the
number of kernels. Every iterate is feasible, so every one has its certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.solvers.complement import Complement, Factorised, Halved, Through
from mklcore.solvers.driver import Point, Progress, Status
from mklcore.solvers.problem import Carried, Problem, WarmStart
from mklcore.solvers.reweighting import _FLOOR, Reweighting, WeightState, keeping_dual
from mklcore.solvers.working_set import nearest

_INWARD = 0.1  # of the way from a warm start to the centre: multipliers need room
_TO_THE_WALL = 0.97  # share of the longest step that keeps everything positive
_SHORTEST = 1e-4  # steps shorter than this are no progress
_PATIENCE = 5  # short steps in a row
_BEYOND = 3  # steps after the tolerance is reached, until small weights stand apart
_CLEAR = 1e-3  # share of the largest weight
_CUTS = 10.0 ** -np.arange(0.5, 8.0, 0.5)  # shares of the largest weight below which weights are tried to be cut off


class Sides(NamedTuple):
    """The dual in two non-negative parts: a = p - q, x = (p, q) without the entries that the box holds at zero.

    ``rows`` (N,) and ``signs`` (N,) place x in a; ``slopes`` (N,) of Lin; ``room`` (N,) the upper ends; ``n`` points.
    """

    rows: Indices
    signs: Array
    slopes: Array
    room: Array
    n: int

    @classmethod
    def of(cls, task: Problem) -> Sides:
        low, high = task.loss.box(task.y, task.C)
        up, down = np.flatnonzero(high > 0.0), np.flatnonzero(low < 0.0)
        rows, signs = np.concatenate([up, down]), np.repeat([1.0, -1.0], [up.size, down.size])
        return cls(
            rows,
            signs,
            signs * task.loss.linear(task.y)[rows] - task.loss.tube,
            np.concatenate([high[up], -low[down]]),
            task.y.size,
        )

    def dual(self, x: Array) -> Array:
        """a (n,), or any other sum over the two parts of a point."""
        a = np.zeros(self.n)
        np.add.at(a, self.rows, self.signs * x)
        return a

    def spread(self, v: Array) -> Array:
        """What every part of x sees of a vector over the points: the transpose of ``dual``."""
        return self.signs * v[self.rows]

    def parts(self, a: Array) -> Array:
        """x (N,) of a dual in the box, not both parts of a point positive."""
        return np.maximum(self.signs * a[self.rows], 0.0)

    def centre(self, total: float, balanced: bool) -> Array | None:
        """x well inside the box, with 1'a = ``total`` if ``balanced``; None where there is none."""
        up, down = float(self.room[self.signs > 0].sum()), float(self.room[self.signs < 0].sum())
        if not balanced:
            return 0.5 * self.room
        if total != 0.0:
            return self.room * (total / up) if down == 0.0 and total < up else None
        if min(up, down) <= 0.0:
            return None
        return 0.5 * self.room * np.where(self.signs > 0, min(1.0, down / up), min(1.0, up / down))


@dataclass(frozen=True, eq=False)
class Inside:
    """A point of the path inside: ``values`` (x, room - x, theta) and their multipliers (lower, upper, s), all positive."""

    values: Array
    multipliers: Array
    intercept: float
    level: float

    @property
    def mu(self) -> float:
        return float(self.values @ self.multipliers) / self.values.size

    def moved(self, way: Inside, length: float) -> Inside:
        return Inside(
            self.values + length * way.values,
            self.multipliers + length * way.multipliers,
            self.intercept + length * way.intercept,
            self.level + length * way.level,
        )

    def room(self, way: Inside) -> float:
        """The longest step along ``way`` that keeps everything non-negative."""
        return min(_room(self.values, way.values), _room(self.multipliers, way.multipliers))


class Interior(Reweighting):
    """The primal-dual path of p = 1 as the driver's method; for losses whose Lin is linear on each side of zero."""

    needs_products = True

    def __init__(self, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> None:
        super().__init__(problem, tol=tol, warm=warm)
        self.name = "lp interior point"
        self.sides = Sides.of(problem)
        self._short, self._board, self._weights = 0, Progress(tol), np.zeros(0)

    @property
    def carry(self) -> Carried:
        """The kernels that matter."""
        dear = self.warm is not None and self.warm.carried.homotopy_is_dear
        return Carried(nearest(self._last.weights, self._last.state.Q), None, dear)

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Whether the box has an inside: not where one class alone must balance to zero, say."""
        return Sides.of(problem).centre(problem.loss.total, problem.fit_intercept) is not None

    def start(self) -> Point:
        task, sides, M = self.problem, self.sides, self.live.size
        x = sides.centre(task.loss.total, task.fit_intercept)
        assert x is not None
        theta = np.full(M, 1.0 / M)
        if self.warm is None:
            x = x * self._shrinking(sides.dual(x))
        else:
            a = task.feasible(self.warm.dual_for(task.C, task.loss))
            x = (1.0 - _INWARD) * sides.parts(a) + _INWARD * x
            theta = (1.0 - _INWARD) * self.warm.weights / self.warm.weights.sum() + _INWARD * theta
        point = self._read(x, theta)
        self.inside = self._entered(x, theta, point)
        return point

    def step(self, best: Point, last: Point, board: Progress) -> Point | Status:
        self._board = board
        return self._advance(last)

    def _advance(self, last: Point) -> Point | Status:
        """The Newton step out of ``last``, the point read last."""
        inside, N = self.inside, self.sides.rows.size
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                system = _System(self, last)
                ahead = system.direction(np.zeros(inside.values.size))
                reached = inside.moved(ahead, min(1.0, inside.room(ahead))).mu
                goal = inside.mu * float(np.clip((reached / inside.mu) ** 3, 1e-4, 1.0))
                way = system.direction(goal - ahead.values * ahead.multipliers)
        except (np.linalg.LinAlgError, ArithmeticError):
            return Status.STALLED
        length = min(1.0, _TO_THE_WALL * inside.room(way))
        self._short = self._short + 1 if length < _SHORTEST else 0
        if not np.all(np.isfinite(way.values)) or self._short >= _PATIENCE:
            return Status.STALLED
        self.inside = inside.moved(way, length)
        return self._read(self.inside.values[:N], self.inside.values[2 * N :])

    def finish(self, best: Point) -> Point:
        """The fewest kernels that keep the certificate, and the machine at their weights: its dual is sparse.

        The path inside weighs every kernel; a step or two beyond the tolerance tell apart those that matter.
        """
        limit, solves = max(best.objective, best.objective - self._board.gap + self._board.target), 0
        weights = self._fewest(best, limit)
        while solves < _BEYOND and np.min(weights[weights > 0]) < _CLEAR * weights.max():
            following = self._advance(self._last)
            if isinstance(following, Status):
                break
            best, solves = following if following.objective <= best.objective else best, solves + 1
            weights = self._fewest(best, limit)
        sharp = self.solve(weights, best.dual, max(0.05 * self.tol, _FLOOR))
        chosen, other = (sharp, best) if sharp.objective <= limit else (best, sharp)
        return replace(keeping_dual(chosen, other), solves=solves + 1)

    def _fewest(self, best: Point, limit: float) -> Array:
        """The weights of ``best`` without as many small ones as the limit on the objective allows."""
        G = self._times(best.dual)
        Q = np.maximum(G @ best.dual, 0.0)
        for share in _CUTS:
            kept = np.where(best.weights >= share * best.weights.max(), best.weights, 0.0)
            weights: Array = kept / kept.sum()
            if self._primal(weights, G, Q)[0] <= limit:
                return weights
        return best.weights

    # -- what the kernels are asked for

    def _times(self, a: Array) -> Array:
        """K_m a of the kernels that are weighed, (M, n)."""
        return self.problem.K.matvec(a, self.live)

    def factorised(self, firm: Array) -> Callable[[Array], Array]:
        """What solves (K_theta + diag(firm)) z = right at the weights read last; LinAlgError where it is singular."""
        A = self._combined(self._weights).copy()
        A.flat[:: firm.size + 1] += firm
        return Factorised(A)

    def complement(self, A: Callable[[Array], Array], U: Array, d: Array) -> Complement:
        """What solves (U A^{-1} U' + diag(d)) z = right for what ``factorised`` gave; LinAlgError where it is singular."""
        return Halved(A, U, d) if isinstance(A, Factorised) else Through(A, U, d)

    # -- points

    def _shrinking(self, a: Array) -> float:
        """The multiple of ``a`` that is worth most, for a first dual; 1 where the total is given."""
        task = self.problem
        if task.loss.total != 0.0:
            return 1.0
        price = 0.5 * float(np.max(self._times(a) @ a))
        linear = task.loss.dual(a, task.y, task.C)
        return float(np.clip(linear / (2.0 * price), 1e-3, 1.0)) if price > 0.0 else 1.0

    def _entered(self, x: Array, theta: Array, point: Point) -> Inside:
        """Multipliers for a first x and theta: no residuals, and no product far below the mean."""
        sides, Q = self.sides, point.state.Q
        left = sides.room - x
        excess = sides.slopes - sides.spread(theta @ point.state.G + point.intercept)
        gap = point.objective - point.dual_objective if point.dual_objective is not None else np.inf
        gap = gap if np.isfinite(gap) else float(np.abs(excess) @ np.minimum(x, left))
        mu = max(gap, 1e-6 * abs(point.objective)) / (2 * x.size + theta.size)
        lift = mu / np.minimum(x, left)
        level = 0.5 * float(Q.max()) + mu * theta.size
        return Inside(
            np.concatenate([x, left, theta]),
            np.concatenate([np.maximum(-excess, 0.0) + lift, np.maximum(excess, 0.0) + lift, level - 0.5 * Q]),
            point.intercept,
            level,
        )

    def _read(self, x: Array, theta: Array) -> Point:
        """The point of x and theta, certified: K_theta is left in ``_sum`` for the step that follows.

        Where hardly a slope pays, steps leave 1'a off its total by more than the certificate can bear: it is set right first.
        """
        task, a = self.problem, self.sides.dual(x)
        if task.fit_intercept:
            a = task.feasible(a)
        self._weights = weights = theta / theta.sum()
        G = self._times(a)
        Q = np.maximum(G @ a, 0.0)
        objective, b, value = self._primal(weights, G, Q)
        bound, state = task.bound(a, Q), WeightState(Q, value, 0.0, _FLOOR, G=G)
        self._last = Point(weights, a, b, objective, bound.value, bound.price, state=state, dual_point=bound.point)
        return self._last

    def _primal(self, weights: Array, G: Array, Q: Array) -> tuple[float, float, float]:
        """Primal value at weights and a dual with products G and forms Q; its intercept; the machine's own value."""
        b, errors = self.problem.loss_at(weights @ G)
        return errors + self.problem.regulariser(weights, Q), b, errors + 0.5 * float(weights @ Q)


class _System:
    """The linearised conditions at a point inside, factorised: A = K_theta + diag and its Schur complement for theta."""

    def __init__(self, method: Interior, point: Point) -> None:
        self.sides, self.inside, self.task = method.sides, method.inside, method.problem
        self.U, N = point.state.G, method.sides.rows.size
        (x, left, self.theta), (lower, upper, self.s) = (
            _thirds(self.inside.values, N),
            _thirds(self.inside.multipliers, N),
        )
        self.excess = self.sides.slopes - self.sides.spread(self.theta @ self.U + self.inside.intercept)
        self.unmet = 0.5 * point.state.Q - self.inside.level + self.s
        self.total = self.task.loss.total - float(self.sides.dual(x).sum())
        self.x, self.left, self.lower, self.upper = x, left, lower, upper
        self.stiffness = lower / x + upper / left
        self.firm = 1.0 / np.maximum(self.sides.dual(self.sides.signs / self.stiffness), 1e-200)
        self.A = method.factorised(self.firm)
        self.ones = self.A(np.ones(self.sides.n))
        self.H = method.complement(self.A, self.U, self.s / self.theta)
        self.border = np.column_stack([self.U @ self.ones, np.ones(self.theta.size)])
        self.bordered = np.column_stack([self.H.solve(side) for side in self.border.T])

    def direction(self, goal: Array) -> Inside:
        """The Newton step towards products values * multipliers = ``goal``."""
        sides, (low, high, weighed) = self.sides, _thirds(goal, self.sides.rows.size)
        right = self.excess + low / self.x - high / self.left
        pull = self.firm * sides.dual(right / self.stiffness)
        free = self.A(pull)
        reach = self.U @ free + self.unmet + weighed / self.theta - self.s
        intercept, level = self._outer(reach, float(free.sum()))
        theta = self.H.solve(reach - self.border @ np.array([intercept, level]))
        a = free - self.H.back(theta) - self.ones * intercept
        x = (right - sides.spread(pull - self.firm * a)) / self.stiffness
        values = np.concatenate([x, -x, theta])
        return Inside(
            values,
            (goal - self.inside.multipliers * values) / self.inside.values - self.inside.multipliers,
            intercept,
            level,
        )

    def _outer(self, reach: Array, drift: float) -> tuple[float, float]:
        """The steps of intercept and level: 1'a moves to its total, 1'theta to one."""
        right = self.bordered.T @ reach - np.array([drift - self.total, 1.0 - float(self.theta.sum())])
        system = self.border.T @ self.bordered
        if not self.task.fit_intercept:
            return 0.0, float(right[1] / system[1, 1])
        system[0, 0] -= float(self.ones.sum())
        intercept, level = np.linalg.solve(system, right)
        return float(intercept), float(level)


def _thirds(v: Array, N: int) -> tuple[Array, Array, Array]:
    return v[:N], v[N : 2 * N], v[2 * N :]


def _room(v: Array, step: Array) -> float:
    falling = step < 0.0
    return float(np.min(-v[falling] / step[falling])) if falling.any() else np.inf
