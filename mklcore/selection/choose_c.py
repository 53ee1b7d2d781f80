"""How large should C be? Leave-one-out without n fits, the xi-alpha estimate, and plain folds.

    squared loss    e_i = y_i - f^(-i)(x_i) = a_i / B_ii,   B the inverse of K + I/C, bordered by ones with an intercept
    hinge           (1/n) #{ i : 2 |a_i| R^2 + xi_i >= 1 },   R^2 = max_i K_ii - min(0, min K_ij),   xi_i = max(0, 1 -
                    y_i f(x_i))

The first is exact for the machine, the second an estimate that errs on the safe side (Joachims' xi-alpha, which asks
for c <= K_ij <= c + R^2: c is 0, or the smallest entry where some are negative). Both need one fit
and hold the kernel weights fixed at what all rows chose, so they say nothing about the choice of kernels itself; folds
do, since every fold builds its kernels and chooses among them without the rows it is scored on.

Source: Subrahmanya and Shin (2010), section on model selection; specification of sparse MKL, C.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices, Labels
from mklcore.errors import DataError, KernelError, ParameterError
from mklcore.kernels.checks import one_blas_thread
from mklcore.kernels.grams import GramStack
from mklcore.kernels.operators.base import Capability, is_operator
from mklcore.losses import Loss, Squared, make_loss
from mklcore.losses.intercepts import centre_of
from mklcore.parameters import check_choice, check_positive
from mklcore.paths.estimator_protocol import PathEstimator
from mklcore.paths.path import check_scoring, score_name
from mklcore.selection.curves import cross_validate_path, offset
from mklcore.selection.scoring import Scoring, label_of
from mklcore.selection.splitters import folds, rare_in_folds

RULES = ("auto", "loo", "xi_alpha", "kfold")


@dataclass(frozen=True, eq=False)
class Choice:
    """What ``choose_C`` found: the best ``C`` (and ``epsilon``, None without tubes) and everything it compared.

    ``errors`` and ``n_kernels`` are (n_tubes, n_values), one row per tube (one row in all without tubes): mean squared
    error for regression, share of wrong rows for classes, or minus the mean score over the folds where another
    ``scoring`` was asked for. ``measure`` names them. ``estimator`` is the fit on all rows at the best value.
    ``notes``: classes too rare for folds, and what was done with their rows.
    """

    rule: str
    C: float
    epsilon: float | None
    values: Array
    epsilons: Array | None
    errors: Array
    n_kernels: Array
    estimator: Any
    measure: str = "error"
    notes: tuple[str, ...] = ()


def leave_one_out(K: Array, y: Array, C: float, *, weights: Array | None = None, fit_intercept: bool = True) -> Array:
    """y_i - f^(-i)(x_i) for every row, where f^(-i) is the squared-loss machine fitted without row i:

        f^(-i) = argmin_f  C/2 sum_{j != i} (y_j - f(x_j))^2 + 1/2 ||f||^2_K,   with a free intercept or without

    ``K`` (n, n), or a stack (M, n, n) with ``weights`` (M,); ``y`` (n,), labels -1 / +1 for classes; ``C`` > 0. Returns
    (n,), exact, from one inverse. ParameterError where C is not above 0. Source: specification of sparse MKL, C.5.
    """
    check_positive("C", C)
    K, y = _combined(K, weights, y)
    y = y - centre_of(Squared(), y, fit_intercept)
    with one_blas_thread():
        inverse = np.linalg.inv(K + np.eye(y.size) / C)
    dual, diagonal = inverse @ y, np.diag(inverse).copy()
    if fit_intercept:
        if y.size < 2:
            raise DataError("Leaving one row out needs at least two rows with an intercept; got one.")
        ones = inverse.sum(axis=1)
        dual = dual - ones * (ones @ y) / ones.sum()
        diagonal -= ones**2 / ones.sum()
    return dual / diagonal


def xi_alpha(K: Array, y: Array, dual_coef: Array, intercept: float = 0.0, *, weights: Array | None = None) -> float:
    """The xi-alpha estimate of a support vector machine's leave-one-out error, between 0 and 1, usually too high.

    ``K`` (n, n), or a stack (M, n, n) with ``weights`` (M,); ``y`` (n,) labels -1 / +1; ``dual_coef`` (n,) signed. Its
    radius R^2 is max K_ii, and max K_ii - min K_ij where entries are negative, as those of linear and centred kernels
    are.
    """
    K, y = _combined(K, weights, y)
    if not np.all(np.abs(y) == 1.0):
        raise DataError("The xi-alpha estimate is for two classes: labels must be -1 and +1.")
    slack = np.maximum(0.0, 1.0 - y * (K @ dual_coef + intercept))
    radius = float(np.diag(K).max()) - min(0.0, float(K.min()))
    return float(np.mean(2.0 * np.abs(dual_coef) * radius + slack >= 1.0))


def choose_C(
    estimator: PathEstimator,
    X: Any,
    y: Any,
    values: Sequence[float] | Array,
    *,
    epsilons: Sequence[float] | Array | None = None,
    rule: str = "auto",
    n_splits: int = 10,
    seed: int = 0,
    callback: Callable[[int, int], Any] | None = None,
    scoring: Scoring = None,
) -> Choice:
    """Fit ``estimator`` at every C (and tube) and choose the one with the smallest estimated error.

    Parameters
    ----------
    estimator : estimator
        An unfitted estimator with a parameter C; it is not changed.
    X : array-like of shape (n, d)
        Table (n, d), stack (M, n, n) or ``GramStack``, and the target (n,).
    y : array-like of shape (n,)
        Table (n, d), stack (M, n, n) or ``GramStack``, and the target (n,).
    values : array-like of shape (L,)
        Candidates for C, in the order in which they are to be fitted.
    epsilons : sequence of float or None, default None
        Candidates for the tube, with loss="epsilon_insensitive".
    rule : str, default "auto"
        "loo" (squared loss), "xi_alpha" (hinge), "kfold" (any), or "auto": the first of them that suits the loss.
    n_splits : int, default 10
        Number and shuffling of the folds, stratified for classes.
    seed : int, default 0
        Number and shuffling of the folds, stratified for classes.
    callback : callable or None, default None
        Called as callback(done, total); raise in it to cancel.
    scoring : str, callable or None, default None
        A scorer of scikit-learn or its name; only folds can measure it, so "auto" then means "kfold".

    Returns
    -------
    Choice
        The chosen cost with the errors of all. Ties go to the fewest kernels, then to the smallest C; with several
        classes the errors are those of the binary machines.
    """
    from sklearn.base import is_classifier

    grid = _positive("values", values)
    tubes = _tubes(estimator, epsilons)
    rule = _rule(estimator, rule, scoring)
    y = np.asarray(y)
    if not is_operator(X) and estimator.get_params().get("kernels") == "precomputed":
        X = GramStack.from_array(X)
    if rule == "kfold":
        errors, counts = _by_folds(estimator, X, y, grid, tubes, folds(estimator, y, n_splits, seed), callback, scoring)
    else:
        errors, counts = _by_one_fit(estimator, X, y, grid, rule, callback)
    order = np.lexsort((np.broadcast_to(grid, errors.shape).ravel(), counts.ravel(), errors.ravel()))
    row, place = (int(k) for k in np.unravel_index(order[0], errors.shape))
    best = _with(estimator, tubes[row]).copy_with("C", float(grid[place])).fit(X, y)
    width = tubes[row]
    epsilon = None if width is None else float(width)
    compared = None if epsilons is None else np.array(tubes, dtype=float)
    measure = "share of wrong rows" if is_classifier(estimator) else "mean squared error"
    if scoring is not None:
        measure = f"minus {score_name(estimator, scoring)}"
    notes = rare_in_folds(estimator, y) if rule == "kfold" else ()
    return Choice(rule, float(grid[place]), epsilon, grid, compared, errors, counts, best, measure, notes)


def _combined(K: Array, weights: Array | None, y: Array) -> tuple[Array, Array]:
    K, y = np.asarray(K, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if K.ndim == 3:
        if weights is None:
            raise ParameterError("A stack (M, n, n) needs the weights (M,) of its kernels; hand over weights=.")
        K = np.tensordot(np.asarray(weights, dtype=np.float64), K, 1)
    if K.shape != (y.size, y.size):
        raise KernelError(f"The kernel has shape {K.shape}, the target {y.size} rows; expected (n, n) and (n,).")
    return K, y


def _positive(name: str, values: Any) -> Array:
    grid = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if grid.ndim != 1 or grid.size == 0 or not np.all(np.isfinite(grid) & (grid > 0)):
        raise ParameterError(f"{name} must be numbers above 0, at least one; got {values!r}.")
    return grid


def _tubes(estimator: PathEstimator, epsilons: Any) -> list[float | None]:
    if epsilons is None:
        return [None]
    if not _loss(estimator).epsilon > 0.0:
        raise ParameterError('epsilons are tubes; they need a regressor with loss="epsilon_insensitive".')
    return [float(epsilon) for epsilon in _positive("epsilons", epsilons)]


def _rule(estimator: PathEstimator, rule: str, scoring: Scoring = None) -> str:
    from sklearn.base import is_outlier_detector

    if "C" not in estimator.get_params():
        raise ParameterError(f"{type(estimator).__name__} has no parameter C to choose.")
    if is_outlier_detector(estimator):
        raise ParameterError("Without a target no error can be estimated, so none can choose C. Set C or nu yourself.")
    check_choice("rule", rule, RULES)
    check_scoring(estimator, scoring)
    if scoring is not None and rule in ("loo", "xi_alpha"):
        way = "Leave-one-out" if rule == "loo" else "The xi-alpha estimate"
        raise ParameterError(
            f'{way} knows the error of its own loss only and cannot measure {label_of(scoring)!r}: use rule="kfold".'
        )
    approximated = estimator.get_params().get("approximation") is not None
    if approximated and rule in ("loo", "xi_alpha"):
        raise ParameterError(
            f'rule="{rule}" needs the Gram matrices, which an approximation does not make: use rule="kfold".'
        )
    if scoring is not None or approximated:
        return "kfold"
    suits = _suits(_loss(estimator))
    if rule in ("loo", "xi_alpha") and rule != suits:
        raise ParameterError(f'rule="{rule}" does not suit the loss {_loss(estimator).name!r}; use rule="{suits}".')
    return suits if rule == "auto" else rule


def _loss(estimator: PathEstimator) -> Loss:
    """The loss of an estimator with any tube: one of width 0 would be no tube."""
    return make_loss(estimator.get_params()["loss"], epsilon=1.0)


def _suits(loss: Loss) -> str:
    """The rule that suits a loss: exact where it is a parabola, xi-alpha for the margins of signed labels, else
    folds.
    """
    if loss.quadratic:
        return "loo"
    return "xi_alpha" if loss.piecewise_linear and loss.signed else "kfold"


def _with(estimator: PathEstimator, epsilon: float | None) -> PathEstimator:
    return estimator if epsilon is None else estimator.copy_with("epsilon", epsilon)


def _by_one_fit(
    estimator: PathEstimator,
    X: Any,
    y: Array,
    grid: Array,
    rule: str,
    callback: Callable[[int, int], Any] | None,
) -> tuple[Array, Array]:
    model = estimator.copy_with("C", float(grid[0]))
    stack, target = model.training_stack(X, y)
    if not stack.capabilities & {Capability.DENSE, Capability.FEATURES}:
        raise ParameterError(
            f'rule="{rule}" reads stored kernels, which {type(stack).__name__} are not; use rule="kfold".'
        )
    errors, counts = np.empty((1, grid.size)), np.empty((1, grid.size))
    if callback is not None:
        callback(0, grid.size)
    for place, fitted in enumerate(model.along(stack, target, "C", grid.tolist(), "C")):
        errors[0, place], counts[0, place] = _estimate(fitted, stack.values, y, rule), fitted.n_kernels_
        if callback is not None:
            callback(place + 1, grid.size)
    return errors, counts


def _by_folds(
    estimator: PathEstimator,
    X: Any,
    y: Array,
    grid: Array,
    tubes: list[float | None],
    parts: list[tuple[Indices, Indices]],
    callback: Callable[[int, int], Any] | None,
    scoring: Scoring,
) -> tuple[Array, Array]:
    """Errors and numbers of kernels of every epsilon and C: all rows count alike, or, with a score, all folds."""
    from sklearn.base import is_classifier

    classes = scoring is None and is_classifier(estimator)
    sizes = None if scoring is not None else [held.size for _, held in parts]
    errors, counts, each = [], [], len(parts) * grid.size
    for row, epsilon in enumerate(tubes):
        found = cross_validate_path(
            _with(estimator, epsilon), X, y, "C", grid, cv=parts,
            callback=offset(callback, row * each, len(tubes) * each),
            scoring=scoring if scoring is not None or classes else "neg_mean_squared_error",
        )  # fmt: skip
        mean = np.average(found.scores, axis=0, weights=sizes)
        errors.append(np.round(1.0 - mean, 12) if classes else -mean)  # shares of as many wrong rows are equal
        counts.append(found.n_nonzero)
    return np.array(errors), np.array(counts)


def _estimate(fitted: Any, K: Array, y: Array, rule: str) -> float:
    """The error of the fitted machines under ``rule``, all rows of all machines counting alike."""
    from sklearn.base import is_classifier

    wrong, total = 0.0, 0
    for rows, target, weights, dual, intercept in _machines(fitted, y):
        part = np.zeros((rows.size, rows.size))
        for m in np.flatnonzero(weights):
            part += weights[m] * K[m][np.ix_(rows, rows)]
        if rule == "xi_alpha":
            wrong += rows.size * xi_alpha(part, target, dual, intercept)
        else:
            left = leave_one_out(part, target, fitted.C, fit_intercept=fitted.fit_intercept)
            wrong += float(np.sum(target * left >= 1.0) if is_classifier(fitted) else left @ left)
        total += rows.size
    return wrong / total


def _machines(fitted: Any, y: Labels) -> Iterator[tuple[Indices, Array, Array, Array, float]]:
    """Rows, target (labels -1 / +1), weights, dual and intercept of every binary or regression machine."""
    from sklearn.base import is_classifier

    everything = np.arange(y.size)
    if not is_classifier(fitted):
        yield everything, np.asarray(y, dtype=np.float64), fitted.weights_, fitted.dual_coef_, fitted.intercept_
        return
    codes = np.searchsorted(fitted.classes_, y)
    problems = getattr(fitted, "pairs_", None)
    if np.ndim(fitted.weights_) == 1:
        problems = ((0, 1),)
    tables = (np.atleast_2d(fitted.weights_), np.atleast_2d(fitted.dual_coef_), np.atleast_1d(fitted.intercept_))
    for k, (weights, dual, intercept) in enumerate(zip(*tables, strict=True)):
        positive = k if problems is None else problems[k][1]
        rows = everything if problems is None else np.flatnonzero(np.isin(codes, problems[k]))
        yield rows, np.where(codes[rows] == positive, 1.0, -1.0), weights, dual[rows], float(intercept)
