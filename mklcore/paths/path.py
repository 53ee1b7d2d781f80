"""Paths: one certified and scored model per value of a parameter, each with a warm start."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from mklcore.arrays import Array, Mask
from mklcore.errors import ParameterError, Progress, check_cancelled
from mklcore.kernels.features import FeatureBlocks
from mklcore.kernels.operators import KernelOperator, is_operator, is_scored, is_stored
from mklcore.paths.scoring import ACCEPTED, Scoring, label_of, scored, scorer_of
from mklcore.problem.driver import Status
from mklcore.problem.penalties import LpNorm

PUBLISHED_NORMS = (1.0, 32 / 31, 16 / 15, 8 / 7, 4 / 3, 2.0, 4.0, 8.0, 16.0, np.inf)
_GRID_ROWS = 256  # rows that scale a grid where kernels are not stored
PATH_ATTRIBUTES = {"C": "C", "lam": "lam", "p": "p", "s": "n_kernels"}
KEYS = {"n_kernels": "s"}  # parameters of paths by their names in estimators


class PathEstimator(Protocol):
    """The methods and attributes of an estimator that paths need.

    Any estimator with them has paths. After fitting it has what a path collects: ``weights_``,
    ``objective_``, ``dual_gap_`` and ``relative_gap_`` (None where nothing is certified),
    ``status_``, ``fit_``, ``n_kernels_`` and ``n_solves_``. It may have ``training_decision``, the
    decision values on the training rows that fitting has computed.
    """

    score_name: ClassVar[str]  # what ``path_score`` measures
    objective_: Any
    status_: Any
    fit_: Any
    n_kernels_: int
    n_solves_: int

    callback: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, as scikit-learn has them."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit alone, without neighbours."""

    def copy_with(self, attribute: str, value: Any) -> Self:
        """An unfitted copy with one parameter changed."""

    def training_stack(self, X: Any, y: Any) -> tuple[Any, Any]:
        """The kernels of the training rows, as any kernel operator, and the checked target."""

    def along(
        self,
        stack: Any,
        y: Any,
        attribute: str,
        values: Sequence[float],
    ) -> Iterator[Self]:
        """One fitted copy per value of the parameter ``attribute`` of the estimator."""

    def path_table(
        self, points: Sequence[Any], stack: Any
    ) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
        """Weights (L, M) of the fitted points, and the names and families of the M kernels."""

    @staticmethod
    def decide_along(points: Sequence[Any], blocks: Any) -> list[Any]:
        """The decision values of several fitted points from the same kernel blocks, in order."""

    def label(self, decision: Any) -> Any:
        """Predictions from decision values."""

    def path_score(self, predicted: Any, y: Any) -> float:
        """The score of predictions."""

    def lam_range(self, stack: Any, y: Any) -> tuple[float, float]:
        """The smallest and the largest lambda of a path, for estimators with a parameter lam."""


class SizedEstimator(PathEstimator, Protocol):
    """An estimator that adds kernels one at a time, so that one run fits every number of them."""

    def along_grid(
        self, stack: Any, y: Any, lams: Sequence[float], sizes: Sequence[int]
    ) -> Iterator[tuple[Any, ...]]:
        """For every lam the fitted copies of all ``sizes``."""


@dataclass(frozen=True, eq=False)
class Path:
    """A solution path over L values of ``param``.

    Arrays are (L,) unless stated otherwise, and NaN where a figure does not apply. ``weights`` (L,
    M): kernel weights, averaged over the one-vs-rest problems where there are several. ``fits`` are
    the solver results, ``estimators`` the fitted models. ``dual_gap`` is primal minus dual, the
    worst over the problems. Scores are called ``score_name``: "accuracy", "R²", "balanced
    accuracy", ..., or "share accepted" where there is no target.

    Parameters
    ----------
    param : str
        Name of the parameter the path runs over: "C", "p", "lam" or "s".
    values : array-like of shape (L,)
        Values of the parameter.
    weights : ndarray of shape (L, M)
        Kernel weights, non-negative.
    objective : array-like
        Primal objective at the solution.
    dual_gap : array-like
        Duality gap at every point.
    relative_gap : array-like
        Duality gap at every point, relative to the objective.
    n_nonzero : array-like
        Number of kernels in use at every point.
    train_score : array-like
        Score on the training rows at every point.
    val_score : array-like
        Score on the validation rows at every point.
    seconds : array-like
        Seconds that the fit took.
    solves : array-like
        Number of machines that were solved.
    statuses : tuple of Status
        Why the solver stopped at every point.
    fits : tuple of Fit
        What the solver returned at every point.
    estimators : tuple of estimators
        Fitted model at every point.
    kernel_names : tuple of str
        Names of the kernels.
    kernel_families : tuple of str
        Families of the kernels.
    score_name : str
        Name of the score.
    chosen : int or None
        Index of the point that folds chose; None where the validation rows choose.
    """

    param: str
    values: Array
    weights: Array
    objective: Array
    dual_gap: Array
    relative_gap: Array
    n_nonzero: Array
    train_score: Array
    val_score: Array
    seconds: Array
    solves: Array
    statuses: tuple[Status, ...]
    fits: tuple[Any, ...]
    estimators: tuple[Any, ...]
    kernel_names: tuple[str, ...]
    kernel_families: tuple[str, ...]
    score_name: str
    chosen: int | None = None

    def __len__(self) -> int:
        return self.values.size

    @property
    def can_choose(self) -> bool:
        """Whether the validation score tells which point is better.

        It does not where there is no target, or where it was not measured.
        """
        is_measured = bool(np.isfinite(np.asarray(self.val_score, dtype=float)).any())
        return is_measured and self.score_name != ACCEPTED

    @property
    def finished(self) -> Mask:
        """Which points (L,) reached their goal: the tolerance, where the method certifies."""
        return np.array([status.ok for status in self.statuses], dtype=bool)

    @property
    def first_look(self) -> int:
        """The index of the point to look at first.

        The point that folds chose, else that with the best validation score of the finished points,
        or of all points where none is finished; the middle of the path where no score can choose.
        """
        if self.chosen is not None:
            return self.chosen
        if not self.can_choose:
            return len(self) // 2
        scores = np.asarray(self.val_score, dtype=float)
        finished_scores = np.where(self.finished, scores, np.nan)
        if np.isfinite(finished_scores).any():
            scores = finished_scores
        return int(np.nanargmax(scores))

    def explore(self, **options: Any) -> Any:
        """Show the path as a player in a notebook.

        The ``options`` are those of ``mklcore.figures.notebook.explore_path``.
        """
        # Figures import paths, so paths import them only here.
        return import_module("mklcore.figures.notebook").explore_path(self, **options)

    def alternatives(self, value: float) -> list[tuple[tuple[str, ...], float]]:
        """Choices of ``value`` kernels within 1 % of the best that the search for the best k found.

        Each has the names of its kernels and its objective, the best first. Raises
        ``ParameterError`` for other methods.
        """
        model = self.estimators[self.nearest(value)]
        if not hasattr(model, "alternatives_"):
            raise ParameterError(
                "Only a search for the best k kernels lists alternatives: use best_k_kernels."
            )
        choices = []
        for kernels, objective in model.alternatives_:
            names = tuple(self.kernel_names[m] for m in kernels)
            choices.append((names, objective))
        return choices

    def nearest(self, value: float) -> int:
        """The index of the solved value nearest to ``value`` by ratio, the first of equal ones.

        ``value`` is above 0 and may be infinite.
        """
        if not value > 0:
            raise ParameterError(
                f"A place among values that are compared by ratio is above 0; got {value!r}."
            )
        # 1e300 stands for infinity, whose logarithm has no distance.
        logs = np.log(np.minimum([*self.values, value], 1e300))
        return int(np.argmin(np.abs(logs[:-1] - logs[-1])))

    def _repr_html_(self) -> str:
        from pandas import DataFrame  # not at start-up

        table = DataFrame(
            {
                self.param: self.values,
                "kernels": self.n_nonzero,
                f"train {self.score_name}": self.train_score,
                f"validation {self.score_name}": self.val_score,
                "gap in %": 100 * self.relative_gap,
            }
        )
        rows = table.to_html(
            index=False,
            border=0,
            float_format="{:.4g}".format,
            na_rep="not known",
        )
        size = f"{len(self)} points, {len(self.kernel_names)} kernels"
        return f"<b>path over {escape(self.param)}</b>, {size}{rows}"


def log_grid(low: float, high: float, n: int) -> Array:
    """``n`` values from ``low`` to ``high``, evenly spaced in their logarithm; both ends are exact.

    Parameters
    ----------
    low : float
        Smallest value, > 0.
    high : float
        Largest value.
    n : int
        Number of values, from 2.

    Returns
    -------
    ndarray of shape (n,)
        The values.

    Examples
    --------
    >>> log_grid(0.01, 100, 5).round(6).tolist()
    [0.01, 0.1, 1.0, 10.0, 100.0]
    """
    if not (0 < low < high and np.isfinite(high)) or n < 2:
        raise ParameterError(
            f"A log grid needs 0 < low < high and at least 2 points; got {low!r}, {high!r}, {n!r}."
        )
    return np.geomspace(low, high, n)


def fit_path(
    estimator: PathEstimator,
    X: Any,
    y: Any,
    param: str,
    values: Sequence[float] | Array,
    X_val: Any = None,
    y_val: Any = None,
    callback: Progress | None = None,
    scoring: Scoring = None,
) -> Path:
    """Fit ``estimator`` at every value of ``param``, each fit started from the one before.

    Parameters
    ----------
    estimator : estimator
        An unfitted estimator of this library; it is not changed.
    X : array-like of shape (n, d)
        Training table (n, d), or a stack (M, n, n) or ``GramStack``, and the target (n,).
    y : array-like of shape (n,)
        Training table (n, d), or a stack (M, n, n) or ``GramStack``, and the target (n,).
    param : str
        "C", "lam", "p" or "s" (the number of kernels, "n_kernels" of the estimators).
    values : array-like of shape (L,)
        (L,) in the order in which they are to be solved.
    X_val : array-like of shape (m, d), default None
        Validation rows, or a test block (M, n_val, n) for a stack; scores are NaN without them.
    y_val : array-like of shape (m,), default None
        Validation rows, or a test block (M, n_val, n) for a stack; scores are NaN without them.
    callback : callable or None, default None
        Called as callback(done, total) before the first and after every point; raise in it to
        cancel.
    scoring : str, callable or None, default None
        A scorer of scikit-learn or its name ("balanced_accuracy", "roc_auc",
        "neg_mean_squared_error", ...); None is what the estimator's ``path_score`` measures:
        accuracies, R², or for ``LpMKLOneClass``, which needs no ``y``, the share of rows it
        accepts.

    Returns
    -------
    Path
        The solved path.
    """
    param = KEYS.get(param, param)
    grid = checked_values(param, values)
    attribute = PATH_ATTRIBUTES[param]
    check_scoring(estimator, scoring)
    if attribute not in estimator.get_params():
        raise ParameterError(
            f"{type(estimator).__name__} has no parameter {attribute!r}, so no path over {param!r}."
        )
    solved: list[float] = grid.astype(int).tolist() if param == "s" else grid.tolist()
    model = estimator.copy_with(attribute, solved[0])
    stack, target = model.training_stack(X, y)
    blocks = validation_blocks(stack, X_val)
    if callback is not None:
        callback(0, grid.size)
    points = []
    seconds = []
    started = time.perf_counter()
    for fitted in model.along(stack, target, attribute, solved):
        check_cancelled()
        points.append(fitted)
        seconds.append(time.perf_counter() - started)
        if callback is not None:
            callback(len(points), grid.size)
        started = time.perf_counter()
    train = _training_scores(points, stack, y, scoring)
    validation = np.full(grid.size, np.nan)
    if blocks is not None:
        validation = scores_of(points, blocks, y_val, scoring)
    # The callback belongs to this run: it must not cancel a clone that is fitted later.
    for point in points:
        point.callback = None
    weights, names, families = points[0].path_table(points, stack)
    return Path(
        param,
        grid,
        weights,
        np.array([float(np.sum(point.objective_)) for point in points]),
        _worst(points, "dual_gap_"),
        _worst(points, "relative_gap_"),
        np.array([point.n_kernels_ for point in points]),
        train,
        validation,
        np.array(seconds),
        np.array([point.n_solves_ for point in points]),
        tuple(point.status_ for point in points),
        tuple(point.fit_ for point in points),
        tuple(points),
        names,
        families,
        score_name(points[0], scoring),
    )


def _worst(points: Sequence[Any], name: str) -> Array:
    """An attribute (L,) of the points, the largest over their problems; NaN where it is None."""
    values = [getattr(point, name) for point in points]
    return np.array([np.nan if value is None else float(np.max(value)) for value in values])


def check_path_parameter(param: str) -> None:
    """ParameterError unless a path can run over ``param``."""
    if param not in PATH_ATTRIBUTES:
        raise ParameterError(
            f"A path runs over one of {', '.join(PATH_ATTRIBUTES)}; got {param!r}."
        )


def checked_values(param: str, values: Sequence[float] | Array) -> Array:
    """The values of a path over ``param`` as an array; ``ParameterError`` for invalid ones."""
    check_path_parameter(param)
    try:
        grid = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"The values of a path must be numbers; got {values!r}.") from None
    if grid.ndim != 1 or grid.size == 0 or np.any(np.isnan(grid)):
        raise ParameterError(
            f"The values of a path must be a non-empty list of numbers; got {values!r}."
        )
    if param == "s" and (np.any(grid != np.round(grid)) or np.any(grid < 1)):
        raise ParameterError(
            f"The values of a path over s are numbers of kernels: whole, from 1 on; got {values!r}."
        )
    return grid


def validation_blocks(stack: KernelOperator, X_val: Any) -> Any:
    """Test blocks (M, n_val, n) of validation rows; None without validation rows.

    Blocks are returned as they are.
    """
    if X_val is None:
        return None
    if is_scored(X_val) or isinstance(X_val, FeatureBlocks):
        return X_val
    if np.ndim(X_val) == 3:
        return np.asarray(X_val, dtype=np.float64)
    return stack.blocks(X_val) if is_operator(stack) else stack.cross(X_val)


def check_scoring(estimator: Any, scoring: Scoring) -> None:
    """Raise ``ParameterError`` for unknown scorers, and for any scorer without a target."""
    from sklearn.base import is_outlier_detector  # slow to import

    if scoring is None:
        return
    scorer_of(scoring)
    if is_outlier_detector(estimator):
        raise ParameterError(
            f"Without a target nothing can be scored by {label_of(scoring)!r}: leave scoring out."
        )


def score_name(estimator: PathEstimator, scoring: Scoring = None) -> str:
    """The name of an estimator's scores: "accuracy", "R²", or that of ``scoring``."""
    return estimator.score_name if scoring is None else label_of(scoring)


def scores_of(
    points: Sequence[PathEstimator], blocks: Any, y: Any, scoring: Scoring = None
) -> Array:
    """The scores (L,) of the fitted points of a path on the same kernel blocks (M, n_new, n).

    The blocks are read once.
    """
    return judged(points, points[0].decide_along(points, blocks), y, scoring)


def judged(
    points: Sequence[PathEstimator], decided: Sequence[Array], y: Any, scoring: Scoring = None
) -> Array:
    """The scores (L,) of decisions of fitted points about the same rows with the target ``y``."""
    scores = np.empty(len(points))
    for k, (point, decision) in enumerate(zip(points, decided, strict=True)):
        if scoring is None:
            scores[k] = point.path_score(point.label(decision), y)
        else:
            scores[k] = scored(point, decision, y, scoring)
    return scores


def _training_scores(points: Sequence[Any], stack: Any, y: Any, scoring: Scoring) -> Array:
    """Scores (L,) of the points of a path on training rows.

    The decisions on these rows are known where the certificates were computed from them.
    """
    decisions = [getattr(point, "training_decision", None) for point in points]
    known = [one for one in decisions if one is not None and len(one) == stack.n_samples]
    if len(known) == len(points):
        return judged(points, known, y, scoring)
    return scores_of(points, stack.blocks() if is_operator(stack) else stack.values, y, scoring)


def path_grid(
    estimator: Any,
    X: Any,
    y: Any,
    param: str,
    n: int = 25,
) -> Array:
    """A grid for ``param`` scaled by the data: from where the solution starts to where it settles.

    ``estimator``, ``X`` and ``y`` as in ``fit_path``: a table (n, d), a stack (M, n, n) or
    ``GramStack``, or the kernels that the estimator builds from them, and the target (n,).

    C: from a third of the value at which the first point can leave its bound under equal weights,
    up four decades. lam: around the largest eigenvalue of a kernel over n, four decades down; for
    greedy descent from where nothing enters, three decades down. p: the published list from 1 to
    infinity. s: 1, 2, ... up to ``n`` or the number of kernels.
    """
    from sklearn.base import clone  # slow to import

    if param == "p":
        return np.array(PUBLISHED_NORMS)
    check_path_parameter(param)
    stack = X if is_operator(X) else clone(estimator).training_stack(X, y)[0]
    if param == "s":
        return np.arange(1.0, min(n, stack.n_kernels) + 1)
    if param == "C":
        critical = _critical_C(estimator, stack, y)
        return log_grid(critical / 3, critical * 1e4, n)
    low, high = estimator.lam_range(stack, y)
    return log_grid(low, high, n)


def _critical_C(estimator: Any, stack: Any, y: Any) -> float:
    """1 / max |K u| for the balanced direction u along which a = C u at small C.

    K is the sum of the kernels under equal weights.
    """
    from sklearn.base import is_classifier, is_outlier_detector  # slow to import

    y = np.asarray(y)
    if is_outlier_detector(estimator):
        u = np.ones(stack.n_samples)
    elif is_classifier(estimator):
        is_other = y != np.unique(y)[-1]
        n_others = is_other.sum()
        u = np.where(is_other, -1.0 / max(n_others, 1), 1.0 / max(y.size - n_others, 1))
    else:
        u = y - y.mean()
    u = u / max(float(np.abs(u).max()), 1e-300)
    if is_stored(stack):
        scores = stack.decision(np.ones(stack.n_kernels), u)
    else:
        count = min(stack.n_samples, _GRID_ROWS)
        rows = np.linspace(0, stack.n_samples - 1, count).astype(np.int64)
        scores = np.concatenate([stack.rows(np.array([i])).sum(axis=0) @ u for i in rows])
    weights = LpNorm(getattr(estimator, "p", np.inf)).start(stack.n_kernels)
    largest = float(np.abs(scores).max()) * weights[0]
    return 1.0 / largest if largest > 0 else 1.0
