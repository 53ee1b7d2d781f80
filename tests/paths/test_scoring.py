"""Scores by name: they are scikit-learn's own, on tables and on stacks, along paths, over folds and over two
parameters.
"""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    get_scorer,
    make_scorer,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.model_selection import StratifiedKFold

import mklcore as mkl
from mklcore.errors import ParameterError
from mklcore.paths import CrossValidated
from mklcore.paths.scoring import SCORINGS, Decided, label_of, rarest, scored, scorer_of, scorings_for
from tests.helpers.every import every

KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 1.0]) + mkl.KernelDictionary.per_feature(mkl.Linear(), 3)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 3))
    value = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.standard_normal(120)
    return X[:80], value[:80], X[80:], value[80:]


WORDS = np.array(["a", "b", "c"])


def judged_rows(k, labels=WORDS, seed=0, n=90):
    """A target of ``k`` classes (0: numbers), decisions about it with ties among them, and a model of these classes."""
    rng = np.random.default_rng(seed)
    if k == 0:
        return rng.standard_normal(n) * 3.0, rng.standard_normal(n), mkl.LpMKLRegressor()
    model = mkl.LpMKLClassifier()
    model.classes_ = np.asarray(labels[:k])
    decision = np.round(rng.standard_normal((n, k)), 1)
    return model.classes_[rng.integers(0, k, n)], decision[:, 0] if k == 2 else decision, model


def as_scikit_learn(name, model, decision, y):
    return get_scorer(name)(Decided(model, decision), None, y)


@every("labels", [WORDS, WORDS.astype(object), np.array([0, 1, 2]), np.array([-1.0, 1, 4])])
@every("name", SCORINGS)
def test_every_listed_score_is_scikit_learns(name, labels):
    for k in {"binary": (2,), "multiclass": (2, 3), "regression": (0,)}[SCORINGS[name].tasks[-1]]:
        y, decision, model = judged_rows(k, labels)
        assert scored(model, decision, y, name) == as_scikit_learn(name, model, decision, y)


@every(
    "name, all_there, one_lacking, only_one",
    [
        ("accuracy", 0.6, 3 / 7, 0.5),
        ("balanced_accuracy", (1 / 2 + 3 / 3 + 1 / 3) / 3, (1 / 2 + 1 / 3) / 2, 0.5),
        ("f1_macro", None, None, (2 / 3 + 0) / 2),
        ("matthews_corrcoef", None, None, 0.0),
        ("roc_auc", None, None, 0.5),
    ],
)
def test_every_score_of_classes_is_defined_where_rows_lack_a_class(name, all_there, one_lacking, only_one):
    y = np.array(["a", "a", "a", "a", "b", "b", "b", "c", "c", "c"])
    said = np.array(["a", "a", "b", "b", "b", "b", "b", "c", "a", "a"])
    labels = np.array(["a", "b"]) if name == "roc_auc" else np.array(["a", "b", "c"])
    model = Answers(labels)
    one = np.flatnonzero(y == "a")
    scorer = scorer_of(name)
    for rows, expected in ((np.arange(10), all_there), (np.flatnonzero(y != "b"), one_lacking), (one, only_one)):
        if expected is not None:
            decided = np.linspace(-1, 1, rows.size)
            assert scored(model, decided, y[rows], name, said[rows]) == pytest.approx(expected)
            assert scorer(Decided(model, decided, said[rows]), None, y[rows]) == pytest.approx(expected)


class Answers(ClassifierMixin, BaseEstimator):
    """A classifier whose answers are reported beside it."""

    def __init__(self, classes):
        self.classes_ = classes


@pytest.fixture(scope="module")
def path(table):
    X, y, X_val, y_val = table
    model = mkl.LpMKLClassifier(kernels=KERNELS)
    return mkl.fit_path(model, X, y > 0.9, "C", [0.1, 1.0], X_val, y_val > 0.9, scoring="balanced_accuracy")


def test_a_path_is_scored_as_scikit_learn_would(path, table):
    X, y, X_val, y_val = table
    assert path.score_name == "balanced accuracy"
    for k, fitted in enumerate(path.estimators):
        assert path.val_score[k] == pytest.approx(balanced_accuracy_score(y_val > 0.9, fitted.predict(X_val)))
        assert path.train_score[k] == pytest.approx(balanced_accuracy_score(y > 0.9, fitted.predict(X)))


def test_scorers_of_ones_own_and_for_numbers(table):
    X, y, X_val, y_val = table
    model = mkl.LpMKLRegressor(kernels=KERNELS)
    own = make_scorer(lambda t, p: -float(np.max(np.abs(t - p))))
    far = mkl.fit_path(model, X, y, "C", [1.0], X_val, y_val, scoring=own)
    errors = y_val - far.estimators[0].predict(X_val)
    assert far.val_score[0] == pytest.approx(-np.abs(errors).max())
    root = mkl.fit_path(model, X, y, "C", [1.0], X_val, y_val, scoring="neg_root_mean_squared_error")
    assert -root.val_score[0] == pytest.approx(root_mean_squared_error(y_val, root.estimators[0].predict(X_val)))


def test_three_classes_and_greedy_methods(table):
    X, y, X_val, y_val = table
    three, three_val = np.digitize(y, [-0.5, 0.7]), np.digitize(y_val, [-0.5, 0.7])
    for model, param in ((mkl.GOMPClassifier(kernels=KERNELS), "s"), (mkl.SMKLClassifier(kernels=KERNELS), "C")):
        found = mkl.fit_path(model, X, three, param, [2], X_val, three_val, scoring="f1_macro")
        assert found.val_score[0] == pytest.approx(
            f1_score(three_val, found.estimators[0].predict(X_val), average="macro")
        )


@every(
    "scoring, said",
    [("acuracy", "no scorer 'acuracy'"), (3, "a scorer of scikit-learn or its name"), ("neg_log_loss", "cannot judge")],
)
def test_scorings_that_cannot_be_had_are_refused(scoring, said, table):
    X, y, X_val, y_val = table
    with pytest.raises(ParameterError, match=said):
        mkl.fit_path(mkl.LpMKLClassifier(kernels=KERNELS), X, y > 0, "C", [1.0], X_val, y_val > 0, scoring=scoring)


def test_without_a_target_there_is_no_score(table):
    with pytest.raises(ParameterError, match="Without a target"):
        mkl.fit_path(mkl.LpMKLOneClass(kernels=KERNELS), table[0], None, "C", [1.0], scoring="accuracy")


def test_folds_take_a_score_and_a_splitter(table):
    X, y, _, _ = table
    model, cv = mkl.LpMKLClassifier(kernels=KERNELS), StratifiedKFold(3, shuffle=True, random_state=5)
    named = mkl.cross_validate_path(model, X, y > 0.5, "C", [0.1, 1.0], cv=cv, scoring="roc_auc")
    assert named.scores.shape == (3, 2)
    assert named.score_name == "AUC"
    train, test = next(iter(cv.split(X, y > 0.5)))
    alone = model.copy_with("C", 0.1).fit(X[train], (y > 0.5)[train])
    assert named.scores[0, 0] == pytest.approx(roc_auc_score((y > 0.5)[test], alone.decision_function(X[test])))
    same = mkl.cross_validate_path(model, X, y > 0.5, params={"C": [0.1, 1.0]}, cv=cv, scoring="roc_auc")
    assert same.scores == pytest.approx(named.scores)


def test_two_parameters_give_a_surface_and_choose_a_pair(table):
    X, y, _, _ = table
    model, asked = mkl.GOMPRegressor(kernels=KERNELS), {"lam": [0.01, 0.1, 10.0], "s": [1, 2, 3]}
    found = mkl.cross_validate_path(model, X, y, params=asked, n_splits=3)
    assert found.scores.shape == (3, 3, 3)
    assert found.params == ("lam", "s")
    lam, s = mkl.choose(found)
    assert found.val_score[lam, s] == pytest.approx(found.val_score.max())
    row = mkl.cross_validate_path(model.copy_with("lam", 0.1), X, y, "s", [1, 2, 3], n_splits=3)
    assert found.scores[:, 1] == pytest.approx(row.scores)
    turned = mkl.cross_validate_path(model, X, y, params=dict(reversed(asked.items())), n_splits=3)
    assert turned.scores == pytest.approx(found.scores.transpose(0, 2, 1))
    assert "3 folds over lam and s" in found._repr_html_()


def test_a_path_for_every_value_of_the_first_parameter(table):
    X, y, _, _ = table
    model = mkl.LpMKLRegressor(kernels=KERNELS)
    found = mkl.cross_validate_path(model, X, y, params={"p": [1.0, 2.0], "C": [0.1, 1.0]}, n_splits=2)
    alone = mkl.cross_validate_path(model.copy_with("p", 2.0), X, y, "C", [0.1, 1.0], n_splits=2)
    assert found.scores[:, 1] == pytest.approx(alone.scores)
    tubes = mkl.LpMKLRegressor(kernels=KERNELS, loss="epsilon_insensitive")
    found = mkl.cross_validate_path(tubes, X, y, params={"C": [0.1, 1.0], "epsilon": [0.05, 0.5]}, n_splits=2)
    alone = mkl.cross_validate_path(tubes.copy_with("epsilon", 0.5), X, y, "C", [0.1, 1.0], n_splits=2)
    assert found.params == ("C", "epsilon")
    assert found.scores[:, :, 1] == pytest.approx(alone.scores)


def test_rules_on_a_surface():
    scores = np.array([[[0.9, 0.8], [0.7, 0.5]], [[0.8, 0.88], [0.7, 0.5]], [[0.9, 0.9], [0.7, 0.5]]])
    used = np.array([[3.0, 1.0], [2.0, 2.0]])
    found = CrossValidated(("lam", "s"), (np.array([0.1, 1.0]), np.array([1.0, 2.0])), scores, used, "R²")
    assert mkl.choose(found) == (0, 0)
    assert mkl.choose(found, "sparsest") == (0, 1)
    assert mkl.choose(found, "1se", slack=1.0) == (1, 0)
    with pytest.raises(ParameterError, match="0 or more"):
        mkl.choose(found, "1se", slack=-1.0)


@every(
    "asked, said",
    [
        ({}, "param and values, or one or two in params"),
        ({"params": {"C": [1], "p": [1], "lam": [1]}}, "one or two in params"),
        ({"params": {"tau": [1], "C": [1]}}, "A path runs over one of C, lam, p, s; got 'tau'"),
        ({"param": "C", "values": [1.0], "cv": [(np.arange(40), np.arange(40, 80))]}, "at least two"),
    ],
)
def test_folds_over_nothing_are_refused(asked, said, table):
    with pytest.raises(ParameterError, match=said):
        mkl.cross_validate_path(mkl.LpMKLRegressor(kernels=KERNELS), table[0], table[1], **asked)


def test_choosing_C_by_a_score_goes_by_folds(table):
    X, y, _, _ = table
    model = mkl.LpMKLClassifier(kernels=KERNELS)
    found = mkl.choose_C(model, X, y > 0.5, [0.1, 1.0], n_splits=3, scoring="balanced_accuracy")
    folds = mkl.cross_validate_path(model, X, y > 0.5, "C", [0.1, 1.0], n_splits=3, scoring="balanced_accuracy")
    assert found.rule == "kfold"
    assert found.measure == "minus balanced accuracy"
    assert -found.errors == pytest.approx(folds.val_score)
    with pytest.raises(ParameterError, match="knows the error of its own loss only"):
        mkl.choose_C(model.copy_with("loss", "squared"), X, y > 0.5, [1.0], rule="loo", scoring="accuracy")


def test_a_rare_class_asks_for_another_score():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 2)), np.repeat(["no", "yes"], [170, 30])
    rare = mkl.Dataset(X, y, task="binary")
    assert rarest(rare) == ("yes", 0.15)
    assert rarest(mkl.Dataset(X, np.repeat([0, 1], 100), task="binary")) is None


def test_every_listed_score_is_one_of_scikit_learns():
    assert set(scorings_for("binary")) > set(scorings_for("multiclass")) > {"accuracy"}
    assert {label_of(name) for name in SCORINGS} == {score.label for score in SCORINGS.values()}
    y = np.array([0, 1, 1, 0])
    X = np.array([[0.0], [1.0], [2.0], [0.5]])
    for task, model in (("binary", mkl.LpMKLClassifier()), ("regression", mkl.LpMKLRegressor())):
        for name in scorings_for(task):
            path = mkl.fit_path(model, X, y, "C", [1.0], X, y, scoring=name)
            assert np.isfinite(path.val_score[0])
