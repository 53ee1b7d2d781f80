"""Paths: one model per value of a parameter, each started from its neighbour, certified and scored
at every point.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from mklcore.arrays import Array, Mask
from mklcore.errors import ParameterError, check_cancelled
from mklcore.kernels.features import FeatureBlocks
from mklcore.kernels.operators import KernelOperator, is_operator, is_scored, is_stored
from mklcore.paths.scoring import ACCEPTED, Judge, Scoring, label_of, scorer_of
from mklcore.problem.driver import Screened, Status
from mklcore.problem.penalties import LpNorm

_GRID_ROWS = 256  # of kernels made row by row, to scale a grid
PATH_ATTRIBUTES = {"C": "C", "lam": "lam", "p": "p", "s": "n_kernels"}
KEYS = {"n_kernels": "s"}  # what a parameter of paths is called by the estimators


class PathEstimator(Protocol):
    """What a path asks of an estimator: every estimator of this library keeps it, and any other
    that does has paths too.

    Fitted, it has what a path collects: ``weights_``, ``objective_``, ``dual_gap_`` and
    ``relative_gap_`` (None where nothing is certified), ``status_``, ``fit_``, ``n_kernels_`` and
    ``n_solves_``. It may have ``training_decision``, its decision values on the training rows where
    fitting has left them.
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
        """The kernels of the training rows, a ``GramStack`` or what stands for it, and the checked
        target.
        """

    def along(
        self,
        stack: Any,
        y: Any,
        param: str,
        values: Sequence[float],
        attribute: str,
        start: Any = None,
    ) -> Iterator[Self]:
        """One fitted copy per value of ``param``, which the estimator calls ``attribute``;
        ``start`` a fitted neighbour.
        """

    def path_table(
        self, points: Sequence[Any], stack: Any
    ) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
        """Weights (L, M) of the fitted points, and the names and families of the M kernels."""

    def decide_blocks(self, blocks: Any) -> Any:
        """Decision values from kernel blocks (M, n_new, n)."""

    def predict_blocks(self, blocks: Any) -> Any:
        """Predictions from kernel blocks (M, n_new, n)."""

    @staticmethod
    def decide_along(points: Sequence[Any], blocks: Any) -> list[Any]:
        """The decision values of several fitted points from the same kernel blocks, in their order."""

    def label(self, decision: Any) -> Any:
        """Predictions from decision values."""

    def path_score(self, predicted: Any, y: Any) -> float:
        """The score of predictions."""

    def lam_range(self, stack: Any, y: Any) -> tuple[float, float]:
        """The smallest and the largest lambda of a path; estimators without a parameter lam are not
        asked.
        """


class SizedEstimator(PathEstimator, Protocol):
    """An estimator that adds kernels one at a time, so that one run answers for every number of
    them.
    """

    def along_grid(
        self, stack: Any, y: Any, lams: Sequence[float], sizes: Sequence[int]
    ) -> Iterator[tuple[Any, ...]]:
        """For every lam the fitted copies of all ``sizes``."""


@dataclass(frozen=True, eq=False)
class Path:
    """A solution path over L values of ``param``; arrays are (L,) unless said, NaN where a figure
    does not apply.

    ``weights`` (L, M): kernel weights, averaged over the one-vs-rest problems where there are
    several. ``fits`` are the solver results, ``estimators`` the fitted models. ``dual_gap`` is
    primal minus dual, the worst over the problems. Scores are called ``score_name``: "accuracy",
    "R²", "balanced accuracy", ..., or "share accepted" where there is no target.

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
        """Whether the validation score says which point is better: not without a target, and not
        where none was measured.
        """
        return self.score_name != ACCEPTED and bool(
            np.isfinite(np.asarray(self.val_score, dtype=float)).any()
        )

    @property
    def finished(self) -> Mask:
        """Which points, (L,) of bool, did what was asked: certified to tolerance, where the method
        certifies.
        """
        return np.array([status.ok for status in self.statuses], dtype=bool)

    @property
    def first_look(self) -> int:
        """The index to look at first: the point that folds chose, else the best validation score of
        the finished points, of all where none is finished; or the middle of the path where no score
        can choose.
        """
        if self.chosen is not None:
            return self.chosen
        if not self.can_choose:
            return len(self) // 2
        scores = np.asarray(self.val_score, dtype=float)
        sure = np.where(self.finished, scores, np.nan)
        return int(np.nanargmax(sure if np.isfinite(sure).any() else scores))

    @property
    def screened(self) -> tuple[Screened | None, ...]:
        """Of every point, how many kernels screening ruled out and how many were never read; None
        where nothing was screened, as at the first point, or where a point is several problems.
        """
        return tuple(getattr(fit, "screened", None) for fit in self.fits)

    def explore(self, **options: Any) -> Any:
        """Drag along it in a notebook; ``options`` are those of
        ``mklcore.figures.notebook.explore_path``.
        """
        # figures stand above paths
        return import_module("mklcore.figures.notebook").explore_path(self, **options)

    def alternatives(self, value: float) -> list[tuple[tuple[str, ...], float]]:
        """Of the best k kernels: the choices of ``value`` kernels within 1 % of the best that the
        search met, as names and objective, the best first; ParameterError for other methods.
        """
        model = self.estimators[self.nearest(value)]
        if not hasattr(model, "alternatives_"):
            raise ParameterError(
                "Only a search for the best k kernels lists alternatives: use best_k_kernels."
            )
        return [
            (tuple(self.kernel_names[m] for m in chosen), found)
            for chosen, found in model.alternatives_
        ]

    def nearest(self, value: float) -> int:
        """The index of the solved value nearest to ``value`` by ratio, the first of equals;
        ``value`` above 0, inf allowed.
        """
        return nearest_by_ratio(self.values, value)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{v:.4g}</td><td>{k}</td><td>{t:.4f}</td><td>{_reported(s, '.4f', 'not measured')}</td>"
            f"<td>{_reported(100 * g, '.2g', 'no certificate', ' %')}</td></tr>"
            for v, k, t, s, g in zip(
                self.values,
                self.n_nonzero,
                self.train_score,
                self.val_score,
                self.relative_gap,
                strict=True,
            )
        )
        return (
            f"<b>path over {escape(self.param)}</b>, {len(self)} points, "
            f"{len(self.kernel_names)} "
            f"kernels<table><tr><th>{escape(self.param)}</th><th>kernels</th><th>train "
            f"{self.score_name}</th><th>validation "
            f"{self.score_name}</th><th>gap</th></tr>{rows}</table>"
        )


def _reported(value: float, form: str, otherwise: str, unit: str = "") -> str:
    return otherwise if np.isnan(value) else f"{value:{form}}{unit}"


def nearest_by_ratio(values: Any, value: float) -> int:
    """The index in ``values`` (L,) with the smallest |log v - log ``value``|, all above 0; inf
    counts as 1e300.
    """
    if not value > 0:
        raise ParameterError(
            f"A place among values that are compared by ratio is above 0; got {value!r}."
        )
    logs = np.log(np.minimum(np.asarray(values, dtype=np.float64), 1e300))
    return int(np.argmin(np.abs(logs - np.log(min(value, 1e300)))))


def log_grid(low: float, high: float, n: int) -> Array:
    """``n`` values from ``low`` to ``high``, equal in ratio; both ends exact.

    Parameters
    ----------
    low : float
        Smallest value, > 0.
    high : float
        Largest value.
    n : int
        Number of rows, from 1.

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
    grid = np.geomspace(low, high, n)
    grid[0] = low
    grid[-1] = high
    return grid


def fit_path(
    estimator: PathEstimator,
    X: Any,
    y: Any,
    param: str,
    values: Sequence[float] | Array,
    X_val: Any = None,
    y_val: Any = None,
    callback: Callable[[int, int], Any] | None = None,
    start: Any = None,
    scoring: Scoring = None,
) -> Path:
    """Fit ``estimator`` at every value of ``param``, each fit started from the one before (weights
    and dual carried).

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
    start : fitted estimator or None, default None
        A fitted model of a neighbouring value, on the same rows and kernels, from which the first
        point starts; methods that cannot be started elsewhere leave it alone.
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
    model = estimator.copy_with(attribute, grid[0].item() if param != "s" else int(grid[0]))
    stack, target = model.training_stack(X, y)
    blocks = validation_blocks(stack, X_val)
    if callback is not None:
        callback(0, grid.size)
    first = _checked_start(start, model, stack)
    points = []
    seconds = []
    clock = time.perf_counter()
    for fitted in model.along(stack, target, param, grid.tolist(), attribute, first):
        check_cancelled()
        points.append(fitted)
        seconds.append(time.perf_counter() - clock)
        if callback is not None:
            callback(len(points), grid.size)
        clock = time.perf_counter()
    return _collect(param, grid, points, seconds, stack, y, blocks, y_val, scoring)


def _checked_start(start: Any, model: Any, stack: Any) -> Any:
    if start is None:
        return None
    size = getattr(start, "n_train_", None), len(getattr(start, "kernel_names_", ()))
    if type(start) is not type(model) or size != (stack.n_samples, stack.n_kernels):
        raise ParameterError(
            f"A path starts from a fitted {type(model).__name__} on the same "
            f"{stack.n_samples} rows and {stack.n_kernels} kernels; got a "
            f"{type(start).__name__}. Leave start out to begin from equal weights."
        )
    return start


def checked_values(param: str, values: Sequence[float] | Array) -> Array:
    """The values of a path over ``param`` as an array; ParameterError for other parameters and for
    what are no values.
    """
    if param not in PATH_ATTRIBUTES:
        raise ParameterError(
            f"A path runs over one of {', '.join(PATH_ATTRIBUTES)}; got {param!r}."
        )
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
    """Test blocks (M, n_val, n) of validation rows, or as they are; None where there are no
    validation rows.
    """
    if X_val is None:
        return None
    if is_scored(X_val) or isinstance(X_val, FeatureBlocks):
        return X_val
    if np.ndim(X_val) == 3:
        return np.asarray(X_val, dtype=np.float64)
    return stack.blocks(X_val) if is_operator(stack) else stack.cross(X_val)


def check_scoring(estimator: Any, scoring: Scoring) -> None:
    """ParameterError where no scorer goes by the name of ``scoring``, or where there is no target
    it could compare with.
    """
    from sklearn.base import is_outlier_detector  # not at start-up

    if scoring is None:
        return
    scorer_of(scoring)
    if is_outlier_detector(estimator):
        raise ParameterError(
            f"Without a target nothing can be scored by {label_of(scoring)!r}: leave scoring out."
        )


def score_name(estimator: PathEstimator, scoring: Scoring = None) -> str:
    """What the scores of an estimator are called: "accuracy" for classes, "R²" for numbers, or as
    ``scoring`` is.
    """
    return estimator.score_name if scoring is None else label_of(scoring)


def scores_of(
    points: Sequence[PathEstimator], blocks: Any, y: Any, scoring: Scoring = None
) -> Array:
    """The scores (L,) of the fitted points of a path on the same kernel blocks (M, n_new, n), which
    are read once.
    """
    return judged(points, points[0].decide_along(points, blocks), y, scoring)


def judged(
    points: Sequence[PathEstimator], decided: Sequence[Array], y: Any, scoring: Scoring = None
) -> Array:
    """The scores (L,) of what the fitted points of a path have decided about the same rows with the
    target ``y``.
    """
    if scoring is None:
        return np.array(
            [p.path_score(p.label(own), y) for p, own in zip(points, decided, strict=True)]
        )
    judge = Judge(y, scoring)
    return np.array([judge(point, own) for point, own in zip(points, decided, strict=True)])


def _scores(
    points: Sequence[Any], stack: Any, y: Any, blocks: Array | None, y_val: Any, scoring: Scoring
) -> tuple[Array, Array]:
    """Scores (L,) of the points of a path on its training rows and on validation rows, NaN where
    there are none.

    What the certificates of the points were computed from are their decisions about the training
    rows.
    """
    known = [getattr(point, "training_decision", None) for point in points]
    mine = [
        decision for decision in known if decision is not None and len(decision) == stack.n_samples
    ]
    if len(mine) == len(points):
        train = judged(points, mine, y, scoring)
    else:
        train = scores_of(
            points, stack.blocks() if is_operator(stack) else stack.values, y, scoring
        )
    return train, np.full(len(points), np.nan) if blocks is None else scores_of(
        points, blocks, y_val, scoring
    )


def _collect(
    param: str,
    values: Array,
    points: list[PathEstimator],
    seconds: list[float],
    stack: KernelOperator,
    y: Any,
    blocks: Array | None,
    y_val: Any,
    scoring: Scoring,
) -> Path:
    def figures(name: str) -> Array:
        found = [getattr(point, name) for point in points]
        return np.array([np.nan if value is None else float(np.max(value)) for value in found])

    # the callback belongs to this run: a clone that is fitted later must not be cancelled by it
    for point in points:
        point.callback = None
    weights, names, families = points[0].path_table(points, stack)
    train, validation = _scores(points, stack, y, blocks, y_val, scoring)
    return Path(
        param,
        values,
        weights,
        np.array([float(np.sum(point.objective_)) for point in points]),
        figures("dual_gap_"),
        figures("relative_gap_"),
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


def path_grid(estimator: Any, X: Any, y: Any, param: str, n: int = 25) -> Array:
    """A grid for ``param`` scaled by the data: from where the solution starts to move to where it
    has settled.

    ``estimator``, ``X`` and ``y`` as in ``fit_path``: a table (n, d), a stack (M, n, n) or
    ``GramStack``, or what the estimator builds of them, and the target (n,).

    C: from a third of the value at which the first point can leave its bound under equal weights,
    up four decades. lam: around the largest eigenvalue of a kernel over n, four decades down; for
    greedy descent from where nothing enters, three decades down. p: the published list from 1 to
    infinity. s: 1, 2, ... up to ``n`` or the number of kernels.
    """
    from sklearn.base import clone  # not at start-up

    if param == "p":
        return np.array([1, 32 / 31, 16 / 15, 8 / 7, 4 / 3, 2, 4, 8, 16, np.inf])
    if param not in PATH_ATTRIBUTES:
        raise ParameterError(
            f"A path runs over one of {', '.join(PATH_ATTRIBUTES)}; got {param!r}."
        )
    stack = X if is_operator(X) else clone(estimator).training_stack(X, y)[0]
    if param == "s":
        return np.arange(1.0, min(n, stack.n_kernels) + 1)
    if param == "C":
        critical = _critical_C(estimator, stack, y)
        return log_grid(critical / 3, critical * 1e4, n)
    low, high = estimator.lam_range(stack, y)
    return log_grid(low, high, n)


def _critical_C(estimator: Any, stack: Any, y: Any) -> float:
    """1 / max |K u| for the balanced direction u along which a = C u at small C, K the sum under
    equal weights.
    """
    from sklearn.base import is_classifier, is_outlier_detector  # not at start-up

    y = np.asarray(y)
    if is_outlier_detector(estimator):
        u = np.ones(stack.n_samples)
    elif is_classifier(estimator):
        rest = y != np.unique(y)[-1]
        u = np.where(rest, -1.0 / max(rest.sum(), 1), 1.0 / max((~rest).sum(), 1))
    else:
        u = y - y.mean()
    u = u / max(float(np.abs(u).max()), 1e-300)
    if is_stored(stack):
        reach = stack.decision(np.ones(stack.n_kernels), u)
    else:  # too large to be kept: some of its rows
        some = np.linspace(0, stack.n_samples - 1, min(stack.n_samples, _GRID_ROWS)).astype(
            np.int64
        )
        reach = np.concatenate([stack.rows(np.array([i])).sum(axis=0) @ u for i in some])
    largest = (
        float(np.abs(reach).max())
        * LpNorm(getattr(estimator, "p", np.inf)).start(stack.n_kernels)[0]
    )
    return 1.0 / largest if largest > 0 else 1.0
