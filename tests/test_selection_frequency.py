"""How often each kernel is chosen on halves of the rows: seeded, honest about its counts, refused with a message."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedShuffleSplit

import mklcore as mkl
from mklcore.errors import DataError, ParameterError
from tests.every import every

KERNELS = mkl.KernelDictionary.per_feature(mkl.Linear(), 5)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 5))
    return X, np.where(X[:, 0] + 0.4 * rng.standard_normal(90) > 0, "b", "a"), X[:, 0] + 0.2 * rng.standard_normal(90)


def test_a_strong_column_is_always_chosen_and_noise_is_not(table):
    X, y, _ = table
    found = mkl.selection.selection_frequency(mkl.LpMKLClassifier(kernels=KERNELS, C=0.02), X, y, n_resamples=10)
    assert found.used.shape == (10, 5)
    assert found.kernel_names == mkl.LpMKLClassifier(kernels=KERNELS).fit(X, y).kernel_names_
    assert found.share[0] == 1.0
    assert found.share[1:].max() < 1.0
    assert found.n_used.tolist() == found.used.sum(axis=1).tolist()
    assert found.of_any([0, 3]) == 1.0
    assert found.of_any([]) == 0.0
    assert "10 resamples" in found._repr_html_()


def test_it_is_the_same_for_a_table_a_stack_and_twice_the_same_seed(table):
    X, y, _ = table
    model = mkl.GOMPClassifier(kernels=KERNELS, n_kernels=2)
    first = mkl.selection.selection_frequency(model, X, y, 6, seed=3)
    assert np.array_equal(first.used, mkl.selection.selection_frequency(model, X, y, 6, seed=3).used)
    stack = KERNELS.grams(X)
    cut = mkl.selection.selection_frequency(mkl.GOMPClassifier(n_kernels=2), stack, y, 6, seed=3)
    array = mkl.selection.selection_frequency(
        mkl.GOMPClassifier(kernels="precomputed", n_kernels=2), stack.values, y, 6, seed=3
    )
    assert np.array_equal(cut.used, array.used)
    assert cut.n_used.tolist() == [2] * 6


def test_it_counts_what_refits_on_these_halves_use(table):
    X, y, _ = table
    model = mkl.LpMKLClassifier(kernels=KERNELS, C=0.05)
    halves = StratifiedShuffleSplit(4, train_size=0.5, random_state=2).split(X, y)
    expected = np.zeros((4, 5), dtype=bool)
    for row, (half, _) in zip(expected, halves, strict=True):
        row[mkl.LpMKLClassifier(kernels=KERNELS, C=0.05).fit(X[half], y[half]).selected_] = True
    assert np.array_equal(mkl.selection.selection_frequency(model, X, y, 4, seed=2).used, expected)
    assert not hasattr(model, "weights_")


def test_regression_progress_and_cancel(table):
    X, _, target = table
    ticks = []
    model = mkl.GreedyMKLRegressor(kernels=KERNELS, lam=0.1)
    mkl.selection.selection_frequency(model, X, target, 3, callback=lambda done, total: ticks.append((done, total)))
    assert ticks == [(0, 3), (1, 3), (2, 3), (3, 3)]

    def stop(done, total):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mkl.selection.selection_frequency(model, X, target, 3, callback=stop)


@every("n", [0, -1, 2.5, True])
def test_a_number_of_resamples_that_cannot_be_is_refused(n, table):
    with pytest.raises(ParameterError, match="whole number of 1 or more"):
        mkl.selection.selection_frequency(mkl.LpMKLClassifier(), table[0], table[1], n)


def test_too_few_rows_are_refused(table):
    X = table[0]
    with pytest.raises(DataError, match="at least 4 rows"):
        mkl.selection.selection_frequency(mkl.LpMKLRegressor(), X[:3], np.arange(3.0))
    with pytest.raises(DataError, match="Half of 10 rows cannot hold the 6 classes"):
        mkl.selection.selection_frequency(mkl.LpMKLClassifier(), X[:10], np.arange(10) % 6)
    with pytest.raises(DataError, match="must be the same rows"):
        mkl.selection.selection_frequency(mkl.LpMKLClassifier(), X[:10], np.arange(12) > 5)
