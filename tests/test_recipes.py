"""Recipes: the kernels they write down, counted by hand, and what they refuse."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from mklcore.errors import ParameterError
from mklcore.kernels import BAND_KERNELS, RBF, GramStack, KernelDictionary, Laplacian, Linear, Polynomial, stacks
from mklcore.kernels.notation import AUTO_FEATURES, Recipe, kinds, width_multiples

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


@pytest.mark.parametrize(("n_features", "count"), [(AUTO_FEATURES, AUTO_FEATURES), (AUTO_FEATURES + 1, 0)])
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


@pytest.mark.parametrize("kind", kinds())
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


@pytest.mark.parametrize(
    ("wrong", "match"),
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
