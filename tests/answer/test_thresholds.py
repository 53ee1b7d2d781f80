"""Errors of two classes: what the curves count, which threshold is cheapest, and that it goes along."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import confusion_matrix, precision_recall_curve

from mklcore import RBF, DataError, KernelDictionary, ParameterError, explore, load_sample
from mklcore.answer.thresholds import ErrorsByThreshold
from tests.helpers.every import every
from tests.helpers.models import reloaded
from tests.helpers.refusals import data_error, parameter_error


def errors(n=60, seed=0, **more):
    rng = np.random.default_rng(seed)
    is_second = rng.random(n) < 0.3
    decisions = np.round(rng.normal(0.8 * is_second, 1.0), 1)  # with ties, and some at 0
    return ErrorsByThreshold(("no", "yes"), decisions, is_second, **more)


def test_curves_and_tables_are_those_of_scikit_learn():
    found = errors()
    wrong, right = found.roc
    assert found.area == pytest.approx(np.trapezoid(right[::-1], wrong[::-1]))
    precision, recall, _ = precision_recall_curve(found.is_second, found.decisions)
    assert_allclose(np.unique(right), np.unique(recall))
    assert set(np.round(precision[:-1], 9)) == set(np.round(found.precision[:-1], 9))
    for threshold in (*found.thresholds, 0.4):
        called = found.decisions > threshold
        table = confusion_matrix(found.is_second, called)
        assert_array_equal(found.confusion(threshold), table)
        cost = (2 * table[0, 1] + 5 * table[1, 0]) / 60
        assert found.costs(2, 5, threshold)[0] == pytest.approx(cost)
    assert 0.0 in found.thresholds
    assert set(found.steps(0.123)) >= {0.0, 0.123}


def test_the_cheapest_threshold_is_chosen_and_its_cost_is_told_from_that_of_other_rows():
    found = errors(200)
    least = found.cheapest(1, 5)
    every_cut = [found.costs(1, 5, cut)[0] for cut in np.unique(found.decisions)]
    assert found.costs(1, 5, least)[0] == min(every_cut)
    assert found.cheapest(5, 1) > least
    assert found.cost_elsewhere(1, 5) > found.costs(1, 5, least)[0]
    assert "expect about that of new rows" in found.advice(1, 5)
    assert "also chosen the model" in errors(200, held_out=False).advice(1, 5)
    few = ErrorsByThreshold(("no", "yes"), np.arange(6.0), np.arange(6) > 3)
    assert few.cost_elsewhere() is None
    assert "too few to tell" in few.advice()
    owners = errors(40, row_groups=np.repeat(np.arange(3), [10, 10, 20]))
    assert owners.cost_elsewhere() is None


@every("held_out", [True, False])
def test_which_rows_were_counted_is_said(held_out):
    said = errors(held_out=held_out).whose
    assert ("that were held out" in said) is held_out
    assert ("No row was held out" in said) is not held_out


@every(
    "act, sentence",
    [
        (
            lambda: errors().costs(-1),
            "false_positive is what such an error costs, 0 or more; got -1",
        ),
        (lambda: errors().cheapest(1, "a"), "false_negative is .*got 'a'"),
        (
            lambda: ErrorsByThreshold(("a", "b"), np.zeros(3), np.ones(3, dtype=bool)),
            "rows that judge are all of one class",
        ),
    ],
)
def test_what_is_no_cost_or_no_two_classes_is_refused(act, sentence):
    with pytest.raises((DataError, ParameterError), match=sentence):
        act()


def test_one_row_and_several_have_their_verbs():
    errors = ErrorsByThreshold(
        ("no", "yes"), np.array([-1.0, 1.0, -2.0, -1.0, 2.0]), np.array([0, 0, 1, 1, 1], bool)
    )
    said = errors.says(0.0)
    assert "Of 2 rows of 'no' 1 is called so by mistake, of 3 rows of 'yes' 2 are missed" in said


def test_an_answer_takes_its_threshold_along_into_its_file():
    data = load_sample("breast_cancer").drawn(120, 0)
    found = explore(data, kernels=KernelDictionary((RBF(1.0),)), C=1.0)
    threshold = float(np.median(found.model.decision_function(data.X)))
    moved = found.with_threshold(threshold)
    said = moved.predict(data.X)
    above = found.model.decision_function(data.X) > threshold
    assert_array_equal(said == found.model.classes_[1], above)
    assert (said != found.predict(data.X)).any()
    rows = np.arange(len(said))
    level = moved.predict_set(data.X, 0.8)
    assert level[rows, np.searchsorted(found.model.classes_, said)].all()
    again = reloaded(moved)
    assert again.threshold == threshold
    assert_array_equal(again.predict(data.X), said)
    assert found.errors.confusion().sum() == found.test.n_samples
    with parameter_error("threshold must be a finite number; got nan"):
        found.with_threshold(np.nan)
    numbers = explore(load_sample("diabetes").drawn(60, 0), C=1.0, kernels=found.dictionary)
    with data_error(r"two classes, and 'progression.*' has numbers"):
        numbers.errors  # noqa: B018
    with parameter_error("parts two classes, and this model predicts others"):
        numbers.with_threshold(0.5)
