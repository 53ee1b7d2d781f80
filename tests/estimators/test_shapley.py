"""Shapley values in closed form against all coalitions, for every estimator whose kernels are
products over columns.
"""

import itertools
import math

import numpy as np
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal

from mklcore import (
    RBF,
    Blend,
    Dataset,
    Delta,
    FeatureScalingRegressor,
    GOMPClassifier,
    GOMPRegressor,
    GreedyMKLClassifier,
    GreedyMKLRegressor,
    HKLRegressor,
    Interaction,
    JointMKLClassifier,
    KernelDictionary,
    Laplacian,
    Linear,
    LpMKLClassifier,
    LpMKLOneClass,
    LpMKLRegressor,
    Matern,
    Nystroem,
    Polynomial,
    Product,
    Ranked,
    SMKLClassifier,
    SMKLRegressor,
    Sum,
)
from mklcore.errors import suppress_convergence_warnings
from mklcore.estimators.shapley import shapley_values
from tests.helpers.every import every
from tests.helpers.models import decided, reloaded
from tests.helpers.refusals import kernel_error

d = 6
rng = default_rng(0)
X = np.column_stack([rng.standard_normal((40, d - 2)), np.eye(2)[rng.integers(2, size=40)]])
y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 4]
labels = np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.7])]
# the last two features are one source column
COLUMNS = (("a", (0,)), ("b", (1,)), ("c", (2,)), ("e", (3,)), ("kind", (4, 5)))
data = Dataset(X, y, columns=COLUMNS)
classes = Dataset(X, labels, task="multiclass", columns=COLUMNS)
WHOLE = [Laplacian(1.0, relative=True), RBF(2.0)]
MIXED = [
    *WHOLE,
    Linear(),
    Polynomial(3),
    Polynomial(2, coef0=0.5, features=(0, 1, 4)),
    Delta(features=(4, 5)),
    Delta(features=(3, 4, 5)),
    Matern(1.0, nu=1.5, features=(2,)),
    Matern(1.0, nu=math.inf, features=(0, 2)),
    RBF(1.0, features=(0,)),
    Product(Linear(features=(0, 1)), RBF(1.0, features=(1, 2))),
    Product(
        Polynomial(2, features=(0, 1)),
        RBF(1.0, features=(1, 2)),
        Laplacian(1.0, features=(3, 4, 5)),
    ),
    Sum(Linear(features=(0, 1)), RBF(1.0, features=(1, 2))),
    Interaction(RBF(1.0, features=(0,)), Linear(features=(1,))),
    Interaction(RBF(1.0, features=(2,))),
    Ranked(RBF(1.0, relative=True), categories=(4, 5)),
]
BLEND = Blend(
    *MIXED,
    Linear(features=(0,)),
    Ranked(Laplacian(1.0, relative=True)),
    shares=0.1 * np.arange(1, len(MIXED) + 3),
)


def by_coalitions(model, rows, columns=COLUMNS):
    """Values, what columns say alone, and base from v of every coalition, a bit per column: the
    mean over all combinations of background values of the absent columns, each drawn by itself.
    """
    members, count = [list(own) for _, own in columns], len(columns)

    def value(row, coalition):
        absent = [own for j, own in enumerate(members) if not coalition >> j & 1]
        # () where none is absent
        every = np.array(list(itertools.product(model.background_, repeat=len(absent))))
        mixed = np.tile(row, (len(every), 1))
        for place, own in enumerate(absent):
            mixed[:, own] = every[:, place][:, own]
        return decided(model, mixed).mean(axis=0)

    v = np.array([[value(row, coalition) for coalition in range(2**count)] for row in rows])
    values = []
    for j in range(count):
        others = [S for S in range(2**count) if not S >> j & 1]
        weights = [1 / (count * math.comb(count - 1, S.bit_count())) for S in others]
        values.append(
            np.tensordot(weights, v[:, [S | 1 << j for S in others]] - v[:, others], (0, 1))
        )
    alone = [v[:, 1 << j] - v[:, 0] for j in range(count)]
    return np.stack(values, axis=1), np.stack(alone, axis=1), v[:, 0]


def agrees(model, rows, columns=COLUMNS, digits=1e-9):
    model.background_ = model.background_[:4]  # all combinations of few
    found = shapley_values(model, rows)
    values, alone, base = by_coalitions(model, rows, columns)
    size = max(1.0, np.abs(values).max())
    assert_allclose(found.values, values, atol=digits * size)
    assert_allclose(found.alone, alone, atol=digits * size)
    assert_allclose(np.broadcast_to(found.base, base.shape), base, atol=digits * size)
    assert_allclose(found.base + found.values.sum(axis=1), decided(model, rows), atol=digits * size)


def fitted(model, table):
    with suppress_convergence_warnings():
        return model.fit(table)


@every("normalise", ["multiplicative", "trace", "diag", None])
@every("center", [False, True])
def test_every_product_and_every_scale_agrees_with_all_coalitions(normalise, center):
    kernels = KernelDictionary(tuple(MIXED))
    agrees(
        fitted(LpMKLRegressor(p=2.0, kernels=kernels, normalise=normalise, center=center), data),
        X[:2],
    )


def test_one_kernel_of_nine_columns_agrees_with_all_coalitions():
    rows = default_rng(1).standard_normal((30, 9))
    model = LpMKLRegressor(kernels=KernelDictionary((RBF(3.0),))).fit(
        rows, np.sin(rows[:, 0]) * rows[:, 1]
    )
    model.background_ = model.background_[:1]
    agrees(model, rows[:1], tuple((f"x{j}", (j,)) for j in range(9)))


ESTIMATORS = {
    "classes": (LpMKLClassifier(p=2.0, kernels=KernelDictionary(tuple(MIXED))), classes),
    "joint": (
        JointMKLClassifier(p=2.0, loss="squared", kernels=KernelDictionary(tuple(WHOLE))),
        classes,
    ),
    "greedy": (GreedyMKLRegressor(kernels=KernelDictionary(tuple(MIXED))), data),
    "greedy, classes": (
        GreedyMKLClassifier(kernels=KernelDictionary(tuple(WHOLE))),
        classes,
    ),
    "blend": (LpMKLRegressor(kernels=KernelDictionary((BLEND,))), data),
    "blend, joint": (
        JointMKLClassifier(loss="squared", kernels=KernelDictionary((BLEND,))),
        classes,
    ),
    "gomp": (GOMPRegressor(kernels=KernelDictionary(tuple(MIXED))), data),
    "gomp, classes": (GOMPClassifier(kernels=KernelDictionary(tuple(WHOLE))), classes),
    "smkl": (SMKLRegressor(kernels=KernelDictionary(tuple(MIXED))), data),
    "scaling": (FeatureScalingRegressor(), data),
    "one class": (LpMKLOneClass(kernels=KernelDictionary(tuple(WHOLE))), data),
    "hull of columns": (HKLRegressor(lam=1e-3), data),
    "hull of matrices": (HKLRegressor(lam=1e-3, basis="gaussian"), data),
    "refitted hull": (HKLRegressor(lam=1e-2, refit=True), data),
}


@every("name", ESTIMATORS)
def test_every_estimator_agrees_with_all_coalitions(name):
    model, table = ESTIMATORS[name]
    agrees(fitted(model, table), X[:2], digits=1e-8)


def test_low_rank_kernels_agree_with_all_coalitions():
    kernels = KernelDictionary(tuple(MIXED))
    model = LpMKLRegressor(p=2.0, kernels=kernels, approximation=Nystroem(20))
    agrees(fitted(model, data), X[:2], digits=1e-5)  # features are in single precision


def test_spherical_scale_is_a_product_where_rows_have_length_one():
    kernels = KernelDictionary((*WHOLE, Linear(features=(0,)), Polynomial(2, features=(4, 5))))
    agrees(fitted(LpMKLRegressor(p=2.0, kernels=kernels, normalise="spherical"), data), X[:2])


def test_the_background_is_200_rows_by_the_seed_and_is_saved():
    rows = default_rng(2).standard_normal((300, 3))
    model = LpMKLRegressor(kernels=KernelDictionary.laplacian_grid([1.0]), random_state=1)
    model.fit(rows, rows[:, 0])
    assert model.background_.shape == (200, 3)
    assert_array_equal(reloaded(model).shapley(rows[:5])[0], model.shapley(rows[:5])[0])


REFUSED = {
    "Matern 1 .* is no product": (
        LpMKLRegressor(kernels=KernelDictionary((Matern(1.0),))),
        data,
    ),
    "linear .* row by row": (
        LpMKLRegressor(kernels=KernelDictionary((Linear(),)), normalise="spherical"),
        data,
    ),
    "pairs of classes vote": (
        SMKLClassifier(kernels=KernelDictionary(tuple(WHOLE))),
        classes,
    ),
}


@every("sentence", REFUSED)
def test_what_is_no_sum_of_products_is_refused_by_name(sentence):
    model, table = REFUSED[sentence]
    with kernel_error(sentence):
        fitted(model, table).shapley(X[:2])


def test_ready_kernels_know_no_columns():
    model = LpMKLRegressor(kernels="precomputed").fit(np.array([X @ X.T]), y)
    with kernel_error("ready kernels knows no columns"):
        model.shapley(X[:2])
