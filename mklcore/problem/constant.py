"""Where the best machine is a constant: no slope pays, as with a rare class and a kernel that does not see it.

The intercept b then stands at a kink of the loss that many points share (all of the large class, at the margin), the
others are at a bound, and the first may hold any values in the box that leave no slope:

    a_i = high_i where lin_i > b,  low_i where lin_i < b,  low_i <= a_i <= high_i where lin_i = b,     K a = 0,  1'a = 0

R = 1/2 a'K a vanishes there, and with it the gap that the stopping rule asks for, which pairs of coordinates reach only
after millions of steps. A linear program over a factor of the kernel finds such a point at once, or says that there is
none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from mklcore.arrays import Array, Mask


@dataclass(frozen=True)
class ConstantSettings:
    """Where the search for a machine without slope is given up.

    A value changes how long a fit takes, not what its certificate proves.
    """

    most_rank: int = 200  # of a kernel; one of higher rank is hardly without slope
    most_steps: int = 400  # of the simplex method: where there is such a point it took at most some two hundred
    near: float = 1e-10  # what a linear program may miss an equation by, in units of the box


SETTINGS = ConstantSettings()


def without_slope(K: Array, lin: Array, low: Array, high: Array, b: float) -> Array | None:
    """A dual point (n,) of the machine that says ``b`` nearest ``lin`` value for every row, or None where slope pays.

    ``K`` (n, n) symmetric positive semi-definite, ``lin``, ``low``, ``high`` (n,) as in ``machines.svm``, without a
    epsilon and without curvature in the loss, and with a free intercept.
    """
    level = lin[np.argmin(np.abs(lin - b))]
    free = lin == level
    if free.all():
        return None
    factor, order, rank, _ = scipy.linalg.lapack.dpstrf(K, lower=1)
    if rank > SETTINGS.most_rank:
        return None
    Z = np.empty((lin.size, rank))
    Z[order - 1] = np.tril(factor)[:, :rank]
    a = np.where(lin > level, high, low)
    return _balanced(Z, a, low, high, free)


def _balanced(Z: Array, a: Array, low: Array, high: Array, free: Mask) -> Array | None:
    """``a`` with values of ``free`` such that Z'a = 0 and 1'a = 0."""
    from scipy.optimize import linprog

    unit = float(np.max(high - low))
    rows = np.column_stack([Z, np.ones(a.size)]).T
    wanted = -(rows[:, ~free] @ a[~free]) / unit
    box = np.column_stack([low[free], high[free]]) / unit
    options: dict[str, float] = dict.fromkeys(
        ("primal_feasibility_tolerance", "dual_feasibility_tolerance"), SETTINGS.near
    )
    options["maxiter"] = SETTINGS.most_steps
    found = linprog(
        np.zeros(box.shape[0]), A_eq=rows[:, free], b_eq=wanted, bounds=box, method="highs-ds", options=options
    )
    if found.x is None or found.status != 0:
        return None
    a = a.copy()
    a[free] = np.clip(unit * found.x, low[free], high[free])
    places = np.flatnonzero(free)
    widest = places[np.argmax(np.minimum(a[free] - low[free], high[free] - a[free]))]
    a[widest] -= a.sum()
    return a
