"""Plain models beside a model of kernels, each with its parameter chosen on the same rows.

    majority / mean      predicts the same for every row
    forest               the mean of random trees
    boosting             a sum of small trees (histogram gradient boosting)

For a hull there are other models on the same grid of kernels (Bach, 2008, section 5):

    L2                   all kernels without selection
    greedy               a hull that grows greedily with equal weights
    lasso-alpha          all kernels at few rows
    MKL                  single columns without products
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.errors import ParameterError, Progress, suppress_convergence_warnings
from mklcore.hkl.baselines import FullKernel, hkl_flat_mkl, hkl_greedy, hkl_l2, hkl_lasso_alpha
from mklcore.hkl.design import Design
from mklcore.paths.scoring import Scoring, scorer_of

LEAF_SIZES = (1, 5)  # rows per leaf of a forest
N_TREES = 200  # of a forest
LEAVES = (3, 8, 31)  # leaves per tree of boosting
RATE = 0.1  # learning rate of boosting
# Steps of boosting; a step adds one tree per class.
STEPS = 150
MOST_TREES = 1000
FEWEST_STEPS = 20
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


# How the parameters were chosen, and what predicts rows (m, p) with them.
Choice = tuple[str, Callable[[Array], Array]]


@dataclass(frozen=True, eq=False)
class Reference:
    """A plain model with its validation score, and what was ``chosen`` for it.

    ``said`` are its predictions for further rows.
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
    callback: Progress | None = None,
    only: Sequence[str] | None = None,
) -> tuple[Reference, ...]:
    """Majority (or mean), random forest and gradient boosting on the rows ``train``.

    Each is chosen and scored on the rows ``judge``, with ``scoring`` as in ``fit_path``. The models
    predict from rows X (n, d). ``callback(done, total)`` is called after every model; raise an
    exception in it to cancel. ``only``: the names of the models to fit. Raises ``ParameterError``
    without a target.
    """
    if train.task == "novelty":
        raise ParameterError(
            "Without a target there is nothing to compare with: plain models need one."
        )
    is_number = train.task == "regression"
    measure = scorer_of(scoring or ("r2" if is_number else "accuracy"))
    makers = _makers(is_number, len(np.unique(train.y)))
    if not train.n_features:  # there are sequences only, which trees cannot read
        makers = makers[:1]
    makers = [maker for maker in makers if only is None or maker[0] in only]
    references: list[Reference] = []
    for name, sign, values, make in makers:
        tried = []
        for value in values:
            # The threads of boosting would wait for each other longer than they work.
            with threadpool_limits(1):
                model = make(value).fit(train.X, train.y)
            chosen = f"{sign} = {value}" if sign else ""
            score = float(measure(model, judge.X, judge.y))
            tried.append(Reference(name, score, chosen, model))
        references.append(max(tried, key=lambda reference: reference.score))
        if callback is not None:
            callback(len(references), len(makers))
    return tuple(references)


Maker = tuple[str, str, Sequence[int], Callable[[int], Any]]


def _makers(is_number: bool, classes: int) -> list[Maker]:
    """Name, parameter, its values, and a function that makes the model, for every reference.

    A numeric target is standardised to mean 0 and deviation 1.
    """
    from sklearn.compose import TransformedTargetRegressor  # slow to import
    from sklearn.dummy import DummyClassifier, DummyRegressor  # slow to import
    from sklearn.ensemble import (  # slow to import
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.preprocessing import StandardScaler  # slow to import

    def scaled(model: Any) -> Any:
        if is_number:
            return TransformedTargetRegressor(model, transformer=StandardScaler())
        return model

    forest: Any = RandomForestRegressor if is_number else RandomForestClassifier
    boosting: Any = HistGradientBoostingRegressor if is_number else HistGradientBoostingClassifier
    constant: Any = DummyRegressor if is_number else DummyClassifier
    forest_options: dict[str, Any] = {"random_state": 0}
    steps = STEPS
    if is_number:
        forest_options["max_features"] = 0.5
    else:
        steps = min(STEPS, max(FEWEST_STEPS, MOST_TREES // max(classes, 1)))
    boosting_options = {"learning_rate": RATE, "max_iter": steps, "random_state": 0}
    return [
        ("mean" if is_number else "majority", "", (1,), lambda _: constant()),
        (
            "forest",
            "rows per leaf",
            LEAF_SIZES,
            lambda rows: scaled(forest(N_TREES, min_samples_leaf=rows, **forest_options)),
        ),
        (
            "boosting",
            "leaves per tree",
            LEAVES,
            lambda leaves: scaled(boosting(max_leaf_nodes=leaves, **boosting_options)),
        ),
    ]


def hull_references(
    design: Design,
    y: Array,
    X_val: Array,
    y_val: Array,
    loss: str = "squared",
    callback: Progress | None = None,
    judge: Array | None = None,
) -> tuple[Reference, ...]:
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
    best: dict[str, Reference] = {}
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
                    best[name] = Reference(name, score, chosen, model, said)
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
