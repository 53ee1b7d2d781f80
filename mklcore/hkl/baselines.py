"""What hierarchical kernel learning is compared with: four models on the same grid of kernels.

    hkl_l2           1/2n ||y - K a - b||^2 + lam/2 a'K a, K = sum_v K_v = prod_i sum_j K_ij: every kernel, no selection
    hkl_greedy       add argmax a_t / tr K_t among the sources of the complement, fit with equal weights, repeat
    hkl_lasso_alpha  1/2n ||y - K a - b||^2 + lam ||a||_1: few rows instead of few kernels
    hkl_flat_mkl     lp-norm MKL at p = 1 on the p sums K_i = sum_{j >= 1} K_ij: selection without interactions

Source: Bach (2008), section 5; specification, section 8 (the number of greedy kernels is chosen on
validation rows).
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.documented import documented
from mklcore.errors import ParameterError, warn_short
from mklcore.hkl.design import Design
from mklcore.hkl.graph import Hull, Node
from mklcore.hkl.inner import HullTask, machine_for
from mklcore.lp.schedule import fit_weighted
from mklcore.parameters import check_positive, check_whole
from mklcore.problem.losses import centre_of, make_loss
from mklcore.problem.machines import machine_of
from mklcore.problem.penalties import LpNorm

_LASSO_STEPS = 100_000
_LASSO_TOL = 1e-6
# filters are the process's: who changes them two at a time leaves the other's behind
_ONE_FILTER = threading.Lock()


class FullKernel:
    """The sum of all kernels of a grid, K = prod_i sum_j B^(-2j) K_ij, over ``size``: made once,
    for every lam.

    ``depth_weight`` B: 1 for the plain sum, which is nearly diagonal where p is large; above 1 a
    product of |v| factors is as dear as under the prices d_v = B^|v| of hierarchical kernel
    learning. ``size`` is the mean diagonal of K, centred, where ``scaled``, else 1; ``gram`` (n,
    n).
    """

    def __init__(self, design: Design, depth_weight: float = 1.0, scaled: bool = False) -> None:
        check_positive(depth_weight=depth_weight)
        self.design = design
        self.shares = np.array([float(depth_weight) ** (-2.0 * j) for j in range(design.q + 1)])
        self.gram = design.values.full_gram(self.shares)
        self.size = 1.0
        spread = float(np.trace(self.gram) / design.n - self.gram.mean())
        if scaled and spread > 0:
            self.gram = self.gram / spread
            self.size = spread
        self._last: tuple[Any, Array] | None = None

    def cross(self, X: Any) -> Array:
        """K between new rows X (m, p) and the training rows, (m, n); kept until other rows are
        asked for.
        """
        if self._last is None or self._last[0] is not X:
            self._last = X, self.design.cross(X).full_gram(self.shares) / self.size
        return self._last[1]


@dataclass(frozen=True, eq=False)
class FullKernelModel:
    """f = K(., training) dual + b, K the sum of all ``kernel``s; ``dual`` (n,), ``objective`` of
    its own problem.
    """

    name: str
    kernel: FullKernel
    dual: Array
    intercept: float
    objective: float

    def predict(self, X: Any) -> Array:
        """Decision values (m,) at new rows X (m, p)."""
        return self.kernel.cross(X) @ self.dual + self.intercept


@dataclass(frozen=True, eq=False)
class GreedyModel:
    """The greedy path: ``order`` nodes (levels) by entry; ``duals`` (s, n), ``intercepts``,
    ``objectives`` (s,) after each.
    """

    name: str
    design: Design
    nodes: tuple[Node, ...]
    duals: Array
    intercepts: Array
    objectives: Array

    @property
    def order(self) -> tuple[tuple[int, ...], ...]:
        return tuple(map(self.design.order.key, self.nodes))

    def predict(self, X: Any, size: int | None = None) -> Array:
        """Decision values (m,) at new rows with the first ``size`` kernels; None for all."""
        size = len(self.nodes) if size is None else size
        if not 1 <= size <= len(self.nodes):
            raise ParameterError(
                f"size must be from 1 to the {len(self.nodes)} kernels of the path; got {size!r}."
            )
        rows = self.design.cross(X)
        dual = self.duals[size - 1]
        values = sum((rows.product(v, dual) for v in self.nodes[:size]), np.zeros(rows.size))
        return values + float(self.intercepts[size - 1])


@dataclass(frozen=True, eq=False)
class FlatModel:
    """f = sum_i weights_i K_i(., training) dual + b over variables: ``weights`` (p,), ``dual``
    (n,), with its certificate.
    """

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
        used = np.flatnonzero(self.weights)
        above_zero = np.sign(np.arange(self.design.q + 1.0))
        parts = (self.weights[i] * (rows.weighed(int(i), above_zero) @ self.dual) for i in used)
        return self.intercept + sum(parts, np.zeros(rows.size))


@documented
def hkl_l2(
    X: Any,
    y: Array,
    lam: float,
    basis: Any = None,
    *,
    loss: str = "squared",
    fit_intercept: bool = True,
    **options: Any,
) -> FullKernelModel:
    """Ridge (or another loss) with the sum of all (q+1)^p kernels: no selection at all.

        min_{f, b}  (1/n) sum_i l(y_i, f(x_i) + b) + lam/2 ||f||^2,   K = prod_i sum_j B^(-2j) K_ij

    ``X`` (n, p), a ``Design`` or a ``FullKernel``, which serves many lams; ``y`` (n,) (labels -1 /
    +1 for hinge and logistic); ``options`` as in ``Design``. K grows like a number to the power p,
    and with it the lam that matters: ``FullKernel`` scales and weighs it.

    Returns
    -------
    FullKernelModel
        The fitted model.
    """
    kernel, task, centre = _full_problem(X, y, lam, basis, loss, fit_intercept, options)
    found = machine_of(task.loss)(
        kernel.gram, task.y, task.C, task.loss, fit_intercept, accuracy=1e-8
    )
    return FullKernelModel(
        "L2", kernel, found.dual, found.intercept + centre, lam * found.objective
    )


@documented
def hkl_lasso_alpha(
    X: Any,
    y: Array,
    lam: float,
    basis: Any = None,
    *,
    fit_intercept: bool = True,
    **options: Any,
) -> FullKernelModel:
    """Few support rows instead of few kernels: min 1/2n ||y - K a - b||^2 + lam ||a||_1 with the
    full kernel K.

    Returns
    -------
    FullKernelModel
        The fitted model.
    """
    from sklearn.exceptions import ConvergenceWarning  # not at start-up
    from sklearn.linear_model import Lasso  # not at start-up

    kernel, task, centre = _full_problem(X, y, lam, basis, "squared", fit_intercept, options)
    K = kernel.gram
    # With K'K a coefficient that does not move costs one look, not a product with a column.
    lasso = Lasso(
        alpha=lam,
        precompute=True,
        fit_intercept=fit_intercept,
        max_iter=_LASSO_STEPS,
        tol=_LASSO_TOL,
    )
    with _ONE_FILTER, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        lasso.fit(K, task.y)
    # what scikit-learn measures its gap by
    power = float(np.var(task.y) if fit_intercept else np.mean(task.y**2))
    if lasso.n_iter_ >= _LASSO_STEPS and lasso.dual_gap_ > _LASSO_TOL * power:
        warn_short(
            f"lasso-alpha stopped after {_LASSO_STEPS:,} steps with a duality gap of "
            f"{lasso.dual_gap_:.1e}, where {_LASSO_TOL * power:.1e} was asked for; raise "
            "lam."
        )
    residual = task.y - K @ lasso.coef_ - lasso.intercept_
    objective = 0.5 * float(np.mean(residual**2)) + lam * float(np.abs(lasso.coef_).sum())
    return FullKernelModel(
        "lasso-alpha", kernel, lasso.coef_, float(lasso.intercept_) + centre, objective
    )


@documented
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
    """Grow a hull greedily, all kernels with weight one: every size from 1 to ``n_kernels`` is
    kept.

    The next node is argmax a'K_t a / tr(K_t centred) among the sources of the complement.

    Returns
    -------
    GreedyModel
        The fitted models of every size.
    """
    check_whole("n_kernels", n_kernels)
    design, task, centre = _problem(X, y, lam, basis, loss, fit_intercept, options)
    hull = Hull(design.order)
    duals: list[Array] = []
    intercepts: list[float] = []
    objectives: list[float] = []
    while True:
        nodes = hull.nodes
        found = machine_for(design, task, nodes).solve(
            np.ones(len(nodes)), duals[-1] if duals else None, 1e-8
        )
        duals.append(found.dual)
        intercepts.append(found.intercept + centre)
        objectives.append(task.primal(found.decision, found.intercept, float(found.forms.sum())))
        if len(nodes) >= n_kernels or not hull.sources:
            break
        sources = sorted(hull.sources)
        spread = np.array([_centred_trace(design, node) for node in sources])
        gains = np.divide(
            design.forms(sources, found.dual), spread, out=np.zeros(spread.size), where=spread > 0
        )
        hull.add([sources[int(np.argmax(gains))]])
    return GreedyModel(
        "greedy", design, tuple(nodes), np.array(duals), np.array(intercepts), np.array(objectives)
    )


@documented
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
    """Sparse MKL over the p variables, no interactions: min (1/n) sum l + lam/2 (sum_i ||f_i||)^2,
    K_i = sum_{j>=1} K_ij.

    Certified to ``tol`` as every lp-norm fit.

    Returns
    -------
    FlatModel
        The fitted model.
    """
    design, task, centre = _problem(X, y, lam, basis, loss, fit_intercept, options)
    needed = design.p * design.n**2 * 8 / 2**20
    if needed > design.memory_mb:
        raise ParameterError(
            f"{design.p} kernels of {design.n} rows need {needed:.0f} MB, more than "
            f"memory_mb={design.memory_mb:g}. Raise memory_mb or use fewer rows."
        )
    K = np.empty((design.p, design.n, design.n))
    for i in range(design.p):  # a stack of a list would be there twice
        K[i] = design.values.weighed(i, np.sign(np.arange(design.q + 1.0)))
    fit = fit_weighted(K, task.y, task.C, task.loss, LpNorm(1.0), fit_intercept, tol=tol)
    gap = float("nan") if fit.relative_gap is None else fit.relative_gap
    return FlatModel(
        "MKL",
        design,
        fit.weights,
        fit.dual_coef,
        float(fit.intercept) + centre,
        lam * fit.objective,
        gap,
    )


def _full_problem(
    X: Any,
    y: Array,
    lam: float,
    basis: Any,
    loss: str,
    fit_intercept: bool,
    options: dict[str, Any],
) -> tuple[FullKernel, HullTask, float]:
    rows = X.design if isinstance(X, FullKernel) else X
    design, task, centre = _problem(rows, y, lam, basis, loss, fit_intercept, options)
    return X if isinstance(X, FullKernel) else FullKernel(design), task, centre


def _problem(
    X: Any,
    y: Sequence[float] | Array,
    lam: float,
    basis: Any,
    loss: str,
    fit_intercept: bool,
    options: dict[str, Any],
) -> tuple[Design, HullTask, float]:
    """The kernels, the target without its centre, and the centre, which every model adds to its
    intercept.
    """
    check_positive(lam=lam)
    if isinstance(X, Design) and (options or basis is not None):
        raise ParameterError(
            "A Design already has its basis and options; got "
            f"{', '.join(options) or 'basis'} beside it. Make another Design."
        )
    design = X if isinstance(X, Design) else Design(np.asarray(X, dtype=float), basis, **options)
    target = np.asarray(y, dtype=float)
    if target.shape != (design.n,):
        raise ParameterError(
            f"One target per row is needed: {design.n} rows; got a target of shape {target.shape}."
        )
    centre = centre_of(make_loss(loss), target, fit_intercept)
    return design, HullTask(target - centre, make_loss(loss), float(lam), fit_intercept), centre


def _centred_trace(design: Design, node: Node) -> float:
    if design.is_column(node):
        column = design.columns_of([node])[:, 0]
        return float(np.sum((column - column.mean()) ** 2))
    gram = design.gram(node)
    return float(np.trace(gram) - gram.sum() / design.n)
