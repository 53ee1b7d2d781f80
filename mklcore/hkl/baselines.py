"""Four models on the same grid of kernels, to compare hierarchical kernel learning with.

    hkl_l2           1/2n ||y - K a - b||^2 + lam/2 a'K a,  K = sum_v K_v = prod_i sum_j K_ij:
                     every kernel, no selection
    hkl_greedy       add argmax a_t / tr K_t among the sources of the complement, fit with equal
                     weights, repeat
    hkl_lasso_alpha  1/2n ||y - K a - b||^2 + lam ||a||_1: few rows instead of few kernels
    hkl_flat_mkl     lp-norm MKL at p = 1 on the p sums K_i = sum_{j >= 1} K_ij: selection without
                     interactions

`hull_references` fits each of them at several parameters, which validation rows choose, as they
choose how many kernels the greedy method takes: the paper does not say it.

Source: Bach (2008), section 5.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import (
    ParameterError,
    Progress,
    suppress_convergence_warnings,
    warn_short,
)
from mklcore.hkl.design import Design
from mklcore.hkl.graph import Hull, Node
from mklcore.hkl.inner import HullTask, Machine
from mklcore.lp.schedule import fit_weighted
from mklcore.parameters import check_positive, check_whole
from mklcore.problem.losses import centre_of, make_loss
from mklcore.problem.machines import solve_machine
from mklcore.problem.penalties import LpNorm

HULL_LAMS = tuple(10.0**-k for k in range(1, 8))  # of the models a hull is compared with
HULL_DEPTHS = (1.0, 4.0, 8.0, 16.0)  # penalties of depth of the full kernel: 1 is the plain sum
NEGLIGIBLE = 1e-4  # weights below this share of the largest count as 0
HULL_NODES = 40  # of a hull that grows greedily
HULL_GREEDY = HULL_LAMS[1:4:2]
HULL_FLAT = HULL_LAMS[:4]
HULL_SHARES = (0.1, 1e-2, 1e-3)  # shares of the smallest lam at which lasso-alpha uses no row
HULL_FITS = (
    len(HULL_DEPTHS) * (len(HULL_LAMS) + len(HULL_SHARES)) + len(HULL_GREEDY) + len(HULL_FLAT)
)
_LASSO_STEPS = 100_000
_LASSO_TOL = 1e-6
# Warning filters belong to the process: two threads that change them together would not restore
# them.
_FILTER_LOCK = threading.Lock()


class FullKernel:
    """The sum of all kernels of a grid, K = prod_i sum_j B^(-2j) K_ij, for every lam.

    ``depth_weight`` B is 1 for the plain sum, which is nearly diagonal where p is large. With B > 1
    a product of |v| factors costs as much as under the weights d_v = B^|v| of hierarchical kernel
    learning. K is divided by ``size``: the mean diagonal of the centred sum where ``scaled``, else
    1. ``gram`` is K (n, n).
    """

    def __init__(self, design: Design, depth_weight: float = 1.0, scaled: bool = False) -> None:
        check_positive(depth_weight=depth_weight)
        self.design = design
        self.shares: Array = np.power(float(depth_weight), -2.0 * np.arange(design.q + 1.0))
        self.gram = design.values.full_gram(self.shares)
        self.size = 1.0
        variance = float(np.trace(self.gram) / design.n - self.gram.mean())
        if scaled and variance > 0:
            self.gram = self.gram / variance
            self.size = variance
        self._last: tuple[Any, Array] | None = None

    def cross(self, X: Any) -> Array:
        """K between new rows X (m, p) and the training rows, (m, n).

        The last result is saved, because many models predict the same rows.
        """
        if self._last is None or self._last[0] is not X:
            self._last = X, self.design.cross(X).full_gram(self.shares) / self.size
        return self._last[1]


@dataclass(frozen=True, eq=False)
class FullKernelModel:
    """f = K(., training) dual + b with the full ``kernel`` K, and its ``objective``.

    ``converged`` is False where a lasso stopped short of its tolerance.
    """

    name: str
    kernel: FullKernel
    dual: Array
    intercept: float
    objective: float
    converged: bool = True

    def predict(self, X: Any) -> Array:
        """Decision values (m,) at new rows X (m, p)."""
        return self.kernel.cross(X) @ self.dual + self.intercept


@dataclass(frozen=True, eq=False)
class GreedyModel:
    """The greedy path of s models: ``nodes`` by entry, and of every model what follows.

    ``duals`` (s, n), ``intercepts`` (s,) and ``objectives`` (s,).
    """

    name: str
    design: Design
    nodes: tuple[Node, ...]
    duals: Array
    intercepts: Array
    objectives: Array

    @property
    def order(self) -> tuple[tuple[int, ...], ...]:
        """The levels of the nodes, by entry."""
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
        values = np.full(rows.size, self.intercepts[size - 1])
        for node in self.nodes[:size]:
            values += rows.product(node, dual)
        return values


@dataclass(frozen=True, eq=False)
class FlatModel:
    """f = sum_i weights_i K_i(., training) dual + b over the p variables, with its certificate."""

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
        values = np.full(rows.size, self.intercept)
        for i in map(int, np.flatnonzero(self.weights)):
            gram = rows.weighted_levels(i, _above_zero(self.design))
            values += self.weights[i] * (gram @ self.dual)
        return values


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

    ``X`` is a table (n, p), a ``Design``, or a ``FullKernel``, which serves many lams; ``y`` (n,)
    holds labels -1 / +1 for hinge and logistic; ``options`` are those of ``Design``. K grows like a
    number to the power p, and the lams that matter grow with it; ``FullKernel`` can scale K.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows of the table, or Gram matrices where the kernels are precomputed.
    y : array-like of shape (n,)
        Target: numbers for a regression, labels -1 / +1 for two classes.
    lam : float
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    basis : Basis, str, ndarray or None, default None
        None (polynomial of degree 4), a basis such as ``GaussianBasis(3)`` or its key ("gaussian"),
        or Gram matrices (p, q+1, n, n).
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    **options : dict
        Further arguments of ``Design``.

    Returns
    -------
    FullKernelModel
        The fitted model.
    """
    kernel, task, centre = _full_problem(X, y, lam, basis, loss, fit_intercept, options)
    found = solve_machine(kernel.gram, task, accuracy=1e-8)
    return FullKernelModel(
        "L2", kernel, found.dual, found.intercept + centre, lam * found.objective
    )


def hkl_lasso_alpha(
    X: Any,
    y: Array,
    lam: float,
    basis: Any = None,
    *,
    fit_intercept: bool = True,
    **options: Any,
) -> FullKernelModel:
    """Few support rows instead of few kernels: the lasso on the columns of the full kernel K.

        min_{a, b}  1/2n ||y - K a - b||^2 + lam ||a||_1

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows of the table, or Gram matrices where the kernels are precomputed.
    y : array-like of shape (n,)
        Target, numbers.
    lam : float
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    basis : Basis, str, ndarray or None, default None
        None (polynomial of degree 4), a basis such as ``GaussianBasis(3)`` or its key ("gaussian"),
        or Gram matrices (p, q+1, n, n).
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    **options : dict
        Further arguments of ``Design``.

    Returns
    -------
    FullKernelModel
        The fitted model.
    """
    from sklearn.exceptions import ConvergenceWarning  # not at start-up
    from sklearn.linear_model import Lasso  # not at start-up

    kernel, task, centre = _full_problem(X, y, lam, basis, "squared", fit_intercept, options)
    K = kernel.gram
    # With K'K a coefficient that does not move costs one comparison, not a product with a column.
    lasso = Lasso(
        alpha=lam,
        precompute=True,
        fit_intercept=fit_intercept,
        max_iter=_LASSO_STEPS,
        tol=_LASSO_TOL,
    )
    with _FILTER_LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        lasso.fit(K, task.y)
    # scikit-learn measures its gap relative to this.
    power = float(np.var(task.y) if fit_intercept else np.mean(task.y**2))
    allowed = _LASSO_TOL * power
    converged = lasso.n_iter_ < _LASSO_STEPS or lasso.dual_gap_ <= allowed
    if not converged:
        warn_short(
            f"lasso-alpha stopped after {_LASSO_STEPS:,} steps with a duality gap of "
            f"{lasso.dual_gap_:.1e}, where at most {allowed:.1e} is allowed; raise lam."
        )
    residual = task.y - K @ lasso.coef_ - lasso.intercept_
    norm = float(np.abs(lasso.coef_).sum())
    objective = 0.5 * float(np.mean(residual**2)) + lam * norm
    intercept = float(lasso.intercept_) + centre
    return FullKernelModel("lasso-alpha", kernel, lasso.coef_, intercept, objective, converged)


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
    """Grow a hull greedily, with weight one for all kernels.

    The next node is argmax a'K_t a / tr(K_t centred) among the sources of the complement. The
    models of every size from 1 to ``n_kernels`` are returned.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows of the table, or Gram matrices where the kernels are precomputed.
    y : array-like of shape (n,)
        Target: numbers for a regression, labels -1 / +1 for two classes.
    lam : float
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    n_kernels : int
        Most kernels in the model, from 1.
    basis : Basis, str, ndarray or None, default None
        None (polynomial of degree 4), a basis such as ``GaussianBasis(3)`` or its key ("gaussian"),
        or Gram matrices (p, q+1, n, n).
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    **options : dict
        Further arguments of ``Design``.

    Returns
    -------
    GreedyModel
        The fitted models of every size.
    """
    check_whole("n_kernels", n_kernels)
    design, task, centre = _problem(X, y, lam, basis, loss, fit_intercept, options)
    hull = Hull(design.order)
    warm = None
    duals: list[Array] = []
    intercepts: list[float] = []
    objectives: list[float] = []
    while True:
        nodes = hull.nodes
        machine = Machine(design, task, nodes)
        point = machine.solve(np.ones(len(nodes)), warm, 1e-8)
        warm = point.dual
        squared_norm = float(point.quadratic_forms.sum())
        duals.append(point.dual)
        intercepts.append(point.intercept + centre)
        objectives.append(task.primal(point.decision, point.intercept, squared_norm))
        if len(nodes) >= n_kernels or not hull.sources:
            break
        sources = sorted(hull.sources)
        traces = np.array([_centred_trace(design, node) for node in sources])
        forms = design.quadratic_forms(sources, point.dual)
        gains = np.divide(
            forms,
            traces,
            out=np.zeros(traces.size),
            where=traces > 0,
        )
        hull.add([sources[int(np.argmax(gains))]])
    return GreedyModel(
        "greedy", design, tuple(nodes), np.array(duals), np.array(intercepts), np.array(objectives)
    )


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
    """Sparse MKL over the p variables, without interactions, certified to ``tol``.

        min  (1/n) sum l + lam/2 (sum_i ||f_i||)^2,   K_i = sum_{j>=1} K_ij

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows of the table, or Gram matrices where the kernels are precomputed.
    y : array-like of shape (n,)
        Target: numbers for a regression, labels -1 / +1 for two classes.
    lam : float
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    basis : Basis, str, ndarray or None, default None
        None (polynomial of degree 4), a basis such as ``GaussianBasis(3)`` or its key ("gaussian"),
        or Gram matrices (p, q+1, n, n).
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    **options : dict
        Further arguments of ``Design``.

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
    for i in range(design.p):
        K[i] = design.values.weighted_levels(i, _above_zero(design))
    fit = fit_weighted(
        K,
        task.y,
        task.C,
        task.loss,
        LpNorm(1.0),
        fit_intercept,
        tol=tol,
    )
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
    """The full kernel, and the problem as ``_problem`` gives it."""
    if isinstance(X, FullKernel):
        _, task, centre = _problem(X.design, y, lam, basis, loss, fit_intercept, options)
        return X, task, centre
    design, task, centre = _problem(X, y, lam, basis, loss, fit_intercept, options)
    return FullKernel(design), task, centre


def _problem(
    X: Any,
    y: Sequence[float] | Array,
    lam: float,
    basis: Any,
    loss: str,
    fit_intercept: bool,
    options: dict[str, Any],
) -> tuple[Design, HullTask, float]:
    """The kernels, the target without its centre, and the centre, to be added to intercepts."""
    check_positive(lam=lam)
    if isinstance(X, Design) and (options or basis is not None):
        raise ParameterError(
            "A Design already has its basis and options; got "
            f"{', '.join(options) or 'basis'} as well. Make another Design."
        )
    design = X if isinstance(X, Design) else Design(np.asarray(X, dtype=float), basis, **options)
    target = np.asarray(y, dtype=float)
    if target.shape != (design.n,):
        raise ParameterError(
            f"One target per row is needed: {design.n} rows; got a target of shape {target.shape}."
        )
    centre = centre_of(make_loss(loss), target, fit_intercept)
    task = HullTask.at(float(lam), target - centre, make_loss(loss), fit_intercept)
    return design, task, centre


def _above_zero(design: Design) -> Array:
    """Shares of one for all levels but level 0."""
    shares = np.ones(design.q + 1)
    shares[0] = 0.0
    return shares


def _centred_trace(design: Design, node: Node) -> float:
    if design.is_column(node):
        column = design.columns_of([node])[:, 0]
        return float(np.sum((column - column.mean()) ** 2))
    gram = design.gram(node)
    return float(np.trace(gram) - gram.sum() / design.n)


# Beside a hull

# How the parameters were chosen, and what predicts rows (m, p) with them.
Choice = tuple[str, Callable[[Array], Array]]


@dataclass(frozen=True, eq=False)
class HullReference:
    """A model beside a hull, with its score on the validation rows and the parameters ``chosen`` by
    them.

    ``said`` are its predictions for further rows.
    """

    name: str
    score: float
    chosen: str
    model: Any
    said: Any = None


def hull_references(
    design: Design,
    y: Array,
    X_val: Array,
    y_val: Array,
    loss: str = "squared",
    callback: Progress | None = None,
    judge: Array | None = None,
) -> tuple[HullReference, ...]:
    """The models that hierarchical kernel learning is compared with, on the grid of ``design``.

    These are "L2", "greedy", "lasso-alpha" and "MKL". ``y`` (n,) and ``y_val`` (m,) are numbers, or
    -1 and +1 with a loss for labels; ``X_val`` (m, p). Each is the best of its models by R2, or by
    the share of correct labels: L2 and lasso-alpha over lam and the penalty of depth, greedy over
    lam and its nodes, MKL over lam. Lasso-alpha uses least squares, also for labels.
    ``callback(done, total)`` is called after every fit; raise an exception in it to cancel.
    ``judge`` (r, p): rows that choose nothing, for which the best models predict ``said`` (r,).
    Source: Bach (2008), section 5.
    """
    variance = float(np.var(y_val)) or 1.0
    is_labels = set(np.unique(y).tolist()) <= {-1.0, 1.0}
    # All rows at once, because kernels of new rows are expensive.
    rows = X_val if judge is None else np.vstack([X_val, judge])
    best: dict[str, HullReference] = {}
    with suppress_convergence_warnings():
        for done, (name, model, choices) in enumerate(_hull_models(design, y, loss), 1):
            for chosen, predict in choices:
                predicted = predict(rows)
                validated = predicted[: len(y_val)]
                if is_labels:
                    score = float(np.mean((validated > 0) == (y_val > 0)))
                else:
                    score = float(1.0 - np.mean((validated - y_val) ** 2) / variance)
                if name not in best or score > best[name].score:
                    said = None if judge is None else predicted[len(y_val) :]
                    best[name] = HullReference(name, score, chosen, model, said)
            if callback is not None:
                callback(done, HULL_FITS)
    return tuple(best[name] for name in ("L2", "greedy", "lasso-alpha", "MKL"))


def _hull_models(design: Design, y: Array, loss: str) -> Iterator[tuple[str, Any, list[Choice]]]:
    """Every fitted model with the name of its kind and the choices it offers."""
    for depth in HULL_DEPTHS:
        kernel = FullKernel(design, depth, scaled=True)
        for lam in HULL_LAMS:
            model: Any = hkl_l2(kernel, y, lam, loss=loss)
            yield "L2", model, [(f"λ = {lam:g}, penalty of depth {depth:g}", model.predict)]
        largest = float(np.abs(kernel.gram @ (y - y.mean())).max()) / y.size or 1.0
        for share in HULL_SHARES:
            lam = share * largest
            model = hkl_lasso_alpha(kernel, y, lam)
            rows_used = f"{np.count_nonzero(model.dual)} of {y.size} rows"
            chosen = f"λ = {lam:.2g}, penalty of depth {depth:g}, {rows_used}"
            yield "lasso-alpha", model, [(chosen, model.predict)]
    for lam in HULL_GREEDY:
        model = hkl_greedy(design, y, lam, HULL_NODES, loss=loss)
        sizes = range(1, len(model.nodes) + 1)
        yield (
            "greedy",
            model,
            [(f"λ = {lam:g}, {size} nodes", partial(model.predict, size=size)) for size in sizes],
        )
    for lam in HULL_FLAT:
        model = hkl_flat_mkl(design, y, lam, loss=loss, tol=1e-2)
        used = np.count_nonzero(model.weights > NEGLIGIBLE * model.weights.max())
        yield "MKL", model, [(f"λ = {lam:g}, {used} columns", model.predict)]
