"""Scores by name: they are scikit-learn's own, on tables and on stacks, along paths, over folds and
over two parameters.
"""

from functools import partial

import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    get_scorer,
    make_scorer,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.model_selection import StratifiedKFold

from mklcore import (
    Dataset,
    GOMPClassifier,
    GOMPRegressor,
    KernelDictionary,
    Linear,
    LpMKLClassifier,
    LpMKLOneClass,
    LpMKLRegressor,
    SMKLClassifier,
    choose,
    choose_C,
    cross_validate_path,
    fit_path,
)
from mklcore.paths.scoring import (
    GROUPS,
    SCORINGS,
    Decided,
    PairedScore,
    Predictions,
    compare_scores,
    label_of,
    predictions,
    rarest,
    scored,
    scorer_of,
    scorings_for,
)
from tests.helpers.every import every
from tests.helpers.refusals import data_error, parameter_error, refused

KERNELS = KernelDictionary.rbf_grid([0.5, 1.0]) + KernelDictionary.per_feature(Linear(), 3)


@pytest.fixture(scope="module")
def table():
    rng = default_rng(3)
    X = rng.standard_normal((120, 3))
    value = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.standard_normal(120)
    return X[:80], value[:80], X[80:], value[80:]


WORDS = np.array(["a", "b", "c"])


def judged_rows(k, labels=WORDS, seed=0, n=90):
    """A target of ``k`` classes (0: numbers), decisions about it with ties among them, and a model
    of these classes.
    """
    rng = default_rng(seed)
    if k == 0:
        return rng.standard_normal(n) * 3.0, rng.standard_normal(n), LpMKLRegressor()
    model = LpMKLClassifier()
    model.classes_ = np.asarray(labels[:k])
    decision = np.round(rng.standard_normal((n, k)), 1)
    return model.classes_[rng.integers(0, k, n)], decision[:, 0] if k == 2 else decision, model


@every("labels", [WORDS, WORDS.astype(object), np.array([0, 1, 2]), np.array([-1.0, 1, 4])])
@every("name", SCORINGS)
def test_every_listed_score_is_scikit_learns(name, labels):
    for k in {"binary": (2,), "multiclass": (2, 3), "regression": (0,)}[SCORINGS[name].tasks[-1]]:
        y, decision, model = judged_rows(k, labels)
        assert scored(model, decision, y, name) == get_scorer(name)(
            Decided(model, decision), None, y
        )


@every("name, all_there, one_lacking, only_one", [
    ("accuracy", 0.6, 3 / 7, 0.5),
    ("balanced_accuracy", (1 / 2 + 3 / 3 + 1 / 3) / 3, (1 / 2 + 1 / 3) / 2, 0.5),
    ("f1_macro", None, None, (2 / 3 + 0) / 2),
    ("matthews_corrcoef", None, None, 0.0),
    ("roc_auc", None, None, 0.5),
])  # fmt: skip
def test_every_score_of_classes_is_defined_where_rows_lack_a_class(
    name, all_there, one_lacking, only_one
):
    y = np.array(list("aaaabbbccc"))
    said = np.array(list("aabbbbbcaa"))
    model = LpMKLClassifier()
    model.classes_ = np.array(["a", "b"] if name == "roc_auc" else ["a", "b", "c"])
    for rows, expected in ((y < "d", all_there), (y != "b", one_lacking), (y == "a", only_one)):
        if expected is not None:
            decided = np.linspace(-1, 1, rows.sum())
            assert scored(model, decided, y[rows], name, said[rows]) == pytest.approx(expected)
            assert scorer_of(name)(
                Decided(model, decided, said[rows]), None, y[rows]
            ) == pytest.approx(expected)


def test_choosing_C_by_a_score_goes_by_folds(table):
    X, y, _, _ = table
    model = LpMKLClassifier(kernels=KERNELS)
    found = choose_C(model, X, y > 0.5, [0.1, 1.0], n_splits=3, scoring="balanced_accuracy")
    folds = cross_validate_path(
        model, X, y > 0.5, "C", [0.1, 1.0], n_splits=3, scoring="balanced_accuracy"
    )
    assert found.rule == "kfold"
    assert found.measure == "minus balanced accuracy"
    assert -found.errors == pytest.approx(folds.val_score)
    with parameter_error("measures the error of the loss only"):
        choose_C(
            model.copy_with("loss", "squared"), X, y > 0.5, [1.0], rule="loo", scoring="accuracy"
        )


def test_a_rare_class_asks_for_another_score_and_names_tell_tasks_apart():
    X = default_rng(0).standard_normal((200, 2))
    y = np.repeat(["no", "yes"], [170, 30])
    assert rarest(Dataset(X, y, task="binary")) == ("yes", 0.15)
    assert rarest(Dataset(X, np.repeat([0, 1], 100), task="binary")) is None
    assert set(scorings_for("binary")) > set(scorings_for("multiclass")) > {"accuracy"}
    assert {label_of(name) for name in SCORINGS} == {score.label for score in SCORINGS.values()}


# Along paths and over folds


def farthest(target, predicted):
    return -float(np.max(np.abs(target - predicted)))


@every("model, edges, scoring, name, by_hand", [
    (LpMKLClassifier(kernels=KERNELS), [0.9], "balanced_accuracy", "balanced accuracy", balanced_accuracy_score),
    (LpMKLRegressor(kernels=KERNELS), None, None, "R²", r2_score),
    (LpMKLRegressor(kernels=KERNELS), None, make_scorer(farthest), None, farthest),
    (SMKLClassifier(kernels=KERNELS), [-0.5, 0.7], "f1_macro", "mean F1", partial(f1_score, average="macro")),
    (GOMPClassifier(kernels=KERNELS), [-0.5, 0.7], "accuracy", "accuracy", accuracy_score),
    (LpMKLRegressor(kernels=KERNELS), None, "neg_root_mean_squared_error", "minus RMSE",
     lambda y, said: -root_mean_squared_error(y, said)),
])  # fmt: skip
def test_a_path_is_scored_as_scikit_learn_would(table, model, edges, scoring, name, by_hand):
    X, y, X_val, y_val = table
    y, y_val = (values if edges is None else np.digitize(values, edges) for values in (y, y_val))
    greedy = "n_kernels" in model.get_params()
    path = fit_path(model, X, y, "s" if greedy else "C", [1, 2], X_val, y_val, scoring=scoring)
    assert name in (None, path.score_name)
    for k, fitted in enumerate(path.estimators):
        assert path.val_score[k] == pytest.approx(by_hand(y_val, fitted.predict(X_val)))
        assert path.train_score[k] == pytest.approx(by_hand(y, fitted.predict(X)))


def test_folds_take_a_score_and_a_splitter(table):
    X = table[0]
    y = table[1] > 0.5
    cv = StratifiedKFold(3, shuffle=True, random_state=5)
    model = LpMKLClassifier(kernels=KERNELS)
    named = cross_validate_path(model, X, y, "C", [0.1, 1.0], cv=cv, scoring="roc_auc")
    assert named.scores.shape == (3, 2)
    assert named.score_name == "AUC"
    train, test = next(iter(cv.split(X, y)))
    alone = model.copy_with("C", 0.1).fit(X[train], y[train])
    assert named.scores[0, 0] == pytest.approx(
        roc_auc_score(y[test], alone.decision_function(X[test]))
    )


@every("model, params, fixed", [
    (GOMPRegressor(kernels=KERNELS), {"lam": [0.01, 0.1, 10.0], "s": [1, 2, 3]}, "lam"),
    (LpMKLRegressor(kernels=KERNELS), {"p": [1.0, 2.0], "C": [0.1, 1.0]}, "p"),
    (LpMKLRegressor(kernels=KERNELS, loss="epsilon_insensitive"),
     {"C": [0.1, 1.0], "epsilon": [0.05, 0.5]}, "epsilon"),
])  # fmt: skip
def test_two_parameters_give_a_surface_whose_lines_are_those_of_one(table, model, params, fixed):
    X, y, _, _ = table
    found = cross_validate_path(model, X, y, params=params, n_splits=2)
    assert found.params == tuple(params)
    ((along, values),) = ((name, values) for name, values in params.items() if name != fixed)
    line = cross_validate_path(
        model.copy_with(fixed, params[fixed][1]), X, y, along, values, n_splits=2
    )
    place = found.params.index(fixed) + 1
    assert np.take(found.scores, 1, axis=place) == pytest.approx(line.scores)
    turned = cross_validate_path(model, X, y, params=dict(reversed(params.items())), n_splits=2)
    # from other starts
    assert turned.scores == pytest.approx(found.scores.transpose(0, 2, 1), abs=5e-3)
    assert found.val_score[choose(found)] == pytest.approx(found.val_score.max())


def test_what_cannot_be_scored_or_crossed_is_refused(table):
    X, y, X_val, y_val = table
    model, numbers = LpMKLClassifier(kernels=KERNELS), LpMKLRegressor(kernels=KERNELS)

    def scored_by(scoring):
        return lambda: fit_path(model, X, y > 0, "C", [1.0], X_val, y_val > 0, scoring=scoring)

    def crossed(**asked):
        return lambda: cross_validate_path(numbers, X, y, **asked)

    refused(
        (scored_by("acuracy"), "a scorer of scikit-learn or its name; got 'acuracy'"),
        (scored_by(3), "a scorer of scikit-learn or its name"),
        (scored_by("neg_log_loss"), "cannot judge"),
        (
            lambda: fit_path(LpMKLOneClass(), X, None, "C", [1.0], scoring="accuracy"),
            "Without a target",
        ),
        (crossed(), "param and values, or one or two in params"),
        (crossed(params={"C": [1], "p": [1], "lam": [1]}), "one or two in params"),
        (crossed(params={"tau": [1], "C": [1]}), "A path runs over one of C, lam, p, s; got 'tau'"),
        (crossed(param="C", values=[1.0], cv=[(np.arange(40), np.arange(40, 80))]), "at least two"),
    )


# The same rows, with the errors of gaps between models, against what is known of means and of R2


RNG = default_rng(0)


def classes(n=400):
    X = RNG.normal(size=(n, 2))
    return X, (X[:, 0] + RNG.normal(size=n) > 0).astype(int)


def test_errors_of_shares_of_rows_are_those_of_means():
    X, y = classes()
    first, second = (predictions(LogisticRegression().fit(X[:, [j]], y), X[:, [j]]) for j in (0, 1))
    right = [np.asarray(one.answers == y, dtype=float) for one in (first, second)]
    ours, other = compare_scores([first, second], y, "accuracy")
    assert (ours.score, ours.gap) == (pytest.approx(right[0].mean()), 0.0)
    assert ours.error == pytest.approx(right[0].std() / np.sqrt(y.size), rel=0.3)
    assert other.gap == pytest.approx((right[0] - right[1]).mean())
    assert other.gap_error == pytest.approx((right[0] - right[1]).std() / np.sqrt(y.size), rel=0.3)
    assert other.place == "ahead"


def test_intervals_of_r2_cover_the_gap_on_new_rows():
    def rows(n):
        X = RNG.normal(size=(n, 2))
        return X, X[:, 0] + 0.5 * X[:, 1] + RNG.normal(size=n)

    models = [LinearRegression().fit(*(lambda X, y: (X[:, :k], y))(*rows(500))) for k in (1, 2)]
    X, y = rows(200_000)
    truth = r2_score(y, models[0].predict(X[:, :1])) - r2_score(y, models[1].predict(X))
    covered = []
    for _ in range(40):
        X, y = rows(200)
        found = compare_scores(
            [predictions(models[0], X[:, :1]), predictions(models[1], X)], y, "r2"
        )[1]
        covered.append(abs(found.gap - truth) <= 2 * found.gap_error)
    assert 0.88 <= np.mean(covered) <= 1.0


def test_equal_models_are_level_few_rows_have_no_error_and_ranks_go_by_decisions():
    X, y = classes(60)
    said = predictions(LogisticRegression().fit(X, y), X)
    _, same = compare_scores([said, said], y, "balanced_accuracy")
    assert (same.gap, same.gap_error, same.place) == (0.0, 0.0, "same")
    few = compare_scores([said.take(np.arange(10))], y[:10], "accuracy")[0]
    assert np.isnan(few.error)
    assert few.place == "same"
    assert PairedScore(0.8, 0.01, -0.1, 0.02).place == "behind"
    ours, other = compare_scores(
        [said, Predictions(said.model, -said.decision, said.answers)], y, "roc_auc"
    )
    assert other.score == pytest.approx(1.0 - ours.score)
    assert other.gap_error == pytest.approx(2 * ours.error)
    with data_error("one answer for each"):
        compare_scores([said], y[:GROUPS], "accuracy")
