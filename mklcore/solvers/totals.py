"""Squared loss on features, from sums over the rows: after one pass no row is read again before the certificate.

Any table with the same Z'Z, Z = [Phi, y], has the same weights and the same objective, so that the methods for weights
work on the D + 1 rows of a square root of it; a free intercept takes the means out first. The dual of the rows
themselves, a = C (y - Phi v - b), is made once, at the end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.features import Features
from mklcore.kernels.operators import CachedOperator
from mklcore.losses import Cost
from mklcore.solvers.driver import AnyIterate
from mklcore.solvers.newton import Newton
from mklcore.solvers.problem import OfAnother, Problem, WarmStart
from mklcore.solvers.reweighting import Reweighting

_CUT = 1e-14  # of the largest eigenvalue: directions below it are rounding
_LATER = np.empty(0)  # the dual of a point that nobody has asked for yet
_ROOTS: WeakKeyDictionary[Features, dict[tuple[bytes, bytes, bool], tuple[Features, Array]]] = WeakKeyDictionary()
_ROOM = 5e7  # bytes of roots that are kept beside a stack; their inner products take as many


def root_of(scatter: Array) -> tuple[Array, Array]:
    """A table (D + 1, D) and a target (D + 1,) whose squares and products are ``scatter`` (D + 1, D + 1)."""
    values, vectors = np.linalg.eigh(scatter)
    root = np.sqrt(np.where(values > _CUT * values[-1], values, 0.0))[:, None] * vectors.T
    return np.ascontiguousarray(root[:, :-1]), np.ascontiguousarray(root[:, -1])


def scatter_of(stack: Features, y: Array, w: Array, centred: bool) -> Array:
    """Z' diag(w) Z (D + 1, D + 1) of Z = [Phi, y] for weights w (n,) of mean one, about the means if ``centred``."""
    even = bool(np.all(w == 1.0))
    S, first = (stack.gram_of_features, stack.sums) if even else stack.weighed_sums(w)
    middle = float(w @ y) / y.size if centred else 0.0
    c, energy = stack.coefficients(w * (y - middle)), float(w @ (y - middle) ** 2)
    if centred:
        S = S - np.outer(first, first / y.size)
    return np.block([[S, c[:, None]], [c[None], np.array([[energy]])]])


def few_rows(stack: Features, y: Array, w: Array, centred: bool) -> tuple[Features, Array]:
    """The root of ``scatter_of`` as features and a target, kept while there is room: it is the same at every cost."""
    kept, key = _ROOTS.setdefault(stack, {}), (y.tobytes(), np.round(w, 12).tobytes(), centred)
    found = kept.get(key)
    if found is None:
        table, target = root_of(scatter_of(stack, y, w, centred))
        like: Any = stack  # of double precision, which a table of rows is not
        found = replace(like, table=table), target
        if (1 + len(kept)) * table.nbytes > _ROOM:
            kept.clear()
        kept[key] = found
    return found


class FromTotals(OfAnother):
    """Squared loss on features by the rows of a root of their sums."""

    def __init__(self, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> None:
        self.problem = problem
        stack: Any = problem.K.source
        cost, w = cost_of(problem.C, problem.y.size)
        self._stack: Features = stack
        self._few, target = few_rows(stack, problem.y, w, problem.fit_intercept)
        alone = replace(problem, K=CachedOperator(self._few), y=target, C=cost, fit_intercept=False)
        inside = None if warm is None else WarmStart(warm.weights, np.zeros(target.size), cost)
        newton = problem.penalty.simplex or problem.penalty.exponent is not None
        self.method = (Newton if newton else Reweighting)(alone, tol=tol, warm=inside)
        self.name = f"{self.method.name}, from sums over the rows"

    def restate(self, best: AnyIterate, dual_point: Array | None) -> AnyIterate:
        """The best point with the dual of the rows, by passes over them."""
        if best.dual.size:
            own = dual_point is None or dual_point.size > 0
            return best if own else replace(best)  # a later point's proof has no rows: its own stands
        task, stack, few = self.problem, self._stack, self._few
        b, _ = task.loss_at(f := stack.times(few.spread(best.weights) * few.coefficients(best.state.dual)))
        a = task.C * (task.y - f - b)
        if task.fit_intercept:
            a = a - a.mean()  # round-off alone, unless rows are weighed: then it is nothing, too
        Q = task.K.quad(a)
        b, errors = task.loss_at(task.K.decision(best.weights, a))
        bound, objective = task.bound(a, Q), errors + task.regulariser(best.weights, Q)
        return replace(
            best, dual=a, intercept=b, objective=objective, dual_objective=bound.value, dual_point=bound.point
        )

    def polish(self, best: AnyIterate) -> AnyIterate:
        polished = super().polish(best)
        return self.restate(polished, None)

    def _shown(self, point: AnyIterate) -> AnyIterate:
        return replace(point, dual=_LATER, dual_point=_LATER, state=point)


def cost_of(C: Cost, n: int) -> tuple[float, Array]:
    """A cost per row as one number and weights (n,) of mean one."""
    rows: Array = np.broadcast_to(np.asarray(C, dtype=np.float64), (n,))
    mean = float(rows.mean())
    return mean, rows / mean
