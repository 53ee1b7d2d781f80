"""The best single kernel: conventions, what "best" means, its place beside the weighted sums."""

import numpy as np
import pytest

import mklcore as mkl
from tests.helpers.every import every

BOTH = [mkl.BestKernelClassifier, mkl.BestKernelRegressor]
KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 1.0, 2.0]) + mkl.KernelDictionary.per_feature(mkl.Linear(), 4)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    score = X[:, 0] - X[:, 1] ** 2 + 0.7 + 0.3 * rng.standard_normal(80)
    return X, np.where(score > 0, "yes", "no"), score


@every("cls", BOTH)
def test_it_is_the_machine_on_the_kernel_with_the_lowest_objective(cls, table):
    X, y = table[0], table[1] if cls is mkl.BestKernelClassifier else table[2]
    model = cls(kernels=KERNELS, C=2.0, tol=1e-8).fit(X, y)
    stack = KERNELS.grams(X)
    plain = mkl.UniformMKLClassifier if cls is mkl.BestKernelClassifier else mkl.UniformMKLRegressor
    alone = [plain(kernels="precomputed", C=2.0, tol=1e-8).fit(stack.values[m : m + 1], y) for m in range(len(KERNELS))]
    objectives = [one.objective_ for one in alone]
    assert model.best_kernel_ == int(np.argmin(objectives))
    assert model.single_objectives_[model.best_kernel_] == pytest.approx(min(objectives), rel=1e-6)
    assert np.all(model.single_objectives_ <= np.array(objectives) * (1 + 1e-6))  # a bound rules the others out
    assert np.argmin(model.single_objectives_) == model.best_kernel_
    assert model.weights_.tolist() == np.eye(len(KERNELS))[model.best_kernel_].tolist()
    assert model.selected_.tolist() == [model.best_kernel_]
    best = alone[model.best_kernel_]
    said = "decision_function" if hasattr(model, "classes_") else "predict"
    assert getattr(model, said)(X) == pytest.approx(getattr(best, said)(stack.values[[model.best_kernel_]]), abs=1e-4)
    assert model.relative_gap_ <= 1e-6


@every("loss", ["hinge", "logistic", "squared"])
def test_no_single_kernel_is_better_than_the_sparse_mixture(loss, table):
    X, y, _ = table
    single = mkl.BestKernelClassifier(kernels=KERNELS, loss=loss, tol=1e-6).fit(X, y)
    mixture = mkl.LpMKLClassifier(kernels=KERNELS, loss=loss, p=1.0, tol=1e-4).fit(X, y)
    assert mixture.dual_objective_ <= single.objective_ * (1 + 1e-9)


def test_folds_choose_by_score_and_stay_with_the_training_rows(table):
    X, y, score = table
    model = mkl.BestKernelClassifier(kernels=KERNELS, select="folds").fit(X, y)
    assert model.single_scores_.shape == (len(KERNELS),)
    assert model.best_kernel_ == int(np.argmax(model.single_scores_))
    assert mkl.BestKernelClassifier(kernels=KERNELS).fit(X, y).single_scores_ is None
    other = mkl.BestKernelRegressor(kernels=KERNELS, select="folds").fit(X, score)
    assert other.best_kernel_ == int(np.argmax(other.single_scores_))


def test_one_kernel_serves_every_class(table, monkeypatch):
    X, machines = table[0], []
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    plain = mkl.BestKernelClassifier._alone
    monkeypatch.setattr(mkl.BestKernelClassifier, "_alone", lambda *given: machines.append(1) or plain(*given))
    model = mkl.BestKernelClassifier(kernels=KERNELS, C=10.0, tol=1e-6).fit(X, y)
    assert 3 <= len(machines) < 6  # one class is enough to rule a kernel out
    stack = KERNELS.grams(X).values
    alone = [mkl.BestKernelClassifier(kernels="precomputed", C=10.0, tol=1e-6).fit(K[None], y) for K in stack]
    sums = np.array([np.sum(one.objective_) for one in alone])
    assert model.best_kernel_ == np.argmin(sums)
    assert np.all(model.single_objectives_ <= sums * (1 + 1e-5))
    assert model.weights_.shape == (3, len(KERNELS))
    assert set(np.argmax(model.weights_, axis=1)) == {model.best_kernel_}
    assert np.sum(model.objective_) == pytest.approx(model.single_objectives_[model.best_kernel_])


@every("cls", BOTH)
def test_inner_folds_weigh_rows_and_leave_out_those_of_weight_zero(cls):
    rng = np.random.default_rng(1)
    X, weights = rng.standard_normal((80, 2)), np.repeat([1.0, 0.02], [40, 40])
    target = np.where(weights == 1.0, X[:, 0], X[:, 1]) + np.where(weights == 1.0, 0.3, 0.05) * rng.standard_normal(80)
    y = target > 0 if cls is mkl.BestKernelClassifier else target
    kernels = mkl.KernelDictionary.per_feature(mkl.Linear(), 2)
    plain = cls(kernels=kernels, select="folds").fit(X, y)
    weighted = cls(kernels=kernels, select="folds").fit(X, y, sample_weight=weights)
    assert (plain.best_kernel_, weighted.best_kernel_) == (1, 0)

    some = weights * (np.arange(80) % 2)  # rows of weight zero are in no fold: as if the others were all there is
    stack, rows = kernels.grams(X), np.flatnonzero(some)
    whole = cls(kernels="precomputed", select="folds").fit(stack, y, sample_weight=some)
    fewer = cls(kernels="precomputed", select="folds").fit(stack.take(rows), y[rows], sample_weight=some[rows])
    assert whole.single_scores_ == pytest.approx(fewer.single_scores_, rel=1e-9)


@pytest.mark.parametrize("cls", BOTH)
def test_a_path_keeps_the_kernels_that_fits_alone_keep(cls, table):
    X, y = table[0], table[1] if cls is mkl.BestKernelClassifier else table[2]
    values = [0.01, 0.1, 1.0, 10.0]
    path = mkl.fit_path(cls(kernels=KERNELS, tol=1e-8), X, y, "C", values)
    alone = [cls(kernels=KERNELS, C=C, tol=1e-8).fit(X, y) for C in values]
    assert [point.best_kernel_ for point in path.estimators] == [one.best_kernel_ for one in alone]
    assert path.objective == pytest.approx([one.objective_ for one in alone], rel=1e-6)
