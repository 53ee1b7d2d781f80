"""lp-norm learning on features: the loops of ``solvers.reweighting`` and ``solvers.newton`` around machines that read features.

Weights, updates, bundle, driver and stopping rule are those of Gram matrices; what differs is how a machine is solved, how
K_m a is computed (Phi_m Phi_m'a) and how the Hessian of the weights is: through n x D tables instead of n x n ones. Squared
loss works from sums over the rows (``ridge``) and reads the rows once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.losses.intercepts import best_intercept, total_loss
from mklcore.lowrank.boxed import inverse_times, solve_boxed
from mklcore.lowrank.features import FeatureStack
from mklcore.lowrank.gradual import solve_gradual
from mklcore.lowrank.ridge import Ridge, Sums, cost_of, curvature, solve_ridge_sums
from mklcore.machines.solution import Solution
from mklcore.solvers.bundle import Bundle
from mklcore.solvers.driver import Point, Progress
from mklcore.solvers.newton import Newton, newton_exponent
from mklcore.solvers.problem import Carried, Problem, WarmStart
from mklcore.solvers.reweighting import _FIRST, _FLOOR, _LEAST_SCALE, Reweighting, WeightState

_ROUGH, _SHARE = 0.03, 0.2
_DEAREST = 6e9  # multiplications that a Hessian may take; beyond it the analytic update is cheaper
TOLD = "of the approximated kernels"


@dataclass(frozen=True, eq=False)
class Seen(WeightState):
    """``WeightState``, with u = Phi'a (D,) of the dual; for squared loss the solution from sums."""

    u: Array | None = None
    ridge: Ridge | None = None


class OnFeatures(Reweighting):
    """What a method needs to work on a ``FeatureStack`` instead of a stack (M, n, n)."""

    stack: FeatureStack

    def _take(self, problem: Problem, tol: float, warm: WarmStart | None) -> None:
        self.problem, self.tol, self.warm = problem, tol, warm
        self.stack = problem.K.source  # type: ignore[assignment]  # the one place where the two kinds of stack meet
        self.live = np.arange(self.stack.n_kernels)
        self._stride = 0.0 if problem.penalty.exponent is None else _FIRST
        self._listener: Callable[[], Any] | None = None
        self._kinked = problem.penalty.sparse and problem.loss.piecewise_linear  # mixtures of rough duals prove nothing
        self.sums: Sums | None = None
        if problem.loss.quadratic:
            self.cost, rows = cost_of(problem.C)
            self.sums = Sums.of(self.stack, problem.y, problem.fit_intercept, rows)

    def start(self) -> Point:
        """A rough machine: here it costs more than all else, and the next one starts where it ended."""
        if self.warm is not None or self.sums is not None or self._kinked:
            return super().start()
        return self.solve(self.problem.penalty.start(self.live.size), None, _ROUGH)

    def accuracy(self, board: Progress) -> float:
        """Relative gap asked of the next machine: a share of the present gap of the whole problem, and never more than it needs."""
        if self._kinked:
            return super().accuracy(board)
        share = board.gap / board.scale if board.scale > 0 else 1.0
        return float(np.clip(_SHARE * share, max(0.3 * self.tol, _FLOOR), _ROUGH))

    def listen(self, listener: Callable[[], Any] | None) -> None:
        """Ask ``listener`` between sweeps whether to end."""
        self._listener = listener

    def solve(self, weights: Array, warm: Array | None, accuracy: float, damping: float = 0.0) -> Point:
        """One machine solve at ``weights``, and the certificate it gives to the whole problem of the approximated kernels."""
        if self.sums is not None:
            return self._from_sums(weights, accuracy, damping)
        task = self.problem
        machine = solve_gradual if task.loss.smooth else solve_boxed
        found, u = machine(
            self.stack, weights, task.y, task.C, task.loss, task.fit_intercept, warm=warm, accuracy=accuracy,
            heard=self._listener,
        )  # fmt: skip
        G = self.stack.matvec(found.dual) if self.needs_products else None
        return self._point(weights, found, u, accuracy, damping, G)

    def _point(
        self, weights: Array, found: Solution, u: Array, accuracy: float, damping: float, G: Array | None
    ) -> Point:
        task, f, b = self.problem, found.decision, found.intercept
        Q = self.stack.by_kernel(u * u)
        errors, bound = total_loss(task.loss, f, b, task.y, task.C), self.bound(found.dual, Q)
        assert bound is not None
        price = task.penalty.regulariser(weights * np.sqrt(Q))
        scale = bound.price if task.penalty.homogeneous else max(price, _LEAST_SCALE * errors)
        state = Seen(
            Q, found.objective, found.gap, accuracy, damping, G, u=u,
        )  # fmt: skip
        return Point(weights, found.dual, b, errors + price, bound.value, scale, state=state, dual_point=bound.point)

    def _from_sums(self, weights: Array, accuracy: float, damping: float) -> Point:
        """The same for squared loss: the dual itself is left for the end, as the empty array."""
        assert self.sums is not None
        task, found = self.problem, solve_ridge_sums(self.sums, self.stack.spread(weights), self.cost)
        Q = self.stack.by_kernel(found.u * found.u)
        half, price = 0.5 * float(weights @ Q), task.penalty.dual_price(Q)
        regulariser = task.penalty.regulariser(weights * np.sqrt(Q))
        value = found.errors + half
        gap = max(value - (found.linear - half), 0.0)
        scale = price if task.penalty.homogeneous else max(regulariser, _LEAST_SCALE * found.errors)
        state = Seen(Q, value, gap, accuracy, damping, u=found.u, ridge=found)
        return Point(
            weights, _LATER, found.intercept, found.errors + regulariser, found.linear - price, scale, state=state,
            dual_point=_LATER,
        )  # fmt: skip

    def restated(self, best: Point, dual_point: Array | None) -> Point:
        """Squared loss: the dual of the best weights, by the one pass over the rows."""
        if self.sums is None or best.dual.size:
            return best
        task, ridge = self.problem, best.state.ridge
        f = self.stack.times(ridge.v)
        b = best_intercept(task.loss, f, task.y, task.C) if task.fit_intercept else 0.0
        a = task.C * (task.y - f - b)
        if task.fit_intercept:
            a = a - a.mean()  # round-off alone, unless rows are weighed: then it is nothing, too
        u = self.stack.coefficients(a)
        found = Solution(a, b, self.stack.times(self.stack.spread(best.weights) * u), 0.0, 0.0, 0.0, 1)
        b = best_intercept(task.loss, found.decision, task.y, task.C) if task.fit_intercept else 0.0
        return self._point(best.weights, replace(found, intercept=b), u, best.state.accuracy, 0.0, None)


_LATER = np.empty(0)


class FeatureReweighting(OnFeatures):
    """The analytic update on features."""

    def __init__(self, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> None:
        self._take(problem, tol, warm)
        self.name = f"{problem.penalty.name} reweighting (analytic update) {TOLD}"


class FeatureNewton(OnFeatures, Newton):
    """The damped Newton step on features; only for the (unweighted) lp norm with finite p."""

    def __init__(self, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> None:
        self._take(problem, tol, warm)
        p = newton_exponent(problem.penalty)
        assert p is not None
        self.p = p
        kinked = self.p == 1 and problem.loss.piecewise_linear
        self.needs_products = kinked
        self.name = f"lp damped Newton {TOLD}"
        self.bundle = Bundle(self.stack.n_kernels, problem.y.size) if kinked else None
        if kinked and warm is not None and problem.loss.total == 0:
            self._adopt(warm)

    @property
    def carry(self) -> Carried:
        """The bundle, for the next value of C."""
        return Carried(bundle=self.bundle)

    def _curve(self, point: Point, damping: float) -> tuple[Callable[[float], Array], float] | None:
        return None if self._is_dear(point) else super()._curve(point, damping)

    def _is_dear(self, point: Point) -> bool:
        """Whether the Hessian costs more than a few updates do."""
        D = float(np.count_nonzero(self.stack.spread(point.weights)))
        rows = 0 if self.sums is not None else self._free(point).size
        return rows > D and rows * D * D > _DEAREST

    def _free(self, point: Point) -> Indices:
        """The rows off their bounds."""
        task, a = self.problem, point.dual
        low, high = task.loss.box(task.y, task.C)
        inside = (a > low) & (a < high)
        return np.flatnonzero(inside & (a != 0.0) if task.loss.tube > 0.0 else inside)

    def _hessian(self, point: Point) -> Array:
        """H = U'B^(-1) U (M, M), its negative eigenvalues clipped; zero where no row is free."""
        u = getattr(point.state, "u", None)  # a mixture of the bundle does not know it
        columns = self._columns(self.stack.coefficients(point.dual) if u is None else u)
        nothing = np.zeros((self.stack.n_kernels,) * 2)
        try:
            if self.sums is not None:
                H = curvature(self.sums, point.state.ridge, self.cost, columns)
            else:
                free = self._free(point)
                if free.size == 0:
                    return nothing
                H = self._curvature(point, free, columns)
        except np.linalg.LinAlgError:
            return nothing
        values, vectors = np.linalg.eigh(0.5 * (H + H.T))
        convex: Array = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return convex

    def _columns(self, u: Array) -> Array:
        """W (D, M) with K_m a = Phi W e_m."""
        W = np.zeros((u.size, self.stack.n_kernels))
        for m in range(self.stack.n_kernels):
            part = self.stack.transform.part(m)
            W[part, m] = u[part]
        return W

    def _curvature(self, point: Point, free: Indices, columns: Array) -> Array:
        """U'X with X = B^(-1) U, the intercept eliminated, over the free rows."""
        task, a = self.problem, point.dual
        Phi = self.stack.table[free].astype(np.float64)
        U = Phi @ columns
        live = np.flatnonzero(self.stack.spread(point.weights))
        A = Phi[:, live] * np.sqrt(self.stack.spread(point.weights)[live])
        h = task.loss.curvature(a, task.y, task.C)[free]
        right = np.column_stack([U, np.ones(free.size)]) if task.fit_intercept else U
        S = inverse_times(A, h, right)
        X: Array = S[:, : U.shape[1]]
        if task.fit_intercept:
            ones: Array = S[:, -1]
            X = X - np.outer(ones, (ones @ U) / ones.sum())
        H: Array = U.T @ X
        return H
