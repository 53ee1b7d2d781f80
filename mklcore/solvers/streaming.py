"""Sloped losses by passes over rows that are never together: each pass gives sums of size D x D, D features in all.

    min_{v, b}  C sum_i V(phi_i'v + b, y_i) + 1/2 min_theta sum_m ||v_m||^2 / theta_m                      x = (v, b)

A pass at x gives value, slope g and bend H of the sum of losses. The next x is the optimum of the whole problem with

    C [g'(x' - x) + 1/2 (x' - x)'H (x' - x)]

in place of the losses: lp-norm learning with squared loss on a root of H, without a row. It is
halved back towards x where the objective does not fall: Newton's method on weights and machine together, a few passes
in all. Where V'' jumps, as that of the squared hinge does, the step is as exact once the rows within their margin are
known.

Each pass certifies, too: its slopes are a dual, a_i = -C V'(t_i). Where a free intercept asks that a sums to zero, the
duals of the heavier class are taken times a factor r <= 1; the dual terms are concave and zero at zero, so that theirs
are worth at least r times what they were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from mklcore.arrays import Array
from mklcore.kernels.operators.factored import FeatureStack
from mklcore.losses import Loss, make_loss
from mklcore.penalties import Penalty
from mklcore.solvers import fit_weighted
from mklcore.solvers.driver import Fit, Iterate, Method, Status, Trace, run
from mklcore.solvers.problem import WarmStart
from mklcore.solvers.reweighting import certifies


@dataclass(frozen=True)
class StreamingSettings:
    """What the passes are tuned by.

    A value changes how long a fit takes, not what its certificate proves.
    """

    piece: int = 4096  # rows in double precision at a time
    share: float = 0.03  # of the present gap is asked of the quadratic problem
    least: float = 1e-12  # relative gap asked of it at least
    halvings: int = 12  # of a step that does not lower the objective


SETTINGS = StreamingSettings()


@dataclass(frozen=True, eq=False)
class LossSums:
    """What the rows say at one x: how many, sum of losses, and per class the slopes Phi'a (2, D), sums of |a| and dual
    terms (2,), all at C = 1; ``hessian`` (D + 1, D + 1) = sum V'' z z' for z = (phi, 1)."""

    n: int
    value: float
    pulls: Array
    sizes: Array
    linear: Array
    hessian: Array

    @classmethod
    def of(cls, loss: Loss, table: Array, y: Array, v: Array, b: float) -> LossSums:
        """The sums of features (n, D) and labels -1 / +1 (n,)."""
        D = v.size
        found = cls(0, 0.0, np.zeros((2, D)), np.zeros(2), np.zeros(2), np.zeros((D + 1, D + 1)))
        for top in range(0, len(y), SETTINGS.piece):
            Z = np.column_stack(
                [table[top : top + SETTINGS.piece].astype(np.float64), np.ones(len(y[top : top + SETTINGS.piece]))]
            )
            found = found + cls._piece(loss, Z, y[top : top + SETTINGS.piece], v, b)
        return found

    @classmethod
    def _piece(cls, loss: Loss, Z: Array, y: Array, v: Array, b: float) -> LossSums:
        t = Z @ np.append(v, b)
        a, classes = -loss.derivative(t, y), [y < 0, y > 0]
        pulls = np.array([Z[own, :-1].T @ a[own] for own in classes])
        sizes = np.array([float(np.abs(a[own]).sum()) for own in classes])
        linear = np.array([loss.dual(a[own], y[own], 1.0) for own in classes])
        hessian: Array = Z.T @ (Z * loss.second_derivative(t, y)[:, None])
        return cls(y.size, float(loss.value(t, y).sum()), pulls, sizes, linear, hessian)

    def __add__(self, other: LossSums) -> LossSums:
        return LossSums(
            self.n + other.n, self.value + other.value, self.pulls + other.pulls, self.sizes + other.sizes,
            self.linear + other.linear, self.hessian + other.hessian,
        )  # fmt: skip

    def dual(self, balanced: bool) -> tuple[float, Array]:
        """A lower bound on the dual terms of a feasible dual at C = 1, and its Phi'a (D,)."""
        factors = np.ones(2)
        if balanced:
            factors = self.sizes.min() / np.maximum(self.sizes, 1e-300)
        return float(factors @ self.linear), factors @ self.pulls


Ask = Callable[[Array, float], LossSums]


@dataclass(frozen=True, eq=False)
class Place:
    """Where a pass was made: v (D,), and what it found."""

    v: Array
    sums: LossSums


class Passing(Method[Place]):
    """The driver's method; ``ask(v, b)`` is one pass over all rows, ``stack`` says which features belong to which
    kernel.
    """

    def __init__(
        self, stack: FeatureStack, ask: Ask, C: float, penalty: Penalty, fit_intercept: bool, tol: float
    ) -> None:
        self.stack, self.ask, self.C, self.penalty = stack, ask, C, penalty
        self.fit_intercept, self.tol = fit_intercept, tol
        self.ended: Place | None = None
        self.name = f"{penalty.name} by passes over parts of the rows, of the approximated kernels"

    def init(self) -> Iterate[Place]:
        return self._read(np.zeros(self.stack.table.shape[1]), 0.0)

    def step(self, best: Iterate[Place], last: Iterate[Place], trace: Trace) -> Iterate[Place] | Status:
        """The optimum of the quadratic problem at the best point, or nearer to that point where it is no better."""
        place: Place = best.state
        share = trace.gap / trace.scale if trace.scale > 0.0 else 1.0
        v, b = self._ahead(best, float(np.clip(SETTINGS.share * share, max(0.1 * self.tol, SETTINGS.least), 1e-2)))
        length = 1.0
        for _ in range(SETTINGS.halvings):
            point = self._read(place.v + length * (v - place.v), best.intercept + length * (b - best.intercept))
            if point.objective < best.objective or certifies(point, trace):
                return point
            length *= 0.5
        return Status.STALLED

    def polish(self, best: Iterate[Place]) -> Iterate[Place]:
        self.ended = best.state
        return best

    def _read(self, v: Array, b: float) -> Iterate[Place]:
        """One pass, the point and its certificate."""
        sums = self.ask(v, b)
        linear, pull = sums.dual(self.fit_intercept)
        price = self.penalty.dual_price(self.stack.by_kernel((self.C * pull) ** 2))
        norms = np.sqrt(self.stack.by_kernel(v * v))
        weights = self.penalty.update(np.ones(norms.size), norms**2) if norms.any() else self.penalty.start(norms.size)
        objective = self.C * sums.value + self.penalty.regulariser(norms)
        return Iterate(weights, _NONE, b, objective, self.C * linear - price, price, state=Place(v, sums))

    def _ahead(self, best: Iterate[Place], tol: float) -> tuple[Array, float]:
        """The optimum with the losses by their slope and bend, the intercept eliminated."""
        place: Place = best.state
        H, x = place.sums.hessian, np.append(place.v, best.intercept)
        downhill = np.append(place.sums.pulls.sum(axis=0), place.sums.sizes[1] - place.sums.sizes[0])
        right = H @ x + downhill
        S, c = H[:-1, :-1].copy(), right[:-1].copy()
        across, own = H[:-1, -1], max(float(H[-1, -1]), 1e-300)
        if self.fit_intercept:
            S -= np.outer(across, across / own)
            c -= across * (right[-1] / own)
        S.flat[:: c.size + 1] += 1e-13 * float(np.trace(S)) / c.size
        root = scipy.linalg.cholesky(S, lower=True, overwrite_a=True, check_finite=False)
        rows: Any = np.ascontiguousarray(root.T)
        few = replace(self.stack, table=rows)
        target = scipy.linalg.solve_triangular(root, c, lower=True, check_finite=False)
        warm = WarmStart(best.weights, np.zeros(c.size), self.C)
        fit = fit_weighted(few, target, self.C, make_loss("squared"), self.penalty, False, tol=tol, warm=warm)
        v = self.stack.spread(fit.weights) * few.coefficients(fit.dual_coef)
        return v, (float(right[-1]) - float(across @ v)) / own if self.fit_intercept else 0.0


_NONE = np.empty(0)


def fit_passes(
    stack: FeatureStack,
    ask: Ask,
    C: float,
    penalty: Penalty,
    fit_intercept: bool,
    *,
    tol: float = 1e-3,
    max_iter: int = 500,
    callback: Callable[..., Any] | None = None,
) -> tuple[Fit, Array, int]:
    """The fit, its v (D,) and the number of rows. ``ask(v, b)`` is one pass over all rows; ``stack`` may hold none of
    them.
    """
    method = Passing(stack, ask, C, penalty, fit_intercept, tol)
    fit = run(method, tol=tol, max_iter=max_iter, callback=callback)
    assert method.ended is not None
    return fit, method.ended.v, method.ended.sums.n
