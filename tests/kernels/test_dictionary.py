"""Kernel dictionaries: builders, names, values as cache keys, and what they settle on the training
rows.
"""

import copy
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist

from mklcore import (
    RBF,
    Dataset,
    Delta,
    KernelDictionary,
    KernelError,
    Laplacian,
    Linear,
    Matern,
    ParameterError,
    Polynomial,
)
from mklcore.kernels import stacks
from mklcore.kernels.dictionary import (
    ALL_COLUMNS,
    BAND_KERNELS,
    MOST_UNITS,
    SEVERAL_GROUPS,
    kernels_by_columns,
    units,
)
from mklcore.kernels.recipes import AUTO_FEATURES, Recipe, kinds
from tests.helpers.every import every
from tests.helpers.refusals import data_error, kernel_error

ONE, NAMED = KernelDictionary(Linear()), KernelDictionary(Linear(), feature_names=["a"])
MANY = KernelDictionary.rbf_grid(np.arange(1, 50)) + ONE


@pytest.fixture
def X():
    rng = default_rng(1)
    return rng.standard_normal((60, 7)) * np.geomspace(0.1, 100, 7) + np.arange(7)


def test_dictionaries_are_values():
    one = KernelDictionary.rbf_grid([0.5, 1]) + KernelDictionary.per_feature(Linear(), 3)
    two = KernelDictionary(
        [RBF(0.5, relative=True), RBF(1, relative=True), *(Linear(features=(j,)) for j in range(3))]
    )
    assert one == two
    assert hash(one) == hash(two)
    assert one != KernelDictionary(two.specs, standardize=False)
    assert len(one) == 5
    assert list(one) == list(two.specs)
    assert copy.deepcopy(one) == one
    assert eval(repr(one)) == one
    assert KernelDictionary(Linear()) == KernelDictionary((Linear(),))


def test_names_are_different_and_use_column_names():
    named = replace(KernelDictionary.per_feature(Linear(), 2), feature_names=("age", "bmi"))
    assert named.names == ("linear age", "linear bmi")
    assert replace(named, feature_names=None).names == ("linear x0", "linear x1")
    assert KernelDictionary((Linear(), RBF(1), Linear())).names == ("linear", "RBF 1", "linear (2)")
    assert (KernelDictionary.rbf_grid([1]) + named).feature_names == ("age", "bmi")
    assert named.families == ("linear", "linear")


def test_relative_widths_count_median_distances_of_the_standardised_columns(X):
    Z = (X - X.mean(0)) / X.std(0)
    some = (1, 4)
    zeros = np.zeros((10, 1))
    zeros[:2, 0] = 1.0, 3.0
    for spec, rows, standardize, width in (
        (RBF(0.5, relative=True), X, True, 0.5 * np.median(pdist(Z))),
        (Laplacian(2.0, relative=True), X, True, 2 * np.median(pdist(Z, "cityblock"))),
        (RBF(3.0, relative=True, features=some), X, True, 3 * np.median(pdist(Z[:, some]))),
        (RBF(0.7), X, True, 0.7),
        (RBF(1.0, relative=True), X, False, np.median(pdist(X))),
        (RBF(1.0, relative=True), zeros, False, 2.0),  # of the distances that are not zero
    ):
        (found,) = KernelDictionary((spec,), standardize=standardize).grams(rows).specs
        assert found.width == pytest.approx(width, rel=1e-12)
        assert not found.relative
        assert found.features == (some if spec.features else tuple(range(rows.shape[1])))
    # so many that a sample of the pairs is looked at
    many = default_rng(2).standard_normal((2100, 2))
    widths = {
        KernelDictionary(RBF(1.0, relative=True), False).grams(many).specs[0].width
        for _ in range(2)
    }
    assert len(widths) == 1
    assert widths.pop() == pytest.approx(np.median(pdist(many)), rel=0.02)


def test_columns_of_any_magnitude_are_standardised_and_constant_ones_left(X):
    linear = KernelDictionary((Linear(),))
    X = np.column_stack([X, np.full(60, 0.1)])
    stack = linear.grams(X, normalise=None)
    scales = np.where(np.arange(8) < 7, X.std(0), 1.0)
    Z = (X - X.mean(0)) / scales
    assert_allclose(stack.values[0], Z @ Z.T, rtol=1e-11, atol=1e-11)
    new = X[:3] + 1.0
    assert_allclose(stack.cross(new)[0][:, 0], ((new - X.mean(0)) / scales) @ Z[0], rtol=1e-10)
    column = default_rng(3).standard_normal((20, 1))
    for factor in (1e-140, 1e140):
        assert_allclose(linear.grams(factor * column).values, linear.grams(column).values)
    with kernel_error("constant"):
        linear.grams(1e-200 * column)
    with data_error("Column 0 holds values too large to standardise"):
        linear.grams(1e200 * column)


def test_per_feature_and_per_group(X):
    both = KernelDictionary.per_feature([Linear(), RBF(1, relative=True)], 2)
    assert both.names == ("linear x0", "RBF 1 × median, x0", "linear x1", "RBF 1 × median, x1")
    pairs = (("size", (0, 2)), ("shape", np.array([1, 3])))
    groups = KernelDictionary.per_group([Linear(), RBF(2)], pairs)
    assert groups.names == ("linear size", "RBF 2, size", "linear shape", "RBF 2, shape")
    assert [spec.features for spec in groups] == [(0, 2), (0, 2), (1, 3), (1, 3)]
    assert KernelDictionary.per_group([Linear(), RBF(2)], dict(pairs)) == groups
    assert KernelDictionary.per_group(Linear(), [(0, 2), [1]]).names == (
        "linear x0, x2",
        "linear x1",
    )


def test_bands_are_contiguous(X):
    bands = KernelDictionary.bands(3, [RBF(0.5, relative=True), RBF(2, relative=True)])
    assert bands.names[2] == "RBF 0.5 × median, band 2 of 3"
    assert [spec.columns(7) for spec in bands][::2] == [(0, 1), (2, 3), (4, 5, 6)]
    assert [spec.features for spec in bands.grams(X).specs][1::2] == [(0, 1), (2, 3), (4, 5, 6)]


def test_random_subspaces_follow_their_seed(X):
    one, again, other = (
        KernelDictionary.random_subspaces(RBF(1), 3, 4, seed=seed) for seed in (5, 5, 6)
    )
    assert one.grams(X).values.tobytes() == again.grams(X).values.tobytes()
    drawn = [spec.columns(7) for spec in one]
    assert len(set(drawn)) > 1
    assert drawn != [spec.columns(7) for spec in other]
    assert all(len(set(columns)) == 3 and max(columns) < 7 for columns in drawn)
    assert one.names[1] == "RBF 1, random 3 columns, draw 2"


@every("n_features", [1, 2, 50, 51])
def test_default_dictionary_fits_any_table(n_features):
    d = KernelDictionary.default(n_features)
    stack = d.grams(default_rng(0).standard_normal((12, n_features)))
    assert stack.n_kernels == len(d) == 7 + (n_features if 2 <= n_features <= 50 else 0)
    assert not stack.notes


def test_cost_is_foreseen():
    ahead = MANY.foresee(2000)
    assert (ahead.n_kernels, ahead.bytes) == (50, 8 * 2000**2 * 51)
    assert ahead.megabytes == pytest.approx(1632)
    assert 0 < MANY.foresee(500).seconds < ahead.seconds
    cost = stacks.foresee(2, 40)
    assert (cost.bytes, cost.seconds, cost.n_kernels) == (8 * 2 * 40**2, 0.0, 2)


@every("error, make, words", [
    (ParameterError, lambda X: KernelDictionary(()), "at least one kernel"),
    *((ParameterError, lambda X, no=no: KernelDictionary(no), "holds kernel specs such as") for no in (("rbf",), 3)),
    (ParameterError, lambda X: KernelDictionary(Linear(), standardize="no"), "standardize must be True or False"),
    (ParameterError, lambda X: KernelDictionary.per_feature(Linear(features=(0,)), 3), "already names its columns"),
    (ParameterError, lambda X: KernelDictionary.per_feature(Linear(), 0), "n_features must be a whole number of 1 or"),
    (ParameterError, lambda X: KernelDictionary.random_subspaces(Linear(), 2, 2, seed=None), "seed must be a whole"),
    (ParameterError, lambda X: ONE + KernelDictionary(Linear(), standardize=False), "same standardize"),
    (ParameterError, lambda X: NAMED + KernelDictionary(Linear(), feature_names=["b"]), "same feature_names"),
    (TypeError, lambda X: ONE + 1, "unsupported"),
    (KernelError, lambda X: KernelDictionary.bands(9, Linear()).grams(X), "9 bands need at least 9 columns, the data"),
    (KernelError, lambda X: KernelDictionary.random_subspaces(Linear(), 8, 1, seed=0).grams(X), "at least as many"),
    (KernelError, lambda X: NAMED.grams(X), "The dictionary names 1 columns, X has 7"),
    (KernelError, lambda X: MANY.grams(X, memory_limit_mb=1),
     r"50 kernels on 60 rows need 1 MB, above the limit of 1 MB. Use at most 49 row"),
    (KernelError, lambda X: MANY.grams(np.broadcast_to(0.0, (100_000, 1))),
     r"need 4,080,000 MB, above the limit of 4,096 MB\. Use at most 3,168 rows, or"),
    (ParameterError, lambda X: ONE.grams(X, memory_limit_mb=0), "memory_limit_mb must be a positive number"),
])  # fmt: skip
def test_bad_dictionaries_are_refused(X, error, make, words):
    with pytest.raises(error, match=words):
        make(X)


# -- Recipes: the kernels they write down, counted by hand, and what they refuse


NOTHING = Recipe(widths=0, linear=False, degree=0, each="none")
GROUPS = (("left", (0, 1)), ("right", (2, 3, 4)))


def test_the_usual_recipe_is_widths_linear_quadratic_and_one_per_column():
    found = Recipe().specs(3)
    assert found[:5] == tuple(RBF(width, relative=True) for width in (0.25, 0.5, 1.0, 2.0, 4.0))
    assert found[5:] == (Linear(), Polynomial(2), *(Linear(features=(j,)) for j in range(3)))
    assert NOTHING.specs(5, GROUPS) == ()
    for n_features, count in ((AUTO_FEATURES, AUTO_FEATURES), (AUTO_FEATURES + 1, 0)):
        assert len(replace(NOTHING, each="auto").specs(n_features)) == count
    specs = replace(NOTHING, each="matern", others="matern").specs(2)
    assert specs[:3] == tuple(Matern(width, relative=True) for width in (0.25, 1.0, 4.0))
    assert [spec.features for spec in specs[3:]] == [(0,), (1,)]


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
    own = dict.fromkeys(("each", "group_kernels", "band_kernels", "subspace_kernel"), kind)
    made = KernelDictionary(Recipe(groups=True, bands=2, subspaces=2, **own).specs(5, GROUPS))
    assert len(made) == 7 + 5 + (len(GROUPS) + 2 + 2) * len(kinds()[kind])
    assert made.grams(default_rng(0).standard_normal((12, 5))).n_kernels == len(made)


# -- What a table is made of for a dictionary: columns, groups, bands or clusters, and the kernels
# recommended


RNG = default_rng(0)


def made(n=240, noise=4, task="binary"):
    """One straight column, one bent one, one category of three values, and columns of noise; only
    the first three count.
    """
    rng = default_rng(1)
    straight = rng.normal(size=n)
    bent = rng.normal(size=n)
    kind = rng.integers(0, 3, n)
    value = (
        1.5 * straight
        + 2.0 * np.abs(bent)
        + np.array([2.0, -2.0, 0.0])[kind]
        + 0.1 * rng.normal(size=n)
    )
    X = np.column_stack(
        [straight, bent, *(kind == k for k in range(3)), rng.normal(size=(n, noise))]
    )
    noises = [f"noise {j}" for j in range(noise)]
    names = ("straight", "bent", "kind=a", "kind=b", "kind=c", *noises)
    columns = {"straight": (0,), "bent": (1,), "kind": (2, 3, 4)} | {
        name: (5 + j,) for j, name in enumerate(noises)
    }
    y = value if task == "regression" else (value > np.median(value)).astype(int)
    return Dataset(X, y, names, task=task, columns=tuple(columns.items()))


def test_every_kernel_sees_one_source_column_or_everything():
    data = made()
    dictionary = KernelDictionary.recommended(data)
    homes = [set(members) for _, members in data.columns]
    seen = [set(spec.columns(9)) for spec in dictionary]
    assert [len(columns) for columns in seen if columns not in homes] == [9, 9]
    assert len(KernelDictionary.recommended(data, whole=False)) == len(dictionary) - 2
    assert [type(spec).__name__ for spec in dictionary if set(spec.columns(9)) == {2, 3, 4}] == [
        "Delta"
    ]
    straight = KernelDictionary.recommended(made(40), curved=False)
    assert {type(spec).__name__ for spec in straight} == {"Linear", "Delta"}


def test_a_wide_table_is_seen_by_groups_bands_or_clusters():
    X = RNG.normal(size=(80, 60))
    wide = partial(Dataset, X, (X[:, 0] > 0).astype(int), task="binary")
    waves = [f"nm{850 + 2 * j}" for j in range(58)]
    sources = RNG.normal(size=(80, 10))
    copies = Dataset(
        np.hstack([sources + 0.05 * RNG.normal(size=(80, 10)) for _ in range(6)]),
        wide().y,
        task="binary",
    )
    categories = Dataset(
        RNG.integers(0, 3, (80, 60)) + 0.0, wide().y, tuple(f"attribute{j}" for j in range(2, 62))
    )
    halves = ("front", tuple(range(30))), ("back", tuple(range(30, 60)))
    for data, expected in (
        (wide(tuple(f"x{j + 1}" for j in range(60))), {"cluster"}),
        (categories, {"cluster"}),
        (copies, {"cluster"}),
        (wide(tuple(f"{850 + 2 * j}" for j in range(60))), {"band"}),
        (wide(("water", *waves, "ash")), {"band", "column"}),
        (wide(groups=halves), {"group"}),
    ):
        found = units(data)
        assert {unit.kind for unit in found} == expected
        assert len(found) <= MOST_UNITS + 2
        assert sorted(j for unit in found for j in unit.columns) == list(range(60))
        if data is copies:  # columns that carry the same
            home = {j: k for k, unit in enumerate(found) for j in unit.columns}
            assert all(home[j] == home[j + 10 * k] for j in range(10) for k in range(6))
        if "column" in expected:
            assert [unit.name for unit in found[-2:]] == ["water", "ash"]
            assert list(found[0].columns) == list(range(1, 1 + len(found[0].columns)))


def test_delta_is_equality_of_codes():
    codes = np.array([[0, 1], [1, 0], [0, 1], [1, 1]], dtype=float)
    stack = KernelDictionary((Delta(),)).grams(codes, normalise=None)
    equal = (codes[:, None] == codes[None]).all(axis=-1)
    assert_array_equal(stack.values[0], equal)
    assert_array_equal(stack.cross(codes[2:])[0], equal[2:])


def test_kernels_are_counted_where_their_columns_lie():
    specs = [
        RBF(1.0, features=(0, 1, 2, 3)), Linear(features=(0,)), Linear(features=(1,)),
        Linear(features=(0, 1)), Linear(features=(1, 2)), Linear(features=(3,)),
    ]  # fmt: skip
    names = ("a", "b", "c", "d")
    grouped = kernels_by_columns(specs, [("front", (0, 1)), ("back", (2,))], names)
    assert grouped == {
        ALL_COLUMNS: [0], "front": [1, 2, 3], SEVERAL_GROUPS: [4], "d": [5],
    }  # fmt: skip
    alone = kernels_by_columns(specs, [], names)
    assert alone["a"] == [1]
    assert alone["2 columns, a first"] == [3]
    assert kernels_by_columns([Linear(features=(0,))], [], ("only",)) == {"only": [0]}
