"""The best k kernels as scikit-learn estimators: a choice, and a proof of how far from the best it
can be.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import Progress
from mklcore.estimators.base import KernelEstimator
from mklcore.estimators.targets import KernelClassifier, SeveralTargets
from mklcore.estimators.training_table import KernelSettings, target_of
from mklcore.kernels.grams import GramStack
from mklcore.parameters import check_whole
from mklcore.paths.path import Path, fit_path
from mklcore.problem.driver import Fit, Record, Status
from mklcore.problem.losses import Loss, make_loss
from mklcore.sparse.best_k import BestK, Found

MOST_SIZES = 10  # sizes of a path whose best choices are searched for
_FEW_VALUES = 2  # a target of so many values is one of classes


@dataclass(eq=False, repr=False)
class _BestSet(KernelSettings, KernelEstimator):
    """min_f (1/n) sum (y_i - f(x_i))^2 + lam ||f||^2 over all choices of at most ``n_kernels``
    kernels.
    """

    takes_means: ClassVar[bool] = True

    lam: float = 0.01
    n_kernels: int = 5
    max_relaxations: int = 500
    _: KW_ONLY
    fit_intercept: bool = False

    @property
    def loss_in_use(self) -> Loss:
        return make_loss("squared")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("n_kernels", self.n_kernels)
        check_whole("max_relaxations", self.max_relaxations)

    def problem(self, stack: Any, y: Array) -> BestK:
        """Values and bounds of choices, for kernels and targets as ``training_stack`` gives them."""
        Y, _ = self._columns_less_means(y, self.fit_intercept)
        return BestK(stack, Y, self.lam)

    def _solve(self, stack: GramStack, y: Array, warm: Any) -> None:
        """``warm`` is a fitted neighbour with another number of kernels: its choice is where the
        search starts.
        """
        started = time.perf_counter()
        Y, means = self._columns_less_means(y, self.fit_intercept)
        carried = getattr(warm, "_carry", None)
        is_same = isinstance(carried, BestK) and warm.lam == self.lam
        problem = carried if is_same and carried is not None else BestK(stack, Y, self.lam)
        k = min(self.n_kernels, stack.n_kernels)
        starts = [problem.extended((), k)]  # greedy, from no kernel on
        if warm is not None:
            starts.append(problem.extended(warm.selected_.tolist(), k))
        found = problem.search(k, starts, self.max_relaxations)
        fit = _as_fit(found, problem, time.perf_counter() - started)
        self._publish_columns(fit, means, y.ndim == 1)
        self._carry = problem
        self.selected_ = np.array(found.kernels, dtype=np.intp)
        self.proof_ = tuple(found.proof)
        self.alternatives_ = tuple(problem.near(k, found.value))


def _as_fit(found: Found, problem: BestK, seconds: float) -> Fit:
    """What a search found, as any solver returns it."""
    weights = np.zeros(problem.n_kernels)
    weights[list(found.kernels)] = 1.0
    record = Record(
        1,
        found.value,
        found.bound,
        found.relaxations,
        seconds,
        "branch and bound over choices of kernels",
    )
    status = Status.PROVEN if found.is_proven else Status.BOUNDED
    return Fit(
        weights,
        problem.dual(found.kernels),
        0.0,
        found.value,
        found.bound,
        status,
        found.relaxations,
        (record,),
        "branch and bound over choices of kernels",
        found.relaxations,
        seconds,
        found.kernels,
    )


@dataclass(eq=False, repr=False)
class BestSetClassifier(_BestSet, KernelClassifier):
    """The best choice of k kernels for classes as numbers -1 and +1, one column per class, with
    squared loss.

        min_f  (1/n) sum_i (y_i - f(x_i))^2 + lam ||f||^2     over all choices of at most n_kernels
        kernels

    This is the problem that MKL-GOMP solves greedily. ``status_`` says whether the choice is proven
    to be the best; ``dual_objective_`` is below the objective of every choice, and ``proof_`` holds
    what proves it.

    Parameters
    ----------
    lam : float, default 0.01
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    n_kernels : int, default 5
        Most kernels in the model, from 1.
    max_relaxations : int, default 500
        Relaxations after which the search ends with what it has proved, from 1.
    kernels : KernelDictionary, sequence of KernelSpec, "precomputed" or None, default None
        The kernels to combine; "precomputed" where ``fit`` gets their Gram matrices. None for one
        RBF kernel per bandwidth of a grid and one linear kernel.
    normalise : str or None, default "auto"
        How every kernel is scaled on the training rows: "multiplicative", "spherical", "trace",
        "diag", None, or "auto" for the usual way of the method.
    center : bool, default False
        Whether the kernels are centred in their feature spaces on the training rows.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; return True, or raise ``CancelledError``, to
        stop the fit.
    fit_intercept : bool, default False
        Subtract the mean of each target column and add it back.
    probability : bool, default False
        Whether probabilities are calibrated on held-out folds, so that ``predict_proba`` can be
        used.

    Attributes
    ----------
    weights_ (M,) of 0 and 1, dual_coef_ (n,) or (n, T), intercept_, objective_, dual_objective_,
    selected_ (sorted), status_, proof_, alternatives_ (pairs of kernels and objective, within 1 %
    of the best), n_iter_ (relaxations)

    References
    ----------
    Sindhwani and Lozano (2011), equation (5); Bertsimas, Iglesias, Johnson (2025), arXiv
    2511.21890.
    """

    _: KW_ONLY
    probability: bool = False


@dataclass(eq=False, repr=False)
class BestSetRegressor(_BestSet, SeveralTargets):
    """The best choice of k kernels for one number or several that share it; everything else as in
    ``BestSetClassifier``.

    Parameters
    ----------
    lam : float, default 0.01
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    n_kernels : int, default 5
        Most kernels in the model, from 1.
    max_relaxations : int, default 500
        Relaxations after which the search for the best kernels ends with what it has proved, from
        1.
    kernels : KernelDictionary, sequence of KernelSpec, "precomputed" or None, default None
        The kernels to combine; "precomputed" where ``fit`` gets their Gram matrices. None for one
        RBF kernel per bandwidth of a grid and one linear kernel.
    normalise : str or None, default "auto"
        How every kernel is scaled on the training rows: "multiplicative", "spherical", "trace",
        "diag", None, or "auto" for the usual way of the method.
    center : bool, default False
        Whether the kernels are centred in their feature spaces on the training rows.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; return True, or raise ``CancelledError``, to
        stop the fit.
    fit_intercept : bool, default True
        Whether the model has a free offset b.

    References
    ----------
    Sindhwani and Lozano (2011), equation (5); Bertsimas, Iglesias, Johnson (2025), arXiv
    2511.21890.
    """

    _: KW_ONLY
    fit_intercept: bool = True


def best_k_kernels(
    kernels: Any, X: Any, y: Any = None, *, k: int, lam: float, max_relaxations: int = 500
) -> Path:
    """The best 1, 2, ..., k kernels, each with a bound that no choice of as many is below:

        min_f  (1/n) sum_i (y_i - f(x_i))^2 + lam ||f||^2     over all choices of at most s kernels, s = 1 .. k

    A target of texts, of booleans or of two values is one of classes, as numbers -1 and +1; of any
    other target the mean is taken out. The path has ``.alternatives(s)``: the choices within 1 % of
    the best that the search met.

    Parameters
    ----------
    kernels : KernelDictionary or "precomputed"
        Kernels to choose from.
    X : array-like of shape (n, d)
        Rows of the table, or Gram matrices where the kernels are precomputed.
    y : array-like of shape (n,)
        Target: numbers for a regression, labels of any kind for classes.
    k : int
        Most kernels, from 1.
    lam : float
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    max_relaxations : int, default 500
        Relaxations after which the search for one size ends with what it has proved, from 1.

    Returns
    -------
    Path
        The solved path over "s".

    References
    ----------
    Sindhwani and Lozano (2011), equation (5); Bertsimas, Iglesias, Johnson (2025), arXiv
    2511.21890.
    """
    check_whole("k", k)
    target = np.asarray(target_of(X, y))
    is_classes = target.dtype.kind not in "fiu" or (
        target.ndim == 1 and np.unique(target).size == _FEW_VALUES
    )
    kind = BestSetClassifier if is_classes else BestSetRegressor
    model = kind(lam=lam, max_relaxations=max_relaxations, kernels=kernels)
    return fit_path(model, X, target, "s", list(range(1, k + 1)))


def is_searched(path: Path) -> bool:
    """Whether the best choices of as many kernels can be searched for: along s, with squared loss
    and kernels that are not approximated.
    """
    model = path.estimators[0]
    is_exact = getattr(model, "approximation", None) is None
    return path.param == "s" and is_exact and bool(np.isfinite(path.dual_gap).any())


def best_choices(
    path: Path,
    X: Any,
    y: Any,
    max_relaxations: int,
    callback: Progress | None = None,
) -> Path:
    """The best kernels for the sizes of a path of MKL-GOMP, on the rows ``X`` and the target ``y``
    that it was fitted on: the smallest ``MOST_SIZES`` sizes, with ``max_relaxations`` for each.
    """
    model = path.estimators[0]
    kind = BestSetClassifier if hasattr(model, "classes_") else BestSetRegressor
    unfitted = kind(max_relaxations=max_relaxations)
    own = model.get_params()
    shared = {name: own[name] for name in unfitted.get_params() if name in own}
    unfitted.set_params(**shared)
    sizes = np.unique(path.n_nonzero[path.n_nonzero > 0])[:MOST_SIZES]
    return fit_path(unfitted, X, y, "s", sizes.tolist(), callback=callback)


def excesses(best: Path, X: Any, y: Any, others: Mapping[str, Path]) -> dict[str, Array]:
    """How much larger the objective of each method's first k kernels is than that of the best k.

    Gives, by the name of the method, a share (L,) for every size k of ``best``. NaN: no point of
    the path has k kernels, or the k-th and the next weigh alike. Negative: the search of the best
    ended early and missed them.

    ``X`` and ``y`` are the rows of ``best``. The first k kernels of a method are the k largest
    weights at the point of its path that uses the fewest kernels, but at least k; the nearest to
    the point that folds chose where several use as few. They are learned anew with the problem of
    ``best``.
    """
    found = {name: np.full(len(best), np.nan) for name in others}
    same = {name: one for name, one in others.items() if one.kernel_names == best.kernel_names}
    if not same:
        return found
    model = best.estimators[0]
    problem = model.problem(*model.training_stack(X, y))
    for name, other in same.items():
        for place, size in enumerate(best.n_nonzero):
            first = _first_kernels(other, int(size))
            if first is not None:
                found[name][place] = problem.value(first) / best.objective[place] - 1.0
    return found


def _first_kernels(path: Path, size: int) -> Indices | None:
    """The first ``size`` kernels of a method, None where its path does not say which they are."""
    enough = np.flatnonzero(path.n_nonzero >= size)
    if not enough.size:
        return None
    away = np.abs(np.arange(len(path)) - path.first_look)
    point = min(enough, key=lambda k: (path.n_nonzero[k], away[k]))
    weights = path.weights[point]
    order: Indices = np.argsort(-weights, kind="stable")
    last, following = np.append(weights[order], 0.0)[size - 1 : size + 1]
    return order[:size] if last > following else None  # else they are not the largest alone
