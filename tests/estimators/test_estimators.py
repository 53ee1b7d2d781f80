"""Estimators: scikit-learn's conventions, stacks as well as tables, one-vs-rest, refusals with a
message.
"""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

import mklcore as mkl
from mklcore import (
    RBF,
    AlignedMKLClassifier,
    AlignedMKLRegressor,
    BestKernelClassifier,
    BestKernelRegressor,
    DataError,
    GOMPClassifier,
    GOMPRegressor,
    GreedyMKLClassifier,
    GreedyMKLRegressor,
    HKLClassifier,
    HKLRegressor,
    JointMKLClassifier,
    JointMKLRegressor,
    KernelDictionary,
    KernelError,
    Linear,
    LpMKLClassifier,
    LpMKLOneClass,
    LpMKLRegressor,
    NotConvergedWarning,
    SMKLClassifier,
    SMKLRegressor,
    UniformMKLClassifier,
    UniformMKLRegressor,
)
from mklcore.io.catalog import EVERY_TASK
from mklcore.problem.driver import Status
from tests.helpers.every import every
from tests.helpers.models import decided
from tests.helpers.refusals import parameter_error, refused
from tests.io.test_notebooks import shown

CLASSIFIERS = [LpMKLClassifier, GOMPClassifier, UniformMKLClassifier]
REGRESSORS = [LpMKLRegressor, GOMPRegressor, UniformMKLRegressor]
ALL = CLASSIFIERS + REGRESSORS
EVERY_KIND = [
    *(kind() for kind in ALL),
    BestKernelClassifier(), BestKernelRegressor(), AlignedMKLClassifier(), AlignedMKLRegressor(),
    JointMKLClassifier(), JointMKLRegressor(), SMKLClassifier(C=5.0), SMKLRegressor(C=5.0),
    GreedyMKLClassifier(), GreedyMKLRegressor(), GreedyMKLClassifier("empirical"),
    GreedyMKLRegressor("empirical"),
]  # fmt: skip


@every("asked", EVERY_KIND)
def test_every_estimator_answers_by_what_it_publishes_on_tables_and_on_stacks(asked, table):
    X = table[0]
    y = table[1 if is_classifier(asked) else 2]
    kernels = KernelDictionary.rbf_grid([0.5, 1.0, 2.0]) + KernelDictionary.per_feature(Linear(), 4)
    stack = kernels.grams(X[:50], normalise=asked.default_normalise)
    blocks = stack.cross(X[50:])
    model = clone(asked).set_params(kernels=kernels).fit(X[:50], y[:50])
    on_array = clone(asked).set_params(kernels="precomputed").fit(stack.values, y[:50])
    assert on_array.weights_ == pytest.approx(model.weights_)
    duals = np.squeeze(model.dual_coef_)
    # one function per kernel
    if not isinstance(model, (GreedyMKLClassifier, GreedyMKLRegressor)):
        duals = model.weights_[:, None] * duals
    expected = np.einsum("mij,mj->i", blocks, duals) + model.intercept_
    for one, rows in ((model, X[50:]), (on_array, blocks)):
        found = decided(one, rows)
        assert found == pytest.approx(expected)
        if is_classifier(asked):
            assert np.array_equal(one.predict(rows) == one.classes_[1], found > 0)
        assert one.score(rows, y[50:]) == pytest.approx(model.score(X[50:], y[50:]))
    assert len(model.kernel_names_) == model.weights_.size == len(kernels)
    assert np.all(model.weights_ >= 0)
    assert set(np.flatnonzero(model.weights_)) <= set(model.selected_)
    assert model.n_kernels_ == np.count_nonzero(model.weights_) > 0
    assert model.status_.ok
    assert model.n_iter_ <= len(model.history_)
    if model.dual_gap_ is not None:
        assert model.dual_gap_ == pytest.approx(model.objective_ - model.dual_objective_)
        assert model.dual_gap_ >= 0
    assert all(name in model._repr_html_() for name in (type(asked).__name__, "kernels used"))


@every("asked", EVERY_KIND)
def test_the_order_of_the_kernels_changes_nothing(asked, table):
    X = table[0]
    y = table[1 if is_classifier(asked) else 2]
    stack = (
        KernelDictionary.per_feature((RBF(1.0), Linear()), 4)
        .grams(X, asked.default_normalise)
        .values
    )
    order = np.random.default_rng(0).permutation(len(stack))
    sharp = {
        name: value
        for name, value in (("tol", 1e-8), ("max_iter", 3000))
        if name in asked.get_params()
    }
    model, mixed = (
        clone(asked).set_params(kernels="precomputed", **sharp).fit(np.ascontiguousarray(K), y)
        for K in (stack, stack[order])
    )
    assert mixed.weights_ == pytest.approx(model.weights_[order], abs=1e-3 * model.weights_.max())
    assert decided(mixed, stack[order]) == pytest.approx(decided(model, stack), abs=1e-3)


GAP = r"raise max_iter or tol.*Relative gap reached"
STOPPED = [
    (LpMKLClassifier(p=1.0, tol=1e-9, max_iter=1), GAP + ".*tolerance asked 1e-09"),
    (GreedyMKLRegressor(lam=1e-3, tol=1e-9, max_iter=1), GAP),
    (
        SMKLClassifier(C=5.0, max_iter=1),
        r"raise max_iter or tol.*Relative change of the weights reached",
    ),
    (JointMKLRegressor(p=1.2, callback=lambda record: True), "cancelled"),
    (HKLRegressor(lam=1e-4, callback=lambda record: True), "cancelled before the tolerance"),
]


@every("model, words", STOPPED)
def test_stopping_early_warns_with_what_was_reached_and_what_to_change(model, words, table):
    with pytest.warns(NotConvergedWarning, match=words):
        model.fit(table[0], table[1 if is_classifier(model) else 2])
    assert model.status_ is Status.CANCELLED if model.callback else model.status_ is Status.MAX_ITER


@every("cls", CLASSIFIERS)
def test_more_than_two_classes(cls):
    X, y = load_iris(return_X_y=True)
    model = cls(kernels=KernelDictionary.per_feature(RBF(1.0, relative=True), 4)).fit(X, y)
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, y) > 0.9
    if cls is GOMPClassifier:  # the classes share their kernels
        assert (model.weights_.shape, model.dual_coef_.shape) == ((4,), (150, 3))
    else:
        assert (model.weights_.shape, model.dual_coef_.shape) == ((3, 4), (3, 150))
        assert model.weights_[1] == pytest.approx(clone(model).fit(X, y == 1).weights_, abs=1e-9)


@every("algorithm", mkl.io.catalog.ESTIMATORS.values())
@every("task", EVERY_TASK)
def test_registry_entries_fit_with_their_own_defaults_and_show_their_certificate(algorithm, task):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((45, 3))
    y = {
        "binary": X[:, 0] > 0,
        "multiclass": np.digitize(X[:, 0], [-0.5, 0.5]),
        "regression": X[:, 0],
    }[task]
    defaults = {c.name: c.default for c in algorithm.controls if task in c.tasks}
    model = algorithm.estimator(task, **defaults).fit(X, y)
    assert model.score(X, y) > 0.7
    text = shown(model)
    assert type(model).__name__ in text
    assert ("no certificate" in text) == (model.relative_gap_ is None)
    assert ("of the optimum" in text) == (model.relative_gap_ is not None)
    for fit in model.fit_ if isinstance(model.fit_, tuple) else (model.fit_,):
        assert ("no certificate" in shown(fit)) == (fit.relative_gap is None)
    assert all(c.help and c.label for c in algorithm.controls)
    for path in algorithm.paths:
        assert path.attribute in model.get_params()


CLASSES = {type(model): clone(model) for model in [*EVERY_KIND, HKLClassifier(), HKLRegressor()]}
NUMBERS = {
    "C": (0, -1.0, np.inf), "lam": (0,), "tol": (-1.0,), "max_iter": (0, 1.5), "n_kernels": (0, True),
    "n_starts": (0, True), "depth_weight": (0,), "root_weight": (np.inf,), "memory_mb": ("much",), "max_seconds": (0,),
    "max_nodes": (0,),
}  # fmt: skip


@every("name, value", [(name, value) for name, values in NUMBERS.items() for value in values])
def test_a_number_that_a_parameter_cannot_be_is_refused_by_every_estimator_that_has_it(
    name, value, table
):
    having = [model for model in CLASSES.values() if name in model.get_params()]
    assert having
    for model in having:
        with parameter_error(f"{name} must be"):
            clone(model).set_params(**{name: value}).fit(
                table[0], table[1 if is_classifier(model) else 2]
            )


@every("cls, asked, words", [
    (LpMKLClassifier, {"p": 0.9}, "must be 1 or more"),
    (LpMKLClassifier, {"loss": "huber"}, "loss must be one of hinge, logistic, squared"),
    (LpMKLClassifier, {"solver": "magic"}, "solver must be one of auto"),
    *((LpMKLClassifier, {"kernels": none}, 'must be None, a KernelDictionary') for none in ("rbf", 3)),
    *((GOMPClassifier, {"score_tol": none}, "score_tol is a share") for none in (-1, np.nan)),
    (GOMPClassifier, {"loss": "epsilon_insensitive"}, "loss must be"),
    (GOMPClassifier, {"loss": "hinge", "fit_intercept": True}, 'use fit_intercept=False with loss="hinge"'),
    (GOMPClassifier, {"n_candidates": 0}, "n_candidates must be a whole number"),
    (GreedyMKLRegressor, {"criterion": "magic"}, "criterion must be one of functional, empirical; got 'magic'"),
    (GreedyMKLRegressor, {"step": "long"}, "step must be one of unit, linesearch"),
    (SMKLClassifier, {"loss": "epsilon_insensitive"}, "loss must be one of hinge, logistic, squared, squared"),
    (SMKLRegressor, {"loss": "hinge"}, "loss must be one of squared, epsilon_insensitive, huber, pinball here"),
    *((cls, {"loss": "epsilon_insensitive", "epsilon": -1}, "half-width of the tube")
      for cls in (LpMKLRegressor, SMKLRegressor)),
    (SMKLClassifier, {"tol_mode": "loose"}, "tol_mode must be one of relative, absolute"),
    (SMKLClassifier, {"init_jitter": 1.0}, "init_jitter is a share of the first weights"),
    (SMKLClassifier, {"eta": (1.0, 2.0)}, "eta holds 2 group weights, but there are"),
    (SMKLClassifier, {"log_epsilon": 0.0}, "log_epsilon is the floor"),
    (HKLClassifier, {"loss": "huber"}, "loss must be one of hinge, logistic, squared here"),
    (HKLClassifier, {"search": "quick"}, "search must be one of certified, printed, necessary"),
    (BestKernelClassifier, {"select": "luck"}, "select must be one of objective, folds"),
    (AlignedMKLClassifier, {"rule": "luck"}, "rule must be one of aligned, margin"),
    (AlignedMKLClassifier, {"rule": "margin", "mix": 1.0}, "from 0 to below 1"),
])  # fmt: skip
def test_bad_parameters_are_refused(cls, asked, words, table):
    model = cls(**asked)
    with parameter_error(words):
        model.fit(table[0], table[1 if is_classifier(model) else 2])


def test_bad_targets_and_stacks_are_refused(table):
    X, labels, target = table
    K = KernelDictionary.rbf_grid([1.0]).grams(X).values
    plain, numbers = LpMKLClassifier(), LpMKLRegressor()
    ready = LpMKLClassifier(kernels="precomputed")
    refused(
        (lambda: plain.fit(X, np.zeros(len(X), dtype=int)), "one class only"),
        (lambda: numbers.fit(X, np.where(target > 0, target, np.nan)), "NaN or infinite"),
        (lambda: numbers.fit(X, labels), "Unknown label type"),
        (lambda: ready.fit(K, labels[:-1]), "must be the same rows"),
        (lambda: ready.fit(X, labels), "splitters cannot cut stacks"),
        (lambda: ready.fit(K - 2.0 * np.eye(len(X)), labels), "smallest eigenvalue"),
        (
            lambda: ready.fit(K, labels).predict(K[:, :, :-1]),
            r"Test blocks must be \(M, n_new, n\)",
        ),
    )


@every("y", [np.array([0, 1] * 3), np.array([0] * 5 + [1])])
@every("cls", [*ALL, LpMKLOneClass])
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_who_cuts_a_stack_like_a_table_is_reported_the_ways_that_work(cls, y, table):
    """scikit-learn cuts the first axis, which counts kernels: by luck of the sizes it comes as far
    as the estimator.
    """
    stack = KernelDictionary.rbf_widths([1.0, 1.5, 2.0, 2.5, 3.0, 3.5]).grams(table[0][:6])
    ways = "scikit-learn's splitters cannot cut stacks: use mklcore.cross_val"
    model = cls(kernels="precomputed")
    for error, call, words in (
        (KernelError, lambda: cross_val_score(model, stack.values, y, cv=3, error_score="raise"),
         f"square matrices .*belong to predict, not to fit. {ways}"),
        (KernelError, lambda: cross_val_score(model, stack, y, cv=3), f"is no table. {ways}"),
        (KernelError, lambda: model.fit(stack.values[:, :4], y[:4]), ways),
        (DataError, lambda: model.fit(stack, y[5:]), r"6 training rows and (the target|y) has 1"),
        # without a target four kernels would be fitted, and a share of rows told about two others
        (ValueError, lambda: cross_val_score(LpMKLOneClass(kernels="precomputed"), stack.values[:4], cv=2),
         "square kernel matrix"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()
