"""Which point of a path to keep: validation curves, folds that also cut stacks, and rules of choice.

Ties are broken the same way everywhere: the highest score, then the fewest kernels, then the strongest regularisation
(largest lam, smallest C, p or s).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any, TypeAlias, TypeVar

import numpy as np

from mklcore.arrays import Array, Indices, Labels, Mask
from mklcore.errors import ParameterError, warn_short
from mklcore.parameters import check_choice
from mklcore.paths.parallel import each, is_parallel
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
from mklcore.paths.scoring import ACCEPTED, Scoring
from mklcore.paths.splitters import cut, parts_of, rare_in_folds

RULES = ("best", "1se", "sparsest")
_SAME = 1e-12  # scores this close are equal
R = TypeVar("R")
Tick: TypeAlias = Callable[[int, int], Any] | None
Axes: TypeAlias = list[tuple[str, Array]]
Fold: TypeAlias = tuple[tuple[Any, Any], Indices, Indices]  # rows that learn and rows left out, and their places


@dataclass(frozen=True, eq=False)
class ValidationCurve:
    """Validation scores over lam (L,) and the number of kernels (S,); arrays are (L, S).

    ``scores``, ``n_nonzero`` kernels really used, ``objective``; ``best`` (row, column) by the tie rule, ``lam`` and
    ``size`` there, ``estimator`` the fitted model of that point.
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

    def _repr_html_(self) -> str:
        return (
            f"<b>validation curve</b>: {self.lams.size} values of lam, {self.sizes.size} sizes; the best "
            f"{self.score_name} is "
            f"{self.scores[self.best]:.4f} at lam = {self.lam:.4g} with {self.size} kernels"
        )


def validation_curve(
    estimator: SizedEstimator,
    X: Any,
    y: Any,
    X_val: Any,
    y_val: Any,
    lams: Sequence[float] | Array,
    sizes: Sequence[int] | Array,
    callback: Callable[[int, int], Any] | None = None,
    scoring: Scoring = None,
    n_jobs: int | None = None,
) -> ValidationCurve:
    """Score every (lam, number of kernels) on validation rows, from one greedy run per lam.

    ``estimator`` an unfitted MKL-GOMP or greedy estimator, not changed; ``X``, ``y``, ``X_val``, ``y_val`` as in
    ``fit_path``; ``lams`` > 0, ``sizes`` whole numbers from 1. Decompositions are made once. ``callback(done, total)``
    after every lam. ``scoring`` as in ``fit_path``. Ties: fewest kernels, then largest lam.

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
        Score to measure: a name of ``SCORINGS`` or a callable ``(estimator, X, y)``; None for the usual score of the
        task.
    n_jobs : int or None, default None
        Values of lambda at a time, as joblib has it.

    Returns
    -------
    ValidationCurve
        Scores of every pair of parameters.

    References
    ----------
    Sindhwani and Lozano (2011), section 4; specification, A.4.
    """
    rows, columns = checked_values("lam", lams), checked_values("s", sizes)
    check_scoring(estimator, scoring)
    if not hasattr(estimator, "along_grid"):
        raise ParameterError(
            f"{type(estimator).__name__} does not add kernels one by one, so it has no curve over lam and size; use "
            f"fit_path."
        )
    model = estimator.copy_with("lam", rows[0].item())
    stack, target = model.training_stack(X, y)
    blocks = validation_blocks(stack, X_val)
    if blocks is None:
        raise ParameterError("A validation curve needs validation rows: pass X_val and y_val.")
    scores, used, objective = np.empty((3, rows.size, columns.size))
    chosen, best = None, (0, 0)
    for i, fitted in enumerate(_along_grid(model, stack, target, rows.tolist(), [int(k) for k in columns], n_jobs)):
        scores[i] = scores_of(fitted, blocks, y_val, scoring)
        used[i] = [point.n_kernels_ for point in fitted]
        objective[i] = [float(np.sum(point.objective_)) for point in fitted]
        place = first_of(scores[: i + 1], used[: i + 1], -rows[: i + 1, None])
        if place[0] == i:
            chosen, best = fitted[place[1]], (int(place[0]), int(place[1]))
        if callback is not None:
            callback(i + 1, rows.size)
    place, kept = best, used.astype(int)
    name = score_name(estimator, scoring)
    return ValidationCurve(rows, columns.astype(int), scores, kept, objective, place, chosen, name)


def _along_grid(
    model: Any, stack: Any, target: Array, lams: list[float], sizes: list[int], n_jobs: int | None
) -> Iterator[Any]:
    """The models of every size, one value of lambda after the other."""
    if not is_parallel(n_jobs):
        return iter(model.along_grid(stack, target, lams, sizes))
    return each(lambda lam: next(iter(model.along_grid(stack, target, [lam], sizes))), lams, n_jobs)


def first_of(
    scores: Array, used: Array, *strengths: Array, slack: float = 0.0, size_first: bool = True
) -> tuple[int, ...]:
    """Index of the choice among the scores within ``slack`` of the highest: fewest kernels, then the smallest
    ``strengths``, or these first; then the first.
    """
    far = ~(scores >= np.nanmax(scores) - slack - _SAME)
    keys = (*strengths[::-1], used) if size_first else (used, *strengths[::-1])
    order = np.lexsort([np.broadcast_to(key, scores.shape).ravel() for key in (*keys, far)])
    return tuple(int(k) for k in np.unravel_index(order[0], scores.shape))


@dataclass(frozen=True, eq=False)
class CrossValidated:
    """Scores of F folds over one parameter with L values, or over two with L and S.

    ``params`` their names, ``grids`` their values, ``scores`` (F, L) or (F, L, S), ``n_nonzero`` (L,) or (L, S) mean
    number of kernels used. Over one, ``selected`` (L, M) is the share of the folds that use each kernel (empty when the
    folds' dictionaries differ in size), and ``finished`` (L,) of bool tells where the fits of all folds reached their
    tolerance; None: everywhere. ``notes``: classes too rare for folds, and what was done with their rows.
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
        """Standard error of that mean."""
        spread: Array = self.scores.std(axis=0, ddof=1)
        return spread / float(np.sqrt(len(self.scores)))

    def _repr_html_(self) -> str:
        best = np.atleast_1d(choose(self)).tolist()
        where = ", ".join(f"{escape(p)} = {v[k]:.4g}" for p, v, k in zip(self.params, self.grids, best, strict=True))
        score = f"{self.val_score[*best]:.4f} &plusmn; {self.standard_error[*best]:.4f} at {where}"
        return (
            f"<b>{len(self.scores)} folds over {escape(' and '.join(self.params))}</b>: best {self.score_name} {score}"
        )


def cross_validate_path(
    estimator: PathEstimator,
    X: Any,
    y: Any,
    param: str | None = None,
    values: Sequence[float] | Array | None = None,
    n_splits: int = 5,
    seed: int = 0,
    callback: Tick = None,
    *,
    params: Mapping[str, Sequence[float] | Array] | None = None,
    cv: Any = None,
    scoring: Scoring = None,
    n_jobs: int | None = None,
) -> CrossValidated:
    """Score a path on folds of the rows; every fold builds its kernels, and chooses among them, without the rows it is
    scored on. scikit-learn's own search cannot cut stacks.

    Parameters
    ----------
    estimator : estimator
        Unfitted estimator; it is cloned and not changed.
    X : array-like of shape (n, d)
        A table, whose kernels are built anew in every fold; or a stack (M, n, n) or ``GramStack``, which is cut (its
        scales stay those of all rows).
    y : array-like of shape (n,)
        Target: numbers for a regression, labels of any kind for classes.
    param : str or None, default None
        Name of the parameter the path runs over: "C", "p", "lam" or "s".
    values : array-like of shape (L,), default None
        Values of the parameter along the path.
    n_splits : int, default 5
        Number of folds, stratified for classifiers. A class with one row is in the training rows of every fold.
    seed : int, default 0
        Seed of the random draws: the same number gives the same result.
    callback : callable or None, default None
        Called as callback(done, total) of points over all folds; raise in it to cancel.
    params : dict, default None
        One or two parameters with their values instead, the second running fastest: {"lam": [...], "s": [...]}. One of
        two may be any parameter of the estimator, as in {"epsilon": [...], "C": [...]}.
    cv : int or splitter, default None
        Number of folds, a splitter of scikit-learn, or pairs of rows.
    scoring : str, callable or None, default None
        Score to measure: a name of ``SCORINGS`` or a callable ``(estimator, X, y)``; None for the usual score of the
        task.
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
    parts = parts_of(estimator, X, target, n_splits, seed, cv)
    cuts = [(cut(X, train, test, target.shape[0]), train, test) for train, test in parts]
    notes = rare_in_folds(estimator, target) if cv is None or isinstance(cv, (int, np.integer)) else ()
    names, grids = zip(*axes, strict=True)
    steps, fold = grids[0].size, _fold_path if len(axes) == 1 else _fold_surface
    found: list[Any] = list(_each_fold(partial(fold, estimator, target, axes, scoring), cuts, steps, callback, n_jobs))
    name = score_name(estimator, scoring)
    if len(axes) == 2:
        if callback is not None:
            callback(len(cuts) * steps, len(cuts) * steps)
        scores, counts = (np.array(one) for one in zip(*found, strict=True))
        order = [list(names).index(name) for name in params or ()]  # the order that was asked for
        return CrossValidated(
            tuple(names[k] for k in order), tuple(grids[k] for k in order),
            scores.transpose(0, *(1 + k for k in order)), counts.mean(axis=0).transpose(order), name, notes=notes,
        )  # fmt: skip
    used = [path.weights > 1e-6 * np.maximum(path.weights.max(axis=1, keepdims=True), 1e-300) for path in found]
    same = len({path.kernel_names for path in found}) == 1
    return CrossValidated(
        names,
        grids,
        np.array([path.val_score for path in found]),
        np.mean([path.n_nonzero for path in found], axis=0),
        name,
        np.mean(used, axis=0) if same else np.empty((grids[0].size, 0)),
        np.all([path.finished for path in found], axis=0),
        notes,
    )


def _axes(estimator: PathEstimator, asked: Mapping[Any, Any]) -> list[tuple[str, Array]]:
    """Parameters with their grids, in the order in which they are solved: a path runs over the last."""
    if not 1 <= len(asked) <= 2 or None in asked:
        raise ParameterError("Say which parameter to cross-validate over: param and values, or one or two in params.")
    axes = [(name, grid) for name, grid in asked.items() if name not in PATH_ATTRIBUTES]
    axes += [(name, grid) for name, grid in asked.items() if name in PATH_ATTRIBUTES]
    if [name for name, _ in axes] == ["s", "lam"]:
        axes = axes[::-1]  # sizes come from one greedy run per lam
    own = [name not in PATH_ATTRIBUTES and name in estimator.get_params() for name, _ in axes[:-1]]
    return [
        (name, np.atleast_1d(np.asarray(grid, dtype=float)) if free else checked_values(name, grid))
        for (name, grid), free in zip(axes, [*own, False], strict=True)
    ]


def _each_fold(
    run: Callable[[Fold, Tick], R], cuts: Sequence[Fold], steps: int, callback: Tick, n_jobs: int | None
) -> Iterator[R]:
    """``run(fold, tick)`` of every fold in order; of folds at the same time progress is counted once each ends."""
    total = len(cuts) * steps
    if not is_parallel(n_jobs):
        yield from (run(fold, _offset(callback, f * steps, total)) for f, fold in enumerate(cuts))
        return
    for done, found in enumerate(each(lambda fold: run(fold, None), cuts, n_jobs), 1):
        yield found
        if callback is not None:
            callback(done * steps, total)


def _offset(callback: Tick, done: int, total: int) -> Tick:
    """A callback that counts on from ``done`` of ``total``, which has been reported unless it is 0."""
    return None if callback is None else lambda k, _: callback(done + k, total) if k or not done else None


def _fold_path(estimator: PathEstimator, y: Labels, axes: Axes, scoring: Scoring, fold: Fold, tick: Tick) -> Path:
    ((name, grid),), ((rows, left_out), train, test) = axes, fold
    return fit_path(estimator, rows, y[train], name, grid, left_out, y[test], tick, None, scoring)


def _fold_surface(
    estimator: PathEstimator, y: Labels, axes: Axes, scoring: Scoring, fold: Fold, tick: Tick
) -> tuple[Array, Array]:
    """Scores and kernels used (L, S) of a fold: a path over the second axis for every value of the first, or one greedy
    run for all sizes.
    """
    ((outer, rows), (inner, columns)), ((part, left_out), train, test) = axes, fold
    if (outer, inner) == ("lam", "s") and hasattr(estimator, "along_grid"):
        found = validation_curve(
            estimator, part, y[train], left_out, y[test], rows, columns, tick, scoring  # type: ignore[arg-type]  # it has along_grid
        )  # fmt: skip
        return found.scores, found.n_nonzero
    scores, used = np.empty((2, rows.size, columns.size))
    for i, value in enumerate(rows):
        if tick is not None:
            tick(i, rows.size)
        model = estimator.copy_with(PATH_ATTRIBUTES.get(outer, outer), int(value) if outer == "s" else float(value))
        path = fit_path(model, part, y[train], inner, columns, left_out, y[test], scoring=scoring)
        scores[i], used[i] = path.val_score, path.n_nonzero
    return scores, used


def choose(path: Path | CrossValidated, rule: str = "best", slack: float | None = None) -> Any:
    """The index of the point of ``path`` to keep; a pair of indices over two parameters.

    "best": the highest validation score. "1se": the strongest regularisation within one standard error of it.
    "sparsest": the fewest kernels within one standard error of it. Ties: fewest kernels, then strongest regularisation.
    A ``Path`` has one validation score per point and so no standard error: give ``slack``, how far below the best score
    a point may be, or use ``cross_validate_path``. ParameterError when there are no validation scores.

    A point that was not solved to its tolerance competes only where none was; where it scores higher than all that
    were, a NotConvergedWarning says so, and by how much.

    Parameters
    ----------
    path : Path or CrossValidated
        Solved path or folds.
    rule : {"best", "1se", "sparsest"}, default "best"
        Which of the points that are good enough.
    slack : float or None, default None
        How much worse than the best score a simpler model may be; None is one standard error.

    Returns
    -------
    int or tuple of int
        Index of the chosen point.
    """
    check_choice("rule", rule, RULES)
    if path.score_name == ACCEPTED:
        raise ParameterError(
            "Without a target the score is the share of rows accepted as ordinary: it tells how tight the boundary is "
            "and cannot choose a point. Choose by the share of rows you expect outside."
        )
    axes = [(path.param, path.values)]
    if isinstance(path, CrossValidated):
        axes = list(zip(path.params, path.grids, strict=True))
    scores = _of_the_finished(path, np.asarray(path.val_score, dtype=float))
    if np.all(np.isnan(scores)):
        raise ParameterError("This path has no validation scores to choose by: pass X_val and y_val to fit_path.")
    used = np.asarray(path.n_nonzero, dtype=float)
    strengths = np.meshgrid(*[-values if param == "lam" else values for param, values in axes], indexing="ij")
    place = first_of(scores, used, *strengths)
    if rule != "best":
        if slack is None and isinstance(path, Path):
            raise ParameterError(
                "One validation score per point has no standard error: use cross_validate_path, or say with slack how "
                "far below the best score a point may be."
            )
        if slack is not None and not slack >= 0:
            raise ParameterError(f"slack is a difference of scores and must be 0 or more; got {slack!r}.")
        allowed = float(path.standard_error[place] if slack is None else slack)  # type: ignore[union-attr]  # of folds
        place = first_of(scores, used, *strengths, slack=allowed, size_first=rule == "sparsest")
    return place if len(place) == 2 else place[0]


def _of_the_finished(path: Path | CrossValidated, scores: Array) -> Array:
    """The scores with NaN at points that were not solved to their tolerance, as long as any others have one."""
    finished = path.finished
    sure = scores if finished is None else np.where(finished, scores, np.nan)
    if not np.isfinite(sure).any():
        return scores
    if np.nanmax(scores) > np.nanmax(sure) + _SAME:
        best = int(np.nanargmax(scores))
        warn_short(
            f"At {path.param} = {path.values[best]:.4g} the {path.score_name} is {scores[best]:.4g}, against "
            f"{np.nanmax(sure):.4g} at the best of the points that were solved to their tolerance, which alone "
            f"compete: the fit "
            "there was not. Raise its limits (max_iter, max_nodes, max_seconds) or tol to let it.",
            stacklevel=3,
        )
    return sure
