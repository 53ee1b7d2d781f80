"""What a score is worth: plain models on the same rows, each with its own parameter chosen on the same validation rows.

    majority / mean          says the same for every row
    linear                   logistic or ridge regression on the standardised columns
    RBF                      one support vector machine with scikit-learn's own width
    forest                   the mean of random trees
    boosting                 a sum of small trees (histogram gradient boosting)
    best single kernel       of those most aligned with the target, the one whose machine has the highest VALIDATION
                             score
    L2, greedy,              for a hull, on the same grid of kernels: all of them without selection, a hull grown
                             greedily with
    lasso-alpha, MKL         equal weights, all of them at few rows, and single columns without products (Bach, 2008,
                             section 5)

A grid goes on while its best point is the last one, as long as that gains something.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mklcore.arrays import Array, Labels
from mklcore.data.dataset import Dataset
from mklcore.errors import ParameterError, suppress_convergence_warnings
from mklcore.kernels.grams import GramStack
from mklcore.kernels.measures import target_alignment
from mklcore.paths.path import Path, fit_path, grown, log_grid, path_grid
from mklcore.selection.scoring import Scoring, scorer_of
from mklcore.solvers.hkl.baselines import FullKernel, hkl_flat_mkl, hkl_greedy, hkl_l2, hkl_lasso_alpha
from mklcore.solvers.hkl.design import Design

PLAIN = ("majority", "mean", "linear", "RBF", "forest", "boosting")  # models of the columns alone
LEAVES, TREES = (1, 5), 200  # rows per leaf of a forest, and its trees
SIZES, RATE = (3, 8, 31), 0.1  # of boosting: leaves of a tree, and its learning rate
STEPS, MOST_TREES, FEWEST_STEPS = 150, 1000, 20  # of boosting, where each step is a tree per class
SVM_ROWS = 4000  # rows from which the RBF SVM is fitted at most: its time grows with their square
ERROR_PARTS, LEAST_PART = 8, 8  # parts of the rows that judge, and rows of each, for a standard error
FLAT = 1e-3  # gain in score below which going on does not pay
FURTHER = 4  # points beyond the end of a grid
MOST_STEPS = 50_000  # of scikit-learn's support vector machines, which have no bound of their own
COARSE = 3  # values of C per single kernel
MOST = 12  # single kernels that are tried
MOST_MACHINES, FEWEST = 360, 3  # where each kernel is the work of many classes, fewer are tried
NEARLY = 1e-4  # relative gap at which one is near enough
SPREAD = 10.0  # times the smallest first C of all kernels
NEAR = 0.05  # of the best score so far: what a decade of C may bring
HULL_LAMS = tuple(10.0**-k for k in range(1, 8))  # of the models a hull is compared with
HULL_DEPTHS = (1.0, 4.0, 8.0, 16.0)  # prices of depth of the full kernel: 1 is the plain sum
HULL_NODES = 40  # to which a hull grows greedily
HULL_GREEDY, HULL_FLAT = HULL_LAMS[1:4:2], HULL_LAMS[:4]
HULL_SHARES = (0.1, 1e-2, 1e-3)  # of the lam of lasso-alpha at which no row is left
HULL_FITS = len(HULL_DEPTHS) * (len(HULL_LAMS) + len(HULL_SHARES)) + len(HULL_GREEDY) + len(HULL_FLAT)
Tick = Callable[[int, int], Any] | None


@dataclass(frozen=True, eq=False)
class Reference:
    """A plain model: its ``name``, its validation ``score``, what was chosen for it, the fitted ``model``, the standard
    ``error`` of its score and the ``value`` of what was chosen.
    """

    name: str
    score: float
    chosen: str
    model: Any
    error: float = np.nan
    value: float = np.nan


def plain_references(
    train: Dataset,
    judge: Dataset,
    scoring: Scoring = None,
    callback: Tick = None,
    only: Sequence[str] | None = None,
) -> tuple[Reference, ...]:
    """Majority (or mean), linear model, RBF SVM, random forest and gradient boosting on the rows ``train``, chosen and
    scored on the rows ``judge``.

    ``scoring`` as in ``fit_path``; ``callback(done, total)`` after every model, raise in it to cancel. ParameterError
    without a target. Models predict from rows X (n, d). ``only``: the names of those that are wanted.
    """
    if train.task == "novelty":
        raise ParameterError("Without a target there is nothing to compare with: plain models need one.")
    measure = scorer_of(scoring or ("r2" if train.task == "regression" else "accuracy"))
    makers = _regressors() if train.task == "regression" else _classifiers(len(np.unique(train.y)))
    makers = makers if train.n_features else makers[:1]  # of sequences alone there is no column
    makers = [maker for maker in makers if only is None or maker[0] in only]
    found: list[Reference] = []
    for name, sign, values, make in makers:
        rows = train.drawn(SVM_ROWS, 0) if name == "RBF" and train.n_samples > SVM_ROWS else train
        with threadpool_limits(1):  # of boosting, whose threads wait for each other longer than they work
            found.append(_best(name, sign, values, make, rows, judge, measure))
        if callback is not None:
            callback(len(found), len(makers))
    return tuple(found)


Maker = tuple[str, str, Sequence[float], Callable[[float], Any]]


@cache
def _bounded(kind: type) -> Any:
    """A machine of scikit-learn that stops at its bound without a warning: the bound is ours, and no user's setting."""
    return type(kind.__name__, (kind,), {"_warn_from_fit_status": lambda self: None, "__module__": __name__})


def _classifiers(classes: int) -> list[Maker]:
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return [
        ("majority", "", (1.0,), lambda _: DummyClassifier()),
        ("linear", "C", np.geomspace(1e-3, 1e2, 6).tolist(),
         lambda C: make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=2000))),
        ("RBF", "C", [0.1, 1.0, 10.0, 100.0],
         lambda C: make_pipeline(StandardScaler(), _bounded(SVC)(C=C, max_iter=MOST_STEPS))),
        ("forest", "rows per leaf", LEAVES, lambda rows: RandomForestClassifier(
            TREES, min_samples_leaf=int(rows), random_state=0)),
        ("boosting", "leaves per tree", SIZES, lambda leaves: HistGradientBoostingClassifier(
            learning_rate=RATE, max_leaf_nodes=int(leaves), random_state=0,
            max_iter=min(STEPS, max(FEWEST_STEPS, MOST_TREES // max(classes, 1))))),
    ]  # fmt: skip


def _regressors() -> list[Maker]:
    """Each fits the target at mean 0 and standard deviation 1: far from zero scikit-learn's SVR runs forever."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.dummy import DummyRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    return [
        ("mean", "", (1.0,), lambda _: DummyRegressor()),
        (
            "linear",
            "1/alpha",
            np.geomspace(1e-3, 1e3, 7).tolist(),
            lambda C: TransformedTargetRegressor(
                make_pipeline(StandardScaler(), Ridge(1.0 / C)), transformer=StandardScaler()
            ),
        ),
        (
            "RBF",
            "C",
            [0.1, 1.0, 10.0, 100.0],
            lambda C: TransformedTargetRegressor(
                make_pipeline(StandardScaler(), _bounded(SVR)(C=C, max_iter=MOST_STEPS)), transformer=StandardScaler()
            ),
        ),
        (
            "forest",
            "rows per leaf",
            LEAVES,
            lambda rows: TransformedTargetRegressor(
                RandomForestRegressor(TREES, min_samples_leaf=int(rows), max_features=0.5, random_state=0),
                transformer=StandardScaler(),
            ),
        ),
        (
            "boosting",
            "leaves per tree",
            SIZES,
            lambda leaves: TransformedTargetRegressor(
                HistGradientBoostingRegressor(
                    learning_rate=RATE, max_leaf_nodes=int(leaves), max_iter=STEPS, random_state=0
                ),
                transformer=StandardScaler(),
            ),
        ),
    ]


def _best(
    name: str,
    sign: str,
    values: Sequence[float],
    make: Callable[[float], Any],
    train: Dataset,
    judge: Dataset,
    measure: Any,
) -> Reference:
    """The model of the best value; the grid goes on by its last ratio while the last point is the best and still
    gains.
    """
    tried: list[tuple[float, float, Any]] = []
    waiting, further = list(values), FURTHER
    while waiting:
        value = waiting.pop(0)
        model = make(value).fit(train.X, train.y)
        tried.append((float(measure(model, judge.X, judge.y)), value, model))
        grows = sign in ("C", "1/alpha")  # sizes of trees have no end to go on beyond
        if (
            grows
            and not waiting
            and len(tried) > 1
            and further
            and tried[-1][0] > max(s for s, _, _ in tried[:-1]) + FLAT
        ):
            waiting, further = [value * value / tried[-2][1]], further - 1
    score, value, model = max(tried, key=lambda one: one[0])
    chosen = f"{sign} = {value:.3g}" if sign else ""
    return Reference(name, score, chosen, model, error_of(model, judge, measure), value)


def error_of(model: Any, judge: Dataset, measure: Any) -> float:
    """The standard error of a score on the rows ``judge``: the spread of the scores of their parts; NaN for few
    rows.
    """
    parts = [np.arange(k, judge.n_samples, ERROR_PARTS) for k in range(ERROR_PARTS)]
    if judge.n_samples < ERROR_PARTS * LEAST_PART:
        return float("nan")
    with suppress(ValueError):  # a score that some part has none of
        scores = [float(measure(model, judge.X[part], judge.y[part])) for part in parts]
        return float(np.std(scores, ddof=1) / np.sqrt(ERROR_PARTS))
    return float("nan")


def best_single_kernel(
    estimator: Any,
    stack: GramStack,
    y: Labels,
    blocks: Array,
    y_val: Labels,
    scoring: Scoring = None,
    callback: Tick = None,
) -> Reference:
    """Which kernel does best alone, by the score on validation rows, each at its own best C.

    ``estimator`` an unfitted machine on a weighted sum, such as ``UniformMKLClassifier``; it is not changed. ``stack``
    (M, n, n), ``y`` (n,), ``blocks`` (M, n_val, n), ``y_val`` (n_val,). The kernels most aligned with the target, as
    many as `single_kernels` says, are solved at three values of C over two decades from where each starts to say
    something, those that do best a decade further while that gains: beyond it a single kernel that does not fit takes
    long and gains nothing. ``callback(done, total)`` after every kernel. The model takes (1, n_new, n), or rows where
    ``estimator`` has a dictionary.
    """
    from sklearn.base import is_regressor

    listener = estimator.callback
    alone = estimator.copy_with(
        "callback", lambda record: (listener is not None and listener(record)) or _is_near(record)
    )
    task = "regression" if is_regressor(estimator) else "binary" if np.unique(y).size == 2 else "multiclass"
    aligned = np.nan_to_num(target_alignment(stack, y, task))
    classes = 1 if task == "regression" else np.unique(y).size
    tried = np.argsort(-aligned, kind="stable")[: single_kernels(classes)].tolist()
    starts = np.array([_first_cost(alone, stack.select([m]), y) for m in tried])
    starts = np.minimum(starts, SPREAD * starts.min())  # one that says nothing would ask for any C
    found: list[tuple[int, Path]] = []
    for done, (m, start) in enumerate(zip(tried, starts, strict=True), 1):
        part = stack.select([m]), y, blocks[m : m + 1], y_val
        values = log_grid(start, 100 * start, COARSE)
        with suppress_convergence_warnings():
            path = fit_path(alone, *part[:2], "C", values, *part[2:], scoring=scoring)
            found.append((m, grown(path, alone, *part, scoring=scoring, grow=1) if _may_win(path, found) else path))
        if callback is not None:
            callback(done, len(tried))
    m, best = max(found, key=lambda one: float(_scores(one[1]).max()))
    index = int(_scores(best).argmax())
    chosen = f"{stack.names[m]}, C = {best.values[index]:.3g}"
    return Reference("best single kernel", float(best.val_score[index]), chosen, best.estimators[index])


def single_kernels(classes: int) -> int:
    """How many kernels are tried alone: those most aligned with the target, each with a machine per class and value of
    C.
    """
    return max(FEWEST, min(MOST, MOST_MACHINES // (COARSE * max(1, classes if classes > 2 else 1))))


def _first_cost(alone: Any, stack: GramStack, y: Labels) -> float:
    """The C from which the machine of one kernel leaves its bounds."""
    return 3.0 * float(path_grid(alone, stack, y, "C", 2)[0])


def _is_near(record: Any) -> bool:
    """Whether a solve is accurate enough to be shown; where the best model is a constant, the certificate would take
    minutes.
    """
    return record.relative_gap is not None and record.relative_gap <= NEARLY


def _may_win(path: Path, found: Sequence[tuple[int, Path]]) -> bool:
    """Whether a kernel does so well already that a larger C may make it the best."""
    best = max((float(_scores(other).max()) for _, other in found), default=-np.inf)
    return float(_scores(path).max()) > best - NEAR


def _scores(path: Path) -> Array:
    """Validation scores (L,), minus infinity where there is none: R² of one row is not defined."""
    return np.where(np.isnan(path.val_score), -np.inf, path.val_score)


def hull_references(
    design: Design, y: Array, X_val: Array, y_val: Array, loss: str = "squared", callback: Tick = None
) -> tuple[Reference, ...]:
    """What hierarchical kernel learning is compared with, on the grid of kernels of ``design``: "L2", "greedy",
    "lasso-alpha" and "MKL".

    ``y`` (n,) and ``y_val`` (m,) numbers, or -1 and +1 with a loss of labels; ``X_val`` (m, p). Each is the best of its
    models by R2, or by the share of labels that are right: L2 and lasso-alpha along lam and the price of depth, greedy
    along lam and its nodes, MKL along lam. Lasso-alpha is least squares, for labels too. ``callback(done, total)``
    after every fit, raise in it to cancel. Source: Bach (2008), section 5.
    """
    spread, labels = float(np.var(y_val)) or 1.0, set(np.unique(y).tolist()) <= {-1.0, 1.0}
    found: dict[str, list[Reference]] = {"L2": [], "greedy": [], "lasso-alpha": [], "MKL": []}
    done = itertools.count(1)

    def judge(name: str, said: Array, chosen: str, model: Any) -> None:
        score = np.mean((said > 0) == (y_val > 0)) if labels else 1.0 - np.mean((said - y_val) ** 2) / spread
        found[name].append(Reference(name, float(score), chosen, model))

    def tick() -> None:
        if callback is not None:
            callback(next(done), HULL_FITS)

    with suppress_convergence_warnings():
        for depth in HULL_DEPTHS:
            kernel = FullKernel(design, depth, scaled=True)
            for lam in HULL_LAMS:
                model: Any = hkl_l2(kernel, y, lam, loss=loss)
                judge("L2", model.predict(X_val), f"λ = {lam:g}, depth priced at {depth:g}", model)
                tick()
            largest = float(np.abs(kernel.gram @ (y - y.mean())).max()) / y.size or 1.0
            for share in HULL_SHARES:
                model = hkl_lasso_alpha(kernel, y, share * largest)
                used = int(np.count_nonzero(model.dual))
                chosen = f"λ = {share * largest:.2g}, depth priced at {depth:g}, {used} of {y.size} rows"
                judge("lasso-alpha", model.predict(X_val), chosen, model)
                tick()
        for lam in HULL_GREEDY:
            model = hkl_greedy(design, y, lam, HULL_NODES, loss=loss)
            for size in range(1, len(model.nodes) + 1):
                judge("greedy", model.predict(X_val, size), f"λ = {lam:g}, {size} nodes", model)
            tick()
        for lam in HULL_FLAT:
            model = hkl_flat_mkl(design, y, lam, loss=loss, tol=1e-2)
            used = int(np.count_nonzero(model.weights > NEARLY * model.weights.max()))
            judge("MKL", model.predict(X_val), f"λ = {lam:g}, {used} columns", model)
            tick()
    return tuple(max(models, key=lambda one: one.score) for models in found.values())
