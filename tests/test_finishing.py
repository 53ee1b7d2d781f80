"""Stacks and rows finish their kernels in one way: the same numbers, the same notes, the same refusals."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import KernelError, ParameterError, cancellation_scope
from mklcore.kernels.grams import Rows
from mklcore.kernels.maps import NORMALISATIONS
from tests.every import every

ways = pytest.mark.parametrize("normalise", NORMALISATIONS)


@pytest.fixture(scope="module")
def X():
    table = np.random.default_rng(0).standard_normal((300, 4))
    table[:, 3] = 2.0  # a constant column: constant kernels, zero for the linear one
    return table


KERNELS = mkl.KernelDictionary(
    (
        mkl.RBF(0.5, relative=True),
        mkl.RBF(1.0, features=(3,)),
        mkl.Linear(features=(3,)),
        mkl.Polynomial(2),
        mkl.Laplacian(2.0, features=(0, 1)),
    )
)


@ways
@every("build", [mkl.KernelDictionary.grams, Rows.build])
def test_a_number_that_overflows_is_refused_by_name(X, build, normalise):
    steep = mkl.KernelDictionary((mkl.Linear(), mkl.Polynomial(100)), standardize=False)
    with pytest.raises(KernelError, match="polynomial 100 grows beyond the largest number"):
        build(steep, 1e4 * X, normalise=normalise)


@pytest.mark.parametrize("build", [mkl.KernelDictionary.grams, Rows.build], ids=["stack", "rows"])
def test_refusals_are_the_same_words(X, build):
    flat = mkl.KernelDictionary((mkl.RBF(1.0, features=(3,)), mkl.Linear(features=(3,))))
    with pytest.raises(
        KernelError, match=r"Every kernel is constant on the training rows \(n_samples = 300\): RBF 1, x3"
    ):
        build(flat, X)
    with pytest.raises(ParameterError, match="normalise must be one of 'multiplicative'"):
        build(KERNELS, X, normalise="unit")


@every("build", [
    KERNELS.grams,
    lambda X: Rows.build(KERNELS, X, None),
    lambda X: Rows.build(KERNELS, X, center=True),
    lambda X: Rows.build(mkl.KernelDictionary.per_feature(mkl.RBF(1.0), 3), X),
    lambda X: mkl.Nystroem(5).features(KERNELS, X),
])  # fmt: skip
def test_kernels_that_nobody_wants_any_more_are_not_built_to_the_end(X, build):
    def pulse():
        raise InterruptedError("enough")

    with cancellation_scope(pulse), pytest.raises(InterruptedError, match="enough"):
        build(X)
    build(X)
