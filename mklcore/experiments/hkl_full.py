"""Models along lambda: hulls, each from the one before, and the full kernel they are compared with, at several scales of inputs.

The kernel of p columns is a product: of standardised inputs it is nearly diagonal where p is large, and nothing is learnt. How the
paper scales inputs it does not say. Here they are divided by powers of p, and the rows that choose lambda choose the power as well.

Source: Bach (2008), section 5, "L2"; specification, section 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.experiments.base import pause
from mklcore.path import fit_path
from mklcore.solvers.hkl.design import Design

POWERS = (0.5, 0.75, 1.0)


def full_kernel(
    solve: Any,
    X: Array,
    y: Array,
    basis: Any,
    lams: Sequence[float] | Array,
    powers: Sequence[float] = POWERS,
    **more: Any,
) -> list[tuple[Any, Any]]:
    """``solve`` (``hkl_l2`` or ``hkl_lasso_alpha``) for every lam and power: pairs of what predicts new rows, and the model."""
    mean, spread = X.mean(axis=0), np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    found = list[tuple[Any, Any]]()
    for power in powers:
        scale = spread * X.shape[1] ** power
        design = Design((X - mean) / scale, basis, standardize=False, normalize=False)
        for lam in lams:
            pause()
            model = solve(design, y, lam, scaled=True, **more)
            found.append((lambda rows, m=model, s=scale: m.predict((rows - mean) / s), model))
    return found


def hulls_along(model: Any, X: Array, y: Array, lams: Sequence[float] | Array) -> list[tuple[Any, Any]]:
    """Hulls from the largest lam to the smallest, each grown from the one before: pairs of what predicts, and the model.

    Small lams need the start: from nothing a search spends its time on nodes that a larger lam finds at once.
    """
    path = fit_path(model, X, y, "lam", lams, callback=lambda *_: pause())
    return [(getattr(hull, "decision_function", hull.predict), hull) for hull in path.estimators]
