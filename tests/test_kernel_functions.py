"""Kernel specs and their compiled functions, against scikit-learn's pairwise kernels and exp in extended precision."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel

from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.columns import columns_as_text
from mklcore.kernels.dictionary import Band, KernelDictionary
from mklcore.kernels.fills import fill_absolute, fill_exponential, fill_squared
from mklcore.kernels.functions import KERNELS, RBF, Laplacian, Linear, Polynomial
from tests.every import every

REFERENCES = [
    (Linear(), linear_kernel),
    (Polynomial(3), lambda a, b: polynomial_kernel(a, b, degree=3, gamma=1.0, coef0=1.0)),
    (Polynomial(2, coef0=0.0), lambda a, b: polynomial_kernel(a, b, degree=2, gamma=1.0, coef0=0.0)),
    (RBF(1.7), lambda a, b: rbf_kernel(a, b, gamma=1 / (2 * 1.7**2))),
    (Laplacian(2.5), lambda a, b: laplacian_kernel(a, b, gamma=1 / 2.5)),
]


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    return rng.standard_normal((70, 5)), rng.standard_normal((33, 5))


@every("spec, reference", REFERENCES)
@every("columns", [(0, 1, 2, 3, 4), (3, 1), (2,)])
def test_train_and_cross_values_equal_scikit_learn(tables, spec, reference, columns):
    X, Z = tables
    stack = KernelDictionary((spec.at(columns, 1.0),), standardize=False).grams(X, normalise=None)
    np.testing.assert_allclose(stack.values[0], reference(X[:, columns], X[:, columns]), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(stack.cross(Z)[0], reference(Z[:, columns], X[:, columns]), rtol=1e-12, atol=1e-13)


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


@pytest.mark.parametrize(("fill", "order"), [(fill_squared, 2), (fill_absolute, 1)])
def test_distances_are_exactly_zero_and_symmetric(tables, fill, order):
    X = tables[0]
    rows = np.ascontiguousarray(X.T)
    out = np.empty((70, 70))
    fill(rows, rows, False, out)
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


@every(
    "spec",
    [
        Linear(),
        Polynomial(3, coef0=0.5, features=(1, 2)),
        RBF(0.5, relative=True, features=Band(0, 3)),
        Laplacian(2.0, label="texture", features=(0,)),
    ],
)
def test_printed_specs_can_be_read_back(spec):
    assert eval(repr(spec)) == spec


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


@every("width", [0.0, -1.0, np.nan, np.inf, "1", True, None, 1e-200])
@every("kernel", [RBF, Laplacian])
def test_widths_are_positive_numbers(kernel, width):
    with pytest.raises(ParameterError, match="width must be a number between"):
        kernel(width)


@every("degree", [0, -2, 2.0, True, 101, "2"])
def test_degrees_are_whole_numbers(degree):
    with pytest.raises(ParameterError, match="degree must be a whole number from 1 to 100"):
        Polynomial(degree)


def test_other_bad_parameters_are_refused():
    with pytest.raises(ParameterError, match="coef0 must be a number between 0"):
        Polynomial(2, coef0=-1)
    with pytest.raises(ParameterError, match="relative must be True or False"):
        RBF(1.0, relative="yes")
    with pytest.raises(ParameterError, match="features is empty"):
        Linear(features=())
    with pytest.raises(ParameterError, match=r"column indices from 0 on, got -1"):
        Linear(features=(0, -1))
    with pytest.raises(ParameterError, match="names a column twice"):
        Linear(features=(1, 1))
    with pytest.raises(ParameterError, match="must be a tuple of column indices or None, got '01'"):
        Linear(features="01")
    with pytest.raises(KernelError, match="needs column 5, but the data have 3"):
        Linear(features=(5,)).columns(3)


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
    with pytest.raises(KernelError, match=r"Linear\(\) has met no table yet, .* use columns\(n_features\)"):
        Linear().settled  # noqa: B018
