"""The interior point method for p > 1 on features: dual, weights and model together, whatever the bounds of the dual.

    max_a  Lin(a) - F(a),   F(a) = 1/2 ||(a'K_m a)_m||_q,   subject to  low <= a <= high,  1'a = total,     q = p / (p - 1)

Coordinates creep where C is large: many rows stand at their bounds, and those that do not are nearly dependent. Here the dual
in two parts, a = E x (``solvers.interior``), goes along with u = Phi'a, the weights theta and the model v = theta u, as unknowns
of their own, so that what is strongly bent stays apart from what is linear. Newton steps on

    slopes - E'(Phi v + b 1) + lower - upper = 0      x lower = mu     (room - x) upper = mu     1'a = total
    u = Phi'a       v_m = theta_m u_m       1/2 ||u_m||^2 = nu theta_m^(p - 1)       sum_m theta_m^p = 1        mu -> 0

come down to one system of size n, Phi B Phi' + diag(h), with B = L L' known in closed form (``Bend``); Woodbury's identity
turns it into one of size D, and a step costs O(n D^2) and four passes over the rows. Predictor and corrector of Mehrotra (1992).
Every point is proved by its own feasible dual; where rounding ends the path, the analytic update goes on.

Source: Kloft et al. (2011), equations (16) and (17); Ferris and Munson (2002), Interior-point methods for massive support
vector machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from mklcore.arrays import Array
from mklcore.losses.intercepts import best_intercept, total_loss
from mklcore.lowrank.features import FeatureStack
from mklcore.lowrank.weighing import TOLD, FeatureReweighting, OnFeatures, Seen
from mklcore.machines.solution import feasible_start
from mklcore.solvers.driver import Point, Progress, Status
from mklcore.solvers.interior import Sides
from mklcore.solvers.problem import Problem, WarmStart

_LEAST = 1e-200  # a firmness below it would not be one
_TO_THE_WALL = 0.97  # share of the longest step that keeps everything positive
_SHORTEST, _PATIENCE = (
    1e-4,
    5,
)  # steps shorter than this are no progress; so many in a row are the end
_WORSE = 12  # points in a row, none nearer than those before: rounding leads the path away
_WIDE = 2.5  # of the mean room: mu of the first point, where a row's multipliers weigh a few times its loss
_ORDERS = (1.2, 3.0)  # outside of these theta follows u too steeply, or hardly
_UNIT = 2.0  # diagonal of the sum of kernels at equal weights where it was measured what pays
# Cost of coordinates in C; passes and products of the path beside it: fitted to CPU seconds by benchmarks/what_pays.py.
CREEP, PASSES, PRODUCTS = 0.85, 0.48, 0.0013
_MOST_BYTES = 1e9  # of the inner system and what is made of it
_FARTHEST = 3.0  # of log theta in one step
_UNEVEN = 1e-6  # of the largest weight is the least a weight begins with
_ROUNDING = 1e-13  # of the mean diagonal of the inner system: lifts what rounding may have made negative
_LEFT_OUT = 0.02  # of the identity in the inner system: what rows that are left out of it may add up to


class Inside(NamedTuple):
    """A point of the path, or a step of it. ``values`` (x, room - x) and their ``multipliers`` (lower, upper), all positive;
    ``b``; ``u`` and ``v`` (D,); ``theta`` (M,); ``nu``, the price of the norm of theta."""

    values: Array
    multipliers: Array
    b: float
    u: Array
    v: Array
    theta: Array
    nu: float

    @property
    def mu(self) -> float:
        return float(self.values @ self.multipliers) / self.values.size

    def moved(self, way: Inside, length: float) -> Inside:
        """A step along ``way``; weights and their price, which have no wall to stop at, in logarithms."""
        return Inside(
            self.values + length * way.values,
            self.multipliers + length * way.multipliers,
            self.b + length * way.b,
            self.u + length * way.u,
            self.v + length * way.v,
            self.theta * np.exp(np.clip(length * way.theta / self.theta, -_FARTHEST, _FARTHEST)),
            self.nu * float(np.exp(np.clip(length * way.nu / self.nu, -_FARTHEST, _FARTHEST))),
        )

    def room(self, way: Inside) -> float:
        """The longest step along ``way`` that keeps everything non-negative."""
        longest = np.inf
        for held, step in ((self.values, way.values), (self.multipliers, way.multipliers)):
            falling = step < 0.0
            longest = min(longest, float(np.min(-held[falling] / step[falling], initial=np.inf)))
        return longest


class Seeing(NamedTuple):
    """What one look at the rows tells of a point: u (D,) of its dual, and Phi v (n,) and Phi k (n,) of its model and lag."""

    u: Array
    model: Array
    lag: Array
    left: float  # what the dual inside is short of its total


def scaled_cost(problem: Problem) -> float:
    """C in units in which kernels of any scale cost alike: times the diagonal of their sum at equal weights, by that of 2."""
    stack: FeatureStack = problem.K.source  # type: ignore[assignment]  # features go to this method alone
    unit = float(problem.penalty.start(stack.n_kernels) @ stack.diagonals().mean(axis=1))
    return float(np.mean(problem.C)) * unit / _UNIT


class FeatureCentral(OnFeatures):
    """The primal-dual path of 1 < p < infinity; for losses whose Lin is linear on each side of zero."""

    def __init__(self, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> None:
        self._take(problem, tol, warm)
        self.name = f"lp interior point {TOLD}"
        assert problem.penalty.exponent is not None
        self.p, self.sides, self._short, self._worse = problem.penalty.exponent, Sides.of(problem), 0, 0
        self._ends = np.inf, -np.inf
        self._after: FeatureReweighting | None = None

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Whether there is such a path, in a norm it bears: Lin piecewise linear on a box with an inside, 1.2 <= p <= 3."""
        p, loss = problem.penalty.exponent, problem.loss
        able = bool(p is not None and _ORDERS[0] <= p <= _ORDERS[1]) and loss.piecewise_linear
        return able and Sides.of(problem).centre(loss.total, problem.fit_intercept) is not None

    @staticmethod
    def pays(problem: Problem) -> bool:
        """Whether its steps, O(D) for every number in the table, cost less than coordinates, which take the longer the larger C."""
        D = problem.K.source.table.shape[1]  # type: ignore[attr-defined]  # features go to this method alone
        return bool(scaled_cost(problem) ** CREEP > PASSES + PRODUCTS * D and 32.0 * D * D <= _MOST_BYTES)

    def start(self) -> Point:
        task, sides, M = self.problem, self.sides, self.stack.n_kernels
        low, high = task.loss.box(task.y, task.C)
        if self.warm is None:
            ends, theta = np.where(task.y > task.y.mean(), high, low), task.penalty.start(M)
            a = feasible_start(ends, low, high, task.fit_intercept, task.loss.total)
        else:
            moved = self.warm.dual_for(task.C, task.loss)
            a = feasible_start(moved, low, high, task.fit_intercept, task.loss.total)
            most = max(float(self.warm.weights.max()), 1e-300)
            theta = task.penalty.scale(np.maximum(self.warm.weights, _UNEVEN * most))
        self._box = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        u = self.stack.coefficients(a)
        Q = self.stack.by_kernel(u * u)
        price = task.penalty.dual_price(Q)
        share = float(np.clip(task.loss.dual(a, task.y, task.C) / (2.0 * price), 1e-9, 1.0)) if price > 0.0 else 1.0
        nu = max(0.5 * share**2 * float(Q.mean()) / float(np.mean(theta ** (self.p - 1.0))), 1e-300)
        ideal = np.sqrt(2.0 * nu * theta ** (self.p - 1.0))
        norms = np.sqrt(Q)
        u = u * self.stack.spread(ideal / np.maximum(norms, 1e-6 * max(float(norms.max()), 1e-300)))
        v = self.stack.spread(theta) * u
        mu = _WIDE * float(np.mean(sides.room))
        f = self.stack.times(v)
        b = self._balancing(f, mu) if task.fit_intercept else 0.0
        x, left = on_path(sides.slopes - sides.spread(f + b), mu, sides.room)
        self.inside = Inside(np.concatenate([x, left]), mu / np.concatenate([x, left]), b, u, v, theta, nu)
        return self._read()

    def step(self, best: Point, last: Point, board: Progress) -> Point | Status:
        if self._after is not None:
            return self._after.step(best, last, board)
        inside = self.inside
        self._worse = 0 if self._better(last) else self._worse + 1
        if self._worse >= _WORSE:
            return self._change(best)
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                newton = _Newton(self)
                ahead = newton.ahead()
                reached = max(inside.moved(ahead, min(1.0, inside.room(ahead))).mu, 0.0)
                goal = inside.mu * float(np.clip((reached / inside.mu) ** 3, 1e-4, 1.0))
                way = newton.towards(goal - ahead.values * ahead.multipliers)
        except (np.linalg.LinAlgError, ArithmeticError):
            return self._change(best)
        length = min(1.0, _TO_THE_WALL * inside.room(way))
        self._short = self._short + 1 if length < _SHORTEST else 0
        if not np.all(np.isfinite(way.values)) or self._short >= _PATIENCE:
            return self._change(best)
        self.inside = inside.moved(way, length)
        return self._read()

    def finish(self, best: Point) -> Point:
        """Nothing is left to do: above p = 1 every kernel keeps its weight."""
        return best

    def _change(self, best: Point) -> Point:
        """Where rounding ends the path, the analytic update goes on from the best point."""
        self._after = FeatureReweighting(
            self.problem, tol=self.tol, warm=WarmStart(best.weights, best.dual, self.problem.C)
        )
        self._after.listen(self._listener)
        self.name = f"lp interior point, then {self._after.name}"
        return self._after.start()

    def _better(self, last: Point) -> bool:
        """Whether a point is nearer than all before it, from above or from below."""
        assert last.dual_objective is not None
        before, self._ends = self._ends, (min(self._ends[0], last.objective), max(self._ends[1], last.dual_objective))
        return before != self._ends

    def _balancing(self, f: Array, mu: float) -> float:
        """The intercept at which the dual that the path has at f (n,) sums to its total."""
        sides, total = self.sides, self.problem.loss.total
        reach = float(np.abs(f).max()) + float(np.abs(sides.slopes).max())
        span = reach + 4.0 * mu * sides.rows.size / float(np.min(sides.room))
        low, high = -span, span
        for _ in range(100):
            b = 0.5 * (low + high)
            x, _ = on_path(sides.slopes - sides.spread(f + b), mu, sides.room)
            low, high = (b, high) if float(sides.signs @ x) > total else (low, b)
        return b

    def _read(self) -> Point:
        """The point of the dual inside at the weights inside, certified: what is published, from scratch."""
        task, stack, inside = self.problem, self.stack, self.inside
        raw = self.sides.dual(inside.values[: self.sides.rows.size])
        # Steps keep the sum of the dual to their own rounding, which grows along the path; a certificate asks for all digits.
        a = feasible_start(raw, *self._box, task.fit_intercept, task.loss.total)
        u, weights = stack.coefficients(a), task.penalty.scale(inside.theta)
        Q = stack.by_kernel(u * u)
        self.bend = Bend.at(stack, inside, self.p)
        lag = self.bend.change(u - inside.u)
        f, model, behind = stack.times(np.column_stack([stack.spread(weights) * u, inside.v, lag])).T
        self.seen = Seeing(u, model, behind, task.loss.total - float(raw.sum()))
        b = best_intercept(task.loss, f, task.y, task.C) if task.fit_intercept else 0.0
        errors, bound = total_loss(task.loss, f, b, task.y, task.C), self.bound(a, Q)
        assert bound is not None
        state = Seen(Q, errors + 0.5 * float(weights @ Q), 0.0, 0.0, u=u)
        price = task.penalty.regulariser(weights * np.sqrt(Q))
        return Point(weights, a, b, errors + price, bound.value, bound.price, state=state, dual_point=bound.point)


def on_path(excess: Array, mu: float, room: Array) -> tuple[Array, Array]:
    """x and room - x with excess + mu / x - mu / (room - x) = 0, entry by entry, without cancellation."""
    half = 0.5 * room
    root = np.hypot(mu, excess * half)
    small = half * (mu + mu * mu / (root + np.abs(excess) * half)) / (mu + root)
    return np.where(excess > 0.0, room - small, small), np.where(excess > 0.0, small, room - small)


@dataclass(frozen=True, eq=False)
class Bend:
    """How weights and model follow a step of u: dv = B du + lag with B = L L', L = R (I + kappa g g').

    R scales block m by ``roots`` (D,) = sqrt(theta_m), and by 1 + ``lifts`` (M,) along u_m, the unit vectors ``ways`` (D,): the
    weight of a kernel grows with its form. ``pull`` (D,) is the unit vector g, along which the norm of theta takes back.
    """

    stack: FeatureStack
    inside: Inside
    roots: Array
    ways: Array
    lifts: Array
    pull: Array
    kappa: float
    firm: Array  # of theta: nu (p - 1) theta^(p - 2)
    slope: Array  # theta^(p - 1)
    unmet: Array  # nu theta^(p - 1) - 1/2 ||u_m||^2
    over: float  # what sum theta^p is short of one, over p

    @classmethod
    def at(cls, stack: FeatureStack, inside: Inside, p: float) -> Bend:
        theta, u = inside.theta, inside.u
        Q = stack.by_kernel(u * u)
        slope, firm = theta ** (p - 1.0), inside.nu * (p - 1.0) * theta ** (p - 2.0)
        grown, sizes = 1.0 + Q / (theta * firm), np.sqrt(Q)
        ways = u / stack.spread(np.where(sizes > 0.0, sizes, 1.0))
        pull = stack.spread(slope / (firm * np.sqrt(theta * grown))) * u
        size = float(np.linalg.norm(pull))
        left = max(1.0 - size * size / float(np.sum(slope * slope / firm)), 0.0)
        return cls(
            stack, inside, stack.spread(np.sqrt(theta)), ways, np.sqrt(grown) - 1.0, pull / max(size, 1e-300),
            float(np.sqrt(left)) - 1.0, firm, slope, inside.nu * slope - 0.5 * Q, (1.0 - float(np.sum(theta**p))) / p,
        )  # fmt: skip

    def _along(self, table: Array) -> Array:
        """The blocks of ``table`` (D, k) stretched along their own ways: a symmetric map."""
        tall = table.reshape(self.roots.size, -1)
        out = tall.copy()
        for m in range(self.stack.n_kernels):
            part = self.stack.transform.part(m)
            own = self.ways[part]
            out[part] += np.outer(self.lifts[m] * own, own @ tall[part])
        return out.reshape(table.shape)

    def times(self, v: Array) -> Array:
        """L v for v (D,) or (D, k)."""
        return (self.roots * self._along(v + self.kappa * np.multiply.outer(self.pull, self.pull @ v)).T).T

    def transposed(self, v: Array) -> Array:
        """L'v for v (D,) or (D, k)."""
        found = self._along((self.roots * v.T).T)
        shifted: Array = found + self.kappa * np.multiply.outer(self.pull, self.pull @ found)
        return shifted

    def weights(self, du: Array) -> tuple[Array, float]:
        """The steps of theta (M,) and nu that go with ``du``."""
        push = self.stack.by_kernel(self.inside.u * du) - self.unmet
        nu = (float(np.sum(self.slope * push / self.firm)) - self.over) / float(np.sum(self.slope**2 / self.firm))
        return (push - self.slope * nu) / self.firm, nu

    def change(self, du: Array) -> Array:
        """The step of v that goes with ``du``, what v lags behind theta u included."""
        inside, spread = self.inside, self.stack.spread
        own = spread(inside.theta)
        return own * du + inside.u * spread(self.weights(du)[0]) + own * inside.u - inside.v


class _Newton:
    """The linearised conditions at a point inside, factorised."""

    def __init__(self, method: FeatureCentral) -> None:
        self.sides, self.inside, self.task = method.sides, method.inside, method.problem
        self.stack, self.bend = method.stack, method.bend
        N, seen = self.sides.rows.size, method.seen
        self.x, self.left = self.inside.values[:N], self.inside.values[N:]
        lower, upper = self.inside.multipliers[:N], self.inside.multipliers[N:]
        self.excess = self.sides.slopes - self.sides.spread(seen.model + seen.lag + self.inside.b)
        self.behind, self.left_over = seen.u - self.inside.u, seen.left
        self.stiffness = lower / self.x + upper / self.left
        self.firm = np.maximum(1.0 / np.maximum(self.sides.dual(self.sides.signs / self.stiffness), _LEAST), _LEAST)
        self._factorise()

    def _factorise(self) -> None:
        """I + L'Phi'diag(1/h) Phi L, and in the same pass over the rows what the intercept and the predictor ask of them.

        Rows with next to no part in it are left out: the step is a little less exact, and the next point sees where it led.
        """
        stack, h, D = self.stack, self.firm, self.stack.table.shape[1]
        grown = self.inside.theta * (1.0 + self.bend.lifts) ** 2
        share = (grown @ stack.diagonals()) / h
        order = np.argsort(share, kind="stable")
        counts = np.ones(h.size, dtype=bool)
        counts[order[: int(np.searchsorted(np.cumsum(share[order]), _LEFT_OUT))]] = False
        self.ends = self._right(np.zeros(self.inside.values.size))
        sides = np.column_stack([np.ones(h.size), self.firm * self.sides.dual(self.ends / self.stiffness)]) / h[:, None]
        inner, reach = np.zeros((D, D), order="F"), np.zeros((D, 2))
        for part, piece in stack.pieces():
            reach += piece.T @ sides[part]
            chosen = counts[part]
            if chosen.any():
                some = piece[chosen]
                some /= np.sqrt(h[part][chosen])[:, None]
                inner = scipy.linalg.blas.dsyrk(1.0, some.T, beta=1.0, c=inner, overwrite_c=True)
        inner = np.triu(inner) + np.triu(inner, 1).T
        inner = self.bend.transposed(self.bend.transposed(inner).T)
        inner.flat[:: D + 1] += 1.0 + _ROUNDING * float(np.trace(inner)) / D
        self.factor = scipy.linalg.cho_factor(inner, lower=False, overwrite_a=True, check_finite=False)
        solved = sides - stack.times(self._inward(reach)) / h[:, None]
        self.ones, self.first = solved.T

    def _inward(self, reach: Array) -> Array:
        return self.bend.times(scipy.linalg.cho_solve(self.factor, self.bend.transposed(reach), check_finite=False))

    def _right(self, goal: Array) -> Array:
        N = self.sides.rows.size
        right: Array = self.excess + goal[:N] / self.x - goal[N:] / self.left
        return right

    def ahead(self) -> Inside:
        """The predictor, towards products of zero: of values and multipliers alone."""
        return self._finished(self.first, self.ends, np.zeros(self.inside.values.size))

    def towards(self, goal: Array) -> Inside:
        """The Newton step towards products values * multipliers = ``goal``."""
        right = self._right(goal)
        through = self.sides.dual(right / self.stiffness)
        free = through - self.stack.times(self._inward(self.stack.coefficients(through))) / self.firm
        way = self._finished(free, right, goal)
        a = self.sides.dual(way.values[: self.sides.rows.size])
        du = self.stack.coefficients(a) + self.behind
        theta, nu = self.bend.weights(du)
        return way._replace(u=du, v=self.bend.change(du), theta=theta, nu=nu)

    def _finished(self, free: Array, right: Array, goal: Array) -> Inside:
        sides, inside, a, b = self.sides, self.inside, free, 0.0
        if self.task.fit_intercept:
            b = (float(a.sum()) - self.left_over) / float(self.ones.sum())
            a = a - b * self.ones
        pull = self.firm * sides.dual(right / self.stiffness)
        x = (right - sides.spread(pull - self.firm * a)) / self.stiffness
        values = np.concatenate([x, -x])
        multipliers = (goal - inside.multipliers * values) / inside.values - inside.multipliers
        return Inside(values, multipliers, b, inside.u, inside.v, inside.theta, inside.nu)
