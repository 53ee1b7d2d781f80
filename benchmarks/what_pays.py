"""What pays for the hinge and the epsilon-insensitive loss on features: coordinates, or steps inside, in CPU seconds.

python -m benchmarks.what_pays        prints every fit and the constants by which mklcore/solvers/schedule.py chooses,
                                      fitted to
                                      them, beside those that stand there; keeps no record

With D features in all and u the diagonal of the sum of kernels at equal weights, a number in the table costs

    coordinates    unit (C u / 2)^creep             they creep: the larger C, the longer
    inside         unit (passes + products D)       whatever C

so that inside pays where (C u / 2)^creep > passes + products D. Both ways start cold from the same features.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

import mklcore as mkl
from benchmarks.large_rows import kernels, table
from benchmarks.lines import cpu
from mklcore.errors import suppress_convergence_warnings
from mklcore.kernels.checks import one_blas_thread
from mklcore.kernels.operators import cached
from mklcore.losses import make_loss
from mklcore.penalties import LpNorm
from mklcore.solvers import schedule
from mklcore.solvers.driver import run
from mklcore.solvers.interior import Interior
from mklcore.solvers.problem import Problem
from mklcore.solvers.reweighting import Reweighting

ROWS = 2000
LANDMARKS = (5, 15, 40)  # of each kernel
COSTS = (0.3, 1.0, 3.0, 10.0)
LOSSES = ("hinge", "epsilon_insensitive")
TOL, PATIENCE = 1e-3, 100  # steps after which a fit that is not there is left out


class Fitted(NamedTuple):
    """One fit: what was solved, in which way, C u / 2, D, and CPU seconds for each number in the table."""

    loss: str
    inside: bool
    scaled: float
    features: int
    seconds: float


class Constants(NamedTuple):
    """``unit`` in seconds; the others have none."""

    unit: float
    creep: float
    passes: float
    products: float


def features(n: int, landmarks: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Features (n, D) of the kernels of ``large_rows``, labels, and numbers to predict."""
    X, y, _, _ = table(n)
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2
    return mkl.Nystroem(landmarks).features(kernels(), X), y, signal + 0.5 * np.cos(40.0 * X[:, 5])


def one(stack: Any, y: np.ndarray, loss: str, C: float, inside: bool) -> Fitted | None:
    """A cold fit to the usual tolerance; None where it does not come there."""
    task = Problem(cached(stack), y, C, make_loss(loss), LpNorm(4 / 3), True)
    method = Interior if inside else Reweighting
    with suppress_convergence_warnings():
        seconds, fit = cpu(lambda: run(method(task, tol=TOL), tol=TOL, max_iter=PATIENCE))
    n, D = stack.table.shape
    return Fitted(loss, inside, schedule.scaled_cost(task), D, seconds / (n * D)) if fit.status.ok else None


def constants(found: Sequence[Fitted]) -> Constants:
    """The constants by least squares: of logarithms for what creeps, of shares of the seconds for what does not."""
    creeping = np.array([(one.scaled, one.seconds) for one in found if not one.inside])
    creep, start = np.polyfit(*np.log(creeping.T), 1)
    unit = float(np.exp(start))
    steady = np.array([(one.features, one.seconds / unit) for one in found if one.inside])
    shares = np.column_stack([1.0 / steady[:, 1], steady[:, 0] / steady[:, 1]])
    (passes, products), _ = nnls(shares, np.ones(len(steady)))
    return Constants(unit, float(creep), float(passes), float(products))


def measured(
    n: int = ROWS,
    landmarks: Sequence[int] = LANDMARKS,
    costs: Sequence[float] = COSTS,
    tell: Callable[[str], Any] = print,
) -> list[Fitted]:
    """All fits, reported one by one."""
    found = []
    with one_blas_thread():
        for m in landmarks:
            stack, labels, target = features(n, m)
            for loss in LOSSES:
                for C in costs:
                    for inside in (False, True):
                        fit = one(stack, labels if loss == "hinge" else target, loss, C, inside)
                        way = "inside" if inside else "coordinates"
                        tell(f"{m} landmarks, {loss}, C = {C:g}, {way}: {_outcome(fit)}")
                        found += [] if fit is None else [fit]
    return found


def _outcome(fit: Fitted | None) -> str:
    return "not there" if fit is None else f"{1e9 * fit.seconds:.0f} ns for each of {fit.features} features of a row"


def main() -> None:
    measured(400, (5,), COSTS[:1], tell=lambda reported: None)  # compiles
    fitted = constants(measured())
    standing = Constants(fitted.unit, schedule.SETTINGS.creep, schedule.SETTINGS.passes, schedule.SETTINGS.products)
    for name, here, there in zip(Constants._fields, fitted, standing, strict=True):
        sys.stdout.write(f"{name}: {here:.3g}, in use {there:.3g}\n")


if __name__ == "__main__":
    main()
