"""Products and sums of kernels against their parts."""

import numpy as np
import pytest

import mklcore as mkl


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return rng.standard_normal((30, 4)), rng.standard_normal((7, 4))


LIN, RBF = mkl.Linear(features=(0, 2)), mkl.RBF(0.5, features=(1, 2, 3), relative=True)
POLY = mkl.Polynomial(2)


@pytest.mark.parametrize(
    ("made", "joined"),
    [
        (mkl.Product(LIN, RBF), lambda lin, rbf, pol: lin * rbf),
        (mkl.Sum(LIN, RBF, POLY), lambda lin, rbf, pol: lin + rbf + pol),
        (mkl.Sum(mkl.Product(LIN, POLY), RBF), lambda lin, rbf, pol: lin * pol + rbf),
    ],
    ids=["product", "sum", "nested"],
)
def test_the_value_is_that_of_the_parts(table, made, joined):
    X, new = table
    stack = mkl.KernelDictionary((LIN, RBF, POLY, made)).grams(X, normalise=None)
    assert stack.values[3] == pytest.approx(joined(*stack.values[:3]))
    blocks = stack.cross(new)
    assert blocks[3] == pytest.approx(joined(*blocks[:3]))


def test_a_product_of_columns_and_letters():
    data = mkl.make_sequences(20, 12, ["ACGT"], seed=0)[0]
    both = (mkl.Linear(), mkl.Spectrum(2), mkl.Product(mkl.Linear(), mkl.Spectrum(2)))
    stack = mkl.KernelDictionary(both).grams(data, normalise=None)
    assert stack.values[2] == pytest.approx(stack.values[0] * stack.values[1])
    assert stack.cross(data)[2] == pytest.approx(stack.values[2])
