"""Estimators: scikit-learn's conventions, stacks as well as tables, one-vs-rest, refusals with a message."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import mklcore as mkl
from mklcore.errors import DataError, KernelError, NotConvergedWarning, ParameterError
from mklcore.io.catalog import EVERY_TASK
from mklcore.problem.driver import Status
from tests.helpers.every import every

CLASSIFIERS = [mkl.LpMKLClassifier, mkl.GOMPClassifier, mkl.UniformMKLClassifier]
REGRESSORS = [mkl.LpMKLRegressor, mkl.GOMPRegressor, mkl.UniformMKLRegressor]
ALL = CLASSIFIERS + REGRESSORS
EVERY_KIND = [
    *(kind() for kind in ALL),
    mkl.BestKernelClassifier(), mkl.BestKernelRegressor(), mkl.AlignedMKLClassifier(), mkl.AlignedMKLRegressor(),
    mkl.JointMKLClassifier(), mkl.JointMKLRegressor(), mkl.SMKLClassifier(C=5.0), mkl.SMKLRegressor(C=5.0),
    mkl.GreedyMKLClassifier(), mkl.GreedyMKLRegressor(), mkl.GreedyMKLClassifier("empirical"),
    mkl.GreedyMKLRegressor("empirical"),
]  # fmt: skip


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((70, 4))
    score = X[:, 0] - X[:, 1] ** 2 + 0.7 + 0.3 * rng.standard_normal(70)
    return X, np.where(score > 0, "yes", "no"), score


def _target(cls, table):
    return table[1] if cls in CLASSIFIERS else table[2]


@every("asked", EVERY_KIND)
def test_every_estimator_answers_by_what_it_publishes_on_tables_and_on_stacks(asked, table):
    X, y = table[0], table[1 if is_classifier(asked) else 2]
    kernels = mkl.KernelDictionary.rbf_grid([0.5, 1.0, 2.0]) + mkl.KernelDictionary.per_feature(mkl.Linear(), 4)
    stack = kernels.grams(X[:50], normalise=asked.default_normalise)
    blocks = stack.cross(X[50:])
    on_table = clone(asked).set_params(kernels=kernels).fit(X[:50], y[:50])
    on_array = clone(asked).set_params(kernels="precomputed").fit(stack.values, y[:50])
    assert on_array.weights_ == pytest.approx(on_table.weights_)
    for model, rows in ((on_table, X[50:]), (on_array, blocks)):
        if isinstance(model, (mkl.GreedyMKLClassifier, mkl.GreedyMKLRegressor)):  # one function per kernel
            expected = np.einsum("mij,mj->i", blocks, model.dual_coef_) + model.intercept_
        else:
            expected = np.tensordot(model.weights_, blocks, 1) @ np.squeeze(model.dual_coef_) + model.intercept_
        found = model.decision_function(rows) if is_classifier(asked) else model.predict(rows)
        assert found == pytest.approx(expected)
        if is_classifier(asked):
            assert np.array_equal(model.predict(rows) == model.classes_[1], found > 0)
        assert model.score(rows, y[50:]) == pytest.approx(on_table.score(X[50:], y[50:]))

    assert len(on_table.kernel_names_) == on_table.weights_.size == len(kernels)
    assert np.all(on_table.weights_ >= 0)
    assert set(np.flatnonzero(on_table.weights_)) <= set(on_table.selected_)
    assert on_table.n_kernels_ == np.count_nonzero(on_table.weights_) > 0
    assert on_table.status_.ok
    assert on_table.n_iter_ <= len(on_table.history_)
    if on_table.dual_gap_ is not None:
        assert on_table.dual_gap_ == pytest.approx(on_table.objective_ - on_table.dual_objective_)
        assert on_table.dual_gap_ >= 0
    assert all(name in on_table._repr_html_() for name in (type(asked).__name__, "kernels used"))


@every("asked", EVERY_KIND)
def test_the_order_of_the_kernels_changes_nothing(asked, table):
    X, y = table[0], table[1 if is_classifier(asked) else 2]
    stack = mkl.KernelDictionary.per_feature((mkl.RBF(1.0), mkl.Linear()), 4).grams(X, asked.default_normalise).values
    order = np.random.default_rng(0).permutation(len(stack))
    sharp = {name: value for name, value in (("tol", 1e-8), ("max_iter", 3000)) if name in asked.get_params()}
    model, mixed = (
        clone(asked).set_params(kernels="precomputed", **sharp).fit(np.ascontiguousarray(K), y)
        for K in (stack, stack[order])
    )
    assert mixed.weights_ == pytest.approx(model.weights_[order], abs=1e-3 * model.weights_.max())
    decide = type(asked).decision_function if is_classifier(asked) else type(asked).predict
    assert decide(mixed, stack[order]) == pytest.approx(decide(model, stack), abs=1e-3)


GAP = r"raise max_iter or tol.*Relative gap reached"
STOPPED = [
    (mkl.LpMKLClassifier(p=1.0, tol=1e-9, max_iter=1), GAP + ".*tolerance asked 1e-09"),
    (mkl.GreedyMKLRegressor(lam=1e-3, tol=1e-9, max_iter=1), GAP),
    (mkl.SMKLClassifier(C=5.0, max_iter=1), r"raise max_iter or tol.*Relative change of the weights reached"),
    (mkl.JointMKLRegressor(p=1.2, callback=lambda record: True), "cancelled"),
    (mkl.HKLRegressor(lam=1e-4, callback=lambda record: True), "cancelled before the tolerance"),
]


@every("model, words", STOPPED)
def test_stopping_early_warns_with_what_was_reached_and_what_to_change(model, words, table):
    with pytest.warns(NotConvergedWarning, match=words):
        model.fit(table[0], table[1 if is_classifier(model) else 2])
    assert model.status_ is Status.CANCELLED if model.callback else model.status_ is Status.MAX_ITER


def test_one_kernel_is_svc_and_kernel_ridge(table):
    X, labels, target = table
    K = mkl.KernelDictionary.rbf_grid([1.0]).grams(X).values
    ours = mkl.LpMKLClassifier(kernels="precomputed", C=2.0, tol=1e-8).fit(K, labels)
    svc = SVC(kernel="precomputed", C=2.0, tol=1e-8).fit(K[0], labels)
    assert ours.decision_function(K) == pytest.approx(svc.decision_function(K[0]), abs=1e-4)
    ridge = mkl.LpMKLRegressor(kernels="precomputed", C=2.0, fit_intercept=False, tol=1e-8).fit(K, target)
    assert ridge.predict(K) == pytest.approx(
        KernelRidge(alpha=0.5, kernel="precomputed").fit(K[0], target).predict(K[0])
    )
    greedy = mkl.GOMPRegressor(kernels="precomputed", lam=0.01, fit_intercept=False).fit(K, target)
    same = KernelRidge(alpha=0.01 * len(target), kernel="precomputed").fit(K[0], target)
    assert greedy.predict(K) == pytest.approx(same.predict(K[0]))


@every("cls", CLASSIFIERS)
def test_more_than_two_classes(cls):
    X, y = load_iris(return_X_y=True)
    model = cls(kernels=mkl.KernelDictionary.per_feature(mkl.RBF(1.0, relative=True), 4)).fit(X, y)
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, y) > 0.9
    if cls is mkl.GOMPClassifier:
        assert model.weights_.shape == (4,)
        assert model.dual_coef_.shape == (150, 3)
    else:
        assert model.weights_.shape == (3, 4)
        assert model.dual_coef_.shape == (3, 150)
        assert model.relative_gap_.shape == (3,)
        alone = clone(model).fit(X, y == 1)
        assert model.weights_[1] == pytest.approx(alone.weights_, abs=1e-9)


@every("algorithm", mkl.io.catalog.ESTIMATORS.values())
@every("task", EVERY_TASK)
def test_registry_entries_fit_with_their_own_defaults(algorithm, task):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((45, 3))
    y = {"binary": X[:, 0] > 0, "multiclass": np.digitize(X[:, 0], [-0.5, 0.5]), "regression": X[:, 0]}[task]
    defaults = {c.name: c.default for c in algorithm.controls if task in c.tasks}
    model = algorithm.estimator(task, **defaults).fit(X, y)
    assert model.score(X, y) > 0.7
    assert all(c.help and c.label for c in algorithm.controls)
    for path in algorithm.paths:
        assert path.attribute in model.get_params()


CLASSES = {type(model): clone(model) for model in [*EVERY_KIND, mkl.HKLClassifier(), mkl.HKLRegressor()]}
NUMBERS = {
    "C": (0, -1.0, np.inf), "lam": (0,), "tol": (-1.0,), "max_iter": (0, 1.5), "n_kernels": (0, True),
    "n_starts": (0, True), "depth_weight": (0,), "root_weight": (np.inf,), "memory_mb": ("much",), "max_seconds": (0,),
    "max_nodes": (0,),
}  # fmt: skip


@every("name, value", [(name, value) for name, values in NUMBERS.items() for value in values])
def test_a_number_that_a_parameter_cannot_be_is_refused_by_every_estimator_that_has_it(name, value, table):
    having = [model for model in CLASSES.values() if name in model.get_params()]
    assert having
    for model in having:
        with pytest.raises(ParameterError, match=f"{name} must be"):
            clone(model).set_params(**{name: value}).fit(table[0], table[1 if is_classifier(model) else 2])


@every(
    "model, words",
    [
        (mkl.LpMKLClassifier(p=0.9), "must be 1 or more"),
        (mkl.LpMKLClassifier(loss="huber"), "loss must be one of hinge, logistic, squared"),
        (mkl.LpMKLClassifier(solver="magic"), "solver must be one of auto"),
        (mkl.LpMKLRegressor(loss="epsilon_insensitive", epsilon=-1), "half-width of the tube"),
        (mkl.LpMKLClassifier(kernels="rbf"), 'a KernelDictionary or "precomputed"'),
        (mkl.LpMKLClassifier(kernels=3), 'a KernelDictionary or "precomputed"'),
        (mkl.GOMPClassifier(score_tol=-1), "score_tol is a share"),
        (mkl.GOMPClassifier(score_tol=np.nan), "score_tol is a share"),
        (mkl.GOMPClassifier(loss="epsilon_insensitive"), "loss must be"),
        (mkl.GOMPClassifier(loss="hinge", fit_intercept=True), 'use fit_intercept=False with loss="hinge"'),
        (mkl.GOMPClassifier(n_candidates=0), "n_candidates must be a whole number"),
        (mkl.GreedyMKLRegressor(criterion="magic"), "criterion must be one of functional, empirical; got 'magic'"),
        (mkl.GreedyMKLRegressor(step="long"), "step must be one of unit, linesearch"),
        (mkl.SMKLClassifier(loss="epsilon_insensitive"), "loss must be one of hinge, logistic, squared, squared_hinge"),
        (mkl.SMKLRegressor(loss="hinge"), "loss must be one of squared, epsilon_insensitive, huber, pinball here"),
        (mkl.SMKLRegressor(loss="epsilon_insensitive", epsilon=-1), "half-width of the tube"),
        (mkl.SMKLClassifier(tol_mode="loose"), "tol_mode must be one of relative, absolute"),
        (mkl.SMKLClassifier(init_jitter=1.0), "init_jitter is a share of the first weights"),
        (mkl.SMKLClassifier(eta=(1.0, 2.0)), "eta holds 2 group weights, but there are"),
        (mkl.SMKLClassifier(log_epsilon=0.0), "log_epsilon is the floor"),
        (mkl.HKLRegressor(loss="hinge"), "loss must be one of squared here; got 'hinge'"),
        (mkl.HKLClassifier(loss="huber"), "loss must be one of hinge, logistic, squared here"),
        (mkl.HKLClassifier(search="quick"), "search must be one of certified, printed, necessary"),
        (mkl.HKLClassifier(basis=3), "basis must be None, one of the bases"),
        (mkl.HKLClassifier(basis="fourier"), "There is no basis called 'fourier'"),
        (mkl.BestKernelClassifier(select="luck"), "select must be one of objective, folds"),
        (mkl.AlignedMKLClassifier("luck"), "rule must be one of aligned, margin"),
        (mkl.AlignedMKLClassifier("margin", mix=1.0), "from 0 to below 1"),
    ],
)
def test_bad_parameters_are_refused(model, words, table):
    with pytest.raises(ParameterError, match=words):
        model.fit(table[0], table[1 if is_classifier(model) else 2])


def test_bad_targets_and_stacks_are_refused(table):
    X, labels, target = table
    K = mkl.KernelDictionary.rbf_grid([1.0]).grams(X).values
    with pytest.raises(DataError, match="one class only"):
        mkl.LpMKLClassifier().fit(X, np.zeros(len(X), dtype=int))
    with pytest.raises(DataError, match="NaN or infinite"):
        mkl.LpMKLRegressor().fit(X, np.where(target > 0, target, np.nan))
    with pytest.raises(DataError, match="Unknown label type"):
        mkl.LpMKLRegressor().fit(X, labels)
    with pytest.raises(DataError, match="must be the same rows"):
        mkl.LpMKLClassifier(kernels="precomputed").fit(K, labels[:-1])
    with pytest.raises(KernelError, match="splitters cannot cut stacks"):
        mkl.LpMKLClassifier(kernels="precomputed").fit(X, labels)
    with pytest.raises(KernelError, match="smallest eigenvalue"):
        mkl.LpMKLClassifier(kernels="precomputed").fit(K - 2.0 * np.eye(len(X)), labels)
    model = mkl.LpMKLClassifier(kernels="precomputed").fit(K, labels)
    with pytest.raises(KernelError, match=r"Test blocks must be \(M, n_new, n\)"):
        model.predict(K[:, :, :-1])


SENTENCE = r"scikit-learn's splitters cannot cut stacks: use mklcore.cross_validate_path"


def six_kernels(table):
    return mkl.KernelDictionary.rbf_widths([1.0, 1.5, 2.0, 2.5, 3.0, 3.5]).grams(table[0][:6])


@every("y", [np.array([0, 1] * 3), np.array([0] * 5 + [1])])
@every("cls", [*ALL, mkl.LpMKLOneClass])
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_who_cuts_a_stack_like_a_table_is_reported_the_ways_that_work(cls, y, table):
    """scikit-learn cuts the first axis, which counts kernels: by luck of the sizes it comes as far as the estimator."""
    stack, model = six_kernels(table), cls(kernels="precomputed")
    with pytest.raises(KernelError, match=rf"square matrices .*belong to predict, not to fit. {SENTENCE}"):
        cross_val_score(model, stack.values, y, cv=3, error_score="raise")
    with pytest.raises(KernelError, match=f"is no table. {SENTENCE}"):
        cross_val_score(model, stack, y, cv=3)
    with pytest.raises(KernelError, match=SENTENCE):
        model.fit(stack.values[:, :4], y[:4])
    with pytest.raises(DataError, match=r"6 training rows and (the target|y) has 1"):
        model.fit(stack, y[5:])


def test_kernels_are_never_scored_as_rows(table):
    """Without a target scikit-learn would fit on four kernels, predict with two others, and tell a share of rows."""
    model = mkl.LpMKLOneClass(kernels="precomputed")
    with pytest.raises(ValueError, match="square kernel matrix"):
        cross_val_score(model, six_kernels(table).values[:4], cv=2)
