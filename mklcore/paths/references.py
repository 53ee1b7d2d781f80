"""What a score is worth: plain models on the same rows, each with its own parameter chosen on the
same validation rows.

majority / mean          says the same for every row
forest                   the mean of random trees
boosting                 a sum of small trees (histogram gradient boosting)
L2, greedy,              for a hull, on the same grid of kernels: all of them without selection, a hull grown
                         greedily with
lasso-alpha, MKL         equal weights, all of them at few rows, and single columns without products (Bach, 2008,
                         section 5)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.errors import ParameterError, suppress_convergence_warnings
from mklcore.hkl.baselines import FullKernel, hkl_flat_mkl, hkl_greedy, hkl_l2, hkl_lasso_alpha
from mklcore.hkl.design import Design
from mklcore.paths.scoring import Scoring, scorer_of

# rows per leaf of a forest, and its trees
LEAVES = (1, 5)
TREES = 200
# of boosting: leaves of a tree, and its learning rate
SIZES = (3, 8, 31)
RATE = 0.1
# of boosting, where each step is a tree per class
STEPS = 150
MOST_TREES = 1000
FEWEST_STEPS = 20
HULL_LAMS = tuple(10.0**-k for k in range(1, 8))  # of the models a hull is compared with
HULL_DEPTHS = (1.0, 4.0, 8.0, 16.0)  # prices of depth of the full kernel: 1 is the plain sum
NEARLY = 1e-4  # of the largest weight: less is not used
HULL_NODES = 40  # to which a hull grows greedily
HULL_GREEDY = HULL_LAMS[1:4:2]
HULL_FLAT = HULL_LAMS[:4]
HULL_SHARES = (0.1, 1e-2, 1e-3)  # of the lam of lasso-alpha at which no row is left
HULL_FITS = (
    len(HULL_DEPTHS) * (len(HULL_LAMS) + len(HULL_SHARES)) + len(HULL_GREEDY) + len(HULL_FLAT)
)
Tick = Callable[[int, int], Any] | None


@dataclass(frozen=True, eq=False)
class Reference:
    """A plain model: its ``name``, its validation ``score``, what was ``chosen`` for it, the fitted
    ``model``, and what it has ``said`` of further rows.
    """

    name: str
    score: float
    chosen: str
    model: Any
    said: Any = None


def plain_references(
    train: Dataset,
    judge: Dataset,
    scoring: Scoring = None,
    callback: Tick = None,
    only: Sequence[str] | None = None,
) -> tuple[Reference, ...]:
    """Majority (or mean), random forest and gradient boosting on the rows ``train``, chosen and
    scored on the rows ``judge``.

    ``scoring`` as in ``fit_path``; ``callback(done, total)`` after every model, raise in it to
    cancel. ParameterError without a target. Models predict from rows X (n, d). ``only``: the names
    of those that are wanted.
    """
    if train.task == "novelty":
        raise ParameterError(
            "Without a target there is nothing to compare with: plain models need one."
        )
    is_number = train.task == "regression"
    measure = scorer_of(scoring or ("r2" if is_number else "accuracy"))
    # of sequences alone
    makers = _makers(is_number, len(np.unique(train.y)))[: None if train.n_features else 1]
    makers = [maker for maker in makers if only is None or maker[0] in only]
    found: list[Reference] = []
    for name, sign, values, make in makers:
        tried = []
        for value in values:
            # of boosting, whose threads wait for each other longer than they work
            with threadpool_limits(1):
                model = make(value).fit(train.X, train.y)
            chosen = f"{sign} = {value}" if sign else ""
            tried.append(Reference(name, float(measure(model, judge.X, judge.y)), chosen, model))
        found.append(max(tried, key=lambda one: one.score))
        if callback is not None:
            callback(len(found), len(makers))
    return tuple(found)


Maker = tuple[str, str, Sequence[int], Callable[[int], Any]]


def _makers(is_number: bool, classes: int) -> list[Maker]:
    """Name, what is chosen, its values, and the model of each; numbers are fitted at mean 0 and
    deviation 1.
    """
    from sklearn.compose import TransformedTargetRegressor  # not at start-up
    from sklearn.dummy import DummyClassifier, DummyRegressor  # not at start-up
    from sklearn.ensemble import (  # not at start-up
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.preprocessing import StandardScaler  # not at start-up

    def scaled(model: Any) -> Any:
        return (
            TransformedTargetRegressor(model, transformer=StandardScaler()) if is_number else model
        )

    forest: Any = RandomForestRegressor if is_number else RandomForestClassifier
    boosting: Any = HistGradientBoostingRegressor if is_number else HistGradientBoostingClassifier
    more = {"max_features": 0.5} if is_number else {}
    steps = STEPS if is_number else min(STEPS, max(FEWEST_STEPS, MOST_TREES // max(classes, 1)))
    usual = {"learning_rate": RATE, "max_iter": steps, "random_state": 0}
    return [
        (
            "mean" if is_number else "majority",
            "",
            (1,),
            lambda _: (DummyRegressor if is_number else DummyClassifier)(),
        ),
        (
            "forest",
            "rows per leaf",
            LEAVES,
            lambda rows: scaled(forest(TREES, min_samples_leaf=rows, random_state=0, **more)),
        ),
        (
            "boosting",
            "leaves per tree",
            SIZES,
            lambda leaves: scaled(boosting(max_leaf_nodes=leaves, **usual)),
        ),
    ]


def hull_references(
    design: Design,
    y: Array,
    X_val: Array,
    y_val: Array,
    loss: str = "squared",
    callback: Tick = None,
    judge: Array | None = None,
) -> tuple[Reference, ...]:
    """What hierarchical kernel learning is compared with, on the grid of kernels of ``design``:
    "L2", "greedy", "lasso-alpha" and "MKL".

    ``y`` (n,) and ``y_val`` (m,) numbers, or -1 and +1 with a loss of labels; ``X_val`` (m, p).
    Each is the best of its models by R2, or by the share of labels that are right: L2 and
    lasso-alpha along lam and the price of depth, greedy along lam and its nodes, MKL along lam.
    Lasso-alpha is least squares, for labels too. ``callback(done, total)`` after every fit, raise
    in it to cancel. ``judge`` (r, p): rows that choose nothing, of which the best models say
    ``said`` (r,). Source: Bach (2008), section 5.
    """
    spread, labels = float(np.var(y_val)) or 1.0, set(np.unique(y).tolist()) <= {-1.0, 1.0}
    found: dict[str, list[Reference]] = {"L2": [], "greedy": [], "lasso-alpha": [], "MKL": []}
    done = itertools.count(1)

    # at once: kernels of new rows are dear
    rows = X_val if judge is None else np.vstack([X_val, judge])

    def keep(name: str, every: Array, chosen: str, model: Any) -> None:
        said = every[: len(y_val)]
        judged = every[len(y_val) :]
        score = (
            np.mean((said > 0) == (y_val > 0))
            if labels
            else 1.0 - np.mean((said - y_val) ** 2) / spread
        )
        found[name].append(
            Reference(name, float(score), chosen, model, None if judge is None else judged)
        )

    def tick() -> None:
        if callback is not None:
            callback(next(done), HULL_FITS)

    with suppress_convergence_warnings():
        for depth in HULL_DEPTHS:
            kernel = FullKernel(design, depth, scaled=True)
            for lam in HULL_LAMS:
                model: Any = hkl_l2(kernel, y, lam, loss=loss)
                keep("L2", model.predict(rows), f"λ = {lam:g}, depth priced at {depth:g}", model)
                tick()
            largest = float(np.abs(kernel.gram @ (y - y.mean())).max()) / y.size or 1.0
            for share in HULL_SHARES:
                model = hkl_lasso_alpha(kernel, y, share * largest)
                used = int(np.count_nonzero(model.dual))
                chosen = (
                    f"λ = {share * largest:.2g}, depth priced at {depth:g}, {used} of {y.size} rows"
                )
                keep("lasso-alpha", model.predict(rows), chosen, model)
                tick()
        for lam in HULL_GREEDY:
            model = hkl_greedy(design, y, lam, HULL_NODES, loss=loss)
            for size in range(1, len(model.nodes) + 1):
                keep("greedy", model.predict(rows, size), f"λ = {lam:g}, {size} nodes", model)
            tick()
        for lam in HULL_FLAT:
            model = hkl_flat_mkl(design, y, lam, loss=loss, tol=1e-2)
            used = int(np.count_nonzero(model.weights > NEARLY * model.weights.max()))
            keep("MKL", model.predict(rows), f"λ = {lam:g}, {used} columns", model)
            tick()
    return tuple(max(models, key=lambda one: one.score) for models in found.values())
