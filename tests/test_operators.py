"""Every implementation of M kernels on n rows does what the protocol says: the same numbers as stored Gram matrices."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import mklcore as mkl
from mklcore.errors import KernelError, ParameterError
from mklcore.estimators.problems import weighted_blocks
from mklcore.kernels.operators import (
    Capability,
    DenseKernels,
    Float32Kernels,
    KernelOperator,
    LazyKernels,
    PackedKernels,
    WeightedSum,
    as_operator,
    frobenius_norms,
    same_kernels,
)

pytestmark = pytest.mark.numerical
N, D = 40, 3
X = np.random.default_rng(0).standard_normal((N, D))
KERNELS = (
    mkl.KernelDictionary.rbf_grid([0.5, 2.0])
    + mkl.KernelDictionary.per_feature(mkl.Linear(), D)
    + mkl.KernelDictionary.per_feature(mkl.Laplacian(1.0), D)
)


MAKERS = {
    "dense": lambda: DenseKernels(KERNELS.grams(X).values),
    "GramStack": lambda: KERNELS.grams(X),
    "lazy": lambda: LazyKernels.build(KERNELS, X),
    "float32": lambda: Float32Kernels(LazyKernels.build(KERNELS, X)),
    "packed": lambda: PackedKernels.build(KERNELS, X),
    "factored": lambda: mkl.Nystroem(n_components=N).features(KERNELS, X, "multiplicative", False),
}
CLOSE = {"float32": 1e-5, "packed": 1e-5, "factored": 1e-4}


@pytest.fixture(scope="module")
def truth():
    return KERNELS.grams(X).values


@pytest.fixture(scope="module", params=MAKERS)
def case(request):
    return MAKERS[request.param](), CLOSE.get(request.param, 1e-10)


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(1)
    a, weights = rng.standard_normal(N), rng.random(len(KERNELS))
    a[::3], weights[::4] = 0.0, 0.0
    return a, weights


def test_the_protocol_is_met(case):
    kernels, _ = case
    assert isinstance(kernels, KernelOperator)
    assert (kernels.n_kernels, kernels.n_samples) == (len(KERNELS), N)
    assert kernels.capabilities <= set(Capability)
    assert Capability.EXACT in kernels.exact.capabilities
    assert as_operator(kernels) is kernels


def test_products_and_forms_are_those_of_the_stack(case, truth, vectors):
    (kernels, near), (a, _), some = case, vectors, np.array([6, 0, 3])
    expected = truth @ a
    np.testing.assert_allclose(kernels.matvec(a), expected, atol=near * np.abs(expected).max())
    np.testing.assert_allclose(kernels.matvec(a, some), expected[some], atol=near * np.abs(expected).max())
    forms = expected @ a
    np.testing.assert_allclose(kernels.quad(a), forms, rtol=10 * near)
    np.testing.assert_allclose(kernels.quad(a, some), forms[some], rtol=10 * near)
    assert (kernels.quad(np.zeros(N)) == 0.0).all()


def test_sums_are_those_of_the_stack(case, truth, vectors):
    (kernels, near), (a, weights) = case, vectors
    whole, few = np.tensordot(weights, truth, 1), np.array([1, 7, 30])
    close = {"rtol": 0.0, "atol": 3 * near * np.abs(whole).max()}
    total, out = kernels.combine(weights), np.empty((N, N))
    assert isinstance(total, WeightedSum)
    kernels.combine(weights, out)
    np.testing.assert_allclose(out, whole, **close)
    np.testing.assert_allclose(total.block(few), whole[np.ix_(few, few)], **close)
    np.testing.assert_allclose(kernels.combine_block(weights, few), whole[np.ix_(few, few)], **close)
    np.testing.assert_allclose(total.matvec(a), whole @ a, rtol=0.0, atol=100 * close["atol"])
    np.testing.assert_allclose(kernels.decision(weights, a), whole @ a, rtol=0.0, atol=100 * close["atol"])
    both = np.column_stack([a, a[::-1]])
    solved = np.linalg.solve(whole + 0.5 * np.eye(N), both)
    np.testing.assert_allclose(total.solve(both, 0.5), solved, atol=1e3 * near * np.abs(solved).max())
    np.testing.assert_allclose(total.solve(a, 0.5), solved[:, 0], atol=1e3 * near * np.abs(solved).max())


def test_parts_are_those_of_the_stack(case, truth, vectors):
    (kernels, near), (a, _) = case, vectors
    rows, some, close = np.array([5, 2]), np.array([4, 1]), {"atol": near * np.abs(truth).max()}
    np.testing.assert_allclose(kernels.diagonals(), np.einsum("mii->mi", truth), **close)
    np.testing.assert_allclose(kernels.rows(rows), truth[:, rows], **close)
    np.testing.assert_allclose(kernels.rows(rows[:1]), truth[:, rows[:1]], **close)
    one = np.empty((len(truth), N), dtype=np.float32)
    kernels.row_into(7, one)
    np.testing.assert_allclose(one, truth[:, 7], atol=1e-4 * np.abs(truth).max())
    np.testing.assert_allclose(kernels.gram(3), truth[3], **close)
    fewer = kernels.select(some)
    assert fewer.n_kernels == 2
    np.testing.assert_allclose(fewer.matvec(a), truth[some] @ a, atol=near * np.abs(truth @ a).max())
    np.testing.assert_allclose(kernels.exact.quad(a), truth @ a @ a, rtol=1e-3 if near == 1e-4 else 1e-6)
    if Capability.FACTORS in kernels.capabilities:
        L = kernels.factor(2)
        np.testing.assert_allclose(L.T @ L, truth[2], **close)


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in ("float32", "packed")])
def test_some_rows_keep_the_scales_of_all(name, truth):
    rows = np.array([0, 3, 9, 21])
    taken = MAKERS[name]().take(rows)
    assert taken.n_samples == 4
    a = np.array([1.0, -2.0, 0.5, 3.0])
    expected = truth[:, rows][:, :, rows] @ a
    np.testing.assert_allclose(taken.matvec(a), expected, atol=CLOSE.get(name, 1e-10) * np.abs(expected).max())


def test_norms_are_those_of_the_stack(case, truth):
    kernels, near = case
    expected = np.linalg.norm(truth, axis=(1, 2))
    np.testing.assert_allclose(frobenius_norms(kernels), expected, rtol=10 * near)


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in ("array", "array, single", "strict")])
def test_training_rows_are_scored_by_blocks(name, truth, vectors):
    (a, weights), kernels = vectors, MAKERS[name]()
    duals = kernels.coefficients(a) if name == "factored" else a
    scored = weighted_blocks(kernels.blocks(), weights[None], duals[None])[:, 0]
    expected = np.tensordot(weights, truth, 1) @ a
    np.testing.assert_allclose(scored, expected, atol=CLOSE.get(name, 1e-10) * 10 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["lazy", "float32", "packed", "factored"])
def test_estimators_and_folds_take_any_kernels_that_have_names(name):
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, 1, -1)
    model = mkl.LpMKLClassifier(p=2.0, C=2.0, kernels=KERNELS)
    kernels, plain = MAKERS[name](), clone(model).fit(X, y)
    found = clone(model).fit(kernels, y)
    np.testing.assert_allclose(found.weights_, plain.weights_, atol=0.03)
    np.testing.assert_allclose(found.decision_function(X), plain.decision_function(X), atol=0.03)
    path = mkl.fit_path(model, kernels, y, "C", [0.5, 2.0], X, y)
    assert path.val_score[-1] == plain.score(X, y)
    chosen = mkl.cross_validate_path(model, kernels, y, "C", [0.5, 2.0], n_splits=2)
    stack = mkl.cross_validate_path(model, KERNELS.grams(X), y, "C", [0.5, 2.0], n_splits=2)
    np.testing.assert_allclose(chosen.scores, stack.scores, atol=1.1 / N)


def test_machines_of_pairs_score_features():
    """One coefficient per feature, not per row."""
    kernels, stack = mkl.Nystroem(n_components=N).features(KERNELS, X, "multiplicative", False), KERNELS.grams(X)
    y = np.digitize(X[:, 0], [-0.4, 0.4])
    found, usual = (mkl.SMKLClassifier(C=10.0).fit(one, y) for one in (kernels, stack))
    np.testing.assert_allclose(found.pair_decisions(X), usual.pair_decisions(X), atol=0.05)


@pytest.mark.parametrize("name", ["packed", "float32"])
def test_joint_weights_are_certified_in_double_precision(name):
    y = np.digitize(X[:, 0], [-0.4, 0.4])
    kernels = MAKERS[name]()
    found, usual = (mkl.JointMKLClassifier(kernels=KERNELS).fit(one, y) for one in (kernels, kernels.exact))
    assert (found.objective_, found.dual_objective_) == (usual.objective_, usual.dual_objective_)


def test_centred_kernels_that_are_not_stored_are_not_cut():
    kernels = LazyKernels.build(KERNELS, X, center=True)
    with pytest.raises(KernelError, match="Centred kernels that are not stored cannot be cut"):
        kernels.take(np.arange(5))


def test_points_beyond_the_grid_know_the_columns_of_the_table():
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = mkl.LpMKLRegressor(p=2.0, kernels=KERNELS)
    path = mkl.fit_path(model, table, X[:, 0], "C", [1e-4, 1e-3, 1e-2], table, X[:, 0], grow=2)
    assert len(path) > 3
    assert all(list(point.feature_names_in_) == ["a", "b", "c"] for point in path.estimators)
    assert all(point.row_fingerprints_ is not None for point in path.estimators)


def test_kernels_without_names_are_refused_by_estimators(truth):
    with pytest.raises(KernelError, match="does not name its kernels; hand over a GramStack"):
        mkl.LpMKLClassifier().fit(DenseKernels(truth), np.sign(X[:, 0]))


def test_dense_kernels_on_one_array_are_the_same_kernels(truth):
    stack = KERNELS.grams(X)
    assert same_kernels(stack, DenseKernels(stack.values))
    assert not same_kernels(stack, DenseKernels(truth.copy()))
    assert not same_kernels(stack, LazyKernels.build(KERNELS, X))
    with pytest.raises(KernelError, match="cannot evaluate its kernels on new rows"):
        DenseKernels(truth).cross(X)


@pytest.mark.parametrize("name", ["lazy", "packed", "factored"])
@pytest.mark.parametrize("model", [mkl.GreedyMKLClassifier(), mkl.AlignedMKLClassifier(), mkl.BestKernelClassifier()])
def test_an_estimator_that_reads_stored_matrices_says_so(model, name):
    with pytest.raises(
        KernelError, match=r"needs Gram matrices stored in double precision.*do not have; build a stack"
    ):
        clone(model).fit(MAKERS[name](), np.sign(X[:, 0]))


def test_what_kernels_that_are_not_stored_cannot_do_is_refused():
    kernels, y = LazyKernels.build(KERNELS, X), np.sign(X[:, 0])
    model = mkl.LpMKLClassifier(p=2.0, kernels="precomputed").fit(kernels.cross(X), y)
    with pytest.raises(KernelError, match="What single kernels say needs their blocks"):
        model.contributions(kernels.blocks(X))
    with pytest.raises(ParameterError, match='reads stored kernels, which LazyKernels are not; use rule="kfold"'):
        mkl.choose_C(model, kernels, y, [0.1, 1.0])
