"""Models along lambda: hulls, each from the one before, and the full kernel they are compared with, at several prices
of depth.

The sum of all kernels is a product over the columns: where p is large it is nearly diagonal, and nothing is learnt. How
the paper scales it, it does not say. Here a product of |v| levels is divided by B^(2 |v|), as under the prices B^|v| of
a hull; levels are powers of the standardised column, B up to p (inputs divided by B), or normalised as in a hull. The
rows that choose lambda choose among these as well.

Source: Bach (2008), section 5, "L2"; specification, section 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mklcore.arrays import Array
from mklcore.experiments.base import pause
from mklcore.paths.path import fit_path
from mklcore.solvers.hkl.baselines import FullKernel
from mklcore.solvers.hkl.design import Design

MEMORY = 8192.0  # MB, for the levels of a Gaussian at the sizes of the paper
POWERS, DEPTHS = (0.5, 0.75, 1.0), (6.0, 8.0, 10.0, 16.0)  # B = p^power on levels as they are, B on normalised levels


def full_kernel(
    solve: Any,
    X: Array,
    y: Array,
    basis: Any,
    lams: Sequence[float] | Array,
    powers: Sequence[float] = POWERS,
    depths: Sequence[float] = DEPTHS,
    **more: Any,
) -> list[tuple[Any, Any]]:
    """``solve`` (``hkl_l2`` or ``hkl_lasso_alpha``) for every lam and scale: pairs of what predicts new rows, and the
    model.
    """
    plain = [(False, X.shape[1] ** power) for power in powers]
    found = list[tuple[Any, Any]]()
    for normalised, depth in [*plain, *((True, depth) for depth in depths)]:
        pause()
        kernel = FullKernel(Design(X, basis, normalize=normalised, memory_mb=MEMORY), depth, scaled=True)
        for lam in lams:
            pause()
            model = solve(kernel, y, lam, **more)
            found.append((model.predict, model))
    return found


def hulls_along(model: Any, X: Array, y: Array, lams: Sequence[float] | Array) -> list[tuple[Any, Any]]:
    """Hulls from the largest lam to the smallest, each grown from the one before: pairs of what predicts, and the
    model.

    Small lams need the start: from nothing a search spends its time on nodes that a larger lam finds at once.
    """
    path = fit_path(model, X, y, "lam", lams, callback=lambda *_: pause())
    return [(getattr(hull, "decision_function", hull.predict), hull) for hull in path.estimators]
