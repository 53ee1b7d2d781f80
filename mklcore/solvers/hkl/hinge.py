"""The hinge machine by an interior point: a dual strictly inside its box, which varies smoothly with the kernel
weights.

    max_a  y'a - 1/2 a'K a,   a = C y z,  0 <= z <= 1,  1'a = 0 with a free intercept
    w - s = 1 - y (K a + b),   z s = (1 - z) w = mu / C

At mu = 0 this is the support vector machine, whose dual jumps where several duals are optimal: then no single one
certifies the kernel weights. At mu > 0 the dual is unique, the duality gap is 2 n mu, and mu falls with the accuracy
asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.losses import Loss
from mklcore.machines.solution import dual_gap, feasible_start
from mklcore.solvers.hkl.settings import SETTINGS

Product = Callable[[Array], Array]
Solver = Callable[[Array], Product]


class _Inside(NamedTuple):
    """z in the open box, the multipliers s of z >= 0 and w of z <= 1, the intercept, and f = K a."""

    z: Array
    s: Array
    w: Array
    b: float
    f: Array

    @property
    def products(self) -> Array:
        """z s + (1 - z) w: twice mu / C on the central path."""
        return self.z * self.s + (1.0 - self.z) * self.w


class _Found(NamedTuple):
    """A dual (n,) with its duality gap and objective, and the diagonal that bends around it."""

    gap: float
    objective: float
    dual: Array
    diagonal: Array


@dataclass(frozen=True, eq=False)
class HingeProblem:
    """One kernel under the hinge loss: ``product(a)`` is K a; ``solver(h)`` gives rhs -> (K + diag h)^{-1} rhs."""

    product: Product
    solver: Solver
    y: Array
    C: float
    loss: Loss
    fit_intercept: bool

    def solve(self, warm: Array | None, accuracy: float) -> tuple[Array, Array]:
        """The dual (n,) to a gap of ``accuracy`` times 1/2 a'K a, and the diagonal h (n,) that bends around it.

        ``warm`` (n,) is a dual to start from.
        """
        found = self._followed(self._start(warm), accuracy)
        # A warm start can be far off where the kernel has changed.
        if warm is not None and found.gap > SETTINGS.far * found.objective:
            found = min(found, self._followed(self._start(None), accuracy), key=lambda one: one.gap)
        return found.dual, found.diagonal

    def _followed(self, now: _Inside, accuracy: float) -> _Found:
        """The dual of the smallest gap on the way from ``now`` to ``accuracy``."""
        best, idle = _Found(np.inf, np.inf, now.z, now.z), 0
        for _ in range(SETTINGS.hinge_steps):
            h = (now.s / now.z + now.w / (1.0 - now.z)) / self.C
            dual = feasible_start(self.C * self.y * now.z, *self.loss.box(self.y, self.C), self.fit_intercept)
            objective, gap, goal = self._certified(dual, accuracy)
            mu = 0.5 * self.C * float(np.mean(now.products))
            # On the central path the gap is 2 n mu; what is far above and does not fall is rounding, and grows.
            idle = idle + 1 if gap > max(0.9 * best.gap, SETTINGS.off_path * self.y.size * mu) else 0
            if gap <= best.gap:
                best = _Found(gap, objective, dual, h)
            if gap <= goal or mu <= 1e-16 * objective / self.y.size or idle >= SETTINGS.hinge_patience:
                break
            following = self._step(now, h, max(0.15 * mu, 0.2 * goal / self.y.size))
            if following is None:  # rounding has eaten the step
                break
            now = following
        return best

    def _start(self, warm: Array | None) -> _Inside:
        y, C = self.y, self.C
        z = np.full(y.size, 0.5) if warm is None else np.clip(y * warm / C, SETTINGS.inside, 1.0 - SETTINGS.inside)
        f = self.product(C * y * z)
        b = self.loss.best_intercept(f, y) if self.fit_intercept else 0.0
        excess = 1.0 - y * (f + b)
        w = 0.5 * (excess + np.hypot(excess, 0.2))
        return _Inside(z, w - excess, w, b, f)

    def _certified(self, dual: Array, accuracy: float) -> tuple[float, float, float]:
        """Objective and duality gap of ``dual``, and the gap at which it is good enough."""
        f = self.product(dual)
        b = self.loss.best_intercept(f, self.y) if self.fit_intercept else 0.0
        objective, gap = dual_gap(dual, f, b, self.y, self.C, self.loss)
        return objective, gap, max(accuracy * 0.5 * float(dual @ f), 1e-14 * objective)

    def _step(self, now: _Inside, h: Array, mu: float) -> _Inside | None:
        """One Newton step towards the centre at ``mu``:

        (K + diag h) da + db = y - f - b + y mu/C (1/z - 1/(1-z)),   1'(a + da) = 0
        """
        y, C, z = self.y, self.C, now.z
        solve = self.solver(h)
        da, db = solve(y - now.f - now.b + y * (mu / C) * (1.0 / z - 1.0 / (1.0 - z))), 0.0
        if self.fit_intercept:
            unit = solve(np.ones_like(y))
            total = float(unit.sum())
            db = float(da.sum() + (C * y * z).sum()) / total if total > 0 else np.nan
            da = da - db * unit
        if not (np.all(np.isfinite(da)) and np.isfinite(db)):
            return None
        dz = y * da / C
        ds = (mu / C - z * now.s - now.s * dz) / z
        dw = (mu / C - (1.0 - z) * now.w + now.w * dz) / (1.0 - z)
        room = min(_room(z, dz), _room(1.0 - z, -dz), _room(now.s, ds), _room(now.w, dw))
        length = min(1.0, SETTINGS.hinge_to_the_wall * room)
        z = np.clip(z + length * dz, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)
        return _Inside(z, now.s + length * ds, now.w + length * dw, now.b + length * db, self.product(C * y * z))


def _room(v: Array, d: Array) -> float:
    falling = d < 0
    return float(np.min(-v[falling] / d[falling])) if falling.any() else np.inf
