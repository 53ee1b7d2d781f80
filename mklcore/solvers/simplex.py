"""Weights on the simplex by the barrier of hierarchical kernel learning, on a graph without edges.

At p = 1 weights that end at zero fade slowly under the analytic update. Where the second derivatives of the machines
are known, the fixed point goes first, a log-barrier Newton method on the simplex then; in the end weights that are none
are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.solvers.driver import AnyIterate, Status, run
from mklcore.solvers.hkl.inner import Barrier, EtaFixedPoint, Reduced


@dataclass(frozen=True)
class SimplexSettings:
    """What the way to weights on the simplex is tuned by.

    A value changes how long a fit takes, not what its certificate proves.
    """

    # shares of the largest weight that are none: the first that costs little
    faded: tuple[float, ...] = (1e-2, 1e-3, 1e-5, 1e-9)
    loose: float = 1e-2  # gap to which the fixed point goes first
    first: int = 15  # steps of it at most
    slack: float = 0.1  # of the gap asked is what dropped weights may cost


SETTINGS = SimplexSettings()


class Edgeless:
    """The ancestry of kernels none of which is above another."""

    def __init__(self, size: int) -> None:
        self.size = size

    def matrix(self) -> Array:
        return np.eye(self.size)


class OnSimplex(NamedTuple):
    """The sharpest ``end``, the machine solves it took, and whether the run was cancelled."""

    end: AnyIterate
    solves: int
    cancelled: bool


def on_simplex(
    reduced: Reduced,
    size: int,
    tol: float,
    max_iter: int,
    callback: Callable[..., Any] | None,
    start: tuple[Array, Array] | None = None,
) -> OnSimplex:
    """Weights (size,) on the simplex, to ``tol`` times the share of the regulariser.

    ``start``: positive weights and dual from which to begin; equal weights by default.
    """
    x, dual = (np.full(size, 1.0 / size), None) if start is None else start
    end, solves, cancelled = None, 0, False
    for kind, steps in ((EtaFixedPoint, SETTINGS.first), (Barrier, max_iter), (Barrier, max_iter)):
        goal = SETTINGS.loose if end is None else 0.1 * tol * end.state.regulariser_share(reduced.task.lam)
        method = kind(reduced, x, dual, tol=goal)
        part = run(method, tol=goal, max_iter=steps, callback=callback)
        solves, cancelled = solves + part.solves, part.status is Status.CANCELLED
        end = method.sharpest
        x, dual = end.state.x, end.dual
        if cancelled:
            break
    assert end is not None
    return OnSimplex(end, solves, cancelled)


def without_faded(weights: Array, objective: float, gap: float, evaluated: Callable[[Array], AnyIterate]) -> AnyIterate:
    """``evaluated`` at the ``weights`` without as many small ones as ``objective`` and a share of the ``gap`` allow."""
    for faded in SETTINGS.faded:
        point = evaluated(np.where(weights > faded * weights.max(), weights, 0.0))
        if point.objective <= objective + SETTINGS.slack * gap:
            break
    return point
