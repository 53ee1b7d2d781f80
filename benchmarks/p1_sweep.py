"""p = 1 on many small random problems: how many end without a certificate.

    python -m benchmarks.p1_sweep [--problems 500] [--seed 0] [--tol 1e-3]
    NUMBA_CPU_NAME=generic OPENBLAS_CORETYPE=Nehalem python -m benchmarks.p1_sweep      other instructions, other last
        digits

Each problem draws its size (20 to 200 rows, 2 to 30 kernels), kernels (linear per feature, RBF, low rank, some doubled
and shaken in the tenth to the fourth digit), C from 1e-3 to 1e3, a loss, and an intercept or not. The certificate is
computed again from the published dual point.
"""

import argparse
import time
import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from mklcore.losses import Loss, make_loss
from mklcore.penalties import LpNorm
from mklcore.solvers import fit_weighted
from mklcore.solvers.driver import Fit

LOSSES = ("hinge", "epsilon_insensitive", "squared", "logistic")


class Drawn(NamedTuple):
    """One problem: kernels (M, n, n), target (n,), cost, loss, with an intercept or not."""

    K: np.ndarray
    y: np.ndarray
    C: float
    loss: Loss
    fit_intercept: bool


def draw(rng: np.random.Generator) -> Drawn:
    n, M = int(rng.integers(20, 201)), int(rng.integers(2, 31))
    X = rng.standard_normal((n, M))
    loss = make_loss(str(rng.choice(LOSSES)))
    signal = X[:, : max(1, M // 5)].sum(axis=1) * rng.choice([0.0, 0.3, 2.0]) + rng.standard_normal(n)
    y = signal if "regression" in loss.tasks and "binary" not in loss.tasks else np.where(signal > 0, 1.0, -1.0)
    if np.ptp(y) == 0:
        y[0] = -y[0]
    kernels = [_kernel(X, m, rng) for m in range(M)]
    for m in range(1, M):
        if rng.random() < 0.25:
            kernels[m] = _shaken(kernels[int(rng.integers(m))], 10.0 ** -rng.uniform(1, 12), rng)
    K = np.ascontiguousarray([kernel * (n / np.trace(kernel)) for kernel in kernels])
    return Drawn(K, y, 10.0 ** rng.uniform(-3, 3), loss, bool(rng.random() < 0.8))


def _kernel(X: np.ndarray, m: int, rng: np.random.Generator) -> np.ndarray:
    kind = rng.integers(3)
    if kind == 0:
        return np.outer(X[:, m], X[:, m])
    if kind == 1:
        few = X[:, rng.integers(0, X.shape[1], 2)]
        distances = ((few[:, None] - few[None]) ** 2).sum(axis=2)
        return np.exp(-distances / (2.0 * 10.0 ** rng.uniform(-1, 1)))
    few = rng.standard_normal((X.shape[0], 3))
    return few @ few.T


def _shaken(kernel: np.ndarray, size: float, rng: np.random.Generator) -> np.ndarray:
    """A near-duplicate: the kernel and a little of another one of the same trace."""
    v = rng.standard_normal(kernel.shape[0])
    return kernel + size * np.outer(v, v) * (np.trace(kernel) / float(v @ v))


def solve(problem: Drawn, tol: float, solver: str = "auto") -> Fit:
    K, y, C, loss, fit_intercept = problem
    return fit_weighted(K, y, C, loss, LpNorm(1.0), fit_intercept, tol=tol, solver=solver)


def gap_of(problem: Drawn, fit: Fit) -> float:
    """The gap as a share of R (or of what rounding leaves of it), from the published weights and dual point alone."""
    K, y, C, loss, _ = problem
    f = sum(w * (kernel @ fit.dual_coef) for w, kernel in zip(fit.weights, K, strict=True))
    norms = fit.weights * np.sqrt([max(float(fit.dual_coef @ kernel @ fit.dual_coef), 0.0) for kernel in K])
    primal = C * float(loss.value(f + fit.intercept, y).sum()) + 0.5 * float(norms.sum()) ** 2
    price = 0.5 * max(float(fit.dual_point @ kernel @ fit.dual_point) for kernel in K)
    return (primal - (loss.dual(fit.dual_point, y, C) - price)) / max(price, 1e-10 * abs(primal))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--problems", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--solver", default="auto")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    slowest, most, worst = 0.0, 0, 0.0
    with threadpool_limits(1):
        for k in range(asked.problems):
            problem = draw(np.random.default_rng([asked.seed, k]))
            begun = time.process_time()
            fit = solve(problem, asked.tol, asked.solver)
            spent = time.process_time() - begun
            counts[f"{problem.loss.name}: {fit.status.name}"] += 1
            slowest, most, worst = max(slowest, spent), max(most, fit.solves), max(worst, gap_of(problem, fit))
            if not fit.status.ok or spent > 2.0:
                M, n = problem.K.shape[:2]
                print(
                    f"problem {k}: {problem.loss.name}, n = {n}, M = {M}, C = {problem.C:.3g}, {fit.status.name}, "
                    f"gap {gap_of(problem, fit):.1e} of R, {fit.solves} solves, {spent:.2f} CPU s, {fit.solver}"
                )
    for name, count in sorted(counts.items()):
        print(f"{name:40s} {count}")
    print(f"largest gap {worst:.2e} of R, most solves {most}, slowest {slowest:.2f} CPU s")


if __name__ == "__main__":
    main()
