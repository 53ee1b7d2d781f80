"""Plain models beside a score, and grids that go on: each is scikit-learn's own fit, chosen by the validation score
alone.
"""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

import mklcore as mkl
from mklcore.data.dataset import Dataset
from mklcore.errors import ParameterError
from mklcore.paths.path import joined, turned
from mklcore.selection.references import best_single_kernel, plain_references

KERNELS = mkl.KernelDictionary.rbf_widths([0.02, 1.5]) + mkl.KernelDictionary((mkl.Linear(),))

pytestmark = pytest.mark.settling


def numbers(n: int = 90, noise: float = 0.01, seed: int = 0) -> mkl.Dataset:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return mkl.Dataset(X, X @ [1.0, -2.0, 0.5] + noise * rng.standard_normal(n), task="regression")


def test_plain_models_are_chosen_on_validation_rows():
    train, judge = mkl.load_sample("iris").split(0.4, seed=0)
    seen = []
    found = {
        one.name: one
        for one in plain_references(train, judge, "balanced_accuracy", lambda *reported: seen.append(reported))
    }
    assert list(found) == ["majority", "linear", "RBF", "forest", "boosting"]
    assert found["majority"].score == pytest.approx(1 / 3)
    for one in found.values():
        assert one.score == pytest.approx(balanced_accuracy_score(judge.y, one.model.predict(judge.X)))
    assert seen == [(k, 5) for k in range(1, 6)]
    assert found["boosting"].error == pytest.approx(
        np.std([found["boosting"].model.score(judge.X[k::8], judge.y[k::8]) for k in range(8)], ddof=1) / np.sqrt(8)
    ) or np.isnan(found["boosting"].error)


def test_a_plain_grid_goes_on_while_its_last_point_is_the_best():
    train, judge = numbers(60, noise=0.0).split(0.4, seed=0)
    straight = plain_references(train, judge)[1]
    assert straight.score == pytest.approx(1.0, abs=1e-4)
    assert plain_references(train, judge)[0].score <= 0.0
    assert float(straight.chosen.removeprefix("1/alpha = ")) <= 1e7


def test_the_best_single_kernel_is_that_of_the_best_validation_score():
    train, judge = numbers(noise=0.3).split(0.4, seed=0)
    stack = KERNELS.grams(train.X)
    blocks = stack.cross(judge.X)
    found = best_single_kernel(mkl.UniformMKLRegressor(kernels=KERNELS), stack, train.y, blocks, judge.y)
    assert found.chosen.startswith(stack.names[2])  # by its objective the narrow kernel wins, which fits every row
    narrow = mkl.BestKernelRegressor(kernels=KERNELS, C=1e4).fit(train.X, train.y)
    assert narrow.best_kernel_ == 0
    assert found.score > 0.9 > narrow.score(judge.X, judge.y)
    assert found.model.score(judge.X, judge.y) == pytest.approx(found.score)


def test_without_a_target_there_are_none():
    table = mkl.load_sample("ring")
    with pytest.raises(ParameterError, match="nothing to compare with"):
        plain_references(table, table)


def test_a_path_goes_on_until_its_best_point_lies_inside():
    train, judge = numbers(noise=0.3).split(0.4, seed=0)
    model, short = mkl.UniformMKLRegressor(kernels=KERNELS), [1e-4, 1e-3, 1e-2]
    start = mkl.fit_path(model, train.X, train.y, "C", short, judge.X, judge.y)
    assert start.at_edge == -1
    seen = []
    whole = mkl.fit_path(
        model, train.X, train.y, "C", short, judge.X, judge.y, grow=9, callback=lambda *k: seen.append(k)
    )
    assert whole.at_edge is None
    assert len(whole) > 3
    assert whole.val_score.max() > start.val_score.max() + 0.3
    assert whole.val_score.max() == pytest.approx(whole.val_score[-2], abs=1e-3)  # it has settled
    assert whole.values[1:] / whole.values[:-1] == pytest.approx(10)
    assert seen[-1] == (len(whole), len(whole))
    cold = model.copy_with("C", float(whole.values[4])).fit(train.X, train.y)
    assert whole.val_score[4] == pytest.approx(cold.score(judge.X, judge.y), abs=1e-6)
    held = mkl.fit_path(model, train.X, train.y, "C", short[:3], judge.X, judge.y, grow=1)
    assert len(held) == 4
    assert held.at_edge == -1


def test_a_path_goes_on_below_its_first_point_and_keeps_its_order():
    train, judge = numbers(noise=0.01).split(0.4, seed=0)
    model = mkl.GOMPRegressor(kernels=KERNELS, n_kernels=3)
    path = mkl.fit_path(model, train.X, train.y, "lam", [1.0, 10.0, 100.0], judge.X, judge.y, grow=3)
    assert path.values == pytest.approx([1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0])
    assert np.all(np.diff(path.train_score) < 1e-9)
    again = joined([turned(path), path])
    assert again.values[:6] == pytest.approx(path.values[::-1])
    assert again.estimators[0] is path.estimators[-1]


@pytest.mark.parametrize("param", ["p", "s"])
def test_other_parameters_have_no_edge(param):
    train, judge = numbers(40).split(0.4, seed=0)
    model = mkl.LpMKLRegressor(kernels=KERNELS) if param == "p" else mkl.GOMPRegressor(kernels=KERNELS)
    path = mkl.fit_path(model, train.X, train.y, param, [1, 2, 3], judge.X, judge.y, grow=5)
    assert len(path) == 3
    assert path.at_edge is None


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_a_machine_without_end_stops_at_its_bound_and_warns_nobody(task, monkeypatch):
    monkeypatch.setattr("mklcore.selection.references.MOST_STEPS", 20)
    rng = np.random.default_rng(0)
    y = rng.normal(size=80) if task == "regression" else rng.integers(2, size=80)
    train, judge = Dataset(rng.normal(size=(80, 2)), y, task=task).split(0.25)
    (found,) = plain_references(train, judge, only=("RBF",))
    assert np.isfinite(found.score)
