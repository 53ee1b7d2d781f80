"""What a score is worth: plain models on the same rows, each with its own parameter chosen on the same validation rows.

    majority / mean          says the same for every row
    linear                   logistic or ridge regression on the standardised columns
    RBF                      one support vector machine with scikit-learn's own width
    best single kernel       of a dictionary, the kernel whose machine has the highest VALIDATION score, not the lowest objective

A grid goes on while its best point is the last one, as long as that gains something.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from mklcore.arrays import Array, Labels
from mklcore.data.dataset import Dataset
from mklcore.errors import ParameterError
from mklcore.kernels.grams import GramStack
from mklcore.path import fit_path, grown, path_grid
from mklcore.scoring import Scoring, scorer_of

PLAIN = ("majority", "mean", "linear", "RBF")  # models of the columns alone
FLAT = 1e-3  # gain in score below which going on does not pay
FURTHER = 4  # points beyond the end of a grid
COARSE = 6  # values of C per single kernel
Tick = Callable[[int, int], Any] | None


@dataclass(frozen=True, eq=False)
class Reference:
    """A plain model: its ``name``, its validation ``score``, what was chosen for it in words, and the fitted ``model``."""

    name: str
    score: float
    chosen: str
    model: Any


def plain_references(
    train: Dataset,
    judge: Dataset,
    scoring: Scoring = None,
    callback: Tick = None,
    only: Sequence[str] | None = None,
) -> tuple[Reference, ...]:
    """Majority (or mean), linear model and RBF machine on the rows ``train``, chosen and scored on the rows ``judge``.

    ``scoring`` as in ``fit_path``; ``callback(done, total)`` after every model, raise in it to cancel. ParameterError without
    a target. Models predict from rows X (n, d). ``only``: the names of those that are wanted.
    """
    if train.task == "novelty":
        raise ParameterError("Without a target there is nothing to compare with: plain models need one.")
    measure = scorer_of(scoring or ("r2" if train.task == "regression" else "accuracy"))
    makers = _regressors(float(np.std(np.asarray(train.y))) or 1.0) if train.task == "regression" else _classifiers()
    makers = [maker for maker in makers if only is None or maker[0] in only]
    found: list[Reference] = []
    for name, sign, values, make in makers:
        found.append(_best(name, sign, values, make, train, judge, measure))
        if callback is not None:
            callback(len(found), len(makers))
    return tuple(found)


Maker = tuple[str, str, Sequence[float], Callable[[float], Any]]


def _classifiers() -> list[Maker]:
    return [
        ("majority", "", (1.0,), lambda _: DummyClassifier()),
        ("linear", "C", np.geomspace(1e-3, 1e2, 6).tolist(),
         lambda C: make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=2000))),
        ("RBF", "C", [0.1, 1.0, 10.0, 100.0], lambda C: make_pipeline(StandardScaler(), SVC(C=C))),
    ]  # fmt: skip


def _regressors(spread: float) -> list[Maker]:
    return [
        ("mean", "", (1.0,), lambda _: DummyRegressor()),
        ("linear", "1/alpha", np.geomspace(1e-3, 1e3, 7).tolist(),
         lambda C: make_pipeline(StandardScaler(), Ridge(1.0 / C))),
        ("RBF", "C", [0.1, 1.0, 10.0, 100.0],
         lambda C: make_pipeline(StandardScaler(), SVR(C=C * spread, epsilon=0.1 * spread))),
    ]  # fmt: skip


def _best(
    name: str,
    sign: str,
    values: Sequence[float],
    make: Callable[[float], Any],
    train: Dataset,
    judge: Dataset,
    measure: Any,
) -> Reference:
    """The model of the best value; the grid goes on by its last ratio while the last point is the best and still gains."""
    tried: list[tuple[float, float, Any]] = []
    waiting, further = list(values), FURTHER
    while waiting:
        value = waiting.pop(0)
        model = make(value).fit(train.X, train.y)
        tried.append((float(measure(model, judge.X, judge.y)), value, model))
        if not waiting and len(tried) > 1 and further and tried[-1][0] > max(s for s, _, _ in tried[:-1]) + FLAT:
            waiting, further = [value * value / tried[-2][1]], further - 1
    score, value, model = max(tried, key=lambda one: one[0])
    return Reference(name, score, f"{sign} = {value:.3g}" if sign else "", model)


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
    (M, n, n), ``y`` (n,), ``blocks`` (M, n_val, n), ``y_val`` (n_val,). Every kernel is solved at the same values of C; those of
    the best go on while the last is its best. ``callback(done, total)`` after every kernel. The model takes (1, n_new, n).
    """
    alone = estimator.copy_with("kernels", "precomputed")
    values = path_grid(alone, stack, y, "C", COARSE)[:-1]  # of all kernels: one that says nothing would ask for any C
    best, place = None, 0
    for m in range(stack.n_kernels):
        path = fit_path(alone, _only(stack, m), y, "C", values, blocks[m : m + 1], y_val, scoring=scoring)
        if best is None or path.val_score[path.first_look] > best.val_score[best.first_look]:
            best, place = path, m
        if callback is not None:
            callback(m + 1, stack.n_kernels)
    assert best is not None  # a stack has a kernel
    part = blocks[place : place + 1]
    best = grown(best, alone, _only(stack, place), y, part, y_val, None, scoring, FURTHER)
    index = best.first_look
    chosen = f"{stack.names[place]}, C = {best.values[index]:.3g}"
    return Reference("best single kernel", float(best.val_score[index]), chosen, best.estimators[index])


def _only(stack: GramStack, m: int) -> GramStack:
    return GramStack.from_array(stack.values[m : m + 1], names=[stack.names[m]])
