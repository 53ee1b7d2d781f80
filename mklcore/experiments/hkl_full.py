"""Models along lambda: hulls, each from the one before, and what they are compared with: greedy hulls, and the full
kernel at several prices of depth.

The sum of all kernels is a product over the columns: where p is large it is nearly diagonal, and nothing is learnt. How
the paper scales it, it does not say. Here a product of |v| levels is divided by B^(2 |v|), as under the prices B^|v| of
a hull; levels are powers of the standardised column, B up to p (inputs divided by B), or normalised as in a hull. The
rows that choose lambda choose among these as well.

Source: Bach (2008), section 5, "L2"; specification, section 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import suppress_convergence_warnings
from mklcore.experiments.base import pause
from mklcore.paths.path import fit_path
from mklcore.solvers.hkl.baselines import FullKernel, hkl_greedy
from mklcore.solvers.hkl.design import Design

Rows = tuple[Array, Array]
Models = list[tuple[Any, Any]]  # what predicts new rows, and the model
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
) -> Models:
    """``solve`` (``hkl_l2`` or ``hkl_lasso_alpha``) for every lam and scale."""
    plain = [(False, X.shape[1] ** power) for power in powers]
    found = Models()
    for normalised, depth in [*plain, *((True, depth) for depth in depths)]:
        pause()
        kernel = FullKernel(Design(X, basis, normalize=normalised, memory_mb=MEMORY), depth, scaled=True)
        for lam in lams:
            pause()
            model = solve(kernel, y, lam, **more)
            found.append((model.predict, model))
    return found


def line(ways: Iterable[Models], parts: Sequence[Rows], error: Callable[[Array, Array], float]) -> list[float]:
    """Test errors of the ways, each with the model that is best on the second part, and the nodes of the last one."""
    found = []
    with suppress_convergence_warnings():  # a hull at a small lam may stop short of its tolerance
        for models in ways:
            judged = [error(say(parts[1][0]), parts[1][1]) for say, _ in models]
            say, model = models[int(np.argmin(judged))]
            found.append(error(say(parts[2][0]), parts[2][1]))
    return [*found, float(len(model.hull_))]


def squared(said: Array, y: Array) -> float:
    """The mean squared error."""
    return float(np.mean((said - y) ** 2))


def wrong(said: Array, y: Array) -> float:
    """Rows on the wrong side of 0, in %."""
    return 100.0 * float(np.mean((said > 0) != (y > 0)))


def grown(
    X: Array, y: Array, basis: Any, lams: Sequence[float] | Array, sizes: Sequence[int], loss: str = "squared"
) -> Models:
    """The greedy hull along lam and its size."""
    design, found = Design(X, basis, memory_mb=MEMORY), Models()
    for lam in lams:
        pause()
        model = hkl_greedy(design, y, lam, max(sizes), loss=loss)
        found += [(partial(model.predict, size=size), model) for size in sizes]
    return found


def hulls_along(model: Any, X: Array, y: Array, lams: Sequence[float] | Array) -> Models:
    """Hulls from the largest lam to the smallest, each grown from the one before.

    Small lams need the start: from nothing a search spends its time on nodes that a larger lam finds at once.
    """
    path = fit_path(model, X, y, "lam", lams, callback=lambda *_: pause())
    return [(getattr(hull, "decision_function", hull.predict), hull) for hull in path.estimators]
