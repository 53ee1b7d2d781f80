"""Permutation tests of an answer: exact on noise, and able to see weak, rare and heavy-tailed
relations.
"""

from types import SimpleNamespace

import numpy as np
from sklearn.dummy import DummyRegressor

from mklcore import Dataset, KernelDictionary, Linear, explore
from mklcore.answer import chance
from mklcore.answer.candidates import Request
from mklcore.answer.chance import judge, p_value_of_refits, permutation_p, permutations
from mklcore.answer.explore import divide_rows
from mklcore.paths.scoring import Predictions

NUMBERS = DummyRegressor()
CLASSES = SimpleNamespace(classes_=np.array(["no", "yes"]))


def said(values):
    return Predictions(NUMBERS, values, values)


def test_one_outlier_does_not_hide_that_a_good_model_is_good(rng):
    """As in Engel's table: one error makes the standard error of the squared differences as large
    as the gain.
    """
    y = np.append(rng.normal(size=58), 2.0)
    predicted = np.append(y[:58] + 0.2 * rng.normal(size=58), 6.0)
    found = judge(y, said(predicted), said(np.zeros(59)), "r2")
    assert (found.relation, found.p_value, found.measure) == ("better", 0.001, "rank correlation")
    assert found.association > 0.9


def test_predictions_may_order_rows_without_being_nearer_than_guessing(rng):
    y = rng.normal(size=60)
    far = judge(y, said(2.0 + y + rng.normal(size=60)), said(np.zeros(60)), "r2")
    assert far.relation == "related"
    assert 0.4 < far.association < 0.9
    # ranked well, and the majority wins on accuracy
    rare = np.where(np.arange(100) < 8, "yes", "no")
    decision = -2.0 + (rare == "yes") + 0.3 * rng.normal(size=100)
    never = np.full(100, "no")
    found = judge(
        rare,
        Predictions(CLASSES, decision, never),
        Predictions(CLASSES, 0.0 * decision, never),
        "accuracy",
    )
    assert (found.relation, found.measure) == ("related", "area under the ROC curve")
    assert found.association > 0.9
    # says the same of every row
    assert judge(y, said(np.zeros(60)), said(np.zeros(60)), "r2").relation == "none"


def test_heavy_tails_are_seen_by_ranks():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20, 60))
    y = x + rng.standard_t(2, size=(20, 60))
    assert (
        np.median(
            [permutation_p(*pair, 0) for pair in zip(y[:, :, None], x[:, :, None], strict=True)]
        )
        < 0.01
    )


def test_p_values_of_noise_are_spread_evenly(monkeypatch, rng):
    monkeypatch.setattr(chance, "PERMUTATIONS", 39)
    p_values = [
        permutation_p(rng.standard_t(2, (30, 1)), rng.normal(size=(30, 1)), k) for k in range(200)
    ]
    assert abs(np.mean(np.array(p_values) <= 0.25) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 200)


def test_rows_that_belong_together_are_permuted_together(rng):
    groups = np.repeat(["c", "a", "b"], 4)
    for order in permutations(12, 5, 0, groups):
        assert sorted(order) == list(range(12))
        assert all(np.unique(groups[order[groups == one]]).size == 1 for one in "abc")
    y, f = (np.repeat(rng.normal(size=6), 20)[:, None] for _ in range(2))
    patients = np.repeat(np.arange(6), 20)
    assert permutation_p(y, f * np.sign(np.vdot(y - y.mean(), f)), 0, patients) > 0.05
    data = Dataset(f, y.ravel(), row_groups=patients)
    assert explore(data, test_size=0.5).could_be_chance == {"x0": True}


def refitted(X, y, task="regression", **request):
    given = Request(test_size=0.0, **request)
    return p_value_of_refits(divide_rows(Dataset(X, y, task=task), given))


def test_refits_to_permuted_targets_see_a_relation_and_none_in_noise(monkeypatch, rng):
    monkeypatch.setattr(chance, "REFITS", 39)
    X = rng.normal(size=(40, 60))
    one = np.where(X[:, 3] > 0, "a", "b")
    # few true columns
    assert refitted(X, one, "binary") == refitted(X, X[:, 7] + 0.5 * rng.normal(size=40)) == 1 / 40
    assert refitted(X[:, :2], np.sign(X[:, 0] * X[:, 1])) == 1 / 40  # together only
    assert refitted(X[:, :2], X[:, 0], kernels=KernelDictionary([Linear()])) == 1 / 40
    p_values = [refitted(rng.normal(size=(20, 4)), rng.normal(size=20)) for _ in range(20)]
    assert 0.25 < np.mean(p_values) < 0.75


def test_every_row_that_was_learned_from_is_judged_by_a_model_that_had_not_seen_it(rng):
    """Permuting columns on training rows called 86 of 100 columns of noise real."""
    found = explore(Dataset(rng.normal(size=(50, 20)), rng.normal(size=50)))
    assert sum(not could for could in found.could_be_chance.values()) <= 5
    assert found.verdict.relation == "none"
    # too few rows for folds that judge
    few = explore(Dataset(rng.normal(size=(8, 2)), rng.normal(size=8)))
    assert few.could_be_chance is None
    assert {one.chance for one in few.columns} == {None}
