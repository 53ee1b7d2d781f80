"""Kernel specs and their compiled functions, against scikit-learn's pairwise kernels and exp in extended precision."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern as Reference
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel

import mklcore as mkl
from mklcore.errors import KernelError, ParameterError
from mklcore.figures import style
from mklcore.io.script import code
from mklcore.kernels.dictionary import Band, KernelDictionary
from mklcore.kernels.fills import fill_distances, fill_exponential
from mklcore.kernels.functions import COMPOSED, KERNELS, RBF, Laplacian, Linear, Polynomial, columns_as_text
from mklcore.kernels.grams import Rows
from mklcore.kernels.notation import Entry, Recipe, is_dictionary, read_entries, write_entries
from mklcore.kernels.sequences import SEQUENCE_KERNELS
from tests.helpers.every import every

SMOOTHNESS = [0.1, 0.5, 0.77, 1.5, 2.0, 2.5, 9.5, 20.0, math.inf]
REFERENCES = [
    (Linear(), linear_kernel),
    (Polynomial(3), lambda a, b: polynomial_kernel(a, b, degree=3, gamma=1.0, coef0=1.0)),
    (Polynomial(2, coef0=0.0), lambda a, b: polynomial_kernel(a, b, degree=2, gamma=1.0, coef0=0.0)),
    (RBF(1.7), lambda a, b: rbf_kernel(a, b, gamma=1 / (2 * 1.7**2))),
    (Laplacian(2.5), lambda a, b: laplacian_kernel(a, b, gamma=1 / 2.5)),
]


def matern(width, nu):
    """scikit-learn's kernel, which is exact on the diagonal where it is not given the rows twice."""
    kernel = Reference(length_scale=width, nu=nu)
    return lambda a, b: kernel(a, None if np.array_equal(a, b) else b)


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    return rng.standard_normal((70, 5)), rng.standard_normal((33, 5))


@every("spec, reference", [
    *REFERENCES,
    *((mkl.Matern(width, nu), matern(width, nu)) for width in (0.05, 1.0, 40.0) for nu in SMOOTHNESS),
])  # fmt: skip
@every("columns", [(0, 1, 2, 3, 4), (3, 1), (2,)])
def test_train_and_cross_values_equal_scikit_learn(tables, spec, reference, columns):
    X, Z = tables
    stack = KernelDictionary((replace(spec, features=columns),), standardize=False).grams(X, normalise=None)
    np.testing.assert_allclose(stack.values[0], reference(X[:, columns], X[:, columns]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(stack.cross(Z)[0], reference(Z[:, columns], X[:, columns]), rtol=1e-12, atol=1e-12)


def test_exponential_leaf_is_exact_to_the_last_digits():
    base = np.concatenate([np.linspace(0, 720, 40_001), [0.0, np.inf, 1e300]])[None]
    out = np.empty_like(base)
    fill_exponential(base, 1.0, False, out)
    exact = np.exp(-base.astype(np.longdouble))
    normal = base < 708
    assert float(np.abs(out[normal] / exact[normal] - 1).max()) < 4e-16
    np.testing.assert_allclose(out[normal], np.exp(-base[normal]), rtol=1e-14)
    assert (out[~normal] == 0.0).all()
    assert out[0, -3] == 1.0


@every("order", [1, 2])
def test_distances_are_exactly_zero_and_symmetric(tables, order):
    X = tables[0]
    rows = np.ascontiguousarray(X.T)
    out = np.empty((70, 70))
    fill_distances(rows, rows, order == 2, False, out)
    expected = np.linalg.norm(X[:, None] - X[None], ord=order, axis=2) ** order
    np.testing.assert_allclose(out, expected, rtol=1e-13)
    np.testing.assert_array_equal(out, out.T)
    assert (out.diagonal() == 0.0).all()


def test_specs_are_values():
    assert RBF(1) == RBF(1.0)
    assert hash(RBF(1)) == hash(RBF(1.0))
    assert RBF(1.0) != RBF(1.0, relative=True)
    assert RBF(1.0) != Laplacian(1.0)
    assert Linear(features=[np.int64(2), 0]).features == (2, 0)
    assert len({Linear(), Linear(), Linear(features=(0,)), Polynomial(2), Polynomial(2, coef0=1)}) == 3
    with pytest.raises(AttributeError):
        RBF(1.0).width = 2.0  # type: ignore[misc]


def test_names_say_kernel_and_columns():
    columns = ["mean radius", "worst radius"]
    assert Linear().name() == "linear"
    assert Linear(features=(1,)).name(columns) == "linear worst radius"
    assert Linear(features=(4,)).name() == "linear x4"
    assert RBF(0.5, relative=True).name() == "RBF 0.5 × median"
    assert RBF(2, features=(0, 1)).name(columns) == "RBF 2, mean radius, worst radius"
    assert Polynomial(3, coef0=0.5).name() == "polynomial 3 (coef0 0.5)"
    assert Laplacian(1, features=(0, 1), label="radius").name(columns) == "Laplacian 1, radius"
    assert RBF(1.0, features=Band(1, 8)).name() == "RBF 1, band 2 of 8"
    assert columns_as_text(range(3, 9)) == "x3 … x8"
    assert columns_as_text([0, 2, 4, 6]) == "x0, x2, … (4 columns)"


NO_KERNELS = [
    *(("width must be a number between", lambda kind=kind, width=width: kind(width))
      for kind in (RBF, Laplacian) for width in (0.0, -1.0, np.nan, np.inf, "1", True, None, 1e-200)),
    *(("degree must be a whole number from 1 to 100", lambda degree=degree: Polynomial(degree))
      for degree in (0, -2, 2.0, True, 101, "2")),
    *((f"Matern: {name} must be a number between", lambda given={"width": 1.0, name: value}: mkl.Matern(**given))
      for name, value in (("nu", 0.0), ("nu", 21.0), ("nu", "rough"), ("width", -1.0))),
    ("coef0 must be a number between 0", lambda: Polynomial(2, coef0=-1)),
    ("relative must be True or False", lambda: RBF(1.0, relative="yes")),
    ("features is empty", lambda: Linear(features=())),
    ("column indices from 0 on, got -1", lambda: Linear(features=(0, -1))),
    ("names a column twice", lambda: Linear(features=(1, 1))),
    ("must be a tuple of column indices or None, got '01'", lambda: Linear(features="01")),
    ("needs column 5, but the data have 3", lambda: Linear(features=(5,)).columns(3)),
    ("has met no table yet, .* use columns\\(n_features\\)", lambda: Linear().settled),
    ("Product takes 2 to 8 kernel specs", lambda: mkl.Product(LIN)),
]  # fmt: skip


@every("words, make", NO_KERNELS)
def test_what_is_no_kernel_is_refused(words, make):
    with pytest.raises(mkl.MKLError, match=words):
        make()


@every("key", KERNELS)
def test_registry_entries_can_build_their_kernel(tables, key):
    entry = KERNELS[key]
    assert entry.spec.family == key == entry.key
    assert entry.label
    assert entry.formula
    assert entry.help
    for parameter in entry.parameters:
        assert parameter.kind in {"integer", "real", "log"}
        assert parameter.low <= parameter.default <= parameter.high
        for value in (parameter.low, parameter.high):
            defaults = {p.name: p.default for p in entry.parameters}
            entry.spec(**defaults | {parameter.name: value})
    relative = {"relative": True} if entry.relative else {}
    spec = entry.spec(**{p.name: p.default for p in entry.parameters}, **relative)
    values = KernelDictionary((spec,)).grams(tables[0]).values
    assert np.linalg.eigvalsh(values[0])[0] > -1e-10


def test_columns_are_known_once_a_kernel_has_met_its_table():
    assert Linear(features=(2, 0)).settled == (2, 0)


# What every kernel can do

LIN, NARROW = mkl.Linear(features=(0, 2)), mkl.RBF(0.5, features=(1, 2, 3), relative=True)
ALONE = mkl.RBF(1.0, features=(0,), relative=True), mkl.Delta(features=(4,)), mkl.Matern(1.0, features=(1,))
EVERY_KERNEL = [
    *(spec for spec, _ in REFERENCES),
    mkl.Polynomial(3, coef0=0.5, features=(1, 2)),
    mkl.RBF(0.5, relative=True, features=Band(0, 3)),
    mkl.Laplacian(2.0, label="texture", features=(0,)),
    *(mkl.Matern(0.7, nu) for nu in (0.1, 0.5, 0.77, 1.5, 2.0, 9.5, np.inf)),
    mkl.Matern(0.5, 2.5, relative=True),
    mkl.Delta(features=(4,)),
    mkl.Product(LIN, NARROW),
    mkl.Sum(LIN, NARROW, mkl.Polynomial(2)),
    mkl.Sum(mkl.Product(LIN, mkl.Polynomial(2)), NARROW),
    mkl.Interaction(ALONE[0]),
    mkl.Interaction(*ALONE),
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.standard_normal((45, 4)), rng.integers(0, 3, 45)])
    X[40:] = X[:5]
    return X, np.column_stack([rng.standard_normal((9, 4)), rng.integers(0, 4, 9)])


@every("spec", EVERY_KERNEL)
def test_every_kernel_is_semidefinite_and_the_same_wherever_it_is_computed(spec, rows):
    X, new = rows
    kernels = mkl.KernelDictionary((spec,))
    plain = kernels.grams(X, normalise=None)
    gram = plain.values[0]
    assert np.linalg.eigvalsh(gram)[0] > -1e-10 * np.trace(gram)
    np.testing.assert_allclose(gram[:5], gram[40:], atol=1e-12)
    order = np.random.default_rng(1).permutation(45)
    assert kernels.grams(X[order], None).values[0] == pytest.approx(gram[order][:, order], abs=1e-10)
    for normalise, center in (("multiplicative", False), ("spherical", True)):
        stack, lazy = kernels.grams(X, normalise, center), Rows.build(kernels, X, normalise, center)
        assert stack.cross(X) == pytest.approx(stack.values, abs=1e-11)
        assert lazy.rows(np.arange(45)) == pytest.approx(stack.values, abs=1e-11)
        assert lazy.cross(new) == pytest.approx(stack.cross(new), abs=1e-11)
    assert eval(repr(spec), vars(mkl) | {"Band": Band, "inf": np.inf}) == spec
    assert eval(code(spec), {"mkl": mkl, "np": np}) == spec


def test_every_kernel_is_saved_with_a_model(rows, tmp_path):
    X, new = rows
    kernels = mkl.KernelDictionary(tuple(EVERY_KERNEL))
    model = mkl.LpMKLRegressor(p=2.0, kernels=kernels).fit(X, X[:, 0] * X[:, 1])
    mkl.save_model(tmp_path / "model.mkl", model)
    again = mkl.load_model(tmp_path / "model.mkl")
    assert again.kernels == kernels
    assert again.predict(new) == pytest.approx(model.predict(new), abs=1e-12)


@every("text", [
    "mat1@*", "mat0.5+2.5m@*;~mat2+inf@1..3", "mat1m@1-2", "lin@1,3&rbf0.5m@2-4;~lin@1|pol2@*;rbf1m@*",
    "spectrum3@*;degree5+2@*;~spectrum2+1@*", "^rbf1m@1;~^lin@4;^rbf1m@1^lin@4;lin@1&lin@2;^delta@3^delta@4",
])  # fmt: skip
def test_kernels_written_as_text_are_read_again(text):
    assert is_dictionary(text)
    assert write_entries(read_entries(text, 4)) == text


def test_what_the_text_means():
    first, second, _ = read_entries("lin@1,3&rbf0.5m@2-4;~lin@1|pol2@*;rbf1m@*", 4)
    assert (first.spec, first.on) == (mkl.Product(LIN, NARROW), True)
    assert (second.spec, second.on) == (mkl.Sum(mkl.Linear(features=(0,)), mkl.Polynomial(2)), False)
    assert read_entries("^rbf1m@1^lin@4", 4)[0].spec == mkl.Interaction(ALONE[0], mkl.Linear(features=(3,)))
    for text in ("^nonsense@1", "^lin@1&lin@2"):
        assert not is_dictionary(text)
    with pytest.raises(KernelError, match="means several kernels"):
        read_entries("lin@1..3&rbf1m@2", 4)
    with pytest.raises(KernelError, match="its parts are plain kernels"):
        write_entries([first.__class__(mkl.Sum(mkl.Product(LIN, NARROW), mkl.Polynomial(2)))])


# -- Products and sums of kernels against their parts


@pytest.fixture(scope="module")
def composed_table():
    rng = np.random.default_rng(0)
    return rng.standard_normal((30, 4)), rng.standard_normal((7, 4))


LEFT, RIGHT = mkl.Linear(features=(0, 2)), mkl.RBF(0.5, features=(1, 2, 3), relative=True)
POLY = mkl.Polynomial(2)


@pytest.mark.parametrize(
    ("made", "joined"),
    [
        (mkl.Product(LEFT, RIGHT), lambda lin, rbf, pol: lin * rbf),
        (mkl.Sum(LEFT, RIGHT, POLY), lambda lin, rbf, pol: lin + rbf + pol),
        (mkl.Sum(mkl.Product(LEFT, POLY), RIGHT), lambda lin, rbf, pol: lin * pol + rbf),
    ],
    ids=["product", "sum", "nested"],
)
def test_the_value_is_that_of_the_parts(composed_table, made, joined):
    X, new = composed_table
    stack = mkl.KernelDictionary((LEFT, RIGHT, POLY, made)).grams(X, normalise=None)
    assert stack.values[3] == pytest.approx(joined(*stack.values[:3]))
    blocks = stack.cross(new)
    assert blocks[3] == pytest.approx(joined(*blocks[:3]))


def test_a_product_of_columns_and_letters():
    data = mkl.make_sequences(20, 12, ["ACGT"], seed=0)[0]
    both = (mkl.Linear(), mkl.Spectrum(2), mkl.Product(mkl.Linear(), mkl.Spectrum(2)))
    stack = mkl.KernelDictionary(both).grams(data, normalise=None)
    assert stack.values[2] == pytest.approx(stack.values[0] * stack.values[1])
    assert stack.cross(data)[2] == pytest.approx(stack.values[2])


# -- The Matern kernel against scikit-learn, its limits, and everything that follows from its one line in the registry


def test_what_is_not_registered_cannot_be_written():
    class Elsewhere(mkl.Linear):
        family = "elsewhere"

    with pytest.raises(KernelError, match="needs a line in KERNELS"):
        write_entries([Entry(Elsewhere())])


def test_a_recipe_puts_it_on_all_columns_and_on_each():
    specs = Recipe(widths=0, linear=False, degree=0, each="matern", others="matern").specs(2)
    relative = [mkl.Matern(width, relative=True) for width in (0.25, 1.0, 4.0)]
    assert list(specs[:3]) == relative
    assert [spec.features for spec in specs[3:]] == [(0,), (1,)]
    with pytest.raises(ParameterError, match="others of a recipe are from matern"):
        Recipe(others="wavelet")


def test_every_family_has_a_hue_of_its_own():
    families = (
        [entry.spec.family for entry in (*KERNELS.values(), *SEQUENCE_KERNELS.values())]
        + [*COMPOSED]
        + ["hkl", "precomputed", "view"]
    )
    assert len({style.family_hues()[family] for family in families}) == len(families) == len(style.family_hues())
