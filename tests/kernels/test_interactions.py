"""Kernels of a functional ANOVA: means of zero, against brute force, through text, code and files,
and which sets are found.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

import mklcore as mkl
from mklcore import (
    Dataset,
    Delta,
    Interaction,
    KernelDictionary,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Product,
    Spectrum,
)
from mklcore.kernels.functions import median_distance
from mklcore.kernels.interactions import ColumnMeasure, interacting
from tests.helpers.every import every
from tests.helpers.refusals import refused

RBF = [mkl.RBF(1.0, features=(j,), relative=True) for j in range(4)]
LINEAR = [Linear(features=(j,)) for j in range(4)]


def plain(*specs):
    return KernelDictionary(specs)


@pytest.fixture(scope="module")
def table():
    rng = default_rng(0)
    X = np.column_stack(
        [rng.standard_normal((40, 2)), rng.integers(0, 3, 40), rng.integers(0, 2, 40)]
    )
    new = np.column_stack(
        [rng.standard_normal((9, 2)), rng.integers(0, 4, 9), rng.integers(0, 2, 9)]
    )
    return X, new


@every("part", [
        RBF[0], LINEAR[1], Laplacian(0.7, features=(0,)), Matern(1.0, features=(1,)), Delta(features=(2,)),
        Delta(features=(2, 3)), Polynomial(2, features=(0, 1)), mkl.RBF(1.0, features=(0, 1), relative=True),
    ])  # fmt: skip
def test_one_kernel_alone_is_the_kernel_without_its_mean(table, part):
    X, new = table
    stack = plain(Interaction(part)).grams(X, normalise=None)
    centred = plain(part).grams(X, normalise=None, center=True)
    assert stack.values == pytest.approx(centred.values, abs=1e-12)
    assert stack.values[0].sum(axis=0) == pytest.approx(0.0, abs=1e-11)
    assert stack.cross(new) == pytest.approx(centred.cross(new), abs=1e-12)
    assert stack.cross(new).sum(axis=2) == pytest.approx(0.0, abs=1e-11)


def test_a_product_is_that_of_its_parts_wherever_it_is_computed(table):
    X, new = table
    parts = (RBF[0], Delta(features=(2, 3)), Matern(1.0, features=(1,)))
    kernels = plain(*map(Interaction, parts), Interaction(*parts))
    stack = kernels.grams(X, normalise=None)
    assert stack.values[3] == pytest.approx(np.prod(stack.values[:3], axis=0), abs=1e-13)
    assert stack.cross(new)[3] == pytest.approx(np.prod(stack.cross(new)[:3], axis=0), abs=1e-13)
    settled = KernelDictionary(tuple(replace(spec, measures=()) for spec in stack.specs))
    twice = settled.grams(np.vstack([X, X]), None)
    assert twice.values[:, :40, :40] == pytest.approx(stack.values, abs=1e-12)


def test_many_values_are_summed_up_by_groups_but_not_for_equality(monkeypatch):
    column = default_rng(0).standard_normal((500, 1))
    part = mkl.RBF(1.0, features=(0,))
    delta = Delta(features=(0,))
    exact = ColumnMeasure.of(part, column)
    monkeypatch.setattr("mklcore.kernels.interactions.MOST_NODES", 400)
    monkeypatch.setattr("mklcore.kernels.interactions.GROUPS", 60)
    summed = ColumnMeasure.of(part, column)
    assert (len(exact.nodes), len(summed.nodes)) == (500, 60)
    assert summed.shares.sum() == pytest.approx(1.0)
    assert summed.means_at(part, column) == pytest.approx(exact.means_at(part, column), abs=5e-3)
    values, equal = (
        plain(Interaction(part), Interaction(delta)).grams(column, normalise=None).values
    )
    assert np.linalg.eigvalsh(values)[0] > -1e-10  # semidefinite whatever the measure
    assert abs(values.mean(axis=0)).max() < 1e-2
    assert abs(equal.mean(axis=0)).max() < 1e-12


@every("digits", [0, 1, 12])
@every("n", [2, 3, 4, 30, 31])
def test_the_median_of_a_column_is_that_of_all_pairs(digits, n):
    column = np.sort(np.round(default_rng(n).standard_normal(n), digits))
    pairs = np.abs(column[:, None] - column)[np.triu_indices(n, 1)]
    expected = np.median(pairs) or (np.median(pairs[pairs > 0]) if pairs.any() else 1.0)
    assert median_distance("absolute", column[:, None]) == pytest.approx(expected, rel=1e-12)


ONE = ColumnMeasure.of(RBF[0].settle(np.eye(4)), np.eye(4))
DATA = Dataset(default_rng(0).standard_normal((9, 4)), np.arange(9.0), tuple("abcd"))


def test_what_is_no_interaction_is_refused():
    refused(
        (lambda: Interaction(), "takes 1 to 8 kernel specs"),
        (lambda: Interaction(RBF[0], LINEAR[0]), "see different columns"),
        (lambda: Interaction(RBF[0], Linear()), "name their columns"),
        (lambda: Interaction(Product(LINEAR[0], LINEAR[1])), "takes kernels of columns"),
        (lambda: Interaction(Spectrum(2)), "takes kernels of columns"),
        (lambda: Interaction(RBF[0], RBF[1], measures=(ONE,)), "one measure per part"),
        (lambda: Interaction(Linear(features=(0, 1)), measures=(ONE,)), "has 1 columns"),
        (lambda: ColumnMeasure(np.ones((1, 1)), np.zeros(1), np.ones(1), 1.0), "shares above 0"),
        (lambda: ColumnMeasure(np.ones((0, 1)), np.zeros(0), np.ones(0), 1.0), "u from 1 on"),
        (lambda: Interaction(LINEAR[0]).own(np.eye(4)), "no training rows yet"),
        *(
            (lambda asked=asked: KernelDictionary.interactions(DATA, candidates=asked), words)
            for asked, words in (
                ([("a", "nobody")], "'nobody', which is no column"),
                ([("a",)], "sets of 2 to 8"),
                ([("a", "a")], "sets of 2 to 8"),
                (["ab"], "'ab', which is no column"),
            )
        ),
        (lambda: KernelDictionary.interactions(DATA, order=0), "order must be"),
    )


# The dictionary


def made(f, n=300, d=4, seed=0, noise=0.1):
    rng = default_rng(seed)
    X = rng.standard_normal((n, d))
    return Dataset(X, f(X) + noise * rng.standard_normal(n), tuple("abcdefghij"[:d]))


def test_without_products_it_is_the_recommended_kernels_without_their_means():
    recommended = KernelDictionary.recommended(DATA, whole=False)
    alone = KernelDictionary.interactions(DATA, order=1)
    assert alone.names == recommended.names
    assert alone.grams(DATA.X, None).values == pytest.approx(
        recommended.grams(DATA.X, None, True).values, abs=1e-12
    )


def test_candidates_are_taken_by_name():
    alone = len(KernelDictionary.interactions(DATA, order=1))
    found = KernelDictionary.interactions(
        DATA, candidates=[("a", "c"), ("c", "a"), ("b", "c", "d")]
    )
    assert found.names[alone:] == (
        "a × c, linear × linear",
        "a × c, RBF 1 × median × RBF 1 × median",
        "b × c × d, linear × linear × linear",
        "b × c × d, RBF 1 × median × RBF 1 × median × RBF 1 × median",
    )
    assert len(KernelDictionary.interactions(DATA, candidates=[("a", "c")], curved=False)) == 4 + 1


def test_categories_and_binary_columns_act_by_source_column(rng):
    n = 400
    color = rng.integers(0, 3, n)
    flag = rng.integers(0, 2, n)
    size = rng.standard_normal(n)
    X = np.column_stack([color == 0, color == 1, color == 2, flag, size]).astype(float)
    data = Dataset(
        X, (color == 1) * flag + size * (color == 2) + 0.1 * rng.standard_normal(n),
        ("color=r", "color=g", "color=b", "flag", "size"),
        columns=(("color", (0, 1, 2)), ("flag", (3,)), ("size", (4,))),
    )  # fmt: skip
    assert set(interacting(data)) == {("color", "flag"), ("color", "size")}
    kernels = KernelDictionary.interactions(data)
    assert "color × flag, delta × linear" in kernels.names
    assert {"color × size, delta × linear", "color × size, delta × RBF 1 × median"} <= set(
        kernels.names
    )
    assert kernels.grams(data.X).cross(data.X[:3]).shape == (len(kernels), 3, n)


# Which sets are found


@every("seed", range(5))
def test_a_product_without_main_effects_is_found_and_nothing_where_columns_act_alone(seed):
    assert interacting(made(lambda X: X[:, 1] * X[:, 3], seed=seed, noise=0.5)) == (("b", "d"),)
    assert (
        interacting(made(lambda X: np.sin(2 * X[:, 0]) + X[:, 1] ** 2 - X[:, 2], seed=seed)) == ()
    )


def test_sets_of_three_are_found_and_the_order_is_that_of_strength():
    data = made(
        lambda X: 2 * X[:, 0] * X[:, 1] * X[:, 2] + 3 * X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3], n=600
    )
    assert interacting(data, 2)[:2] == (("a", "b"), ("c", "d"))
    assert ("a", "b", "c") in interacting(data, 3)
    assert ("a", "b", "d") not in interacting(data, 3)
    assert interacting(data, 3, most=1) == interacting(data, 3)[:1]


def test_a_pair_is_found_among_many_columns(rng):
    X = rng.standard_normal((300, 80))
    data = Dataset(X, X[:, 40] * X[:, 70] + X[:, 3] + 0.2 * rng.standard_normal(300))
    names = KernelDictionary.interactions(data).names
    assert "x40 × x70, linear × linear" in names
    assert len(names) < 60


def test_classes_and_tables_without_a_target():
    X = default_rng(0).standard_normal((400, 3))
    alone = Dataset(X, np.ones(400, dtype=np.int64), task="novelty")
    for data, found in (
        (
            Dataset(X, np.digitize(X[:, 0] * X[:, 1], [-0.5, 0.5]), task="multiclass"),
            (("x0", "x1"),),
        ),
        (Dataset(X, (X[:, 0] * X[:, 2] > 0).astype(np.int64), task="binary"), (("x0", "x2"),)),
        (alone, ()),
        (Dataset(X[:, :1], X[:, 0]), ()),
    ):
        assert interacting(data) == found
    assert len(KernelDictionary.interactions(alone)) == 6
