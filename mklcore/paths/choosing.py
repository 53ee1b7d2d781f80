"""Choosing a point of a path: by validation rows, by folds of tables or stacks, by leave-one-out.

`choose` always breaks ties in the same way: the highest score, then the fewest kernels, then the
strongest regularisation (largest lam, smallest C, p or s).

    e_i = y_i - f^(-i)(x_i) = a_i / B_ii,    B = (K + I/C)^-1

where K + I/C is bordered by ones if there is an intercept. Leave-one-out is exact for the machine
with the squared loss and needs one fit. But it fixes the kernel weights at those of all rows, so it
does not assess the choice of kernels. Folds do: every fold builds its kernels and chooses among
them without the rows on which it is scored.

Source: Subrahmanya and Shin (2010), section on model selection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from mklcore.arrays import Array, Indices, Labels, Mask, one_blas_thread
from mklcore.errors import DataError, KernelError, ParameterError, Progress, warn_short
from mklcore.kernels.operators import Capability
from mklcore.parameters import check_choice, check_positive
from mklcore.paths.folds import cut, each, fold_pairs, is_parallel
from mklcore.paths.path import (
    PATH_ATTRIBUTES,
    Path,
    PathEstimator,
    SizedEstimator,
    check_scoring,
    checked_values,
    fit_path,
    score_name,
    scores_of,
    validation_blocks,
)
from mklcore.paths.scoring import ACCEPTED, Scoring, label_of
from mklcore.problem.losses import Squared, centre_of, make_loss

RULES = ("best", "1se", "sparsest")
ESTIMATES = ("auto", "loo", "kfold")  # estimates of the error
_SAME = 1e-12  # scores this close are equal
R = TypeVar("R")
Axes: TypeAlias = list[tuple[str, Array]]
# The training part and the held-out part, and the indices of their rows.
Fold: TypeAlias = tuple[tuple[Any, Any], Indices, Indices]


@dataclass(frozen=True, eq=False)
class ValidationCurve:
    """Validation scores over lam (L,) and the number of kernels (S,); arrays are (L, S).

    ``scores``; ``n_nonzero``, the number of kernels in use; ``objective``; ``best`` (row, column)
    by the tie rule, ``lam`` and ``size`` there, and ``estimator``, the fitted model of that point.
    """

    lams: Array
    sizes: Array
    scores: Array
    n_nonzero: Array
    objective: Array
    best: tuple[int, int]
    estimator: Any
    score_name: str

    @property
    def lam(self) -> float:
        """The chosen lam."""
        return float(self.lams[self.best[0]])

    @property
    def size(self) -> int:
        """The chosen number of kernels."""
        return int(self.sizes[self.best[1]])


def validation_curve(
    estimator: SizedEstimator,
    X: Any,
    y: Any,
    X_val: Any,
    y_val: Any,
    lams: Sequence[float] | Array,
    sizes: Sequence[int] | Array,
    callback: Progress | None = None,
    scoring: Scoring = None,
    n_jobs: int | None = None,
) -> ValidationCurve:
    """Score every (lam, number of kernels) on validation rows, from one greedy run per lam.

    ``estimator`` is an unfitted MKL-GOMP or greedy estimator, which is not changed; ``X``, ``y``,
    ``X_val``, ``y_val`` and ``scoring`` are as in ``fit_path``. Decompositions are computed once.
    ``callback(done, total)`` is called after every lam. Ties: fewest kernels, then largest lam.

    Parameters
    ----------
    estimator : estimator
        Unfitted estimator; it is cloned and not changed.
    X : array-like of shape (n, d)
        Rows of the table, or Gram matrices where the kernels are precomputed.
    y : array-like of shape (n,)
        Target: numbers for a regression, labels of any kind for classes.
    X_val : array-like of shape (m, d)
        Validation rows, or their block of a stack.
    y_val : array-like of shape (m,)
        Target of the validation rows.
    lams : sequence of float
        Values of lambda, > 0.
    sizes : sequence of int
        Numbers of kernels, from 1.
    callback : callable or None, default None
        Called after every step with a record of it; raising ``CancelledError`` ends the fit.
    scoring : str, callable or None, default None
        Score to measure: a name of ``SCORINGS`` or a callable ``(estimator, X, y)``; None for the
        usual score of the task.
    n_jobs : int or None, default None
        Values of lambda at a time, as joblib has it.

    Returns
    -------
    ValidationCurve
        Scores of every pair of parameters.

    References
    ----------
    Sindhwani and Lozano (2011), section 4.
    """
    rows = checked_values("lam", lams)
    columns = checked_values("s", sizes)
    check_scoring(estimator, scoring)
    if not hasattr(estimator, "along_grid"):
        raise ParameterError(
            f"{type(estimator).__name__} does not add kernels one by one, so it has no "
            "curve over lam and size; use fit_path."
        )
    model = estimator.copy_with("lam", rows[0].item())
    stack, target = model.training_stack(X, y)
    blocks = validation_blocks(stack, X_val)
    if blocks is None:
        raise ParameterError("A validation curve needs validation rows: pass X_val and y_val.")
    name = score_name(estimator, scoring)
    scores = np.empty((rows.size, columns.size))
    used = np.empty_like(scores, dtype=int)
    objective = np.empty_like(scores)
    table: list[Any] = []
    sizes = [int(size) for size in columns]
    for fitted in _along_grid(model, stack, target, rows.tolist(), sizes, n_jobs):
        k = len(table)
        table.append(fitted)
        scores[k] = scores_of(fitted, blocks, y_val, scoring)
        used[k] = [point.n_kernels_ for point in fitted]
        objective[k] = [np.sum(point.objective_) for point in fitted]
        if callback is not None:
            callback(len(table), rows.size)
    one_fold = CrossValidated(("lam", "s"), (rows, columns), scores[None], used, name)
    best = choose(one_fold)
    fitted = table[best[0]][best[1]]
    return ValidationCurve(rows, columns.astype(int), scores, used, objective, best, fitted, name)


def _along_grid(
    model: Any,
    stack: Any,
    target: Array,
    lams: list[float],
    sizes: list[int],
    n_jobs: int | None,
) -> Iterator[Any]:
    """The models of all sizes, for one value of lambda after the other."""
    if not is_parallel(n_jobs):
        return iter(model.along_grid(stack, target, lams, sizes))
    return each(lambda lam: next(model.along_grid(stack, target, [lam], sizes)), lams, n_jobs)


@dataclass(frozen=True, eq=False)
class CrossValidated:
    """Scores of F folds over one parameter with L values, or over two with L and S.

    ``params`` are their names, ``grids`` their values, ``scores`` (F, L) or (F, L, S),
    ``n_nonzero`` (L,) or (L, S) the mean number of kernels in use. Over one parameter, ``selected``
    (L, M) is the share of the folds that use each kernel (empty when the folds' dictionaries differ
    in size), and ``finished`` (L,) of bool tells where the fits of all folds reached their
    tolerance; None means everywhere. ``notes``: classes too rare for folds, and what was done with
    their rows.
    """

    params: tuple[str, ...]
    grids: tuple[Array, ...]
    scores: Array
    n_nonzero: Array
    score_name: str
    selected: Array | None = None
    finished: Mask | None = None
    notes: tuple[str, ...] = ()

    @property
    def param(self) -> str:
        """The name of the first parameter."""
        return self.params[0]

    @property
    def values(self) -> Array:
        """The values of the first parameter."""
        return self.grids[0]

    @property
    def val_score(self) -> Array:
        """Mean score over the folds."""
        mean: Array = self.scores.mean(axis=0)
        return mean

    @property
    def standard_error(self) -> Array:
        """Standard error of the mean score."""
        spread: Array = self.scores.std(axis=0, ddof=1)
        return spread / float(np.sqrt(len(self.scores)))


def cross_validate_path(
    estimator: PathEstimator,
    X: Any,
    y: Any,
    param: str | None = None,
    values: Sequence[float] | Array | None = None,
    n_splits: int = 5,
    seed: int = 0,
    callback: Progress | None = None,
    *,
    params: Mapping[str, Sequence[float] | Array] | None = None,
    cv: Any = None,
    scoring: Scoring = None,
    n_jobs: int | None = None,
) -> CrossValidated:
    """Score a path on folds of the rows, each with kernels that do not depend on its held-out rows.

    Every fold builds its kernels and chooses among them without the rows on which it is scored.
    scikit-learn's search cannot cut stacks.

    Parameters
    ----------
    estimator : estimator
        Unfitted estimator; it is cloned and not changed.
    X : array-like of shape (n, d)
        A table, whose kernels are built anew in every fold; or a stack (M, n, n) or ``GramStack``,
        which is cut (its scales stay those of all rows).
    y : array-like of shape (n,)
        Target: numbers for a regression, labels of any kind for classes.
    param : str or None, default None
        Name of the parameter the path runs over: "C", "p", "lam" or "s".
    values : array-like of shape (L,), default None
        Values of the parameter along the path.
    n_splits : int, default 5
        Number of folds, stratified for classifiers. A class with one row is in the training rows of
        every fold.
    seed : int, default 0
        Seed of the random draws: the same number gives the same result.
    callback : callable or None, default None
        Called as callback(done, total) of points over all folds; raise in it to cancel.
    params : dict, default None
        One or two parameters with their values instead, the second running fastest: {"lam": [...],
        "s": [...]}. One of two may be any parameter of the estimator, as in {"epsilon": [...], "C":
        [...]}.
    cv : int or splitter, default None
        Number of folds, a splitter of scikit-learn, or pairs of rows.
    scoring : str, callable or None, default None
        Score to measure: a name of ``SCORINGS`` or a callable ``(estimator, X, y)``; None for the
        usual score of the task.
    n_jobs : int or None, default None
        Folds at a time, as joblib has it.

    Returns
    -------
    CrossValidated
        Scores of every value on every fold.
    """
    axes = _axes(estimator, {param: values} if params is None else params)
    check_scoring(estimator, scoring)
    target = np.asarray(y)
    parts, notes = fold_pairs(estimator, X, target, n_splits, seed, cv)
    cuts = [(cut(X, train, test, target.shape[0]), train, test) for train, test in parts]
    names, grids = zip(*axes, strict=True)
    run = partial(_fold, estimator, target, axes, scoring)
    results = list(_each_fold(run, cuts, grids[0].size, callback, n_jobs))
    scores = np.array([fold_scores for fold_scores, _, _ in results])
    counts = np.mean([fold_counts for _, fold_counts, _ in results], axis=0)
    selected = None
    finished = None
    if len(axes) == 1:
        paths = [path for _, _, path in results]
        selected = np.empty((grids[0].size, 0))
        if len({path.kernel_names for path in paths}) == 1:
            selected = np.mean([used_kernels(path.weights) for path in paths], axis=0)
        finished = np.all([path.finished for path in paths], axis=0)
    elif names != tuple(params or ()):  # they were solved the other way round
        names = names[::-1]
        grids = grids[::-1]
        scores = scores.swapaxes(1, 2)
        counts = counts.T
    name = score_name(estimator, scoring)
    return CrossValidated(
        names,
        grids,
        scores,
        counts,
        name,
        selected,
        finished,
        notes,
    )


def used_kernels(weights: Array) -> Mask:
    """Which kernels (L, M) have a weight that is not negligible beside the largest."""
    largest = np.maximum(weights.max(axis=1, keepdims=True), 1e-300)
    used: Mask = weights > 1e-6 * largest
    return used


def _axes(estimator: PathEstimator, grids: Mapping[Any, Any]) -> Axes:
    """Parameters with their grids, in the order of solving: a path runs over the last one."""
    if not 1 <= len(grids) <= 2 or None in grids:
        raise ParameterError(
            "Say which parameter to cross-validate over: param and values, or one or two in params."
        )
    names = sorted(grids, key=lambda name: name in PATH_ATTRIBUTES)
    if names == ["s", "lam"]:
        names = ["lam", "s"]  # one greedy run per lam fits all sizes
    axes = []
    for name in names:
        is_other = name not in PATH_ATTRIBUTES and name in estimator.get_params()
        if is_other and name != names[-1]:
            axes.append((name, np.atleast_1d(np.asarray(grids[name], dtype=float))))
        else:
            axes.append((name, checked_values(name, grids[name])))
    return axes


def _each_fold(
    run: Callable[[Fold, Progress | None], R],
    cuts: Sequence[Fold],
    steps: int,
    callback: Progress | None,
    n_jobs: int | None,
) -> Iterator[R]:
    """``run(fold, tick)`` of every fold in order.

    For folds that run in parallel, progress is reported when each of them ends.
    """
    total = len(cuts) * steps
    if is_parallel(n_jobs):
        for done, result in enumerate(each(lambda fold: run(fold, None), cuts, n_jobs), 1):
            yield result
            if callback is not None:
                callback(done * steps, total)
        return
    for done, fold in enumerate(cuts):
        yield run(fold, _offset(callback, done * steps, total))


def _offset(callback: Progress | None, done: int, total: int) -> Progress | None:
    """A callback that counts on from ``done`` of ``total``, without reporting ``done`` again."""
    if callback is None:
        return None

    def count(k: int, _: int) -> None:
        if k or not done:
            callback(done + k, total)

    return count


def _fold(
    estimator: PathEstimator,
    y: Labels,
    axes: Axes,
    scoring: Scoring,
    fold: Fold,
    tick: Progress | None,
) -> tuple[Array, Array, Any]:
    """Scores and numbers of kernels of a fold: (L,) with their path, or (L, S) and None.

    Over two parameters, a path over the second is fitted for every value of the first, or one
    greedy run for all sizes.
    """
    (rows, left_out), train, test = fold
    known = rows, y[train]
    judging = left_out, y[test]
    name, grid = axes[-1]
    if len(axes) == 1:
        path = fit_path(estimator, *known, name, grid, *judging, tick, scoring=scoring)
        return path.val_score, path.n_nonzero, path
    outer, outer_grid = axes[0]
    if (outer, name) == ("lam", "s") and hasattr(estimator, "along_grid"):
        sized: Any = estimator
        curve = validation_curve(sized, *known, *judging, outer_grid, grid, tick, scoring)
        return curve.scores, curve.n_nonzero, None
    scores = np.empty((outer_grid.size, grid.size))
    used = np.empty_like(scores)
    for i, value in enumerate(outer_grid):
        attribute = PATH_ATTRIBUTES.get(outer, outer)
        model = estimator.copy_with(attribute, int(value) if outer == "s" else float(value))
        path = fit_path(model, *known, name, grid, *judging, scoring=scoring)
        scores[i] = path.val_score
        used[i] = path.n_nonzero
        if tick is not None:
            tick(i + 1, outer_grid.size)
    return scores, used, None


def choose(path: Path | CrossValidated, rule: str = "best") -> Any:
    """The index of the best point of ``path``; a pair of indices over two parameters.

    "best": the highest validation score. "1se": the strongest regularisation within one standard
    error of it. "sparsest": the fewest kernels within one standard error of it. Ties: fewest
    kernels, then strongest regularisation. A ``Path`` has one validation score per point and so no
    standard error: use ``cross_validate_path``. Raises ``ParameterError`` when there are no
    validation scores.

    A point that did not reach its tolerance is considered only where no point did; where it scores
    higher than all that did, a ``NotConvergedWarning`` states by how much.

    Parameters
    ----------
    path : Path or CrossValidated
        Solved path or folds.
    rule : {"best", "1se", "sparsest"}, default "best"
        Which of the points that are good enough.

    Returns
    -------
    int or tuple of int
        Index of the chosen point.
    """
    check_choice("rule", rule, RULES)
    if path.score_name == ACCEPTED:
        raise ParameterError(
            "Without a target the score is the share of rows accepted as ordinary: it "
            "tells how tight the boundary is and cannot choose a point. Choose by the "
            "share of rows you expect outside."
        )
    axes = [(path.param, path.values)]
    if isinstance(path, CrossValidated):
        axes = list(zip(path.params, path.grids, strict=True))
    scores = _of_the_finished(path, np.asarray(path.val_score, dtype=float))
    if np.all(np.isnan(scores)):
        raise ParameterError(
            "This path has no validation scores to choose by: pass X_val and y_val to fit_path."
        )
    used = np.asarray(path.n_nonzero, dtype=float)
    regularisation = [-values if param == "lam" else values for param, values in axes]
    strengths = np.meshgrid(*regularisation, indexing="ij")
    place = _first(scores, used, *strengths)
    if rule != "best":
        if isinstance(path, Path):
            raise ParameterError(
                "One validation score per point has no standard error: use cross_validate_path."
            )
        slack = float(path.standard_error[place])
        place = _first(scores, used, *strengths, slack=slack, size_first=rule == "sparsest")
    return place if len(place) == 2 else place[0]


def _first(
    scores: Array, used: Array, *strengths: Array, slack: float = 0.0, size_first: bool = True
) -> tuple[int, ...]:
    """The index of the choice among the scores within ``slack`` of the highest.

    The choice has the fewest kernels, then the smallest ``strengths``, or in the reverse order;
    then the first.
    """
    is_worse = ~(scores >= np.nanmax(scores) - slack - _SAME)
    keys = (*strengths[::-1], used) if size_first else (used, *strengths[::-1])
    columns = [np.broadcast_to(key, scores.shape).ravel() for key in (*keys, is_worse)]
    order = np.lexsort(columns)
    return tuple(int(k) for k in np.unravel_index(order[0], scores.shape))


def _of_the_finished(path: Path | CrossValidated, scores: Array) -> Array:
    """The scores, with NaN at points that did not reach their tolerance unless all would be NaN."""
    if path.finished is None:
        return scores
    finished_scores = np.where(path.finished, scores, np.nan)
    if not np.isfinite(finished_scores).any():
        return scores
    highest = np.nanmax(finished_scores)
    if np.nanmax(scores) > highest + _SAME:
        best = int(np.nanargmax(scores))
        message = (
            f"At {path.param} = {path.values[best]:.4g} the {path.score_name} is "
            f"{scores[best]:.4g}, against {highest:.4g} at the best of the points that were solved "
            "to their tolerance. The fit there was not, so it is not chosen. Raise its limits "
            "(max_iter, max_nodes, max_seconds) or tol to let it compete."
        )
        warn_short(message, stacklevel=3)
    return finished_scores


# How large should C be?


@dataclass(frozen=True, eq=False)
class Choice:
    """The result of ``choose_C``: the best ``C`` and everything that was compared.

    ``errors`` and ``n_kernels`` are (L,), one for each of the ``values``: mean squared error for
    regression, share of wrong rows for classes, or minus the mean score over the folds for another
    ``scoring``. ``measure`` names them. ``estimator`` is the fit on all rows at the best value.
    ``notes``: classes too rare for folds.
    """

    rule: str
    C: float
    values: Array
    errors: Array
    n_kernels: Array
    estimator: Any
    measure: str = "error"
    notes: tuple[str, ...] = ()


def leave_one_out(K: Array, y: Array, C: float, *, fit_intercept: bool = True) -> Array:
    """y_i - f^(-i)(x_i) for every row, f^(-i) being the squared-loss machine fitted without row i.

        f^(-i) = argmin_f  C/2 sum_{j != i} (y_j - f(x_j))^2 + 1/2 ||f||^2_K

    with a free intercept or without. ``K`` (n, n); ``y`` (n,), labels -1 / +1 for classes; ``C`` >
    0. Returns (n,), exact, from one inverse. Raises ``ParameterError`` where C is not above 0.
    """
    check_positive(C=C)
    K = np.asarray(K, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    if K.shape != (y.size, y.size):
        raise KernelError(
            f"The kernel has shape {K.shape}, the target {y.size} rows; expected (n, n) and (n,)."
        )
    y = y - centre_of(Squared(), y, fit_intercept)
    with one_blas_thread():
        inverse = np.linalg.inv(K + np.eye(y.size) / C)
    dual = inverse @ y
    diagonal = np.diag(inverse).copy()
    if fit_intercept:
        if y.size < 2:
            raise DataError(
                "Leaving one row out needs at least two rows with an intercept; got one."
            )
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
    callback: Progress | None = None,
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
        A scorer of scikit-learn or its name; only folds can measure it, so "auto" then means
        "kfold".

    Returns
    -------
    Choice
        The chosen cost with the errors of all. Ties go to the fewest kernels, then to the smallest
        C; with several classes the errors are those of the binary machines.
    """
    from sklearn.base import is_classifier  # slow to import

    grid = checked_values("C", values)
    rule = _rule(estimator, rule, scoring)
    y = np.asarray(y)
    has_classes = is_classifier(estimator)
    measure = "share of wrong rows" if has_classes else "mean squared error"
    if scoring is not None:
        measure = f"minus {score_name(estimator, scoring)}"
    if rule == "loo":
        errors, counts = _left_one_out(estimator, X, y, grid, callback)
        folds = CrossValidated(("C",), (grid,), -errors[None], counts, measure)
    else:
        fold_scoring = scoring
        if scoring is None and not has_classes:
            fold_scoring = "neg_mean_squared_error"
        folds = cross_validate_path(
            estimator, X, y, "C", grid, n_splits, seed, callback, scoring=fold_scoring
        )
        errors = -folds.val_score
        if scoring is None and has_classes:
            errors += 1.0
    C = float(grid[choose(folds)])
    best = estimator.copy_with("C", C).fit(X, y)
    return Choice(rule, C, grid, errors, folds.n_nonzero, best, measure, folds.notes)


def _rule(estimator: PathEstimator, rule: str, scoring: Scoring) -> str:
    from sklearn.base import is_outlier_detector  # slow to import

    params = estimator.get_params()
    if "C" not in params:
        raise ParameterError(f"{type(estimator).__name__} has no parameter C to choose.")
    if is_outlier_detector(estimator):
        raise ParameterError(
            "Without a target no error can be estimated, so none can choose C. Set C or "
            "nu yourself."
        )
    check_choice("rule", rule, ESTIMATES)
    check_scoring(estimator, scoring)
    loss = make_loss(params["loss"])
    obstacle = ""
    if scoring is not None:
        obstacle = f"measures the error of the loss only, and not {label_of(scoring)!r}"
    elif params.get("approximation") is not None:
        obstacle = "needs the Gram matrices, which an approximation does not compute"
    elif not loss.quadratic:
        obstacle = f"does not suit the loss {loss.name!r}"
    if rule == "loo" and obstacle:
        raise ParameterError(f'rule="loo" {obstacle}: use rule="kfold".')
    return "kfold" if obstacle or rule == "kfold" else "loo"


def _left_one_out(
    estimator: PathEstimator,
    X: Any,
    y: Labels,
    grid: Array,
    callback: Progress | None,
) -> tuple[Array, Array]:
    """The error (L,) at every C over all rows of all machines, and the numbers of kernels (L,)."""
    model = estimator.copy_with("C", float(grid[0]))
    stack, target = model.training_stack(X, y)
    if not stack.capabilities & {Capability.DENSE, Capability.FEATURES}:
        raise ParameterError(
            f'rule="loo" reads stored kernels, which {type(stack).__name__} are not; use '
            'rule="kfold".'
        )
    errors = np.empty(grid.size)
    counts = np.empty(grid.size)
    if callback is not None:
        callback(0, grid.size)
    fitted: Any
    for place, fitted in enumerate(model.along(stack, target, "C", grid.tolist())):
        row_errors = []
        for gram, signed, *_ in machines_of(fitted, stack.values, y):
            residuals = leave_one_out(gram, signed, fitted.C, fit_intercept=fitted.fit_intercept)
            if hasattr(fitted, "classes_"):
                row_errors.append(np.greater_equal(signed * residuals, 1.0))
            else:
                row_errors.append(residuals**2)
        errors[place] = np.mean(np.concatenate(row_errors))
        counts[place] = fitted.n_kernels_
        if callback is not None:
            callback(place + 1, grid.size)
    return errors, counts


def machines_of(
    fitted: Any,
    K: Array,
    y: Labels,
) -> Iterator[tuple[Array, Array, Array, float]]:
    """Every binary or regression machine on a stack ``K`` (M, n, n), each on its rows.

    Yields its kernel, its target (labels -1 / +1), its dual and its intercept.
    """
    machines = zip(
        np.atleast_2d(fitted.weights_),
        np.atleast_2d(fitted.dual_coef_),
        np.atleast_1d(fitted.intercept_),
        strict=True,
    )
    rows: Indices = np.arange(y.size)
    classes = getattr(fitted, "classes_", None)
    codes = rows if classes is None else np.searchsorted(classes, y)
    pairs = getattr(fitted, "pairs_", None)
    if classes is not None and np.ndim(fitted.weights_) == 1:
        pairs = ((0, 1),)
    for k, (weights, dual, intercept) in enumerate(machines):
        target = np.asarray(y)
        positive = k
        if pairs is not None:
            rows = np.flatnonzero(np.isin(codes, pairs[k]))
            positive = pairs[k][1]
        if classes is not None:
            target = np.where(codes[rows] == positive, 1.0, -1.0)
        gram = np.tensordot(weights, K, 1)[np.ix_(rows, rows)]
        yield gram, target.astype(float), dual[rows], float(intercept)
