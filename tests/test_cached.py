"""What kernels remember: products with a dual that moves, sums of kernels near by, and what they cost."""

import numpy as np
import pytest

from mklcore.kernels.operators import CachedOperator, DenseKernels, cached
from mklcore.kernels.operators.cached import Products


@pytest.fixture
def stack():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 40, 6))
    return DenseKernels(np.einsum("mid,mjd->mij", X, X))


@pytest.fixture
def read(monkeypatch):
    """How many rows were read, call by call."""
    rows, plain = [], DenseKernels.matvec

    def counting(self, a, kernels=None):
        rows.append(np.count_nonzero(a))
        return plain(self, a, kernels)

    monkeypatch.setattr(DenseKernels, "matvec", counting)
    return rows


def right(found: np.ndarray, K: DenseKernels, kernels: np.ndarray, a: np.ndarray) -> None:
    expected = K.values[kernels] @ a
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())


def test_only_rows_that_leave_the_common_factor_are_read(stack, read):
    live, a = np.array([0, 2, 3]), np.random.default_rng(1).choice([-1.0, 1.0], 40)
    kernels, grown = CachedOperator(stack), 1.7 * a
    grown[[3, 8]] = 0.0, 0.4
    other = np.where(np.arange(40) == 5, 0.1, grown)
    for dual in (a, grown, other, other):
        right(kernels.matvec(dual, live), stack, live, dual)
        np.testing.assert_allclose(kernels.quad(dual, live), (stack.values[live] @ dual) @ dual, rtol=1e-10)
    assert read == [40, 2, 1]
    right(kernels.matvec(other, np.array([2])), stack, np.array([2]), other)
    assert read == [40, 2, 1]  # part of what is there
    kernels.matvec(other)
    assert read[3:] == [39]


def test_a_dual_that_is_another_is_begun_anew(stack, read):
    rng, everything = np.random.default_rng(2), np.arange(5)
    kernels = CachedOperator(stack)
    for dual in (rng.standard_normal(40), rng.standard_normal(40), np.zeros(40)):
        right(kernels.matvec(dual), stack, everything, dual)
    assert read == [40, 40]


def test_products_summed_from_too_many_changes_are_begun_anew(stack, read):
    """The sums of |changes| are bounded, so that rounding is that of few sums."""
    found = Products.of(stack, np.arange(5), np.ones(40))
    for step in range(100):
        dual = np.where(np.arange(40) < 20, (-1.0) ** step, 1.0)
        found = found.at(dual, *found.way_to(dual), stack)
        assert found.added <= 30.0 * np.abs(found.dual).sum()
    assert 40 in read[1:]
    right(found.values, stack, np.arange(5), found.dual)


def test_a_memory_is_of_its_own_kernels(stack):
    before = cached(stack)
    before.matvec(np.ones(40))
    assert cached(DenseKernels(stack.values), before) is before
    other = DenseKernels(stack.values[::-1].copy())
    assert cached(other, before) is not before
    right(cached(other, before).matvec(np.ones(40)), other, np.arange(5), np.ones(40))


def test_a_sum_is_made_once_and_its_blocks_are_taken_from_it(stack, monkeypatch):
    made, read, (plain, block) = [], [], (DenseKernels.combine, DenseKernels.combine_block)
    monkeypatch.setattr(DenseKernels, "combine", lambda self, *given: made.append(1) or plain(self, *given))
    monkeypatch.setattr(DenseKernels, "combine_block", lambda self, *given: read.append(1) or block(self, *given))
    kernels, weights = CachedOperator(stack), np.random.default_rng(1).uniform(0.1, 1.0, (2, 5))
    rows, counts = np.array([2, 5]), []
    for asked in (weights[0], weights[1]):
        right = np.tensordot(asked, stack.values, 1)
        found = kernels.solve_block(asked, rows, np.ones(2), np.ones(2))
        np.testing.assert_allclose(found, np.linalg.solve(right[np.ix_(rows, rows)] + np.eye(2), np.ones(2)), rtol=1e-8)
        for _ in range(2):
            np.testing.assert_allclose(kernels.combine(asked).matrix, right, rtol=1e-9)
        np.testing.assert_allclose(kernels.solve_block(asked, rows, np.ones(2), np.ones(2)), found, rtol=1e-12)
        counts.append((len(made), len(read)))
    assert counts == [(1, 1), (2, 2)]
