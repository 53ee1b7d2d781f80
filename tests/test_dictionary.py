"""Kernel dictionaries: builders, names, values as cache keys, and what they settle on the training rows."""

import copy

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from mklcore.errors import DataError, KernelError, ParameterError
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF, Laplacian, Linear
from tests.every import every


@pytest.fixture
def X():
    rng = np.random.default_rng(1)
    return rng.standard_normal((60, 7)) * np.geomspace(0.1, 100, 7) + np.arange(7)


def test_dictionaries_are_values():
    one = KernelDictionary.rbf_grid([0.5, 1]) + KernelDictionary.per_feature(Linear(), 3)
    two = KernelDictionary([RBF(0.5, relative=True), RBF(1, relative=True), *(Linear(features=(j,)) for j in range(3))])
    assert one == two
    assert hash(one) == hash(two)
    assert one != KernelDictionary(two.specs, standardize=False)
    assert len(one) == 5
    assert list(one) == list(two.specs)
    assert copy.deepcopy(one) == one
    assert eval(repr(one)) == one
    assert KernelDictionary(Linear()) == KernelDictionary((Linear(),))


def test_names_are_different_and_use_column_names():
    named = KernelDictionary.per_feature(Linear(), 2, feature_names=["age", "bmi"])
    assert named.names == ("linear age", "linear bmi")
    assert named.with_feature_names(None).names == ("linear x0", "linear x1")
    assert KernelDictionary((Linear(), RBF(1), Linear())).names == ("linear", "RBF 1", "linear (2)")
    assert (KernelDictionary.rbf_grid([1]) + named).feature_names == ("age", "bmi")
    assert named.families == ("linear", "linear")


def test_relative_widths_count_median_distances_of_the_standardised_columns(X):
    Z = (X - X.mean(0)) / X.std(0)
    d = KernelDictionary(
        (
            RBF(0.5, relative=True),
            Laplacian(2.0, relative=True),
            RBF(3.0, relative=True, features=(1, 4)),
            RBF(0.7),
        )
    )
    specs = d.grams(X).specs
    assert specs[0].width == pytest.approx(0.5 * np.median(pdist(Z)), rel=1e-12)
    assert specs[1].width == pytest.approx(2 * np.median(pdist(Z, "cityblock")), rel=1e-12)
    assert specs[2].width == pytest.approx(3 * np.median(pdist(Z[:, [1, 4]])), rel=1e-12)
    assert specs[3].width == 0.7
    assert specs[0].features == tuple(range(7))
    assert not any(spec.is_relative for spec in specs)
    raw = KernelDictionary((RBF(1, relative=True),), standardize=False).grams(X).specs[0]
    assert raw.width == pytest.approx(np.median(pdist(X)), rel=1e-12)


def test_median_of_many_rows_comes_from_a_seeded_sample():
    X = np.random.default_rng(2).standard_normal((2100, 2))
    d = KernelDictionary.rbf_grid([1.0])
    width = d.grams(X).specs[0].width
    assert width == d.grams(X).specs[0].width
    assert width == pytest.approx(np.median(pdist((X - X.mean(0)) / X.std(0))), rel=0.02)


def test_median_distance_is_never_zero():
    X = np.zeros((10, 1))
    X[:2, 0] = 1.0, 3.0
    d = KernelDictionary.rbf_grid([1.0], standardize=False)
    assert d.grams(X).specs[0].width == pytest.approx(np.median([1.0] * 8 + [3.0] * 8 + [2.0]))


def test_standardising_is_undone_by_nothing_but_constant_columns(X):
    X = np.column_stack([X, np.full(60, 0.1)])
    stack = KernelDictionary((Linear(),)).grams(X, normalise=None)
    Z = (X - X.mean(0)) / np.where(np.arange(8) < 7, X.std(0), 1.0)
    np.testing.assert_allclose(stack.values[0], Z @ Z.T, rtol=1e-11, atol=1e-11)
    new = X[:3] + 1.0
    np.testing.assert_allclose(
        stack.cross(new)[0][:, 0], ((new - X.mean(0)) / np.where(np.arange(8) < 7, X.std(0), 1.0)) @ Z[0], rtol=1e-10
    )


def test_columns_of_any_magnitude_are_standardised():
    rng = np.random.default_rng(3)
    column = rng.standard_normal(20)
    plain = KernelDictionary((Linear(),)).grams(column[:, None]).values
    for factor in (1e-140, 1e140):
        np.testing.assert_allclose(KernelDictionary((Linear(),)).grams(factor * column[:, None]).values, plain)
    with pytest.raises(KernelError, match="constant"):
        KernelDictionary((Linear(),)).grams(1e-200 * column[:, None])
    with pytest.raises(DataError, match="Column 0 holds values too large to standardise"):
        KernelDictionary((Linear(),)).grams(1e200 * column[:, None])


def test_per_feature_and_per_group(X):
    both = KernelDictionary.per_feature([Linear(), RBF(1, relative=True)], 2)
    assert both.names == ("linear x0", "RBF 1 × median, x0", "linear x1", "RBF 1 × median, x1")
    pairs = (("size", (0, 2)), ("shape", np.array([1, 3])))
    groups = KernelDictionary.per_group([Linear(), RBF(2)], pairs)
    assert groups.names == ("linear size", "RBF 2, size", "linear shape", "RBF 2, shape")
    assert [spec.features for spec in groups] == [(0, 2), (0, 2), (1, 3), (1, 3)]
    assert KernelDictionary.per_group([Linear(), RBF(2)], dict(pairs)) == groups
    assert KernelDictionary.per_group(Linear(), [(0, 2), [1]]).names == ("linear x0, x2", "linear x1")


def test_bands_are_contiguous_and_the_same_when_resolved_late(X):
    specs = [RBF(0.5, relative=True), RBF(2, relative=True)]
    late, early = KernelDictionary.bands(3, specs), KernelDictionary.bands(3, specs, n_features=7)
    assert late.names == early.names
    assert late.names[2] == "RBF 0.5 × median, band 2 of 3"
    assert [spec.features for spec in early][::2] == [(0, 1), (2, 3), (4, 5, 6)]
    np.testing.assert_array_equal(late.grams(X).values, early.grams(X).values)


def test_random_subspaces_follow_their_seed(X):
    late = KernelDictionary.random_subspaces(RBF(1), 3, 4, seed=5)
    early = KernelDictionary.random_subspaces(RBF(1), 3, 4, seed=5, n_features=7)
    other = KernelDictionary.random_subspaces(RBF(1), 3, 4, seed=6, n_features=7)
    assert late.grams(X).values.tobytes() == early.grams(X).values.tobytes()
    assert len({spec.features for spec in early}) > 1
    assert [spec.features for spec in early] != [spec.features for spec in other]
    assert all(len(set(spec.features)) == 3 and max(spec.features) < 7 for spec in early)
    assert early.names[1] == "RBF 1, random 3 columns, draw 2"


@every("n_features", [1, 2, 50, 51])
def test_default_dictionary_fits_any_table(n_features):
    d = KernelDictionary.default(n_features)
    stack = d.grams(np.random.default_rng(0).standard_normal((12, n_features)))
    assert stack.n_kernels == len(d) == 7 + (n_features if 2 <= n_features <= 50 else 0)
    assert not stack.notes


def test_cost_is_foreseen_and_refused(X):
    d = KernelDictionary.rbf_grid(np.arange(1, 50)) + KernelDictionary((Linear(),))
    ahead = d.foresee(2000)
    assert ahead.n_kernels == 50
    assert ahead.bytes == 8 * 2000**2 * 51
    assert ahead.megabytes == pytest.approx(1632)
    assert 0 < d.foresee(500).seconds < ahead.seconds
    with pytest.raises(
        KernelError, match=r"50 kernels on 60 rows need 1 MB, above the limit of 1 MB. Use at most 49 row"
    ):
        d.grams(X, memory_limit_mb=1)
    with pytest.raises(
        KernelError, match=r"need 4,080,000 MB, above the limit of 4,096 MB\. Use at most 3,168 rows, or"
    ):
        d.grams(np.broadcast_to(0.0, (100_000, 1)))
    with pytest.raises(ParameterError, match="memory_limit_mb must be a positive number"):
        d.grams(X, memory_limit_mb=0)


def test_bad_dictionaries_are_refused(X):
    with pytest.raises(ParameterError, match="at least one kernel"):
        KernelDictionary(())
    with pytest.raises(ParameterError, match="holds kernel specs such as"):
        KernelDictionary(("rbf",))
    with pytest.raises(ParameterError, match="holds kernel specs such as"):
        KernelDictionary(3)
    with pytest.raises(ParameterError, match="standardize must be True or False"):
        KernelDictionary((Linear(),), standardize="no")
    with pytest.raises(ParameterError, match="already names its columns"):
        KernelDictionary.per_feature(Linear(features=(0,)), 3)
    with pytest.raises(ParameterError, match="n_features must be a whole number of 1 or more; got 0"):
        KernelDictionary.per_feature(Linear(), 0)
    with pytest.raises(ParameterError, match="seed must be a whole number of 0 or more"):
        KernelDictionary.random_subspaces(Linear(), 2, 2, seed=None)
    with pytest.raises(ParameterError, match="same standardize"):
        KernelDictionary((Linear(),)) + KernelDictionary((Linear(),), standardize=False)
    with pytest.raises(ParameterError, match="same feature_names"):
        KernelDictionary(Linear(), feature_names=["a"]) + KernelDictionary(Linear(), feature_names=["b"])
    with pytest.raises(TypeError):
        KernelDictionary((Linear(),)) + 1
    with pytest.raises(KernelError, match="9 bands need at least 9 columns, the data have 7"):
        KernelDictionary.bands(9, Linear()).grams(X)
    with pytest.raises(KernelError, match="A random subspace of 8 columns needs at least as many, the data have 7"):
        KernelDictionary.random_subspaces(Linear(), 8, 1, seed=0).grams(X)
    with pytest.raises(KernelError, match="The dictionary names 2 columns, X has 7"):
        KernelDictionary.per_feature(Linear(), 2, feature_names=["a", "b"]).grams(X)


def test_laplacian_widths_count_median_l1_distances_of_the_training_rows(X):
    stack = KernelDictionary.laplacian_grid([0.5, 2.0]).grams(X)
    apart = pdist((X - X.mean(axis=0)) / X.std(axis=0), "cityblock")
    assert [spec.width for spec in stack.specs] == pytest.approx([0.5 * np.median(apart), 2.0 * np.median(apart)])
    assert stack.names == ("Laplacian 0.5 × median", "Laplacian 2 × median")
