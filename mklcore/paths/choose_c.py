"""How large should C be? Leave-one-out without n fits, and plain folds.

    e_i = y_i - f^(-i)(x_i) = a_i / B_ii,   B the inverse of K + I/C, bordered by ones with an intercept

Leave-one-out is exact for the machine with the squared loss and needs one fit, but holds the kernel weights fixed at
what all rows chose, so it says nothing about the choice of kernels itself; folds do, since every fold builds its
kernels and chooses among them without the rows it is scored on.

Source: Subrahmanya and Shin (2010), section on model selection; specification of sparse MKL, C.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices, Labels, one_blas_thread
from mklcore.errors import DataError, KernelError, ParameterError
from mklcore.kernels.operators import Capability
from mklcore.parameters import check_choice, check_positive
from mklcore.paths.curves import cross_validate_path, first_of
from mklcore.paths.path import PathEstimator, check_scoring, score_name
from mklcore.paths.scoring import Scoring, label_of
from mklcore.problem.losses import Squared, centre_of, make_loss

RULES = ("auto", "loo", "kfold")


@dataclass(frozen=True, eq=False)
class Choice:
    """What ``choose_C`` found: the best ``C`` and everything it compared.

    ``errors`` and ``n_kernels`` are (L,), one for each of the ``values``: mean squared error for regression, share of
    wrong rows for classes, or minus the mean score over the folds where another ``scoring`` was asked for. ``measure``
    names them. ``estimator`` is the fit on all rows at the best value. ``notes``: classes too rare for folds.
    """

    rule: str
    C: float
    values: Array
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
    check_positive(C=C)
    K, y = np.asarray(K, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if K.ndim == 3:
        if weights is None:
            raise ParameterError("A stack (M, n, n) needs the weights (M,) of its kernels; hand over weights=.")
        K = np.tensordot(np.asarray(weights, dtype=np.float64), K, 1)
    if K.shape != (y.size, y.size):
        raise KernelError(f"The kernel has shape {K.shape}, the target {y.size} rows; expected (n, n) and (n,).")
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


def choose_C(
    estimator: PathEstimator,
    X: Any,
    y: Any,
    values: Sequence[float] | Array,
    *,
    rule: str = "auto",
    n_splits: int = 10,
    seed: int = 0,
    callback: Callable[[int, int], Any] | None = None,
    scoring: Scoring = None,
) -> Choice:
    """Fit ``estimator`` at every C and choose the one with the smallest estimated error.

    Parameters
    ----------
    estimator : estimator
        An unfitted estimator with a parameter C; it is not changed.
    X : array-like of shape (n, d)
        Table (n, d), stack (M, n, n) or ``GramStack``.
    y : array-like of shape (n,)
        Target.
    values : array-like of shape (L,)
        Candidates for C, in the order in which they are to be fitted.
    rule : str, default "auto"
        "loo" (squared loss), "kfold" (any), or "auto": the first of them that suits the loss.
    n_splits : int, default 10
        Number of the folds, stratified for classes.
    seed : int, default 0
        Seed of the folds.
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
    from sklearn.base import is_classifier  # not at start-up

    grid = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if grid.ndim != 1 or grid.size == 0 or not np.all(np.isfinite(grid) & (grid > 0)):
        raise ParameterError(f"values must be numbers above 0, at least one; got {values!r}.")
    rule, y = _rule(estimator, rule, scoring), np.asarray(y)
    notes: tuple[str, ...] = ()
    classes = is_classifier(estimator)
    if rule == "loo":
        errors, counts = _left_one_out(estimator, X, y, grid, callback)
    else:
        measured = scoring if scoring is not None or classes else "neg_mean_squared_error"
        found = cross_validate_path(estimator, X, y, "C", grid, n_splits, seed, callback, scoring=measured)
        share = scoring is None and classes
        errors = np.round(1.0 - found.val_score, 12) if share else -found.val_score  # as many wrong rows are equal
        counts, notes = found.n_nonzero, found.notes
    (place,) = first_of(-errors, counts, grid)
    best = estimator.copy_with("C", float(grid[place])).fit(X, y)
    measure = "share of wrong rows" if classes else "mean squared error"
    if scoring is not None:
        measure = f"minus {score_name(estimator, scoring)}"
    return Choice(rule, float(grid[place]), grid, errors, counts, best, measure, notes)


def _rule(estimator: PathEstimator, rule: str, scoring: Scoring) -> str:
    from sklearn.base import is_outlier_detector  # not at start-up

    asked = estimator.get_params()
    if "C" not in asked:
        raise ParameterError(f"{type(estimator).__name__} has no parameter C to choose.")
    if is_outlier_detector(estimator):
        raise ParameterError("Without a target no error can be estimated, so none can choose C. Set C or nu yourself.")
    check_choice("rule", rule, RULES)
    check_scoring(estimator, scoring)
    loss = make_loss(asked["loss"])
    why = ""
    if scoring is not None:
        why = f"knows the error of its own loss only and cannot measure {label_of(scoring)!r}"
    elif asked.get("approximation") is not None:
        why = "needs the Gram matrices, which an approximation does not make"
    elif not loss.quadratic:
        why = f"does not suit the loss {loss.name!r}"
    if rule == "loo" and why:
        raise ParameterError(f'rule="loo" {why}: use rule="kfold".')
    return "kfold" if why or rule == "kfold" else "loo"


def _left_one_out(
    estimator: PathEstimator, X: Any, y: Labels, grid: Array, callback: Callable[[int, int], Any] | None
) -> tuple[Array, Array]:
    """The error (L,) at every C, all rows of all machines counting alike, and how many kernels are used (L,)."""
    model = estimator.copy_with("C", float(grid[0]))
    stack, target = model.training_stack(X, y)
    if not stack.capabilities & {Capability.DENSE, Capability.FEATURES}:
        raise ParameterError(
            f'rule="loo" reads stored kernels, which {type(stack).__name__} are not; use rule="kfold".'
        )
    errors, counts = np.empty(grid.size), np.empty(grid.size)
    if callback is not None:
        callback(0, grid.size)
    fitted: Any
    for place, fitted in enumerate(model.along(stack, target, "C", grid.tolist(), "C")):
        wrong = []
        for part, signed, *_ in machines_of(fitted, stack.values, y):
            left = leave_one_out(part, signed, fitted.C, fit_intercept=fitted.fit_intercept)
            wrong.append(np.greater_equal(signed * left, 1.0) if hasattr(fitted, "classes_") else left**2)
        errors[place], counts[place] = np.mean(np.concatenate(wrong)), fitted.n_kernels_
        if callback is not None:
            callback(place + 1, grid.size)
    return errors, counts


def machines_of(fitted: Any, K: Array, y: Labels) -> Iterator[tuple[Array, Array, Array, float]]:
    """Every binary or regression machine on a stack ``K`` (M, n, n): its kernel, its target (labels -1 / +1), its dual
    and its intercept, on its own rows.
    """
    rows: Indices = np.arange(y.size)
    if not hasattr(fitted, "classes_"):
        yield np.tensordot(fitted.weights_, K, 1), np.asarray(y, dtype=float), fitted.dual_coef_, fitted.intercept_
        return
    codes = np.searchsorted(fitted.classes_, y)
    pairs = getattr(fitted, "pairs_", None)
    if np.ndim(fitted.weights_) == 1:
        pairs = ((0, 1),)
    tables = (np.atleast_2d(fitted.weights_), np.atleast_2d(fitted.dual_coef_), np.atleast_1d(fitted.intercept_))
    for k, (weights, dual, intercept) in enumerate(zip(*tables, strict=True)):
        rows = rows if pairs is None else np.flatnonzero(np.isin(codes, pairs[k]))
        part = sum(weights[m] * K[m][np.ix_(rows, rows)] for m in np.flatnonzero(weights))
        signed = np.where(codes[rows] == (k if pairs is None else pairs[k][1]), 1.0, -1.0)
        yield part + np.zeros((rows.size, rows.size)), signed, dual[rows], float(intercept)
