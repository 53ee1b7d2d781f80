"""Alignment, spectra, rank and duplicates of a stack, against their definitions."""

import numpy as np
import pytest

from mklcore.errors import DataError, KernelError, ParameterError
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF, Linear
from mklcore.kernels.grams import as_stack, duplicates
from mklcore.kernels.measures import (
    alignment_matrix,
    effective_rank,
    effective_rows,
    eigenvalues,
    target_alignment,
    target_matrix,
)


@pytest.fixture
def stack():
    X = np.random.default_rng(8).standard_normal((40, 3))
    d = KernelDictionary.rbf_grid([0.5, 2]) + KernelDictionary.per_feature(Linear(), 3)
    return d.grams(X)


def test_alignment_by_definition(stack):
    K = stack.values
    A = alignment_matrix(stack)
    for i in range(5):
        for j in range(5):
            expected = (K[i] * K[j]).sum() / np.linalg.norm(K[i]) / np.linalg.norm(K[j])
            assert A[i, j] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(A, A.T)
    assert (A.diagonal() == 1).all()
    assert A.min() >= 0
    assert A.max() <= 1
    np.testing.assert_array_equal(alignment_matrix(np.asfortranarray(K)), A)


def test_alignment_ignores_scale_and_knows_zero(stack):
    K = np.stack([stack.values[0], 7 * stack.values[0], np.zeros((40, 40))])
    np.testing.assert_allclose(alignment_matrix(K), [[1, 1, 0], [1, 1, 0], [0, 0, 0]], atol=1e-14)


def test_stacks_are_read_without_a_copy(stack):
    assert np.shares_memory(as_stack(stack), stack.values)
    K = np.array(stack.values)
    view = as_stack(K)
    assert np.shares_memory(view, K)
    assert not view.flags.writeable
    assert K.flags.writeable


def test_target_alignment_by_definition(stack):
    rng = np.random.default_rng(9)
    labels = rng.integers(0, 2, 40)
    ideal = np.outer(2 * labels - 1, 2 * labels - 1)
    expected = [(K * ideal).sum() / np.linalg.norm(K) / np.linalg.norm(ideal) for K in stack.values]
    np.testing.assert_allclose(target_alignment(stack, labels), expected, rtol=1e-12)
    np.testing.assert_allclose(target_alignment(stack, np.array(["no", "yes"])[labels]), expected, rtol=1e-12)
    np.testing.assert_allclose(target_alignment(stack, 2.0 * labels - 1), expected, rtol=1e-12)
    three = rng.integers(0, 3, 40)
    onehot = np.eye(3)[three]
    ideal = onehot @ onehot.T
    expected = [(K * ideal).sum() / np.linalg.norm(K) / np.linalg.norm(ideal) for K in stack.values]
    np.testing.assert_allclose(target_alignment(stack, three), expected, rtol=1e-12)
    np.testing.assert_allclose(target_alignment(stack, onehot), expected, rtol=1e-12)
    y = rng.standard_normal(40)
    np.testing.assert_allclose(target_alignment(stack, y), target_alignment(stack, y + 100), rtol=1e-9)
    own = np.outer(y - y.mean(), y - y.mean())[None]
    np.testing.assert_allclose(target_alignment(own, y), 1.0, rtol=1e-12)


def test_the_task_settles_what_whole_numbers_mean():
    counts = np.array([3, 5, 5, 9])
    np.testing.assert_allclose(target_matrix(counts, "regression")[:, 0], counts - 5.5)
    assert target_matrix(counts).shape == (4, 3)
    np.testing.assert_array_equal(target_matrix(np.array([0.0, 1.0]), "binary")[:, 0], [-1, 1])


def test_a_kernel_of_zeros_is_aligned_with_nothing():
    assert target_alignment(np.zeros((1, 2, 2)), [0, 1]) == 0
    assert effective_rank(np.zeros((1, 2, 2))) == 0


def test_eigenvalues_come_largest_first(stack):
    spectra = eigenvalues(stack)
    assert spectra.shape == (5, 40)
    assert (np.diff(spectra, axis=1) <= 0).all()
    np.testing.assert_allclose(spectra.sum(axis=1), np.trace(stack.values, axis1=1, axis2=2), rtol=1e-12)
    np.testing.assert_array_equal(eigenvalues(np.diag([1.0, 3.0, 2.0])), [3, 2, 1])


def test_effective_rank_counts_directions(stack):
    spectra = eigenvalues(stack)
    np.testing.assert_allclose(effective_rank(stack), spectra.sum(1) ** 2 / (spectra**2).sum(1), rtol=1e-10)
    np.testing.assert_allclose(effective_rank(np.stack([np.eye(6), np.ones((6, 6))])), [6, 1])


def test_effective_rows_count_those_a_kernel_hangs_on():
    column = np.zeros(200)
    column[[7, 90]] = 1.0  # two rows are out
    spread = np.random.default_rng(0).uniform(-1, 1, 200)
    kernels = np.stack([np.eye(200), np.ones((200, 200)), np.outer(column, column), np.outer(spread, spread)])
    rows = effective_rows(kernels)
    np.testing.assert_allclose(rows[:3], [200, 0, 2], rtol=0.03)
    away = (spread - spread.mean()) ** 2
    np.testing.assert_allclose(rows[3], away.sum() ** 2 / (away**2).sum())


def test_duplicates_are_grouped(stack):
    K = stack.values
    nudged = K[1] * (1 + 1e-13)
    different = K[1].copy()
    different[30, 31] = different[31, 30] = different[30, 31] + 1e-8
    order = np.stack([K[0], K[1], 5 * K[0], K[2], nudged, different, K[0]])
    assert duplicates(order) == ((0, 2, 6), (1, 4))
    assert duplicates(order, tolerance=1e-7) == ((0, 2, 6), (1, 4, 5))
    assert duplicates(stack) == ()
    assert duplicates(np.zeros((2, 3, 3))) == ((0, 1),)


def test_kernels_that_agree_only_on_the_probed_rows_are_not_duplicates():
    K = np.stack([np.eye(50), np.eye(50)])
    K[1, 20, 21] = K[1, 21, 20] = 0.5
    assert duplicates(K) == ()


def test_widths_too_small_to_matter_are_duplicates():
    X = np.random.default_rng(10).standard_normal((20, 4))
    stack = KernelDictionary((RBF(1e-3), RBF(1.0), RBF(1e-4))).grams(X)
    assert duplicates(stack) == ((0, 2),)


def test_refusals(stack):
    with pytest.raises(DataError, match="target has 39 rows, the kernels have 40"):
        target_alignment(stack, np.arange(39.0))
    with pytest.raises(DataError, match="at least two classes, this one has only"):
        target_alignment(stack, ["a"] * 40)
    with pytest.raises(DataError, match=r"one or two axes and at least one row, got shape \(1, 1, 1\)"):
        target_matrix(np.ones((1, 1, 1)))
    with pytest.raises(ParameterError, match="task must be"):
        target_matrix([0, 1], task="novelty")
    with pytest.raises(KernelError, match="three axes"):
        alignment_matrix(np.eye(3))
