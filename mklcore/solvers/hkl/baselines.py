"""What hierarchical kernel learning is compared with: four models on the same grid of kernels.

    hkl_l2           1/2n ||y - K a - b||^2 + lam/2 a'K a,     K = sum_v K_v = prod_i sum_j K_ij: every kernel, no selection
    hkl_greedy       add argmax a_t / tr K_t among the sources of the complement, fit with equal weights, repeat
    hkl_lasso_alpha  1/2n ||y - K a - b||^2 + lam ||a||_1: few rows instead of few kernels
    hkl_flat_mkl     lp-norm MKL at p = 1 on the p sums K_i = sum_{j >= 1} K_ij: selection without interactions

Source: Bach (2008), section 6; specification, section 8 (the number of greedy kernels is chosen on validation rows).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from mklcore.arrays import Array
from mklcore.errors import ParameterError, warn_short
from mklcore.losses import make_loss
from mklcore.machines import machine_of
from mklcore.penalties import LpNorm
from mklcore.solvers import fit_weighted
from mklcore.solvers.hkl.dag import Hull, Node, levels
from mklcore.solvers.hkl.design import Design, Rows
from mklcore.solvers.hkl.machine import Task, machine_for

_LASSO_STEPS = 100_000


@dataclass(frozen=True, eq=False)
class FullKernelModel:
    """f = K(., training) dual + b, K the sum of all kernels over ``size``; ``dual`` (n,), ``objective`` of its own problem."""

    name: str
    design: Design
    dual: Array
    intercept: float
    objective: float
    size: float = 1.0

    def predict(self, X: Any) -> Array:
        """Decision values (m,) at new rows X (m, p)."""
        rows = self.design.cross(X)
        K = np.full((rows.size, self.design.n), 1.0 / self.size)
        for i in range(self.design.p):
            K *= variable_cross(rows, i, 0)
        return K @ self.dual + self.intercept


@dataclass(frozen=True, eq=False)
class GreedyModel:
    """The greedy path: ``order`` nodes (levels) by entry; ``duals`` (s, n), ``intercepts``, ``objectives`` (s,) after each."""

    name: str
    design: Design
    nodes: tuple[Node, ...]
    duals: Array
    intercepts: Array
    objectives: Array

    @property
    def order(self) -> tuple[tuple[int, ...], ...]:
        return tuple(levels(node, self.design.p) for node in self.nodes)

    def predict(self, X: Any, size: int | None = None) -> Array:
        """Decision values (m,) at new rows with the first ``size`` kernels; None for all."""
        size = len(self.nodes) if size is None else size
        if not 1 <= size <= len(self.nodes):
            raise ParameterError(f"size must be from 1 to the {len(self.nodes)} kernels of the path; got {size!r}.")
        rows, dual = self.design.cross(X), self.duals[size - 1]
        values = sum((rows.product(v, dual) for v in self.nodes[:size]), np.zeros(rows.size))
        return values + float(self.intercepts[size - 1])

    def choose(self, X_val: Any, y_val: Array) -> int:
        """The number of kernels with the smallest squared error on validation rows."""
        errors = [np.mean((self.predict(X_val, size + 1) - y_val) ** 2) for size in range(len(self.nodes))]
        return int(np.argmin(errors)) + 1


@dataclass(frozen=True, eq=False)
class FlatModel:
    """f = sum_i weights_i K_i(., training) dual + b over variables: ``weights`` (p,), ``dual`` (n,), with its certificate."""

    name: str
    design: Design
    weights: Array
    dual: Array
    intercept: float
    objective: float
    relative_gap: float

    def predict(self, X: Any) -> Array:
        """Decision values (m,) at new rows X (m, p)."""
        rows = self.design.cross(X)
        found = np.full(rows.size, self.intercept)
        for i in np.flatnonzero(self.weights):
            found += self.weights[i] * (variable_cross(rows, int(i), 1) @ self.dual)
        return found


def hkl_l2(
    X: Any,
    y: Array,
    lam: float,
    basis: Any = None,
    *,
    loss: str = "squared",
    fit_intercept: bool = True,
    scaled: bool = False,
    **options: Any,
) -> FullKernelModel:
    """Ridge (or another loss) with the sum of all (q+1)^p kernels: no selection at all.

        min_{f, b}  (1/n) sum_i l(y_i, f(x_i) + b) + lam/2 ||f||^2,   K = prod_i sum_j K_ij

    ``X`` (n, p) or a ``Design``; ``y`` (n,) (labels -1 / +1 for hinge and logistic); ``options`` as in ``Design``. K grows
    like a number to the power p, and with it the lam that matters: ``scaled`` divides K by its mean diagonal (centred).
    """
    design, task = _problem(X, y, lam, basis, loss, fit_intercept, options)
    K, size = _full(design, scaled)
    found = machine_of(task.loss)(K, task.y, task.C, task.loss, fit_intercept, accuracy=1e-8)
    return FullKernelModel("L2", design, found.dual, found.intercept, lam * found.objective, size)


def hkl_lasso_alpha(
    X: Any, y: Array, lam: float, basis: Any = None, *, fit_intercept: bool = True, scaled: bool = False, **options: Any
) -> FullKernelModel:
    """Few support rows instead of few kernels: min 1/2n ||y - K a - b||^2 + lam ||a||_1 with the full kernel K.

    Parameters as in ``hkl_l2``.
    """
    design, task = _problem(X, y, lam, basis, "squared", fit_intercept, options)
    K, size = _full(design, scaled)
    lasso = Lasso(alpha=lam, fit_intercept=fit_intercept, max_iter=_LASSO_STEPS, tol=1e-6)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        lasso.fit(K, task.y)
    if any(issubclass(w.category, ConvergenceWarning) for w in heard):
        warn_short("lasso-alpha stopped before its tolerance; raise lam.")
    residual = task.y - K @ lasso.coef_ - lasso.intercept_
    objective = 0.5 * float(np.mean(residual**2)) + lam * float(np.abs(lasso.coef_).sum())
    return FullKernelModel("lasso-alpha", design, lasso.coef_, float(lasso.intercept_), objective, size)


def hkl_greedy(
    X: Any,
    y: Array,
    lam: float,
    n_kernels: int,
    basis: Any = None,
    *,
    loss: str = "squared",
    fit_intercept: bool = True,
    **options: Any,
) -> GreedyModel:
    """Grow a hull greedily, all kernels with weight one: every size from 1 to ``n_kernels`` is kept.

    The next node is argmax a'K_t a / tr(K_t centred) among the sources of the complement. ``GreedyModel.choose`` picks the
    size on validation rows. Parameters as in ``hkl_l2``.
    """
    if not (isinstance(n_kernels, (int, np.integer)) and n_kernels >= 1):
        raise ParameterError(f"n_kernels must be a whole number of 1 or more; got {n_kernels!r}.")
    design, task = _problem(X, y, lam, basis, loss, fit_intercept, options)
    hull = Hull(design.p, design.q)
    duals: list[Array] = []
    intercepts: list[float] = []
    objectives: list[float] = []
    while True:
        nodes = hull.nodes
        found = machine_for(design, task, nodes).solve(np.ones(len(nodes)), duals[-1] if duals else None, 1e-8)
        duals.append(found.dual)
        intercepts.append(found.intercept)
        objectives.append(task.primal(found.decision, found.intercept, float(found.forms.sum())))
        if len(nodes) >= n_kernels or not hull.sources:
            break
        sources = sorted(hull.sources)
        spread = np.array([_centred_trace(design, node) for node in sources])
        gains = np.divide(design.forms(sources, found.dual), spread, out=np.zeros(spread.size), where=spread > 0)
        hull.add([sources[int(np.argmax(gains))]])
    return GreedyModel("greedy", design, tuple(nodes), np.array(duals), np.array(intercepts), np.array(objectives))


def hkl_flat_mkl(
    X: Any,
    y: Array,
    lam: float,
    basis: Any = None,
    *,
    loss: str = "squared",
    fit_intercept: bool = True,
    tol: float = 1e-3,
    **options: Any,
) -> FlatModel:
    """Sparse MKL over the p variables, no interactions: min (1/n) sum l + lam/2 (sum_i ||f_i||)^2, K_i = sum_{j>=1} K_ij.

    Certified to ``tol`` as every lp-norm fit. Parameters as in ``hkl_l2``.
    """
    design, task = _problem(X, y, lam, basis, loss, fit_intercept, options)
    needed = design.p * design.n**2 * 8 / 2**20
    if needed > design.memory_mb:
        raise ParameterError(
            f"{design.p} kernels of {design.n} rows need {needed:.0f} MB, more than memory_mb={design.memory_mb:g}. "
            "Raise memory_mb or use fewer rows."
        )
    K = np.stack([design.variable_gram(i) for i in range(design.p)])
    fit = fit_weighted(K, task.y, task.C, task.loss, LpNorm(1.0), fit_intercept, tol=tol)
    gap = float("nan") if fit.relative_gap is None else fit.relative_gap
    return FlatModel("MKL", design, fit.weights, fit.dual_coef, float(fit.intercept), lam * fit.objective, gap)


def variable_cross(rows: Rows, i: int, first: int) -> Array:
    """sum_{j >= first} K_ij between new and training rows, (m, n)."""
    design = rows.design
    total = np.zeros((rows.size, design.n))
    for j in range(first, design.q + 1):
        part = rows.level(i, j)
        total += np.outer(part, design.columns[i, j]) if part.ndim == 1 else part
    return total


def _problem(
    X: Any, y: Sequence[float] | Array, lam: float, basis: Any, loss: str, fit_intercept: bool, options: dict[str, Any]
) -> tuple[Design, Task]:
    if not (isinstance(lam, (int, float, np.number)) and np.isfinite(lam) and lam > 0):
        raise ParameterError(f"lam must be a finite number above 0; got {lam!r}.")
    if isinstance(X, Design) and (options or basis is not None):
        raise ParameterError(
            f"A Design already has its basis and options; got {', '.join(options) or 'basis'} beside it. Make another Design."
        )
    design = X if isinstance(X, Design) else Design(np.asarray(X, dtype=float), basis, **options)
    target = np.asarray(y, dtype=float)
    if target.shape != (design.n,):
        raise ParameterError(f"One target per row is needed: {design.n} rows; got a target of shape {target.shape}.")
    return design, Task(target, make_loss(loss), float(lam), fit_intercept)


def _full(design: Design, scaled: bool) -> tuple[Array, float]:
    """The sum of all kernels, and what it was divided by."""
    K = design.full_gram()
    size = float(np.trace(K) / design.n - K.mean()) if scaled else 1.0
    return (K / size, size) if size > 0 else (K, 1.0)


def _centred_trace(design: Design, node: Node) -> float:
    if design.is_column(node):
        column = design.columns_of([node])[:, 0]
        return float(np.sum((column - column.mean()) ** 2))
    gram = design.gram(node)
    return float(np.trace(gram) - gram.sum() / design.n)
