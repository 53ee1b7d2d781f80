"""Random problems for every method: the worst violation of each invariant, and the conditioning at which it was found.

    python benchmarks/invariants.py [N] [METHOD ...]          N problems per method, 1000 by default; METHOD: all
        by default

    objective     |reported - from the published coefficients| / size
    dual value    |reported - from the published dual point| / size
    above primal  (dual value - objective) / size where positive
    history       (objective - best seen) / (tol R), 1 is allowed

with size the larger of objective and dual value, at least 1e-12 of the first objective. Conditioning is that of the
weighted sum of kernels. Problems that the library refuses are counted. Scales of kernels, C, p, losses and
near-copies are drawn; seeds make runs repeat.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import mklcore as mkl
from mklcore.losses import make_loss

NAMES = ("objective", "dual value", "above primal", "history")
LOSSES = ("hinge", "logistic", "squared", "epsilon_insensitive", "huber")
TOL = 1e-3


class Drawn(NamedTuple):
    """One random problem."""

    X: np.ndarray
    K: np.ndarray
    labels: np.ndarray
    target: np.ndarray
    C: float
    rng: np.random.Generator


class Checked(NamedTuple):
    """The four violations of one fit (NaN where one does not apply) and the conditioning."""

    violations: tuple[float, float, float, float]
    condition: float


def draw(seed: int) -> Drawn:
    """12 to 60 rows, 2 to 10 RBF kernels, some of them near-copies, over up to six decades of scales; C from 1e-3 to
    1e4.
    """
    rng = np.random.default_rng(seed)
    n, M = int(rng.integers(12, 61)), int(rng.integers(2, 11))
    X = rng.normal(size=(n, 3))
    squared = ((X[:, None] - X[None]) ** 2).sum(-1)
    widths = np.geomspace(0.5, 8.0, M) if rng.random() < 0.7 else 2.0 * (1.0 + 10.0 ** rng.uniform(-8, -1, M))
    K = np.stack([np.exp(-squared / (2.0 * width)) for width in widths])
    if rng.random() < 0.3:
        K *= 10.0 ** rng.uniform(-3, 3, M)[:, None, None]
    real = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * rng.normal(size=n)
    labels = np.where(real > np.median(real), 1.0, -1.0)
    return Drawn(X, np.ascontiguousarray(K), labels, real, float(10.0 ** rng.uniform(-3, 4)), rng)


def compared(model: Any, K: np.ndarray, weights: np.ndarray, objective: float, dual: float | None) -> Checked:
    """What the model says against what was found."""
    fit, reported = model.fit_, float(model.objective_)
    size = max(
        abs(reported), abs(dual or 0.0), 1e-12 * abs(fit.history[0].objective)
    )  # a perfect fit is rounding alone
    reported_dual = model.dual_objective_
    above = np.nan if reported_dual is None else max(0.0, float(reported_dual) - reported) / size
    off = np.nan if dual is None or reported_dual is None else abs(float(reported_dual) - dual) / size
    best = min(record.objective for record in fit.history)
    excess = max(0.0, reported - best) / (TOL * size)
    values = np.linalg.eigvalsh(np.tensordot(weights, K, 1)) if np.any(weights) else np.ones(1)
    condition = float(values[-1] / max(values[0], 1e-17 * values[-1]))
    return Checked((abs(reported - objective) / size, off, above, excess), condition)


def lp(solver: str, one: Drawn) -> Checked:
    """lp-norm MKL by one solver."""
    losses = LOSSES if solver != "interleaved" else ("hinge", "epsilon_insensitive")
    loss = str(one.rng.choice(losses))
    p = float(one.rng.choice([1.0, 1.0, 1.2, 2.0, 8.0])) if solver != "silp" else 1.0
    signed = make_loss(loss).signed
    y, cls = (one.labels, mkl.LpMKLClassifier) if signed else (one.target, mkl.LpMKLRegressor)
    model = cls(p=p, C=one.C, loss=loss, solver=solver, kernels="precomputed", tol=TOL, max_iter=200).fit(one.K, y)
    found = mkl.certificate(
        one.K,
        y,
        model.weights_,
        model.dual_coef_,
        model.intercept_,
        make_loss(loss),
        one.C,
        mkl.LpNorm(p),
        model.dual_point_,
    )
    return compared(model, one.K, model.weights_, *found)


def smkl(one: Drawn) -> Checked:
    """SMKL: L from the block norms."""
    terms = str(one.rng.choice(["log", "gl", "mf", "log+gl"]))
    model = mkl.SMKLClassifier(terms=terms, C=one.C, kernels="precomputed").fit(one.K, one.labels)
    a, w = model.dual_coef_, model.weights_
    norms = w * np.sqrt(np.maximum([a @ kernel @ a for kernel in one.K], 0.0))
    f = np.tensordot(w, one.K, 1) @ a + model.intercept_
    errors = one.C * float(make_loss("hinge").value(f, one.labels).sum())
    penalty = model._penalty(mkl.GramStack.from_array(one.K))
    return compared(model, one.K, w, penalty.regulariser(norms) + errors, None)


def gomp(one: Drawn) -> Checked:
    """MKL-GOMP: ridge with the chosen kernels."""
    lam = float(10.0 ** one.rng.uniform(-8, 0))
    model = mkl.GOMPRegressor(lam=lam, n_kernels=3, kernels="precomputed", fit_intercept=False).fit(one.K, one.target)
    a, f = model.dual_coef_, np.tensordot(model.weights_, one.K, 1) @ model.dual_coef_
    return compared(model, one.K, model.weights_, float(np.mean((one.target - f) ** 2) + lam * a @ f), None)


def greedy(criterion: str, one: Drawn) -> Checked:
    """Greedy coordinate descent, Algorithm 1 or 2."""
    n, lam = one.target.size, float(10.0 ** one.rng.uniform(-6, -1))
    model = mkl.GreedyMKLRegressor(criterion, lam=lam, kernels="precomputed", fit_intercept=False).fit(
        one.K, one.target
    )
    parts = np.array([kernel @ a for kernel, a in zip(one.K, model.dual_coef_, strict=True)])
    r = one.target - parts.sum(axis=0)
    objective = 0.5 * float(r @ r) / n
    if criterion == "empirical":
        return compared(model, one.K, model.weights_, objective, None)
    objective += lam * float(np.sqrt(np.maximum(np.sum(parts * model.dual_coef_, axis=1), 0.0)).sum())
    theta = model.dual_point_
    return compared(model, one.K, model.weights_, objective, float(theta @ one.target - 0.5 * n * theta @ theta))


def hkl(one: Drawn) -> Checked:
    """Hierarchical kernel learning over polynomials of degree 3."""
    model = mkl.HKLRegressor(mkl.PolynomialBasis(3), lam=float(10.0 ** one.rng.uniform(-4, 0))).fit(one.X, one.target)
    primal, dual = mkl.hkl_certificate(model, one.X, one.target)
    return compared(model, np.eye(2)[None], np.ones(1), float(primal), float(dual))


METHODS = {
    **{f"lp, {solver}": (lambda one, solver=solver: lp(solver, one)) for solver in mkl.SOLVERS},
    "lp, auto": lambda one: lp("auto", one),
    "SMKL": smkl,
    "MKL-GOMP": gomp,
    "greedy 1": lambda one: greedy("functional", one),
    "greedy 2": lambda one: greedy("empirical", one),
    "HKL": hkl,
}


def worst(method: str, count: int) -> tuple[list[tuple[float, float, int]], int]:
    """Per invariant the worst violation, its conditioning and its seed; and how many problems were refused."""
    found, refused = [(0.0, np.nan, -1)] * len(NAMES), 0
    for seed in range(count):
        try:
            checked = METHODS[method](draw(seed))
        except (mkl.KernelError, mkl.ParameterError):
            refused += 1
            continue
        for k, violation in enumerate(checked.violations):
            if violation > found[k][0]:
                found[k] = (violation, checked.condition, seed)
    return found, refused


def main(count: int, methods: Sequence[str] = tuple(METHODS)) -> None:
    """The table."""
    print(f"{count} problems per method: worst violation (conditioning there, seed)")
    print("method".ljust(18) + "refused  " + "".join(name.ljust(28) for name in NAMES))
    for method in methods:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, refused = worst(method, count)
        cells = (f"{v:.1e} ({c:.0e}, {seed})" if v > 0 else "0" for v, c, seed in found)
        print(method.ljust(18) + f"{refused:7d}  " + "".join(cell.ljust(28) for cell in cells), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, sys.argv[2:] or tuple(METHODS))
