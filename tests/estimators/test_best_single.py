"""The best single kernel: conventions, what "best" means, its place beside the weighted sums."""

import numpy as np
import pytest

from mklcore import (
    BestKernelClassifier,
    BestKernelRegressor,
    KernelDictionary,
    Linear,
    UniformMKLClassifier,
    UniformMKLRegressor,
)
from tests.helpers.every import every
from tests.helpers.models import decided

KERNELS = KernelDictionary.rbf_grid([0.5, 1.0, 2.0]) + KernelDictionary.per_feature(Linear(), 4)


PAIRS = (
    (BestKernelClassifier, UniformMKLClassifier),
    (BestKernelRegressor, UniformMKLRegressor),
)


@every("task", ["binary", "multiclass", "regression"])
def test_it_is_the_machine_on_the_kernel_with_the_lowest_objective_for_all_classes(task, table):
    X, y, score = table
    y = {"binary": y, "multiclass": np.digitize(X[:, 0], [-0.5, 0.5]), "regression": score}[task]
    best, plain = PAIRS[task == "regression"]
    stack = KERNELS.grams(X).values
    settings = {"C": 2.0, "tol": 1e-8}
    model = best(kernels=KERNELS, **settings).fit(X, y)
    alone = [plain(kernels="precomputed", **settings).fit(K[None], y) for K in stack]
    sums = np.array([np.sum(one.objective_) for one in alone])
    place = model.best_kernel_
    assert place == np.argmin(sums) == np.argmin(model.single_objectives_)
    assert np.sum(model.objective_) == pytest.approx(sums.min(), rel=1e-6)
    assert np.all(model.single_objectives_ <= sums * (1 + 1e-6))  # a bound rules the others out
    assert np.array_equal(
        np.unique(np.atleast_2d(model.weights_), axis=0), np.eye(len(KERNELS))[[place]]
    )
    assert model.selected_.tolist() == [place]
    theirs = decided(alone[place], stack[[place]])
    assert decided(model, X) == pytest.approx(theirs, abs=1e-4)
    assert np.all(model.relative_gap_ <= 1e-6)


@every("best, column", [(BestKernelClassifier, 1), (BestKernelRegressor, 2)])
def test_folds_choose_by_score(best, column, table):
    model = best(kernels=KERNELS, select="folds").fit(table[0], table[column])
    assert model.single_scores_.shape == (len(KERNELS),)
    assert model.best_kernel_ == int(np.argmax(model.single_scores_))


def test_one_class_is_enough_to_rule_a_kernel_out(table, monkeypatch):
    machines = []
    plain = BestKernelClassifier._alone
    monkeypatch.setattr(
        BestKernelClassifier, "_alone", lambda *given: machines.append(1) or plain(*given)
    )
    BestKernelClassifier(kernels=KERNELS, C=10.0, tol=1e-6).fit(
        table[0], np.digitize(table[0][:, 0], [-0.5, 0.5])
    )
    assert 3 <= len(machines) < 6


@every("cls", [BestKernelClassifier, BestKernelRegressor])
def test_inner_folds_weigh_rows_and_leave_out_those_of_weight_zero(cls):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 2))
    weights = np.repeat([1.0, 0.02], [40, 40])
    y = np.where(weights == 1.0, X[:, 0], X[:, 1]) + np.where(
        weights == 1.0, 0.3, 0.05
    ) * rng.standard_normal(80)
    y = y > 0 if cls is BestKernelClassifier else y
    kernels = KernelDictionary.per_feature(Linear(), 2)
    for given, best in ((None, 1), (weights, 0)):
        assert (
            cls(kernels=kernels, select="folds").fit(X, y, sample_weight=given).best_kernel_ == best
        )
    # rows of weight zero are in no fold: as if the others were all there is
    some = weights * (np.arange(80) % 2)
    stack = kernels.grams(X)
    rows = np.flatnonzero(some)
    ready = cls(kernels="precomputed", select="folds")
    whole = ready.fit(stack, y, sample_weight=some).single_scores_
    fewer = ready.fit(stack.take(rows), y[rows], sample_weight=some[rows]).single_scores_
    assert whole == pytest.approx(fewer, rel=1e-9)
