"""What a machine is asked to solve, and what every machine gives back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mklcore._lazy import cached_property
from mklcore.arrays import Array
from mklcore.problem.losses import Cost, Loss, best_intercept, total_loss


@dataclass(frozen=True, eq=False)
class MachineTask:
    """One target under one loss, for a machine on any kernel K:

        min_{a, b}  C sum_i V(f_i + b, y_i) + 1/2 a'K a,   f = K a

    ``y`` (n,) float; ``C`` > 0, a number or one per row; ``fit_intercept``: whether b is free.
    """

    y: Array
    C: Cost
    loss: Loss
    fit_intercept: bool

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """The box (low, high) of feasible duals."""
        return self.loss.box(self.y, self.C)

    def intercept(self, f: Array) -> float:
        """The best intercept at decision values f (n,) without one; 0 where there is none."""
        return best_intercept(self.loss, f, self.y, self.C) if self.fit_intercept else 0.0

    def errors(self, f: Array, b: float) -> float:
        """C sum_i V(f_i + b, y_i)."""
        return total_loss(self.loss, f, b, self.y, self.C)

    def loss_at(self, f: Array) -> tuple[float, float]:
        """The best intercept at decision values f (n,) without one, and the errors there."""
        b = self.intercept(f)
        return b, self.errors(f, b)

    def dual(self, a: Array) -> float:
        """Lin(a): what the dual ``a`` is worth before it pays for its kernels."""
        return self.loss.dual(a, self.y, self.C)

    def feasible(self, a: Array | None) -> Array:
        """A dual near ``a`` in the box, with 1'a as the intercept demands."""
        return feasible_start(a, *self.box, self.fit_intercept, self.loss.total)

    def gap(self, a: Array, f: Array, b: float) -> tuple[float, float]:
        """The primal objective and the duality gap at (a, b), where f = K a."""
        half = 0.5 * float(a @ f)
        objective = self.errors(f, b) + half
        return objective, objective - (self.dual(a) - half)

    def solution(self, a: Array, f: Array, steps: int) -> Solution:
        """What the dual ``a`` is worth, with f = K a and the best intercept for it."""
        b = self.intercept(f)
        objective, gap = self.gap(a, f, b)
        return Solution(a, b, f, objective, gap, 0.5 * float(a @ f), steps)


@dataclass(frozen=True, eq=False)
class Solution:
    """The optimum of a ``MachineTask`` on one kernel, to a duality gap.

    ``dual`` (n,) signed; ``intercept``; ``decision`` (n,) = K a without the intercept;
    ``objective`` primal; ``gap`` = primal - dual >= 0; ``regulariser`` = 1/2 a'K a; ``steps`` of
    the machine's own iteration.
    """

    dual: Array
    intercept: float
    decision: Array
    objective: float
    gap: float
    regulariser: float
    steps: int

    def is_within(self, accuracy: float) -> bool:
        """Whether the gap is at most ``accuracy`` times the regulariser, or only rounding."""
        return self.gap <= max(accuracy * self.regulariser, 1e-14 * abs(self.objective))


def feasible_start(
    warm: Array | None, low: Array, high: Array, balanced: bool, total: float = 0.0
) -> Array:
    """``warm`` clipped into the box and, if ``balanced``, moved inside it until it sums to
    ``total``.
    """
    if warm is None and (total == 0.0 or not balanced):
        return np.zeros(low.shape)
    a: Array = np.full(low.shape, total / low.size)
    if warm is not None:
        a = np.clip(warm, low, high).astype(np.float64)
    if not balanced:
        return a
    if total != 0.0:  # non-negative duals only: shrink, or fill the room that is left
        held = float(a.sum())
        excess = held - total
        if excess > 0:
            return a * (total / held)
        room = high - a
        return a - room * (excess / max(float(room.sum()), 1e-300))
    up = float(a[a > 0].sum())
    down = float(-a[a < 0].sum())
    if up > down:
        a[a > 0] *= down / up
    elif down > up:
        a[a < 0] *= up / down
    return a
