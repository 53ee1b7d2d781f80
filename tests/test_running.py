"""Products with a dual that moves: what they are, which rows they cost, and when they are made afresh."""

import numpy as np
import pytest

from mklcore.kernels.operators import DenseKernels
from mklcore.solvers.running import Running, moved


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


def right(found: Running, K: DenseKernels) -> None:
    expected = K.values[found.live] @ found.dual
    np.testing.assert_allclose(found.products, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(found.forms, np.maximum(expected @ found.dual, 0.0), rtol=1e-10)


def test_only_rows_that_leave_the_common_factor_are_read(stack, read):
    live, a = np.array([0, 2, 3]), np.random.default_rng(1).choice([-1.0, 1.0], 40)
    first = Running.afresh(stack, live, a)
    grown = 1.7 * a
    grown[[3, 8]] = 0.0, 0.4
    one = first.at(grown)
    two = one.at(np.where(np.arange(40) == 5, 0.1, grown))
    for found in (first, one, two, two.at(two.dual)):
        right(found, stack)
    assert read == [40, 2, 1]
    right(two.among(np.array([1])), stack)


def test_a_dual_that_is_another_is_begun_afresh(stack, read):
    rng, everything = np.random.default_rng(2), np.arange(5)
    first = Running.afresh(stack, everything, rng.standard_normal(40))
    right(first.at(rng.standard_normal(40)), stack)
    assert read == [40, 40]
    right(first.at(np.zeros(40)), stack)


def test_products_summed_from_too_many_changes_are_begun_afresh(stack, read):
    """The sums of |changes| are bounded, so that rounding is that of few sums."""
    found = Running.afresh(stack, np.arange(5), np.ones(40))
    for step in range(100):
        found = found.at(np.where(np.arange(40) < 20, (-1.0) ** step, 1.0))
        assert found.added <= 30.0 * np.abs(found.dual).sum()
    assert 40 in read[1:]
    right(found, stack)


def test_products_of_other_kernels_are_not_taken(stack):
    near = Running.afresh(stack, np.arange(5), np.ones(40))
    other = DenseKernels(stack.values[::-1].copy())
    right(moved(near, other, np.arange(5), np.ones(40)), other)
    right(moved(near, stack, np.array([1, 2]), np.ones(40)), stack)
    assert moved(near, stack, np.arange(5), near.dual) is near
