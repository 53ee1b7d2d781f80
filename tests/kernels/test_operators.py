"""Every implementation of M kernels on n rows does what the protocol says: the same numbers as
stored Gram matrices.
"""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier

import mklcore as mkl
from mklcore.errors import cancellation_scope
from mklcore.estimators.base import weighted_blocks
from mklcore.kernels.grams import Rows, SummedRows
from mklcore.kernels.kernel_map import NORMALISATIONS
from mklcore.kernels.operators import (
    CachedOperator,
    Capability,
    Dense,
    KernelOperator,
    WeightedSum,
    as_operator,
    frobenius_norms,
    same_kernels,
)
from mklcore.sparse import gomp
from tests.helpers.every import every
from tests.helpers.models import decided
from tests.helpers.refusals import kernel_error, refused

N = 40
D = 3
X = np.random.default_rng(0).standard_normal((N, D))
KERNELS = (
    mkl.KernelDictionary.rbf_grid([0.5, 2.0])
    + mkl.KernelDictionary.per_feature(mkl.Linear(), D)
    + mkl.KernelDictionary.per_feature(mkl.Laplacian(1.0), D)
)


EVERY_KIND = KERNELS + mkl.KernelDictionary(
    (
        mkl.Linear(),
        mkl.Polynomial(2),
        mkl.Laplacian(2.0),
        mkl.Matern(1.0, 1.5),
        mkl.Linear(features=(2, 0)),
        mkl.RBF(1.0, features=(2, 0)),
        mkl.RBF(1.0, features=(1,), relative=True),
    )
)
FLAT = np.column_stack([X, np.full(N, 2.0)])
# left out, and zero
CONSTANT = mkl.KernelDictionary((mkl.RBF(1.0, features=(3,)), mkl.Linear(features=(3,))))
MAKERS = {
    "dense": lambda kernels=KERNELS, *finish: Dense(kernels.grams(X, *finish).values),
    "cached": lambda kernels=KERNELS, *finish: CachedOperator(
        Dense(kernels.grams(X, *finish).values)
    ),
    "GramStack": lambda kernels=KERNELS, *finish: kernels.grams(X, *finish),
    "lazy": lambda kernels=KERNELS, *finish: Rows.build(kernels, X, *finish),
    "factored": lambda kernels=KERNELS, *finish: mkl.Nystroem(N).features(
        kernels, X, *(finish or ("multiplicative", False))
    ),
}
CLOSE = {"factored": 1e-4}
FINISHES = [(normalise, center) for normalise in NORMALISATIONS for center in (False, True)]


@pytest.fixture(scope="module")
def truth():
    return KERNELS.grams(X).values


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(1)
    a = rng.standard_normal(N)
    weights = rng.random(len(EVERY_KIND))
    a[::3] = 0.0
    weights[::4] = 0.0
    return a, weights


def alike(found, expected, near):
    assert_allclose(found, expected, rtol=0.0, atol=near * np.abs(expected).max())


@every("name, finish", product(MAKERS, FINISHES))
def test_every_kind_of_kernels_gives_what_the_stored_stack_gives(name, finish, vectors):
    kernels = MAKERS[name](EVERY_KIND, *finish)
    K = EVERY_KIND.grams(X, *finish).values
    near = CLOSE.get(name, 1e-9)
    assert isinstance(kernels, KernelOperator)
    assert (kernels.n_kernels, kernels.n_samples) == (len(K), N)
    assert kernels.capabilities <= set(Capability)
    assert as_operator(kernels) is kernels

    (a, weights), some = vectors, np.array([6, 0, 3])
    assert kernels.matvec(a, some[:0]).shape == (0, N)
    # what is remembered of the first helps the second
    for asked in (a, np.where(np.arange(N) == 5, 0.1, 1.7 * a)):
        for found, expected in zip(kernels.matvec(asked), K @ asked, strict=True):
            alike(found, expected, near)
        alike(kernels.matvec(asked, some), K[some] @ asked, near)
        alike(kernels.quad(asked), K @ asked @ asked, 10 * near)
        alike(kernels.quad(asked, some), (K @ asked @ asked)[some], 10 * near)
    assert (kernels.quad(np.zeros(N)) == 0.0).all()

    whole = np.tensordot(weights, K, 1)
    few = np.array([1, 7, 30])
    total = kernels.combine(weights)
    assert isinstance(total, WeightedSum)
    if total.matrix is not None:
        alike(total.matrix, whole, 3 * near)
    alike(total.block(few), whole[np.ix_(few, few)], 3 * near)
    alike(kernels.combine_block(weights, few), whole[np.ix_(few, few)], 3 * near)
    alike(total.matvec(a), whole @ a, 100 * near)
    alike(kernels.decision(weights, a), whole @ a, 100 * near)
    both = np.column_stack([a, a[::-1]])
    solved = np.linalg.solve(whole + 0.5 * np.eye(N), both)
    alike(total.solve(both, 0.5), solved, 1e3 * near)
    alike(total.solve(a, 0.5), solved[:, 0], 1e3 * near)
    cached = kernels if name == "cached" else CachedOperator(kernels)
    shift = np.linspace(0.1, 2.0, N)
    alone = np.eye(len(K))[2]  # a kernel of one feature: there are more rows than features
    for theta, chosen in product((weights, alone), (few, np.arange(N)[::2], np.arange(N))):
        system = np.tensordot(theta, K, 1)[np.ix_(chosen, chosen)] + np.diag(shift[chosen])
        found = cached.solve_block(theta, chosen, shift[chosen], both[chosen])
        alike(found, np.linalg.solve(system, both[chosen]), 1e3 * near)

    alike(kernels.diagonals(), np.einsum("mii->mi", K), near)
    for rows in (np.array([5, 2]), np.array([5])):
        alike(kernels.rows(rows), K[:, rows], near)
    alike(kernels.rows(slice(7, 8))[:, 0], K[:, 7], near)
    alike(kernels.gram(3), K[3], near)
    fewer = kernels.select(some)
    assert fewer.n_kernels == 3
    alike(fewer.matvec(a), K[some] @ a, near)
    assert_allclose(frobenius_norms(kernels), np.linalg.norm(K, axis=(1, 2)), rtol=10 * near)
    if Capability.FACTORS in kernels.capabilities:
        for m in (2, 8, 11):
            alike(kernels.factor(m).T @ kernels.factor(m), K[m], near)


def test_the_sum_of_no_kernels_is_zero():
    none = Dense(np.empty((0, N, N)))
    assert not none.combine(np.empty(0)).matrix.any()


@every("normalise, center", FINISHES)
def test_kernels_that_are_not_stored_finish_and_meet_new_rows_as_the_stack_does(
    normalise, center, vectors
):
    kernels = EVERY_KIND + CONSTANT
    stack = kernels.grams(FLAT, normalise, center)
    rows = Rows.build(kernels, FLAT, normalise, center)
    assert rows.names == stack.names
    assert list(rows.notes) == [note for note in stack.notes if "constant" in note]
    assert rows.scales == pytest.approx(stack.scales, rel=1e-10)
    alike(rows.combine(np.ones(rows.n_kernels)).matrix, stack.values.sum(axis=0), 1e-9)
    alike(SummedRows(rows).rows(np.array([7, 3]))[0], stack.values.sum(axis=0)[[7, 3]], 1e-9)

    new, (a, weights) = FLAT[:9] + 0.1, vectors
    alike(rows.cross(new), stack.cross(new), 1e-10)
    weights = np.resize(weights, (2, len(stack.values)))
    duals = np.stack([a, a[::-1]])
    expected = np.einsum("tm,mik,tk->it", weights, stack.cross(new), duals)
    alike(rows.transform.scores(rows.transform.standardised(new), weights, duals), expected, 1e-9)


@every("name", MAKERS)
def test_training_rows_are_scored_by_blocks_and_some_of_them_keep_the_scales_of_all(
    name, truth, vectors
):
    (a, weights), kernels, near = (
        (vectors[0], vectors[1][: len(truth)]),
        MAKERS[name](),
        CLOSE.get(name, 1e-10),
    )
    duals = kernels.coefficients(a) if name == "factored" else a
    scored = weighted_blocks(kernels.blocks(), weights[None], duals[None])[:, 0]
    alike(scored, np.tensordot(weights, truth, 1) @ a, 10 * near)
    if name != "cached":
        rows = np.array([0, 3, 9, 21])
        some = np.array([1.0, -2.0, 0.5, 3.0])
        assert kernels.take(rows).n_samples == 4
        alike(kernels.take(rows).matvec(some), truth[:, rows][:, :, rows] @ some, near)


@every("name", ["lazy", "factored"])
def test_estimators_and_folds_take_any_kernels_that_have_names(name):
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, 1, -1)
    model = mkl.LpMKLClassifier(p=2.0, C=2.0, kernels=KERNELS)
    kernels = MAKERS[name]()
    plain = clone(model).fit(X, y)
    found = clone(model).fit(kernels, y)
    assert_allclose(found.weights_, plain.weights_, atol=0.03)
    assert_allclose(found.decision_function(X), plain.decision_function(X), atol=0.03)
    path = mkl.fit_path(model, kernels, y, "C", [0.5, 2.0], X, y)
    assert path.val_score[-1] == plain.score(X, y)
    chosen = mkl.cross_validate_path(model, kernels, y, "C", [0.5, 2.0], n_splits=2)
    stack = mkl.cross_validate_path(model, KERNELS.grams(X), y, "C", [0.5, 2.0], n_splits=2)
    assert_allclose(chosen.scores, stack.scores, atol=1.1 / N)
    classes = np.digitize(X[:, 0], [-0.4, 0.4])
    pairs = [mkl.SMKLClassifier(C=10.0).fit(one, classes) for one in (kernels, KERNELS.grams(X))]
    scores = [model.contributions(X).sum(axis=0) + model.intercept_ for model in pairs]
    assert_allclose(*scores, atol=0.05)


def test_dense_kernels_on_one_array_are_the_same_kernels(truth):
    stack = KERNELS.grams(X)
    assert same_kernels(stack, Dense(stack.values))
    assert not same_kernels(stack, Dense(truth.copy()))
    assert not same_kernels(stack, Rows.build(KERNELS, X))


def test_what_kernels_that_are_not_stored_or_named_cannot_do_is_refused(truth):
    rows, y, usual = Rows.build(KERNELS, X), np.sign(X[:, 0]), mkl.LpMKLRegressor(loss="squared")
    model = mkl.LpMKLClassifier(p=2.0, kernels="precomputed").fit(rows.cross(X), y)
    stored = mkl.GreedyMKLClassifier(), mkl.AlignedMKLClassifier(), mkl.BestKernelClassifier()
    refused(
        (
            lambda: Rows.build(KERNELS, X, center=True).take(np.arange(5)),
            "Centred kernels that are not stored cannot be cut",
        ),
        (lambda: model.fit(Dense(truth), y), "does not name its kernels; hand over a GramStack"),
        (lambda: Dense(truth).cross(X), "cannot evaluate its kernels on new rows"),
        (
            lambda: model.contributions(rows.blocks(X)),
            "The contributions of single kernels need a block",
        ),
        (
            lambda: mkl.choose_C(usual, rows, X[:, 0], [0.1, 1.0], rule="loo"),
            'reads stored kernels, which Rows are not; use rule="kfold"',
        ),
        *(
            (
                lambda one=one, name=name: one.fit(MAKERS[name](), y),
                r"needs Gram matrices stored in double precision.*do not have; build a stack",
            )
            for one in stored
            for name in ("lazy", "factored")
        ),
    )


@every("normalise", NORMALISATIONS)
@every("build", [mkl.KernelDictionary.grams, Rows.build])
def test_stacks_and_rows_refuse_in_the_same_words(build, normalise):
    steep = mkl.KernelDictionary((mkl.Linear(), mkl.Polynomial(100)), standardize=False)
    refused(
        (
            lambda: build(steep, 1e4 * FLAT, normalise=normalise),
            "polynomial 100 grows beyond the largest number",
        ),
        (lambda: build(CONSTANT, FLAT), r"Every kernel is constant .*n_samples = 40\): RBF 1, x3"),
        (
            lambda: build(KERNELS, X, normalise="unit"),
            "normalise must be one of 'multiplicative', 'spherical'",
        ),
    )


@every("build", [
    KERNELS.grams,
    lambda X: Rows.build(KERNELS, X, None),
    lambda X: Rows.build(KERNELS, X, center=True),
    lambda X: mkl.Nystroem(5).features(KERNELS, X),
])  # fmt: skip
def test_kernels_that_nobody_wants_any_more_are_not_built_to_the_end(build):
    def pulse():
        raise InterruptedError("enough")

    with cancellation_scope(pulse), pytest.raises(InterruptedError, match="enough"):
        build(X)
    build(X)


# -- Very many kernels, of which no stack is stored


MANY = mkl.KernelDictionary.per_feature((mkl.Linear(), mkl.RBF(1.0)), 120)
WIDE = np.random.default_rng(0).standard_normal((N, 120))


# One running sum and one machine, whatever the number of kernels.
PLAIN_SUMS = [
    mkl.LpMKLClassifier(p=np.inf, kernels=MANY, loss="logistic", solver="wrapper", tol=1e-6),
    mkl.UniformMKLClassifier(kernels=MANY, tol=1e-6),
    mkl.LpMKLRegressor(p=np.inf, kernels=MANY, loss="epsilon_insensitive", tol=1e-6),
    mkl.UniformMKLRegressor(kernels=MANY, tol=1e-6),
]


@every("model", [
    *PLAIN_SUMS,
    mkl.LpMKLClassifier(p=4 / 3, kernels=MANY, loss="logistic", tol=1e-5),
    mkl.LpMKLClassifier(p=1.0, kernels=MANY, tol=1e-5),
    mkl.LpMKLRegressor(p=2.0, kernels=MANY, tol=1e-5),
    mkl.GOMPRegressor(kernels=MANY, n_kernels=5, lam=1e-3, fit_intercept=True),
    mkl.GOMPClassifier(kernels=MANY + MANY, n_kernels=4),
    mkl.SMKLClassifier(kernels=MANY, C=10.0, tol=1e-5),
    mkl.SMKLRegressor(kernels=MANY, C=10.0, tol=1e-5),
])  # fmt: skip
def test_estimators_store_nothing_above_the_limit_and_answer_alike(model, monkeypatch):
    y = WIDE[:, 0] - np.sin(2 * WIDE[:, 1]) + 0.5 * WIDE[:, 2] ** 2
    classes = 3 if isinstance(model, mkl.SMKLClassifier) else 2
    y = (
        np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
        if is_classifier(model)
        else y
    )
    stored = clone(model).fit(WIDE, y)
    with monkeypatch.context() as changed:
        changed.setattr("mklcore.kernels.dictionary.QUICK_LIMIT_MB", 0.1)
        changed.setattr(
            mkl.KernelDictionary, "grams", lambda *args, **kwargs: pytest.fail("a stack was built")
        )
        if model in PLAIN_SUMS:
            changed.setattr(Rows, "rows", lambda *rows: pytest.fail("rows of all were asked for"))
        free = clone(model).fit(WIDE, y)
        found, expected = (decided(one, WIDE[:7] + 0.1) for one in (free, stored))
    lp = hasattr(model, "p") or model in PLAIN_SUMS  # what stops at a gap may end elsewhere
    assert np.sum(free.objective_) == pytest.approx(
        np.sum(stored.objective_), rel=2e-5 if lp else 1e-8
    )
    assert found == pytest.approx(expected, abs=1e-3 * np.ptp(expected) if lp else 1e-6)
    if hasattr(model, "n_kernels"):
        assert free.selected_.tolist() == stored.selected_.tolist()
        assert free.notes_ == stored.notes_


def test_eigenvectors_that_would_not_fit_are_refused(monkeypatch):
    rows = Rows.build(mkl.KernelDictionary.per_feature(mkl.Laplacian(1.0), 120), WIDE)
    monkeypatch.setattr("mklcore.sparse.gomp.MOST_MB", 0.5)
    with kernel_error(r"The eigenvectors of 120 kernels on 40 rows need more than 0 MB"):
        gomp.Spectra.of(rows)
