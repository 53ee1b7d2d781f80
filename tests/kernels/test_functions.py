"""Kernel specs and their compiled functions, against scikit-learn's pairwise kernels and exp in
extended precision.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import Matern as Reference
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel

import mklcore as mkl
from mklcore import (
    KERNELS,
    RBF,
    Blend,
    Delta,
    Interaction,
    KernelDictionary,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Product,
    Ranked,
    Spectrum,
    Sum,
    make_sequences,
)
from mklcore.arrays import distinct_rows
from mklcore.figures import style
from mklcore.io.script import code
from mklcore.kernels.dictionary import Band
from mklcore.kernels.dictionary_text import Entry, is_dictionary, read_entries, write_entries
from mklcore.kernels.functions import COMPOSED, columns_as_text
from mklcore.kernels.grams import Rows
from mklcore.kernels.sequences import SEQUENCE_KERNELS
from tests.helpers.every import every
from tests.helpers.refusals import refused

SMOOTHNESS = [0.1, 0.5, 0.77, 1.5, 2.0, 2.5, 9.5, 20.0, math.inf]
REFERENCES = [
    (Linear(), linear_kernel),
    (Polynomial(3), lambda a, b: polynomial_kernel(a, b, degree=3, gamma=1.0, coef0=1.0)),
    (
        Polynomial(2, coef0=0.0),
        lambda a, b: polynomial_kernel(a, b, degree=2, gamma=1.0, coef0=0.0),
    ),
    (RBF(1.7), lambda a, b: rbf_kernel(a, b, gamma=1 / (2 * 1.7**2))),
    (Laplacian(2.5), lambda a, b: laplacian_kernel(a, b, gamma=1 / 2.5)),
]


def matern(width, nu):
    """scikit-learn's kernel, which is exact on the diagonal where it is not given the rows twice."""
    kernel = Reference(length_scale=width, nu=nu)
    return lambda a, b: kernel(a, None if np.array_equal(a, b) else b)


@pytest.fixture
def tables():
    rng = default_rng(0)
    return rng.standard_normal((70, 5)), rng.standard_normal((33, 5))


@every("spec, reference", [
    *REFERENCES,
    *((Matern(width, nu), matern(width, nu)) for width in (0.05, 1.0, 40.0) for nu in SMOOTHNESS),
])  # fmt: skip
@every("columns", [(0, 1, 2, 3, 4), (3, 1), (2,)])
def test_train_and_cross_values_equal_scikit_learn(tables, spec, reference, columns):
    X, Z = tables
    stack = KernelDictionary((replace(spec, features=columns),), standardize=False).grams(
        X, normalise=None
    )
    assert_allclose(
        stack.values[0], reference(X[:, columns], X[:, columns]), rtol=1e-12, atol=1e-12
    )
    assert_array_equal(stack.values[0], stack.values[0].T)
    assert_allclose(
        stack.cross(Z)[0], reference(Z[:, columns], X[:, columns]), rtol=1e-12, atol=1e-12
    )


def test_specs_are_values():
    assert RBF(1) == RBF(1.0)
    assert hash(RBF(1)) == hash(RBF(1.0))
    assert len({RBF(1.0), RBF(1.0, relative=True), Laplacian(1.0)}) == 3
    assert Linear(features=[np.int64(2), 0]).features == Linear(features=(2, 0)).settled == (2, 0)
    assert (
        len({Linear(), Linear(), Linear(features=(0,)), Polynomial(2), Polynomial(2, coef0=1)}) == 3
    )
    with pytest.raises(AttributeError):
        RBF(1.0).width = 2.0  # type: ignore[misc]


@every("named, name", [
    (Linear(), "linear"),
    (Linear(features=(1,)), "linear worst radius"),
    (Linear(features=(4,)), "linear x4"),
    (RBF(0.5, relative=True), "RBF 0.5 × median"),
    (RBF(2, features=(0, 1)), "RBF 2, mean radius, worst radius"),
    (Polynomial(3, coef0=0.5), "polynomial 3 (coef0 0.5)"),
    (Laplacian(1, features=(0, 1), label="radius"), "Laplacian 1, radius"),
    (RBF(1.0, features=Band(1, 8)), "RBF 1, band 2 of 8"),
    (range(3, 9), "x3 … x8"),
    ([0, 2, 4, 6], "x0, x2, … (4 columns)"),
])  # fmt: skip
def test_names_say_kernel_and_columns(named, name):
    columns = ["mean radius", "worst radius"] if name.endswith("radius") else None
    assert (named.name(columns) if hasattr(named, "name") else columns_as_text(named)) == name


def test_what_is_no_kernel_is_refused():
    refused(
        *((lambda kind=kind, width=width: kind(width), "width must be a number between")
          for kind in (RBF, Laplacian) for width in (0.0, -1.0, np.nan, np.inf, "1", True, None, 1e-200)),
        *((lambda degree=degree: Polynomial(degree), "degree must be a whole number from 1 to 100")
          for degree in (0, -2, 2.0, True, 101, "2")),
        *((lambda given={"width": 1.0, name: value}: Matern(**given), f"Matern: {name} must be a number between")
          for name, value in (("nu", 0.0), ("nu", 21.0), ("nu", "rough"), ("width", -1.0))),
        (lambda: Polynomial(2, coef0=-1), "coef0 must be a number between 0"),
        (lambda: RBF(1.0, relative="yes"), "relative must be True or False"),
        (lambda: Linear(features=()), "features is empty"),
        (lambda: Linear(features=(0, -1)), "a column of features must be a whole number of 0 or more; got -1"),
        (lambda: Linear(features=(1, 1)), "names a column twice"),
        (lambda: Linear(features="01"), "must be a tuple of column indices or None, got '01'"),
        (lambda: Linear(features=(5,)).columns(3), "needs column 5, but the data have 3"),
        (lambda: Linear().settled, "has met no table yet, .* use columns\\(n_features\\)"),
        (lambda: Product(LIN), "Product takes 2 to 8 kernel specs"),
        (lambda: Ranked(Linear()), "Ranked takes an RBF or a Laplacian kernel"),
        (lambda: Blend(LIN, NARROW, shares=(1.0,)), "got 1 shares of 2 kernels"),
        (lambda: Blend(LIN, shares=(0.0,)), "one share above 0 for each"),
    )  # fmt: skip


@every("key", KERNELS)
def test_registry_entries_can_build_their_kernel(key):
    entry = KERNELS[key]
    assert entry.spec.family == key == entry.key
    assert all((entry.label, entry.formula, entry.help))
    defaults = {parameter.name: parameter.default for parameter in entry.parameters}
    for parameter in entry.parameters:
        assert parameter.kind in {"integer", "real", "log"}
        assert parameter.low <= parameter.default <= parameter.high
        for value in (parameter.low, parameter.high):
            entry.spec(**defaults | {parameter.name: value})
    assert entry.spec(**defaults, **({"relative": True} if entry.relative else {})).family == key


# What every kernel can do

LIN, NARROW = Linear(features=(0, 2)), RBF(0.5, features=(1, 2, 3), relative=True)
ALONE = (
    RBF(1.0, features=(0,), relative=True),
    Delta(features=(4,)),
    Matern(1.0, features=(1,)),
)
EVERY_KERNEL = [
    *(spec for spec, _ in REFERENCES),
    Polynomial(3, coef0=0.5, features=(1, 2)),
    RBF(0.5, relative=True, features=Band(0, 3)),
    Laplacian(2.0, label="texture", features=(0,)),
    *(Matern(0.7, nu) for nu in (0.1, 0.5, 0.77, 1.5, 2.0, 9.5, np.inf)),
    Matern(0.5, 2.5, relative=True),
    Delta(features=(4,)),
    Product(LIN, NARROW),
    Sum(LIN, NARROW, Polynomial(2)),
    Sum(Product(LIN, Polynomial(2)), NARROW),
    Interaction(ALONE[0]),
    Interaction(*ALONE),
    Ranked(Laplacian(0.5, relative=True), categories=(4,)),
    Ranked(RBF(2.0), features=(0, 3)),
    Blend(LIN, NARROW, Ranked(RBF(1.0, relative=True)), shares=(0.5, 2.0, 0.1)),
]


@pytest.fixture(scope="module")
def rows():
    rng = default_rng(3)
    X = np.column_stack([rng.standard_normal((45, 4)), rng.integers(0, 3, 45)])
    X[40:] = X[:5]
    return X, np.column_stack([rng.standard_normal((9, 4)), rng.integers(0, 4, 9)])


@every("spec", EVERY_KERNEL)
def test_every_kernel_is_semidefinite_and_the_same_wherever_it_is_computed(spec, rows):
    X, new = rows
    kernels = KernelDictionary((spec,))
    plain = kernels.grams(X, normalise=None)
    gram = plain.values[0]
    assert np.linalg.eigvalsh(gram)[0] > -1e-10 * np.trace(gram)
    assert_allclose(gram[:5], gram[40:], atol=1e-12)
    order = default_rng(1).permutation(45)
    assert kernels.grams(X[order], None).values[0] == pytest.approx(
        gram[order][:, order], abs=1e-10
    )
    for normalise, center in (("multiplicative", False), ("spherical", True)):
        stack = kernels.grams(X, normalise, center)
        lazy = Rows.build(kernels, X, normalise, center)
        assert stack.cross(X) == pytest.approx(stack.values, abs=1e-11)
        assert lazy.rows(np.arange(45)) == pytest.approx(stack.values, abs=1e-11)
        assert lazy.cross(new) == pytest.approx(stack.cross(new), abs=1e-11)
    assert eval(repr(spec), vars(mkl) | {"Band": Band, "inf": np.inf}) == spec
    assert eval(code(spec), {"mkl": mkl, "np": np}) == spec


@every("text", [
    "mat1@*", "mat0.5+2.5m@*;~mat2+inf@1..3", "mat1m@1-2", "lin@1,3&rbf0.5m@2-4;~lin@1|pol2@*;rbf1m@*",
    "spectrum3@*;degree5+2@*;~spectrum2+1@*", "^rbf1m@1;~^lin@4;^rbf1m@1^lin@4;lin@1&lin@2;^delta@3^delta@4",
])  # fmt: skip
def test_kernels_written_as_text_are_read_again(text):
    assert is_dictionary(text)
    assert write_entries(read_entries(text, 4)) == text


def test_what_the_text_means():
    first, second, _ = read_entries("lin@1,3&rbf0.5m@2-4;~lin@1|pol2@*;rbf1m@*", 4)
    assert (first.spec, first.on) == (Product(LIN, NARROW), True)
    assert (second.spec, second.on) == (
        Sum(Linear(features=(0,)), Polynomial(2)),
        False,
    )
    assert read_entries("^rbf1m@1^lin@4", 4)[0].spec == Interaction(ALONE[0], Linear(features=(3,)))
    assert not any(map(is_dictionary, ("^nonsense@1", "^lin@1&lin@2")))

    class Elsewhere(Linear):
        family = "elsewhere"

    refused(
        (lambda: read_entries("lin@1..3&rbf1m@2", 4), "means several kernels"),
        (
            lambda: write_entries([Entry(Sum(Product(LIN, NARROW), POLY))]),
            "parts are plain kernels",
        ),
        (lambda: write_entries([Entry(Elsewhere())]), "needs a line in KERNELS"),
    )


# -- Products and sums of kernels against their parts


POLY = Polynomial(2)


@every("made, joined", [
    (Product(LIN, NARROW), lambda lin, rbf, pol: lin * rbf),
    (Sum(LIN, NARROW, POLY), lambda lin, rbf, pol: lin + rbf + pol),
    (Sum(Product(LIN, POLY), NARROW), lambda lin, rbf, pol: lin * pol + rbf),
    (Blend(LIN, NARROW, POLY, shares=(0.1, 2.0, 3.0)), lambda lin, rbf, pol: 0.1 * lin + 2.0 * rbf + 3.0 * pol),
])  # fmt: skip
def test_the_value_is_that_of_the_parts(rows, made, joined):
    X, new = rows
    stack = KernelDictionary((LIN, NARROW, POLY, made)).grams(X, normalise=None)
    for blocks in (stack.values, stack.cross(new)):
        assert blocks[3] == pytest.approx(joined(*blocks[:3]))


def test_ranks_bring_rows_as_near_as_their_order_says():
    X = np.column_stack([[1.0, 2.0, 3.0, 1e6], [0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]])
    settled = Ranked(Laplacian(1.0), categories=(1, 2)).settle(X)
    apart = -np.log(settled.values(X, X))
    ranks = np.arange(4.0)
    values = X[:, 0]
    wanted = np.abs(np.subtract.outer(ranks, ranks)) / (2 * ranks.std())
    wanted += np.abs(np.subtract.outer(values, values)) / (2 * values.std())
    # another category is 2 apart
    assert apart == pytest.approx(wanted + 2.0 * (X[:, 1:2] != X[:, 1]))
    beyond = X[3:] * [2.0, 1.0, 1.0]
    # no farther than the training rows
    assert settled.values(beyond, X) == pytest.approx(settled.values(X[3:], X))


def test_a_product_of_columns_and_letters():
    data = make_sequences(20, 12, ["ACGT"], seed=0)[0]
    both = (Linear(), Spectrum(2), Product(Linear(), Spectrum(2)))
    stack = KernelDictionary(both).grams(data, normalise=None)
    assert stack.values[2] == pytest.approx(stack.values[0] * stack.values[1])
    assert stack.cross(data)[2] == pytest.approx(stack.values[2])


def test_every_family_has_a_hue_of_its_own():
    known = {entry.spec.family for entry in (*KERNELS.values(), *SEQUENCE_KERNELS.values())}
    families = known | {*COMPOSED, "hkl", "precomputed", "view"}
    assert families == set(style.family_hues())
    assert len(set(style.family_hues().values())) == len(families)


def test_distinct_rows_are_those_of_numpy_for_one_column_and_for_several(rng):
    for columns in (1, 3):
        rows = rng.integers(-2, 2, (40, columns)).astype(float)
        values, places, counts = distinct_rows(rows)
        expected, occurs = np.unique(rows, axis=0, return_counts=True)
        assert_array_equal(values, expected)
        assert_array_equal(values[places], rows)
        assert_array_equal(counts, occurs)
