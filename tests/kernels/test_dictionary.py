"""Kernel dictionaries: builders, names, values as cache keys, and what they settle on the training rows."""

import copy
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import mklcore as mkl
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError, KernelError, ParameterError
from mklcore.kernels import BAND_KERNELS, GramStack, Polynomial, stacks
from mklcore.kernels.dictionary import MOST_UNITS, KernelDictionary, units
from mklcore.kernels.functions import RBF, Delta, Laplacian, Linear
from mklcore.kernels.notation import AUTO_FEATURES, Recipe, kinds, width_multiples
from tests.helpers.every import every


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
    assert replace(named, feature_names=None).names == ("linear x0", "linear x1")
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
    assert not any(spec.relative for spec in specs)
    assert KernelDictionary.laplacian_grid([2.0]).grams(X).specs[0].width == specs[1].width
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


def test_bands_are_contiguous(X):
    bands = KernelDictionary.bands(3, [RBF(0.5, relative=True), RBF(2, relative=True)])
    assert bands.names[2] == "RBF 0.5 × median, band 2 of 3"
    assert [spec.columns(7) for spec in bands][::2] == [(0, 1), (2, 3), (4, 5, 6)]
    assert [spec.features for spec in bands.grams(X).specs][1::2] == [(0, 1), (2, 3), (4, 5, 6)]


def test_random_subspaces_follow_their_seed(X):
    one, again, other = (KernelDictionary.random_subspaces(RBF(1), 3, 4, seed=seed) for seed in (5, 5, 6))
    assert one.grams(X).values.tobytes() == again.grams(X).values.tobytes()
    drawn = [spec.columns(7) for spec in one]
    assert len(set(drawn)) > 1
    assert drawn != [spec.columns(7) for spec in other]
    assert all(len(set(columns)) == 3 and max(columns) < 7 for columns in drawn)
    assert one.names[1] == "RBF 1, random 3 columns, draw 2"


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


# -- Recipes: the kernels they write down, counted by hand, and what they refuse


NOTHING = Recipe(widths=0, linear=False, degree=0, each="none")
GROUPS = (("left", (0, 1)), ("right", (2, 3, 4)))


def test_widths_are_symmetric_about_the_median_distance():
    assert width_multiples(0) == []
    assert width_multiples(1) == [1.0]
    for count in (2, 5, 8):
        widths = np.array(width_multiples(count))
        assert (widths[0], widths[-1]) == (0.25, 4.0)
        np.testing.assert_allclose(np.diff(np.log(widths)), np.log(16) / (count - 1), rtol=0.01)


def test_a_recipe_without_anything_is_no_kernel():
    assert NOTHING.specs(5, GROUPS) == ()


def test_the_usual_recipe_is_widths_linear_quadratic_and_one_per_column():
    found = Recipe().specs(3)
    assert found[:5] == tuple(RBF(width, relative=True) for width in (0.25, 0.5, 1.0, 2.0, 4.0))
    assert found[5:] == (Linear(), Polynomial(2), *(Linear(features=(j,)) for j in range(3)))


@every("n_features, count", [(AUTO_FEATURES, AUTO_FEATURES), (AUTO_FEATURES + 1, 0)])
def test_auto_offers_a_kernel_per_column_up_to_a_number_of_columns(n_features, count):
    assert len(replace(NOTHING, each="auto").specs(n_features)) == count


def test_parts_of_the_table_get_their_kinds():
    assert replace(NOTHING, laplacians=1).specs(5) == (Laplacian(1.0, relative=True),)
    assert replace(NOTHING, groups=True, group_kernels="both").specs(5) == ()
    both = replace(NOTHING, groups=True, group_kernels="both").specs(5, GROUPS)
    assert [(type(spec), spec.features) for spec in both] == [
        (kind, members) for (_, members), kind in product(GROUPS, (Linear, RBF))
    ]
    assert len(replace(NOTHING, bands=9, band_kernels="spectral").specs(5)) == 5 * len(BAND_KERNELS)
    drawn = replace(NOTHING, subspaces=4, subspace_size=9, subspace_seed=3).specs(5)
    assert [spec.features for spec in drawn] == [tuple(range(5))] * 4
    assert drawn != replace(NOTHING, subspaces=4, subspace_size=2, subspace_seed=4).specs(5)


@every("kind", kinds())
def test_every_kind_builds_on_every_choice_of_columns(kind):
    asked = Recipe(
        each=kind, groups=True, group_kernels=kind, bands=2, band_kernels=kind, subspaces=2, subspace_kernel=kind
    )
    made = KernelDictionary(asked.specs(5, GROUPS))
    assert len(made) == 7 + 5 + (len(GROUPS) + 2 + 2) * len(kinds()[kind])
    assert made.grams(np.random.default_rng(0).standard_normal((12, 5))).n_kernels == len(made)


def test_a_recipe_is_read_off_any_object_with_its_fields():
    @dataclass(frozen=True)
    class Screen(Recipe):
        theme: str = "linear"

    assert Recipe.of(Screen(widths=2)) == Recipe(widths=2)
    assert len({Recipe(), Recipe(widths=5), Recipe(widths=4)}) == 2


@every(
    "wrong, match",
    [
        ({"widths": -1}, "widths of a recipe is a whole number from 0 on; got -1"),
        ({"bands": 2.5}, "bands of a recipe is a whole number from 0 on; got 2.5"),
        ({"each": "cubic"}, "each of a recipe is one of linear, polynomial, rbf, .*; got 'cubic'"),
        ({"band_kernels": "auto"}, "band_kernels of a recipe is one of .*; got 'auto'"),
    ],
)
def test_a_recipe_refuses_what_it_cannot_build(wrong, match):
    with pytest.raises(ParameterError, match=match):
        Recipe(**wrong)


def test_a_forecast_with_new_rows_counts_their_block():
    specs = KernelDictionary(Recipe().specs(3))
    alone, more = specs.foresee(40), specs.foresee(40, n_new=10)
    assert more.bytes - alone.bytes == specs.grams(np.eye(40)[:, :3] + 1).cross(np.ones((10, 3))).nbytes
    assert more.seconds > alone.seconds
    ready = GramStack.from_array(np.stack([np.eye(50), np.ones((50, 50))]))
    cost = stacks.foresee(2, 40, 10)
    assert cost.bytes == ready.take(np.arange(40)).values.nbytes + ready.block(np.arange(40, 50), np.arange(40)).nbytes
    assert (cost.seconds, cost.n_kernels) == (0.0, 2)


# -- What a table is made of for a dictionary: columns, groups, bands or clusters, and the kernels recommended


RNG = np.random.default_rng(0)


def made(n: int = 240, noise: int = 4, task: str = "binary", seed: int = 1) -> Dataset:
    """One straight column, one bent one, one category of three values, and columns of noise; only the first three
    count.
    """
    rng = np.random.default_rng(seed)
    straight, bent, kind = rng.normal(size=n), rng.normal(size=n), rng.integers(0, 3, n)
    value = 1.5 * straight + 2.0 * np.abs(bent) + np.array([2.0, -2.0, 0.0])[kind] + 0.1 * rng.normal(size=n)
    X = np.column_stack([straight, bent, *(kind == k for k in range(3)), rng.normal(size=(n, noise))])
    names = ("straight", "bent", "kind=a", "kind=b", "kind=c", *(f"noise {j}" for j in range(noise)))
    columns = (
        ("straight", (0,)),
        ("bent", (1,)),
        ("kind", (2, 3, 4)),
        *((f"noise {j}", (5 + j,)) for j in range(noise)),
    )
    y = value if task == "regression" else (value > np.median(value)).astype(int)
    return Dataset(X, y, names, task=task, columns=columns)


def test_every_kernel_sees_one_source_column_or_everything():
    data = made()
    dictionary = mkl.KernelDictionary.recommended(data)
    homes = [set(members) for _, members in data.columns]
    seen = [set(spec.columns(data.n_features)) for spec in dictionary]
    whole = [columns for columns in seen if len(columns) == data.n_features]
    assert len(whole) == 2
    assert all(columns in homes for columns in seen if len(columns) < data.n_features)
    assert len(mkl.KernelDictionary.recommended(data, whole=False)) == len(dictionary) - 2
    assert [type(spec).__name__ for spec in dictionary if set(spec.columns(data.n_features)) == {2, 3, 4}] == ["Delta"]


def test_a_wide_table_is_seen_by_groups_bands_or_clusters():
    X = RNG.normal(size=(80, 60))
    y = (X[:, 0] > 0).astype(int)
    numbered = Dataset(X, y, tuple(f"x{j + 1}" for j in range(60)), task="binary")
    assert {unit.kind for unit in units(numbered)} == {"cluster"}
    spectrum = Dataset(X, y, tuple(f"{850 + 2 * j}" for j in range(60)), task="binary")
    assert [unit.kind for unit in units(spectrum)] == ["band"] * MOST_UNITS
    grouped = Dataset(X, y, task="binary", groups=(("front", tuple(range(30))), ("back", tuple(range(30, 60)))))
    assert [unit[::2] for unit in units(grouped)] == [("front", "group"), ("back", "group")]
    for data in (numbered, spectrum, grouped):
        assert sorted(j for unit in units(data) for j in unit.columns) == list(range(60))


def test_wavelengths_beside_other_columns_are_bands_and_columns():
    X = RNG.normal(size=(30, 52))
    names = ("water", *(f"nm{850 + 2 * j}" for j in range(50)), "ash")
    found = units(Dataset(X, X[:, 0], names, task="regression"))
    assert [(unit.name, unit.kind) for unit in found[-2:]] == [("water", "column"), ("ash", "column")]
    assert {unit.kind for unit in found[:-2]} == {"band"}
    assert sorted(j for unit in found for j in unit.columns) == list(range(52))
    assert [names[j] for j in found[0].columns] == ["nm850", "nm852"]


def test_without_curved_kernels_every_column_counts_along_a_straight_line():
    names = {type(spec).__name__ for spec in mkl.KernelDictionary.recommended(made(40), curved=False)}
    assert names == {"Linear", "Delta"}


def test_columns_that_carry_the_same_are_one_cluster():
    sources = RNG.normal(size=(200, 10))
    X = np.hstack([sources + 0.05 * RNG.normal(size=(200, 10)) for _ in range(6)])
    found = units(Dataset(X, (X[:, 0] > 0).astype(int), task="binary"))
    home = {j: k for k, unit in enumerate(found) for j in unit.columns}
    assert len(found) <= MOST_UNITS
    assert all(home[j] == home[j + 10 * k] for j in range(10) for k in range(6))


def test_delta_is_equality_of_codes():
    codes = np.array([[0, 1], [1, 0], [0, 1], [1, 1]], dtype=float)
    stack = mkl.KernelDictionary((Delta(),)).grams(codes, normalise=None)
    equal = (codes[:, None] == codes[None]).all(axis=-1)
    np.testing.assert_array_equal(stack.values[0], equal)
    np.testing.assert_array_equal(stack.cross(codes[2:])[0], equal[2:])


def test_numbered_categories_are_no_spectrum():
    X = RNG.integers(0, 3, size=(60, 56)).astype(float)
    data = Dataset(X, X[:, 0], tuple(f"attribute{j + 2}" for j in range(56)), task="regression")
    assert {unit.kind for unit in units(data)} == {"cluster"}
