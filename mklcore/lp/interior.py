"""Interior points for losses whose Lin is linear on each side of zero: dual and kernel weights
together.

    max_a  Lin(a) - R*(a)     subject to     low <= a <= high,   1'a = total                                    (17)

Where C is large, or many kernels tie at p = 1, no single machine is near the optimal dual and
methods that alternate stand still. With the dual in two parts, a = p - q, the kink of a tube is a
corner and Lin is linear in x = (p, q). Newton steps on

    slope(x) - E'(K_theta a + b 1) + lower - upper = 0      x lower = mu     (room - x) upper = mu     1'a = total
    p = 1     1/2 a'K_m a - t + s_m = 0           theta s = mu      sum_m theta_m = 1
    p > 1     1/2 a'K_m a = nu theta_m^(p - 1)                      sum_m theta_m^p = 1             mu -> 0

need A = K_theta + diag (n, n) and U A^{-1} U' + diag(d) (M, M), U = (K_m a)_m, each factorised once
for the predictor and the corrector of Mehrotra (1992), A by features where the kernels have them. A
dozen or two suffice, whatever the number of kernels. Every iterate is feasible, so every one has
its certificate.

Source: Kloft et al. (2011), equations (16) and (17); Ferris and Munson (2002), Interior-point
methods for massive support vector machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices, factorised, longest_step
from mklcore.kernels.operators import CachedOperator, Capability
from mklcore.lp.reweighting import _FLOOR, Reweighting, WeightIterate, WeightState, keeping_dual
from mklcore.problem.driver import Iterate, Status, Trace
from mklcore.problem.problem import Problem

# What the interior point method is tuned by. A value changes how long a fit takes, not what its
# certificate proves.

INWARD = 0.2  # of the way from a warm start to the centre: multipliers need room
TO_THE_WALL = 0.97  # share of the longest step that keeps everything positive
SHORTEST = 1e-4  # steps shorter than this are no progress
PATIENCE = 5  # short steps in a row
BEYOND = 3  # steps after the tolerance is reached, until small weights stand apart
CLEAR = 1e-3  # share of the largest weight
# shares of the largest weight below which weights are tried to be cut off
CUTS = 10.0 ** -np.arange(0.5, 8.0, 0.5)
BEHIND = 0.01  # of the gap that was reached is the least that the path goes to next
LEAST = 1e-200  # a firmness below it would not be one
FARTHEST = 3.0  # of log theta in one step, above p = 1
PART = 0.6  # of the points at most may be undecided for the others to be fixed at first
POINTS = 4  # undecided points for each kernel, beside those off their bounds
AT_END = 0.1  # of the gap asked is what is left inside when fixed points are released
OFF = 1e-6  # share of its room that a dual is off its bounds
# share of sum |a_i| that 1'a may be off: a dual set right is another one in all points
BALANCED = 1e-13
UNEVEN = 1e-6  # of the largest weight is the least a weight begins with there


class Sides(NamedTuple):
    """The dual of some ``points`` (k,) in two non-negative parts: a = p - q, x = (p, q) without the
    entries that the box holds at zero; the others keep the values of ``fixed`` (n,).

    ``rows`` (N,), their ``places`` among the points and ``signs`` (N,) place x in a; ``slopes``
    (N,) of Lin; ``room`` (N,) the upper ends.
    """

    points: Indices
    fixed: Array
    rows: Indices
    places: Indices
    signs: Array
    slopes: Array
    room: Array

    @classmethod
    def of(
        cls,
        task: Problem,
        points: Indices | None = None,
        fixed: Array | None = None,
    ) -> Sides:
        low, high = task.box
        if points is None or fixed is None:
            points = np.arange(task.y.size)
            fixed = np.zeros(task.y.size)
        up = np.flatnonzero(high[points] > 0.0)
        down = np.flatnonzero(low[points] < 0.0)
        places = np.concatenate([up, down])
        signs = np.repeat([1.0, -1.0], [up.size, down.size])
        rows = points[places]
        slopes = signs * task.loss.linear(task.y)[rows] - task.loss.epsilon
        room = np.where(signs > 0, high[rows], -low[rows])
        return cls(points, fixed, rows, places, signs, slopes, room)

    @property
    def is_part(self) -> bool:
        """Whether some points are fixed."""
        return self.points.size < self.fixed.size

    def dual(self, x: Array) -> Array:
        """a (n,)."""
        a = self.fixed.copy()
        a[self.points] = self.gathered(x)
        return a

    def gathered(self, x: Array) -> Array:
        """a of the points (k,), or any other sum over the two parts of a point."""
        a = np.zeros(self.points.size)
        np.add.at(a, self.places, self.signs * x)
        return a

    def spread(self, v: Array) -> Array:
        """What every part of x sees of a vector (k,) over the points: the transpose of
        ``gathered``.
        """
        return self.signs * v[self.places]

    def parts(self, a: Array) -> Array:
        """x (N,) of a dual in the box, not both parts of a point positive."""
        return np.maximum(self.signs * a[self.rows], 0.0)

    def centre(self, total: float, balanced: bool) -> Array | None:
        """x well inside the box, whose duals sum to ``total`` if ``balanced``; None where there is
        none.
        """
        if not balanced:
            return 0.5 * self.room
        up = float(self.room[self.signs > 0].sum())
        down = float(self.room[self.signs < 0].sum())
        if not -down < total < up:
            return None
        return self.room * np.where(self.signs > 0, down + total, up - total) / (up + down)


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """A point of the path inside, or a step of it: ``values`` (x, room - x, and at p = 1 theta) and
    their ``multipliers`` (lower, upper, s), all positive; the intercept; ``theta`` (M,), and the
    multiplier of their constraint, t at p = 1 and nu above.
    """

    values: Array
    multipliers: Array
    intercept: float
    theta: Array
    norm_multiplier: float

    @property
    def mu(self) -> float:
        return float(self.values @ self.multipliers) / self.values.size

    def moved(self, way: InteriorPoint, length: float, weights: Simplex | Sphere) -> InteriorPoint:
        """A step along ``way``, whose weights live on ``weights``."""
        norm_multiplier = weights.changed(
            np.array(self.norm_multiplier), np.array(length * way.norm_multiplier)
        )
        return InteriorPoint(
            self.values + length * way.values,
            self.multipliers + length * way.multipliers,
            self.intercept + length * way.intercept,
            weights.changed(self.theta, length * way.theta),
            float(norm_multiplier),
        )

    def room(self, way: InteriorPoint) -> float:
        """The longest step along ``way`` that keeps everything non-negative."""
        return min(
            longest_step(self.values, way.values), longest_step(self.multipliers, way.multipliers)
        )


class Linearised(NamedTuple):
    """The conditions of the weights, to first order:  U da - diagonal * dtheta - border * dnu + rest
    = 0  and border'dtheta = missing.
    """

    diagonal: Array
    border: Array
    rest: Array
    missing: float


class Simplex:
    """p = 1: theta >= 0, the multipliers of 1/2 a'K_m a <= t, sums to one."""

    def enter(
        self, values: Array, multipliers: Array, b: float, theta: Array, Q: Array, mu: float
    ) -> InteriorPoint:
        """The first point, of a box with its multipliers and of weights with forms Q (M,)."""
        t = 0.5 * float(Q.max()) + mu * theta.size
        values = np.append(values, theta)
        return InteriorPoint(values, np.append(multipliers, t - 0.5 * Q), b, theta, t)

    def linearised(self, inside: InteriorPoint, Q: Array, goal: Array) -> Linearised:
        """The conditions at a point, on the way to products ``goal`` of weights and their
        multipliers.
        """
        theta = inside.theta
        s = inside.multipliers[-theta.size :]
        rest = 0.5 * Q - inside.norm_multiplier + goal / theta
        return Linearised(s / theta, np.ones(theta.size), rest, 1.0 - float(theta.sum()))

    def changed(self, value: Array, change: Array) -> Array:
        """Weights, or the multiplier of their constraint, after a ``change`` to first order."""
        return value + change


class Sphere:
    """p > 1: theta follows the forms, and has no wall to stop at: it moves in logarithms."""

    def __init__(self, p: float) -> None:
        self.p = p

    def enter(
        self, values: Array, multipliers: Array, b: float, theta: Array, Q: Array, mu: float
    ) -> InteriorPoint:
        powers = theta ** (self.p - 1.0)
        nu = 0.5 * float(Q.mean()) / float(np.mean(powers))
        return InteriorPoint(values, multipliers, b, theta, max(nu, 1e-300))

    def linearised(self, inside: InteriorPoint, Q: Array, goal: Array) -> Linearised:
        theta = inside.theta
        p = self.p
        border = theta ** (p - 1.0)
        diagonal = inside.norm_multiplier * (p - 1.0) * theta ** (p - 2.0)
        rest = 0.5 * Q - inside.norm_multiplier * border
        return Linearised(diagonal, border, rest, (1.0 - float(np.sum(theta**p))) / p)

    def changed(self, value: Array, change: Array) -> Array:
        found: Array = value * np.exp(np.clip(change / value, -FARTHEST, FARTHEST))
        return found


class Interior(Reweighting):
    """The primal-dual path as the driver's method, on the simplex or for an lp norm with 1 < p <
    infinity.
    """

    needs_products = True

    def prepare(self) -> None:
        super().prepare()
        self.name = "lp interior point"
        self.sides = Sides.of(self.problem)
        p = self.problem.order
        self.weights: Simplex | Sphere = Simplex() if p == 1 else Sphere(p)
        self._is_sparse = p == 1
        self._short = 0
        self._trace = Trace(self.tol)

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Whether the box has an inside: not where one class alone must balance to zero, say."""
        return Sides.of(problem).centre(problem.loss.total, problem.fit_intercept) is not None

    def init(self) -> WeightIterate:
        task = self.problem
        sides = self.sides
        theta = self.problem.penalty.start(self.problem.K.n_kernels)
        if self.warm is None and self._is_sparse:
            x = sides.centre(task.loss.total, task.fit_intercept)
            assert x is not None
            return self._begun(x * self._shrinking(sides.dual(x)), theta)
        if self.warm is None:  # weights follow the forms, which must not vanish
            low, high = task.box
            a = task.feasible(np.where(task.y > task.y.mean(), high, low))
            return self._entered_from(self._shrinking(a) * a, theta)
        a = task.feasible(self.warm.dual)
        near = self.warm.weights / max(float(self.warm.weights.sum()), 1e-300)
        if not self._is_sparse:
            theta = task.penalty.scale(np.maximum(near, UNEVEN * near.max()))
        else:
            theta = (1.0 - INWARD) * near + INWARD * theta / theta.sum()
            self.sides = self._undecided(a, near)
        return self._entered_from(a, theta)

    def _entered_from(self, a: Array, theta: Array) -> WeightIterate:
        """The first point of the path on the present sides: a little inside of a dual, with the
        same sum.
        """
        x = self.sides.parts(a)
        centre = self.sides.centre(float(self.sides.signs @ x), self.problem.fit_intercept)
        centre = 0.5 * self.sides.room if centre is None else centre
        return self._begun((1.0 - INWARD) * x + INWARD * centre, theta)

    def _undecided(self, a: Array, weights: Array) -> Sides:
        """The points whose side of the margin a neighbour leaves open, all where these are most:
        points off their bounds or on the wrong side, and the nearest.
        """
        task = self.problem
        whole = Sides.of(self.problem)
        if Capability.FEATURES in task.K.capabilities:
            return whole
        f = task.K.decision(weights, a)
        b, _ = task.loss_at(f)
        excess = whole.slopes - whole.spread(f + b)
        filled = whole.parts(a) / whole.room
        firmness = np.where(filled > 0.5, excess, -excess)
        firmness[np.minimum(filled, 1.0 - filled) > OFF] = -np.inf
        nearness = np.full(a.size, np.inf)
        np.minimum.at(nearness, whole.rows, firmness)
        if self.sides.is_part:
            nearness[self.sides.points] = -np.inf
        count = int(np.sum(nearness < 0.0)) + POINTS * weights.size
        if count >= PART * a.size:
            return whole
        nearest = np.argsort(nearness, kind="stable")[:count]
        return Sides.of(task, np.sort(nearest), a)

    def _begun(self, x: Array, theta: Array) -> WeightIterate:
        point = self._read(x, theta)
        self.inside = self._entered(x, theta, point)
        return point

    def step(
        self, best: WeightIterate, last: WeightIterate, trace: Trace
    ) -> WeightIterate | Status:
        self._trace = trace
        inside = self.inside
        if not self.sides.is_part:
            return self._advance()
        at_end = inside.mu * inside.values.size <= AT_END * trace.target
        following = Status.STALLED if at_end else self._advance()
        if isinstance(following, Iterate):
            return following
        a = self.sides.dual(inside.values[: self.sides.rows.size])
        self.sides = self._undecided(a, self._last.weights)  # other points matter after all
        return self._entered_from(a, inside.theta)

    def _advance(self) -> WeightIterate | Status:
        """The Newton step out of the point read last."""
        inside = self.inside
        N = self.sides.rows.size
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                system = _System(self, self._last)
                ahead = system.direction(np.zeros(inside.values.size))
                foremost = inside.moved(ahead, min(1.0, inside.room(ahead)), self.weights)
                reached = max(foremost.mu, 0.0)
                goal = inside.mu * float(np.clip((reached / inside.mu) ** 3, 1e-4, 1.0))
                goal = max(goal, BEHIND * self._gap / inside.values.size)
                way = system.direction(goal - ahead.values * ahead.multipliers)
        except (np.linalg.LinAlgError, ArithmeticError):
            return Status.STALLED
        length = min(1.0, TO_THE_WALL * inside.room(way))
        self._short = self._short + 1 if length < SHORTEST else 0
        if not np.all(np.isfinite(way.values)) or self._short >= PATIENCE:
            return Status.STALLED
        self.inside = inside.moved(way, length, self.weights)
        return self._read(self.inside.values[:N], self.inside.theta)

    @property
    def _gap(self) -> float:
        """The gap of the point read last; above p = 1 it falls behind that of the path, for the
        weights follow to first order.
        """
        bound = self._last.dual_objective
        if self._is_sparse or bound is None or not np.isfinite(bound):
            return 0.0
        return self._last.objective - bound

    def polish(self, best: WeightIterate) -> WeightIterate:
        """The fewest kernels that keep the certificate, and the machine at their weights, unless
        that is expensive: its dual is sparse.

        The path inside weighs every kernel; a step or two beyond the tolerance tell apart those
        that matter.
        """
        if not self._is_sparse:
            return best
        limit = max(best.objective, best.objective - self._trace.gap + self._trace.target)
        solves = 0
        weights = self._fewest(best, limit)
        if Capability.FEATURES in self.problem.K.capabilities:
            objective, b, _ = self._primal(weights, *self._products(best.dual))
            return replace(best, weights=weights, intercept=b, objective=objective, solves=0)
        while solves < BEYOND and np.min(weights[weights > 0]) < CLEAR * weights.max():
            following = self._advance()
            if isinstance(following, Status):
                break
            best = following if following.objective <= best.objective else best
            solves = solves + 1
            weights = self._fewest(best, limit)
        sharp = self.solve(weights, best.dual, max(0.05 * self.tol, _FLOOR))
        chosen, other = (sharp, best) if sharp.objective <= limit else (best, sharp)
        return replace(keeping_dual(chosen, other), solves=solves + 1)

    def _fewest(self, best: WeightIterate, limit: float) -> Array:
        """The weights of ``best`` without as many small ones as the limit on the objective allows."""
        G, Q = self._products(best.dual)
        for share in CUTS:
            is_kept = best.weights >= share * best.weights.max()
            kept = np.where(is_kept, best.weights, 0.0)
            weights: Array = kept / kept.sum()
            if self._primal(weights, G, Q)[0] <= limit:
                return weights
        return best.weights

    def _shrinking(self, a: Array) -> float:
        """The multiple of ``a`` that is worth most, for a first dual; 1 where the total is given."""
        task = self.problem
        if task.loss.total != 0.0:
            return 1.0
        conjugate = task.penalty.conjugate(self._products(a)[1])
        linear = task.dual(a)
        if conjugate <= 0.0:
            return 1.0
        return float(np.clip(linear / (2.0 * conjugate), 1e-3, 1.0))

    def _entered(self, x: Array, theta: Array, point: WeightIterate) -> InteriorPoint:
        """Multipliers for a first x and theta: no residuals, and no product far below the mean."""
        sides = self.sides
        left = sides.room - x
        decision = theta @ point.state.G + point.intercept
        excess = sides.slopes - sides.spread(decision[sides.points])
        bound = point.dual_objective
        if bound is not None and np.isfinite(bound):
            gap = point.objective - bound
        else:
            gap = float(np.abs(excess) @ np.minimum(x, left))
        mu = max(gap, 1e-6 * abs(point.objective)) / (2 * x.size + theta.size)
        lift = mu / np.minimum(x, left)
        pulls = np.maximum([-excess, excess], 0.0) + lift
        values = np.append(x, left)
        return self.weights.enter(values, pulls.ravel(), point.intercept, theta, point.state.Q, mu)

    def _read(self, x: Array, theta: Array) -> WeightIterate:
        """The point of x and theta, certified.

        Where hardly a slope pays, steps leave 1'a off its total by more than the certificate can
        bear: it is set right first.
        """
        task = self.problem
        a = self.sides.dual(x)
        off = abs(float(a.sum()) - task.loss.total)
        if task.fit_intercept and off > BALANCED * float(np.abs(a).sum()):
            a = task.feasible(a)
        weights = theta / theta.sum() if self._is_sparse else task.penalty.scale(theta)
        G, Q = self._products(a)
        objective, b, value = self._primal(weights, G, Q)
        bound = task.bound(a, Q)
        state = WeightState(Q, value, 0.0, _FLOOR, G=G)
        self._last = Iterate(
            weights,
            a,
            b,
            objective,
            bound.value,
            bound.conjugate,
            state=state,
            dual_point=bound.point,
        )
        return self._last

    def _primal(
        self,
        weights: Array,
        G: Array,
        Q: Array,
    ) -> tuple[float, float, float]:
        """Primal value at weights and a dual with products G and forms Q; its intercept; the
        machine's own value.
        """
        b, errors = self.problem.loss_at(weights @ G)
        objective = errors + self.problem.regulariser(weights, Q)
        return objective, b, errors + 0.5 * float(weights @ Q)


class _System:
    """The linearised conditions at a point inside, factorised: A = K_theta + diag and its Schur
    complement.
    """

    def __init__(self, method: Interior, point: WeightIterate) -> None:
        self.sides = method.sides
        self.inside = method.inside
        self.task = method.problem
        self.weights = method.weights
        self.U = point.state.G[:, method.sides.points]
        self.Q = point.state.Q
        N = method.sides.rows.size
        self.x, self.left, _ = _thirds(self.inside.values, N)
        lower, upper, _ = _thirds(self.inside.multipliers, N)
        decision = self.inside.theta @ self.U + self.inside.intercept
        self.excess = self.sides.slopes - self.sides.spread(decision)
        dual = self.sides.dual(self.x)
        self.total = self.task.loss.total - float(dual.sum())
        self.stiffness = lower / self.x + upper / self.left
        soft = self.sides.gathered(self.sides.signs / self.stiffness)
        self.firm = 1.0 / np.maximum(soft, LEAST)
        firm = np.maximum(self.firm, LEAST)
        self.A = solver_of(self.task.K, point.weights, self.sides.points, firm)
        zeros = np.zeros(self.Q.size)
        conditions = self.weights.linearised(self.inside, self.Q, zeros)
        self.missing = conditions.missing
        self.H = Complement(self.A, self.U, conditions.diagonal)
        self.ones = self.H.ones
        self.border = np.column_stack([self.U @ self.ones, conditions.border])
        self.bordered = np.column_stack([self.H.solve(side) for side in self.border.T])

    def direction(self, goal: Array) -> InteriorPoint:
        """The Newton step towards products values * multipliers = ``goal``."""
        sides = self.sides
        low, high, weighed = _thirds(goal, sides.rows.size)
        right = self.excess + low / self.x - high / self.left
        pull = self.firm * sides.gathered(right / self.stiffness)
        free = self.A(pull)
        asked = weighed if weighed.size else self.Q
        reach = self.U @ free + self.weights.linearised(self.inside, self.Q, asked).rest
        outer = self._outer(reach, float(free.sum()))
        theta = self.H.solve(reach - self.border @ np.array(outer))
        intercept, norm_multiplier = outer
        a = free - self.H.back(theta) - self.ones * intercept
        x = (right - sides.spread(pull - self.firm * a)) / self.stiffness
        values = np.concatenate([x, -x, theta[: weighed.size]])
        old = self.inside.multipliers
        multipliers = (goal - old * values) / self.inside.values - old
        return InteriorPoint(values, multipliers, intercept, theta, norm_multiplier)

    def _outer(self, reach: Array, drift: float) -> tuple[float, float]:
        """The steps of intercept and multiplier: 1'a moves to its total, the weights to their set."""
        missing = np.array([drift - self.total, self.missing])
        right = self.bordered.T @ reach - missing
        system = self.border.T @ self.bordered
        if not self.task.fit_intercept:
            return 0.0, float(right[1] / system[1, 1])
        system[0, 0] -= float(self.ones.sum())
        intercept, norm_multiplier = np.linalg.solve(system, right)
        return float(intercept), float(norm_multiplier)


def _thirds(v: Array, N: int) -> tuple[Array, Array, Array]:
    return v[:N], v[N : 2 * N], v[2 * N :]


class Complement:
    """What solves (U A^{-1} U' + diag(d)) z = right, from what solves A z = r for right sides (n,)
    or (n, k); ``ones`` is A^{-1} 1, and LinAlgError says that the complement is singular.
    """

    def __init__(
        self,
        A: Callable[[Array], Array],
        U: Array,
        d: Array,
    ) -> None:
        both = A(np.column_stack([U.T, np.ones(U.shape[1])]))
        self._through = np.ascontiguousarray(both[:, :-1])
        self.ones = np.ascontiguousarray(both[:, -1])
        H = U @ self._through
        self.solve = factorised(H, d)

    def back(self, z: Array) -> Array:
        return self._through @ z


def solver_of(
    K: CachedOperator, weights: Array, points: Indices, firm: Array
) -> Callable[[Array], Array]:
    """What solves (K_theta + diag(firm)) z = right among some points; LinAlgError where it is
    singular.
    """
    if points.size < K.n_samples:
        return factorised(K.combine_block(weights, points), firm)
    return K.combine(weights).factor(firm)
