"""Choosing a point: one greedy run per lam, the tie rule, folds that cut stacks, rules of choice."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score

from mklcore import (
    GOMPClassifier,
    GOMPRegressor,
    GreedyMKLClassifier,
    GreedyMKLRegressor,
    KernelDictionary,
    Linear,
    LpMKLClassifier,
    NotConvergedWarning,
    SMKLClassifier,
    UniformMKLClassifier,
    choose,
    cross_validate_path,
    fit_path,
    validation_curve,
)
from mklcore.paths import choosing as selection
from mklcore.paths import folds as cuts
from mklcore.problem.driver import Status
from tests.helpers.every import every
from tests.helpers.refusals import refused
from tests.paths import KERNELS

LAMS = [1.0, 0.1, 0.01]
SIZES = [1, 2, 4]


# Validation curve


@every(
    "model",
    [
        GOMPClassifier(kernels=KERNELS),
        GreedyMKLClassifier(kernels=KERNELS),
        GOMPRegressor(),
    ],
)
def test_every_cell_is_its_own_fit(model, table):
    X, y, score = table
    rows = X[:60]
    new = X[60:]
    if isinstance(model, GOMPRegressor):  # a ready stack
        y = score
        rows = KERNELS.grams(rows)
        new = rows.cross(new)
        model = GOMPRegressor(kernels="precomputed")
        rows = rows.values
    curve = validation_curve(model, rows, y[:60], new, y[60:], LAMS, SIZES)
    assert curve.scores.shape == curve.n_nonzero.shape == (3, 3)
    for (i, lam), (j, size) in product(enumerate(LAMS), enumerate(SIZES)):
        cold = model.copy_with("lam", lam).copy_with("n_kernels", size).fit(rows, y[:60])
        assert curve.scores[i, j] == pytest.approx(cold.score(new, y[60:]))
        assert curve.n_nonzero[i, j] == cold.n_kernels_
        assert curve.objective[i, j] == pytest.approx(cold.objective_)
    assert curve.scores[curve.best] == curve.scores.max()
    assert (curve.estimator.lam, curve.estimator.n_kernels) == (curve.lam, curve.size)


def test_among_equal_cells_the_strongest_regularisation_is_taken(table):
    X, y, _ = table
    easy = np.column_stack([y + 0.0, X[:, 1:]])  # one column is the answer: every cell is perfect
    model = GOMPClassifier(kernels=KernelDictionary.per_feature(Linear(), 4))
    curve = validation_curve(
        model, easy[:60], y[:60], easy[60:], y[60:], [0.001, 0.1, 0.01], [3, 1, 2]
    )
    assert curve.scores[:, 1].min() == 1.0
    assert (curve.lam, curve.size) == (0.1, 1)


# Folds


def test_folds_build_their_kernels_on_their_own_rows(table):
    X, y, _ = table
    found = cross_validate_path(
        GOMPClassifier(kernels=KERNELS), X, y, "s", [1, 3], n_splits=3, seed=4
    )
    for k, (train, test) in enumerate(cuts.folds(GOMPClassifier(), y, 3, 4)):
        for column, size in enumerate([1, 3]):
            model = GOMPClassifier(kernels=KERNELS, n_kernels=size).fit(X[train], y[train])
            assert found.scores[k, column] == accuracy_score(y[test], model.predict(X[test]))
    assert found.val_score == pytest.approx(found.scores.mean(axis=0))
    assert found.standard_error == pytest.approx(found.scores.std(axis=0, ddof=1) / np.sqrt(3))
    assert found.selected.shape == (2, len(KERNELS))
    assert found.selected.sum(axis=1) == pytest.approx(found.n_nonzero)


def test_stacks_are_cut(table):
    X, _, target = table
    stack = KERNELS.grams(X)
    model = GreedyMKLRegressor(kernels="precomputed")
    on_array = cross_validate_path(model, stack.values, target, "lam", [0.1, 0.01], n_splits=3)
    on_stack = cross_validate_path(
        GreedyMKLRegressor(), stack, target, "lam", [0.1, 0.01], n_splits=3
    )
    assert on_array.scores == pytest.approx(on_stack.scores)
    for k, (train, test) in enumerate(cuts.folds(model, target, 3, 0)):
        K = stack.values[:, train[:, None], train]
        cold = GreedyMKLRegressor(kernels="precomputed", lam=0.01).fit(K, target[train])
        assert on_array.scores[k, 1] == pytest.approx(
            cold.score(stack.values[:, test[:, None], train], target[test])
        )


def test_frames_and_several_targets(table):
    X, y, target = table
    frame = pd.DataFrame(X, columns=list("abcd"))
    a = cross_validate_path(UniformMKLClassifier(kernels=KERNELS), frame, y, "C", [1.0], n_splits=2)
    b = cross_validate_path(UniformMKLClassifier(kernels=KERNELS), X, y, "C", [1.0], n_splits=2)
    assert a.scores == pytest.approx(b.scores)
    both = np.column_stack([target, X[:, 0]])
    assert (
        cross_validate_path(
            GOMPRegressor(kernels=KERNELS), X, both, "s", [2], n_splits=2
        ).scores.min()
        > 0.3
    )


# Rules


def crossed(param, values, means, errors, used):
    # two folds: the standard error is their half distance
    spread = np.array([[1.0], [-1.0]]) * np.array(errors)
    return selection.CrossValidated(
        (param,), (np.array(values),), np.array(means) + spread, np.array(used), "R²"
    )


def test_rules_of_choice():
    found = crossed(
        "lam", [0.01, 0.1, 1.0, 10.0], [0.90, 0.91, 0.89, 0.5], [0.03] * 4, [5, 4, 4, 1]
    )
    costs = crossed("C", [0.1, 1.0, 10.0], [0.90, 0.91, 0.91], [0.02] * 3, [9, 3, 3])
    scores = np.array(
        [[[0.9, 0.8], [0.7, 0.5]], [[0.8, 0.88], [0.7, 0.5]], [[0.9, 0.9], [0.7, 0.5]]]
    )
    values = (np.array([0.1, 1.0]), np.array([1.0, 2.0]))
    used = np.array([[3.0, 1.0], [2.0, 2.0]])
    surface = selection.CrossValidated(("lam", "s"), values, scores, used, "R²")
    for asked, expected in (
        ((found,), 1),
        ((found, "1se"), 2),  # the largest lam within 0.03 of 0.91
        ((found, "sparsest"), 2),  # four kernels twice: then the stronger regularisation
        ((costs,), 1),  # equal score and kernels: the smaller C
        ((costs, "1se"), 0),
        ((costs, "sparsest"), 1),
        ((surface,), (0, 0)),
        ((surface, "sparsest"), (0, 1)),
        ((replace(surface, scores=scores + np.array([[0.0, 0.0], [0.15, 0.0]])), "1se"), (1, 0)),
    ):
        assert choose(*asked) == expected, asked


def test_an_unfinished_point_never_beats_a_finished_one_silently(table):
    X, y, _ = table
    path = fit_path(
        GOMPClassifier(kernels=KERNELS), X[:60], y[:60], "s", [1, 2, 3, 4], X[60:], y[60:]
    )
    statuses = [Status.COMPLETE, Status.OUT_OF_TIME, Status.COMPLETE, Status.MAX_ITER]
    mixed = replace(path, val_score=np.array([0.7, 0.9, 0.8, 0.8]), statuses=tuple(statuses))
    with pytest.warns(
        NotConvergedWarning, match=r"At s = 2 the accuracy is 0.9, against 0.8 at the best of the"
    ):
        assert choose(mixed) == 2
    assert mixed.first_look == 2
    assert list(mixed.finished) == [True, False, True, False]
    lower = replace(mixed, val_score=np.array([0.7, 0.6, 0.8, 0.8]))
    assert choose(lower) == 2  # nothing to tell
    none = replace(mixed, statuses=(Status.MAX_ITER,) * 4)
    assert choose(none) == none.first_look == 1
    found = crossed("lam", [0.01, 0.1, 1.0], [0.90, 0.91, 0.89], [0.03] * 3, [5, 4, 4])
    with pytest.warns(NotConvergedWarning, match="At lam = 0.1 the R² is 0.91, against 0.9 at"):
        assert choose(replace(found, finished=np.array([True, False, True]))) == 0


def test_folds_tell_which_points_were_solved_in_all_of_them(table):
    model = SMKLClassifier(kernels=KERNELS, max_iter=3)
    with pytest.warns(NotConvergedWarning, match="stopped at max_iter"):
        found = cross_validate_path(model, *table[:2], "C", [1e-6, 10.0], n_splits=2)
    assert list(found.finished) == [True, False]


def test_what_cannot_be_chosen_or_crossed_is_refused(table):
    X, y, _ = table
    greedy = GOMPClassifier(kernels=KERNELS)
    path = fit_path(greedy, X[:60], y[:60], "s", [1, 2], X[60:], y[60:])
    blind = replace(path, val_score=np.full(2, np.nan))

    def curve(lams, sizes, model=greedy, rows=(X, y)):
        return lambda: validation_curve(model, X, y, *rows, lams, sizes)

    def folds(y=y, **more):
        return lambda: cross_validate_path(greedy, X, y, "s", [1], **more)

    refused(
        (curve(LAMS, SIZES, LpMKLClassifier()), "does not add kernels one by one"),
        (curve(LAMS, SIZES, rows=(None, None)), "needs validation rows"),
        (curve(LAMS, [0, 1]), "whole, from 1 on"),
        (curve([0.0], [1]), "lam must be a finite number above 0"),
        (folds(n_splits=1), "n_splits must be a whole number from 2 to the 90 rows"),
        (folds(y[:80]), "X has 90 rows and the target has 80"),
        (lambda: choose(path, "1se"), "has no standard error: use cross_validate_path"),
        (lambda: choose(path, "luck"), "rule must be one of best, 1se, sparsest"),
        (lambda: choose(blind), "no validation scores to choose by"),
    )
