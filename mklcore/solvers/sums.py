"""Squared loss on features, from sums over the rows: any table with the same Z'Z, Z = [Phi, y], has the same weights.

The weights are found on the D + 1 rows of a square root of Z'Z, a free intercept taking the means out first; the
ordinary method begins at them, and one machine on all rows is the answer and its certificate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.features import Features
from mklcore.kernels.operators import CachedOperator
from mklcore.solvers.driver import run
from mklcore.solvers.newton import Newton, newton_exponent
from mklcore.solvers.problem import Problem, WarmStart
from mklcore.solvers.reweighting import Reweighting

_CUT = 1e-14  # of the largest eigenvalue: directions below it are rounding


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


def from_sums(task: Problem, *, tol: float, warm: WarmStart | None = None) -> WarmStart:
    """The weights of a problem with squared loss on features, to begin with."""
    stack: Any = task.K.source
    C: Array = np.broadcast_to(np.asarray(task.C, dtype=np.float64), task.y.shape)
    cost = float(C.mean())
    table, target = root_of(scatter_of(stack, task.y, C / cost, task.fit_intercept))
    few = CachedOperator(replace(stack, table=table))
    alone = replace(task, K=few, y=target, C=cost, fit_intercept=False)
    start = None if warm is None else WarmStart(warm.weights, np.zeros(target.size), cost)
    method = Newton if newton_exponent(task.penalty) is not None else Reweighting
    fit = run(method(alone, tol=0.1 * tol, warm=start), tol=0.1 * tol, max_iter=500)
    return WarmStart(fit.weights, np.zeros(task.y.size), task.C)
